// A vector for every label, for clustering: positive instance feature aggregation (PIFA, Prabhu et al. 2018), the
// direction of the sum of the label's examples, each of unit length.
#pragma once

#include <cstdint>
#include <span>

#include "labelgrove/row_view.hpp"

namespace labelgrove {

// Returns a row of unit length, or an empty one, for each label.
//
// Label l has the examples[ends[l]], …, examples[ends[l + 1] - 1]. They are added in this order, which decides the
// rounding of sums; the number of threads does not. Every thread needs 4 bytes for each of `dimension` features. Throws
// std::invalid_argument if a row has a feature, or a label an example, that is out of range. REQUIRES: sparse rows;
// `ends` starts with 0 and never decreases.
SparseRows label_vectors(const RowView& rows, std::uint32_t dimension, std::span<const std::int64_t> ends,
                         std::span<const std::uint32_t> examples, unsigned threads);

}  // namespace labelgrove
