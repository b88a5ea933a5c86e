// Thresholds that maximise the F-measure of every label, tuned along a stream: OFO (Jasinska et al. 2016, Algorithm 2).
//
// A label's threshold is tau = a / b, half of the F-measure of its predictions so far, limited to (nu, 1/2] with
// nu = pi / (pi + 1), where pi is the share of examples that had the label. For searching, the minimum tau below every
// node of the tree is maintained as well, as tau and the tree change.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/label_tree.hpp"

namespace labelgrove {

// The initial a and b of every label. One in `every` examples, drawn at random, is predicted. REQUIRES: 0 <= a <= b, b
// > 0, every > 0.
struct OfoOptions {
  double a = 5.0;
  double b = 50.0;
  std::uint32_t every = 1;
};

class OnlineThresholds {
 public:
  // The number of times that a label was true and predicted, true, and predicted: a and b without their initial values.
  struct Counts {
    std::uint64_t hits = 0;
    std::uint64_t positives = 0;
    std::uint64_t predicted = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };

  OnlineThresholds(OfoOptions options, const LabelTree& tree) : OnlineThresholds(options, tree, {}, 0) {}
  // Resumes from these counts after `examples` examples.
  OnlineThresholds(OfoOptions options, const LabelTree& tree, std::vector<Counts> counts, std::uint64_t examples);

  // The label is predicted if its probability is at least this.
  double threshold(LabelId label) const;
  bool predicts(LabelId label, float probability) const {
    return probability > 0.0F && static_cast<double>(probability) >= threshold(label);
  }
  // A lower bound on the thresholds of labels below v; infinite if there are none.
  double least_below(NodeId v) const { return least_[v]; }
  // By label: of at least all labels that were ever true or predicted.
  std::span<const Counts> counts() const { return counts_; }
  std::uint64_t examples() const { return examples_; }

  // Counts one example. REQUIRES: distinct labels; those predicted are in the tree.
  void count(const LabelTree& tree, std::span<const LabelId> truth, std::span<const LabelId> predicted);
  // A node was inserted: `below` has taken over the children of v.
  void inserted(NodeId v, NodeId below);
  // A leaf was added, or its label changed.
  void renew(const LabelTree& tree, NodeId leaf);

 private:
  Counts of(LabelId label) const { return label < counts_.size() ? counts_[label] : Counts{}; }
  double tau(const Counts& counts) const;

  OfoOptions options_;
  std::vector<Counts> counts_;  // by label
  std::uint64_t examples_;
  std::vector<double> least_;  // by node
  std::vector<LabelId> sorted_;
};

}  // namespace labelgrove
