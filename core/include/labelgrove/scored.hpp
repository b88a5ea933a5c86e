// Labels with their scores, and what it cost to find them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "labelgrove/base.hpp"

namespace labelgrove {

struct Scored {
  LabelId label;
  float probability;
};

// The order of results.
inline constexpr auto better = [](const Scored& a, const Scored& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.label < b.label;
};

// Puts a label among the k best found so far, a heap with the worst on top, or returns false if it is none of them.
// REQUIRES: k > 0.
inline bool keep_best(std::vector<Scored>& found, std::size_t k, const Scored& one) {
  if (found.size() == k) {
    if (!better(one, found.front())) return false;
    std::ranges::pop_heap(found, better);
    found.pop_back();
  }
  found.push_back(one);
  std::ranges::push_heap(found, better);
  return true;
}

struct SearchStats {
  std::uint32_t classifiers = 0;  // evaluated
  std::uint32_t depth = 0;        // of the deepest node entered; the root has depth 0
  std::uint32_t blocks = 0;       // nodes whose children were evaluated
  std::uint64_t bytes = 0;        // of weights read
};

}  // namespace labelgrove
