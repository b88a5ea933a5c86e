// Splits a node as LdSM does (Majzoubi & Choromanska 2020, Algorithm 2): M regressors learn, example by example, to
// send examples to the children that minimise the node's objective.
#pragma once

#include <cstdint>
#include <vector>

#include "labelgrove/node_splitter.hpp"
#include "labelgrove/split_objective.hpp"

namespace labelgrove {

class LdsmSplitter final : public NodeSplitter {
 public:
  LdsmSplitter(const ForestOptions& options, const ForestTrainingSet& data);

 private:
  std::vector<float> learn(const NodeDraft& node, SplitFigures& figures) override;
  void measure(const NodeDraft& node, SplitFigures& figures) override;

  const LdsmOptions& ldsm_;
  SplitObjective objective_;
  std::vector<std::uint32_t> order_;  // the node's examples, in the order of the epoch
  std::vector<float> targets_;
  std::vector<float> margins_;
};

}  // namespace labelgrove
