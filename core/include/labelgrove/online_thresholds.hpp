// Thresholds that maximise every label's F-measure, tuned along a stream: OFO (Jasinska et al. 2016, Algorithm 2).
//
// A label's threshold is tau = a / b, half of the F-measure of what has been predicted for it so far, kept in
// (nu, 1/2] with nu = pi / (pi + 1) and pi the share of the examples that had the label. For a search the least tau
// below every node of the tree is kept as well, as tau and the tree change.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/label_tree.hpp"

namespace labelgrove {

// What a and b begin with, for every label, and of how many examples one is predicted, drawn at random. REQUIRES:
// 0 <= a <= b, b > 0, every > 0.
struct OfoOptions {
  double a = 5.0;
  double b = 50.0;
  std::uint32_t every = 1;
};

class OnlineThresholds {
 public:
  // How often a label was true and predicted, true, and predicted: a and b without what they begin with.
  struct Counts {
    std::uint64_t hits = 0;
    std::uint64_t positives = 0;
    std::uint64_t predicted = 0;
  };

  OnlineThresholds(OfoOptions options, const LabelTree& tree) : OnlineThresholds(options, tree, {}, 0) {}
  // Thresholds whose counts stood like this after so many examples.
  OnlineThresholds(OfoOptions options, const LabelTree& tree, std::vector<Counts> counts, std::uint64_t examples);

  // The probability from which on the label is predicted.
  double threshold(LabelId label) const;
  bool predicts(LabelId label, float probability) const {
    return probability > 0.0F && static_cast<double>(probability) >= threshold(label);
  }
  // No label below v has a lower threshold. Infinite where there is no label.
  double least_below(NodeId v) const { return least_[v]; }
  // Of all labels that were ever true or predicted, perhaps of others.
  std::span<const Counts> counts() const { return counts_; }
  std::uint64_t examples() const { return examples_; }

  // One example. REQUIRES: distinct labels; those predicted are in the tree.
  void count(const LabelTree& tree, std::span<const LabelId> truth, std::span<const LabelId> predicted);
  // A node was inserted: `below` has taken over what hung below v.
  void inserted(NodeId v, NodeId below);
  // A leaf came, or its label changed.
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
