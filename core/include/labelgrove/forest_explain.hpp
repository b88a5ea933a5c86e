// Why a forest gives a label its score: the ways of an example to its leaves, and what each feature says on them.
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
    std::uint32_t child;   // which one, from 0 on
    std::uint32_t before;  // the step that led to the node; kNone from a root
  };
  struct Leaf {
    std::uint32_t tree;
    NodeId node;
    std::uint32_t step;  // that led there; kNone to a root
  };
  std::vector<Step> steps;           // each after the one before it
  std::vector<Leaf> leaves;          // in the order of the trees
  std::vector<float> bias;           // by step: what speaks for the child without any feature
  std::vector<float> contributions;  // (steps, features of x): what each feature adds to it
};

// The ways that predictions go.
ForestRoutes explain_forest(const Forest& forest, const Features& x);

}  // namespace labelgrove
