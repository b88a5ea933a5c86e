// Splits the nodes of a forest's trees: a derived class learns a node's hyperplanes, by which its examples are sent to
// its children.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "labelgrove/forest_tree.hpp"
#include "labelgrove/hyperplanes.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

// A node during the growth of its tree.
struct NodeDraft {
  std::vector<std::uint32_t> examples;  // v.I
  LabelHistogram histogram;             // v.LHist
  std::uint64_t key = 0;                // seed of everything drawn at the node; depends only on its place in the tree
  double priority = 0.0;                // the histogram's sum without its largest entry
};

// The sum of all entries.
double total_count(const LabelHistogram& histogram);

// Splits one node after another. Not thread-safe: use one for each thread.
class NodeSplitter {
 public:
  // A split, and its prospective children.
  struct Split {
    std::optional<Hyperplanes> planes;  // none if the split was undone
    std::vector<NodeDraft> children;
    SplitFigures figures;
  };

  NodeSplitter(const ForestOptions& options, const ForestTrainingSet& data);
  virtual ~NodeSplitter() = default;
  NodeSplitter(const NodeSplitter&) = delete;
  NodeSplitter& operator=(const NodeSplitter&) = delete;

  // The root of a tree.
  NodeDraft root(std::uint64_t key) const;
  Split split(const NodeDraft& node);

 protected:
  // Learns the weights of the features numbered on return, the bias first; it may remove features from the numbering.
  virtual std::vector<float> learn(const NodeDraft& node, SplitFigures& figures) = 0;
  // Computes the figures of a split that is kept: counts()[slot * children + m] is the number of a label's examples
  // that went to child m.
  virtual void measure(const NodeDraft& node, SplitFigures& figures) = 0;

  const ForestOptions& options() const { return options_; }
  const ForestTrainingSet& data() const { return data_; }
  // Whether a node learns from an example.
  static bool trains(std::span<const LabelId> labels, double weight) { return !labels.empty() && weight != 0.0; }
  // Numbers the features that occur in at least `min_count` of the node's training examples.
  void number_features(std::span<const std::uint32_t> examples, std::uint32_t min_count);
  // Keeps only the features at these indices. REQUIRES: they increase.
  void keep_features(std::span<const std::uint32_t> places);
  std::span<const FeatureId> features() const { return features_; }
  // The label's index in the histogram of the current node.
  std::uint32_t slot_of(LabelId label) const { return slot_[label]; }
  // Converts an example to the current node's numbering, until the next call.
  void take(const LabelledExample& example, double scale);
  // Its features, as indices into features(), and its labels, as indices into the node's histogram.
  const Features& taken() const { return x_; }
  std::span<const std::uint32_t> taken_slots() const { return slots_; }
  std::span<const double> counts() const { return counts_; }
  Workspace& work() { return work_; }

 private:
  bool send(const NodeDraft& node, const Hyperplanes& planes, std::vector<NodeDraft>& children);

  const ForestOptions& options_;
  const ForestTrainingSet& data_;
  std::vector<std::uint32_t> slot_;   // by label: its index in the current node's histogram
  std::vector<std::uint32_t> place_;  // by number of the feature: its index in features_, or kNone
  // By number of the feature: the training examples of the node that have it; 0 between nodes.
  std::vector<std::uint32_t> count_;
  std::vector<std::uint32_t> seen_;   // the numbers of features that occur in these examples
  std::vector<FeatureId> features_;   // the node's features, in ascending order
  std::vector<std::uint32_t> slots_;  // the labels of the current example
  std::vector<FeatureId> ids_;        // its features as indices, with their values
  std::vector<float> values_;
  Features x_;
  std::vector<float> margins_;
  std::vector<double> counts_;  // by slot and child
  Workspace work_;
};

}  // namespace labelgrove
