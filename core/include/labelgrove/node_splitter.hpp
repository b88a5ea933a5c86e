// Splits the nodes of a forest's trees: learns a node's hyperplanes, in one of the ways that there are, and sends its
// examples on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "labelgrove/forest_tree.hpp"
#include "labelgrove/hyperplanes.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

// A node while its tree grows.
struct NodeDraft {
  std::vector<std::uint32_t> examples;  // v.I
  LabelHistogram histogram;             // v.LHist
  std::uint64_t key = 0;                // of all that is drawn at the node: depends on its place alone
  double priority = 0.0;                // the histogram's sum but for its largest entry
};

// The sum of all entries.
double total_count(const LabelHistogram& histogram);

// Splits one node after another. Each thread has its own.
class NodeSplitter {
 public:
  // A node that has been split, and what its children would be.
  struct Split {
    std::optional<Hyperplanes> planes;  // none if the split is undone
    std::vector<NodeDraft> children;
    SplitFigures figures;
  };

  NodeSplitter(const ForestOptions& options, const ForestTrainingSet& data);
  virtual ~NodeSplitter() = default;
  NodeSplitter(const NodeSplitter&) = delete;
  NodeSplitter& operator=(const NodeSplitter&) = delete;

  // The node above all others.
  NodeDraft root(std::uint64_t key) const;
  Split split(const NodeDraft& node);

 protected:
  // Learns the weights of the features that are numbered by then, the bias first; what was learnt may be left out of
  // the numbering again.
  virtual std::vector<float> learn(const NodeDraft& node, SplitFigures& figures) = 0;
  // Of a split that is kept: counts()[slot * children + m] says how many of a label's examples went to child m.
  virtual void measure(const NodeDraft& node, SplitFigures& figures) = 0;

  const ForestOptions& options() const { return options_; }
  const ForestTrainingSet& data() const { return data_; }
  // Whether a node learns from an example.
  static bool trains(std::span<const LabelId> labels, double weight) { return !labels.empty() && weight != 0.0; }
  // Numbers the features that at least `min_count` of the node's training examples have.
  void number_features(std::span<const std::uint32_t> examples, std::uint32_t min_count);
  // Keeps only the features at these places. REQUIRES: they increase.
  void keep_features(std::span<const std::uint32_t> places);
  std::span<const FeatureId> features() const { return features_; }
  // The label's place in the histogram of the node at hand.
  std::uint32_t slot_of(LabelId label) const { return slot_[label]; }
  // The example as the node at hand sees it, until the next one is taken.
  void take(const ForestExamples::Example& example, double scale);
  // Its features, by their places, and its labels, by their places in the node's histogram.
  const Features& taken() const { return x_; }
  std::span<const std::uint32_t> taken_slots() const { return slots_; }
  std::span<const double> counts() const { return counts_; }
  Workspace& work() { return work_; }

 private:
  bool send(const NodeDraft& node, const Hyperplanes& planes, std::vector<NodeDraft>& children);

  const ForestOptions& options_;
  const ForestTrainingSet& data_;
  std::vector<std::uint32_t> slot_;   // by label: its place in the histogram of the node at hand
  std::vector<std::uint32_t> place_;  // by number of the feature: its place among the node's features, or kNone
  std::vector<std::uint32_t> count_;  // likewise: the examples that train the node and have it; 0 between two nodes
  std::vector<std::uint32_t> seen_;   // numbers of features that these examples have
  std::vector<FeatureId> features_;   // those of the node, in increasing order
  std::vector<std::uint32_t> slots_;  // the labels of the example at hand
  std::vector<FeatureId> ids_;        // its features, by their places, and their values
  std::vector<float> values_;
  Features x_;
  std::vector<float> margins_;
  std::vector<double> counts_;  // by slot and child
  Workspace work_;
};

}  // namespace labelgrove
