// Routes examples down the trees of a forest (LdSM's Algorithm 5), a batch at a time and node by node, so that a node's
// weights are fetched once for the whole batch. An example's leaves do not depend on the rest of the batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/forest_tree.hpp"

namespace labelgrove {

// Not thread-safe: each thread has its own.
class ForestRouter {
 public:
  struct Leaf {
    const ForestTree* tree;
    NodeId node;
    std::uint32_t size;  // of its histogram, whose entries begin there
    std::size_t begin;
  };
  // Where one example has come.
  struct Ways {
    std::vector<Leaf> leaves;  // in the order of the trees, and in a tree from the first child on
    std::uint32_t depth = 0;   // of the deepest leaf
  };

  explicit ForestRouter(const ForestOptions& options);

  // The examples to be routed, which must outlive it.
  void start(std::span<const Features> examples);
  // Adds where they come in this tree.
  void route(const ForestTree& tree);
  const Ways& ways(std::size_t i) const { return ways_[i]; }
  // Evaluated for an example.
  std::uint32_t classifiers(std::size_t i) const { return classifiers_[i]; }

 private:
  // A node still to be visited; its examples wait from `begin` to where those of the next visit begin.
  struct Visit {
    NodeId node;
    std::size_t begin;
  };

  void arrive(const ForestTree& tree, NodeId leaf);
  void send(NodeId child, std::uint32_t m);
  void evaluate(const Hyperplanes& node);
  bool spread(const Hyperplanes& node);
  void gather(const Hyperplanes& node);
  // Without the bias.
  void margins_from_table(const Features& x, float* out);
  void margins_one_by_one(const Features& x, const Hyperplanes& node, float* out);

  std::uint32_t children_;
  std::uint32_t planes_;                // of an inner node
  std::uint32_t stride_;                // of the table
  std::vector<float> table_;            // by feature: the weights of the node at hand, 0 where it has none
  std::vector<Visit> visits_;           // a stack: the tree is walked in preorder
  std::vector<std::uint32_t> waiting_;  // the examples of all visits, end to end
  std::vector<std::uint32_t> run_;      // those at the node at hand
  std::vector<std::uint8_t> sent_;      // their directions, a bit each
  std::vector<const float*> rows_;
  std::span<const Features> examples_;
  std::vector<Ways> ways_;
  std::vector<std::uint32_t> classifiers_;
};

}  // namespace labelgrove
