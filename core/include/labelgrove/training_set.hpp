// The training data of a batch model, and the part of it that each node of a tree sees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/label_tree.hpp"

namespace labelgrove {

// Does not own anything. `example` may be called by any number of threads.
struct TrainingSet {
  std::size_t size = 0;
  LabelledExamples example;
  bool normalize = true;                 // scale examples to unit length
  double scale = 1.0;                    // otherwise the factor of all examples; see row_scale()
  std::span<const float> example_costs;  // cost of mistakes, by example; empty: all 1
  std::span<const float> label_costs;    // cost of missing a label, by label; empty: all 1

  // Whether some examples or labels cost more than others.
  bool weighted() const {
    const auto differ = [](auto costs) {
      return std::ranges::adjacent_find(costs, std::not_equal_to()) != costs.end();
    };
    return differ(example_costs) || differ(label_costs);
  }
};

// The examples of one node and their targets.
struct NodeExamples {
  std::span<const std::uint32_t> examples;      // those that the node learns from, increasing
  std::span<const std::uint64_t> ends;          // example i has the positives from ends[i] to ends[i + 1]
  const std::uint32_t* positives = nullptr;     // slots of children, increasing within an example
  const float* costs = nullptr;                 // by positive: the highest cost of a label below it; null: all 1
  std::span<const std::uint8_t> rarities = {};  // by slot of child; empty: all 0

  std::size_t size() const { return examples.size(); }
};

// ASSIGNTONODES (Jasinska-Kobus et al. 2021, Algorithm 9) for a whole data set: a node learns from the examples for
// which it is positive, that is, those with a label below it ("teacher forcing"). Node 0 and the root learn from all
// examples, also from those without labels: a root that is not a leaf is always positive.
class Assignment {
 public:
  // Only for the given nodes; threads divide the rows. REQUIRES: every label has a leaf in the tree.
  Assignment(const LabelTree& tree, std::span<const NodeId> nodes, const TrainingSet& data, unsigned threads);

  NodeExamples operator[](NodeId v) const;

 private:
  std::vector<std::uint64_t> begin_;  // by node: its first entry
  std::vector<std::uint32_t> examples_;
  std::vector<std::uint64_t> ends_;  // one more than entries: the beginning of each entry's positives
  std::vector<std::uint32_t> positives_;
  std::vector<float> costs_;
};

}  // namespace labelgrove
