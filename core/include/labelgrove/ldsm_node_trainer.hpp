// Trains the regressors of LdSM nodes and sends their examples on (Majzoubi & Choromanska 2020, Algorithms 2 and 4).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "labelgrove/ldsm_tree.hpp"
#include "labelgrove/regressor_block.hpp"

namespace labelgrove {

// A node while its tree grows.
struct LdsmDraft {
  std::vector<std::uint32_t> examples;  // v.I
  LabelHistogram histogram;             // v.LHist
  std::uint64_t key = 0;                // of the weights that its regressors begin with: depends on its place alone
  double priority = 0.0;                // the histogram's sum but for its largest entry
};

// The sum of all entries.
double total_count(const LabelHistogram& histogram);

// Trains one node after another. Each thread has its own.
class LdsmNodeTrainer {
 public:
  // A node that has been trained, and what its children would be.
  struct Split {
    std::optional<LdsmRegressors> regressors;  // none if the split is undone
    std::vector<LdsmDraft> children;
    LdsmSplit outcome;
  };

  LdsmNodeTrainer(const LdsmOptions& options, const LdsmTrainingSet& data);

  // The node above all others.
  LdsmDraft root(std::uint64_t key) const;
  Split split(const LdsmDraft& node);

 private:
  void number_labels(const LabelHistogram& histogram);
  void number_features(std::span<const std::uint32_t> examples);
  // The example as the node at hand sees it, until the next one is taken.
  void take(const LdsmExamples::Example& example, double scale);
  void train(const LdsmDraft& node, RegressorBlock& block, LdsmSplit& outcome);
  void shuffle(std::uint64_t key);
  bool send(const LdsmDraft& node, const LdsmRegressors& regressors, std::vector<LdsmDraft>& children);
  void measure(const LdsmDraft& node, LdsmSplit& outcome);

  const LdsmOptions& options_;
  const LdsmTrainingSet& data_;
  SplitObjective objective_;
  std::vector<std::uint32_t> slot_;   // by label: its place in the histogram of the node at hand
  std::vector<std::uint32_t> place_;  // by number of the feature: its place among the node's features, or kNone
  std::vector<std::uint32_t> count_;  // likewise: the examples that train the node and have it; 0 between two nodes
  std::vector<std::uint32_t> seen_;   // numbers of features that these examples have
  std::vector<FeatureId> features_;   // those of the node, in increasing order
  std::vector<std::uint32_t> order_;  // the node's examples, as the epoch takes them
  std::vector<std::uint32_t> slots_;  // the labels of the example at hand
  std::vector<FeatureId> ids_;        // its features, by their places, and their values
  std::vector<float> values_;
  Features x_;
  std::vector<float> targets_;
  std::vector<float> margins_;
  std::vector<double> counts_;  // by slot and child
  Workspace work_;
};

}  // namespace labelgrove
