// What a batch model learns from, as the core's caller holds it, and which part of it every node of a tree sees.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/label_tree.hpp"

namespace labelgrove {

// Any number of threads may ask for examples.
struct TrainingSet {
  struct Example {
    Features x;
    std::span<const LabelId> labels;
  };
  std::size_t size = 0;
  std::function<Example(std::size_t)> example;
  bool normalize = true;                 // scale examples to unit length
  std::span<const float> example_costs;  // what mistakes on an example cost; empty: all 1
  std::span<const float> label_costs;    // what it costs to miss a label, by label; empty: all 1
};

// The examples of one node and their targets.
struct NodeExamples {
  std::span<const std::uint32_t> examples;   // for which the node is positive, increasing
  std::span<const std::uint64_t> ends;       // the i-th has the positives from ends[i] to ends[i + 1]
  const std::uint32_t* positives = nullptr;  // children, by their place, increasing within an example
  const float* costs = nullptr;              // of the positives: that of the dearest label below; null: all 1

  std::size_t size() const { return examples.size(); }
};

// ASSIGNTONODES (Jasinska-Kobus et al. 2021, Algorithm 9) for a whole data set: a node learns from the examples for
// which it is positive, that is those that have a label below it ("teacher forcing"); node 0 from all of them.
class Assignment {
 public:
  // For the given nodes alone; threads share the rows. REQUIRES: every label has a leaf in the tree.
  Assignment(const LabelTree& tree, std::span<const NodeId> nodes, const TrainingSet& data, unsigned threads);

  NodeExamples operator[](NodeId v) const;

 private:
  std::vector<std::uint64_t> begin_;  // by node: its first entry
  std::vector<std::uint32_t> examples_;
  std::vector<std::uint64_t> ends_;  // one more than entries: where each entry's positives begin
  std::vector<std::uint32_t> positives_;
  std::vector<float> costs_;
};

}  // namespace labelgrove
