// The objective of the regressors of an LdSM node (Majzoubi & Choromanska 2020, Eq. 1), and the targets that follow
// from it.
//
//   J = sum_{j<l} |P_j - P_l|  -  lambda1 sum_i pi_i sum_{j<l} |P_j^i - P_l^i|  +  lambda2 |sum_j P_j - 1|
//
// P_j is the share of labels that goes to child j, P_j^i the same for label i alone, and pi_i label i's share of all
// labels. The first term is small if the children are balanced, the second large if a label's examples stay together,
// and the third keeps examples from going to all children.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace labelgrove {

inline constexpr std::uint32_t kMostDirections = 8;

struct ObjectiveWeights {
  double lambda1 = 1.0;
  double lambda2 = 1.0;
};

// Labels are numbered within the node. All sums are stored multiplied by C_v, the number of labels seen so far.
class SplitObjective {
 public:
  SplitObjective(std::uint32_t arity, ObjectiveWeights weights) : arity_(arity), weights_(weights) {}

  // Starts again with `labels` labels.
  void start(std::size_t labels);
  // Counts the labels of an example, and returns the set of directions, one bit each, that would minimise J if the
  // example were sent there (Algorithm 3). Ties go to the set with fewer directions, then to the lower set.
  std::uint32_t choose(std::span<const std::uint32_t> labels, double weight);
  // Records that the regressors now send the example in these directions: their margins, clamped to [0, 1] (the end of
  // Algorithm 2).
  void record(std::span<const std::uint32_t> labels, double weight, std::span<const float> margins);

  // Adds `count` occurrences of a label, sent[j] of which go to child j.
  void add(std::uint32_t label, double count, std::span<const double> sent);
  // J; 0 before the first example.
  double value() const;
  // Definition 1: the largest deviation of a P_j from their mean.
  double balance() const;
  // Definition 2: 0 if no label's examples go to more than one child.
  double purity() const;

 private:
  double& mass(std::uint32_t label, std::uint32_t child) { return label_mass_[std::size_t{label} * arity_ + child]; }
  double mass(std::uint32_t label, std::uint32_t child) const {
    return label_mass_[std::size_t{label} * arity_ + child];
  }

  std::uint32_t arity_;
  ObjectiveWeights weights_;
  double total_ = 0.0;                                // C_v
  std::array<double, kMostDirections> mass_{};        // C_v P_j
  std::vector<double> label_mass_;                    // by label and child: l_v(i) P_j^i
  std::array<double, 1U << kMostDirections> cost_{};  // by set of directions
};

}  // namespace labelgrove
