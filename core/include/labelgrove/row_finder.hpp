// The rows of a block that an example needs.
#pragma once

#include <cstdint>

#include "labelgrove/base.hpp"
#include "labelgrove/feature_map.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

// Fills work.rows and work.values: first the bias, whose row is 0 and whose value is 1, then every feature of x that the
// map knows, in their order. `row(r)` gives the address of row r.
template <typename Row>
void find_rows(const FeatureMap& map, const Features& x, Row&& row, Workspace& work) {
  work.rows.resize(x.size + std::size_t{1});
  work.values.resize(x.size + std::size_t{1});
  for (std::uint32_t j = 0; j < x.size; ++j) map.prefetch(x.ids[j]);
  std::size_t n = 0;
  const auto add = [&](std::uint32_t r, float value) {
    const float* weights = row(r);
    __builtin_prefetch(weights);
    work.rows[n] = const_cast<float*>(weights);  // learning and prediction share the workspace
    work.values[n++] = value;
  };
  add(0, 1.0F);
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t found = map.find(x.ids[j]);
    if (found != kNone) add(found + 1, x.values[j]);
  }
  work.rows.resize(n);
  work.values.resize(n);
}

}  // namespace labelgrove
