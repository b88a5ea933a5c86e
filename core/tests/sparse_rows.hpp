// Sparse rows, as of examples or of the vectors of labels.
#pragma once

#include <cstdint>

#include "labelgrove/row_view.hpp"
#include "support.hpp"

namespace labelgrove::testing {

inline void add(SparseRows& rows, const Example& row) {
  const auto size = static_cast<std::int64_t>(row.ids.size());
  rows.append({{0, size}, row.ids, row.values});
}

inline SparseRows random_vectors(std::size_t labels, std::uint32_t features, double density) {
  Random random(11);
  SparseRows vectors;
  for (std::size_t label = 0; label < labels; ++label) add(vectors, random_example(random, features, density));
  return vectors;
}

}  // namespace labelgrove::testing
