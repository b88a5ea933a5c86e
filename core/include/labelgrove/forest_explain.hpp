// Explains a forest's scores: an example's paths to its leaves, and the contribution of each feature at every step.
#pragma once

#include <cstdint>
#include <vector>

#include "labelgrove/forest.hpp"

namespace labelgrove {

struct ForestRoutes {
  // From an inner node to one of its children.
  struct Step {
    std::uint32_t tree;
    NodeId node;
    std::uint32_t child;   // its index
    std::uint32_t before;  // the step that led to the node; kNone for a root
  };
  struct Leaf {
    std::uint32_t tree;
    NodeId node;
    std::uint32_t step;  // the step that led there; kNone for a root
  };
  std::vector<Step> steps;           // each after the one before it on its path
  std::vector<Leaf> leaves;          // in the order of trees
  std::vector<float> bias;           // by step: the child's score without any feature
  std::vector<float> contributions;  // (steps, features of x): each feature's contribution to the score
};

// The same paths that predictions follow.
ForestRoutes explain_forest(const Forest& forest, const Features& x);

}  // namespace labelgrove
