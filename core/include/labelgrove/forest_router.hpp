// Routes batches of examples down the trees of a forest (LdSM's Algorithm 5), node by node, so that a node's weights
// are fetched once for the whole batch. An example's leaves do not depend on the rest of the batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/forest_tree.hpp"

namespace labelgrove {

// Not thread-safe: use one for each thread.
class ForestRouter {
 public:
  struct Leaf {
    const ForestTree* tree;
    NodeId node;
    std::uint32_t size;  // of its histogram, which starts at `begin`
    std::size_t begin;
  };
  // The leaves that an example has reached.
  struct Ways {
    std::vector<Leaf> leaves;  // in the order of trees, and of children within a tree
    std::uint32_t depth = 0;   // of the deepest leaf
  };

  explicit ForestRouter(const ForestOptions& options);

  // Sets the examples to route, which must outlive the router's use of them.
  void start(std::span<const Features> examples);
  // Adds the leaves that they reach in this tree.
  void route(const ForestTree& tree);
  const Ways& ways(std::size_t i) const { return ways_[i]; }
  // The number evaluated for an example.
  std::uint32_t classifiers(std::size_t i) const { return classifiers_[i]; }

 private:
  // A node still to be visited; its examples wait from `begin` up to the `begin` of the next visit.
  struct Visit {
    NodeId node;
    std::size_t begin;
  };

  void arrive(const ForestTree& tree, NodeId leaf);
  void send(NodeId child, std::uint32_t m);
  void evaluate(const Hyperplanes& node);
  bool fill_table(const Hyperplanes& node);
  void clear_table(const Hyperplanes& node);
  // Excludes the bias.
  void margins_from_table(const Features& x, float* out);
  void margins_one_by_one(const Features& x, const Hyperplanes& node, float* out);

  std::uint32_t children_;
  std::uint32_t planes_;                // of an inner node
  std::uint32_t stride_;                // of the table
  std::vector<float> table_;            // by feature: the weights of the current node; 0 if it has none
  std::vector<Visit> visits_;           // a stack: the tree is walked in preorder
  std::vector<std::uint32_t> waiting_;  // the examples of all visits, concatenated
  std::vector<std::uint32_t> run_;      // the examples at the current node
  std::vector<std::uint8_t> sent_;      // their directions, one bit each
  std::vector<const float*> rows_;
  std::span<const Features> examples_;
  std::vector<Ways> ways_;
  std::vector<std::uint32_t> classifiers_;
};

}  // namespace labelgrove
