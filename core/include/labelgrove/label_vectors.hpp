// What the examples of every label look like, for clustering: positive instance feature aggregation (PIFA, Prabhu et
// al. 2018), the direction of the sum of its examples, each of unit length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/row_view.hpp"

namespace labelgrove {

// Compressed sparse rows, of unit length or empty.
struct LabelVectors {
  std::vector<std::int64_t> indptr{0};
  std::vector<FeatureId> ids;  // increasing for every label
  std::vector<float> values;
};

// Label l has the examples[ends[l]], …, examples[ends[l + 1] - 1]; the order in which they are added decides how sums
// are rounded, the number of threads does not. Needs 4 bytes for each of `dimension` features in every thread. Throws
// std::invalid_argument if a row has a feature, or a label an example, that there is not. REQUIRES: sparse rows; `ends`
// begin with 0 and never decrease.
LabelVectors label_vectors(const RowView& rows, std::uint32_t dimension, std::span<const std::int64_t> ends,
                           std::span<const std::uint32_t> examples, unsigned threads);

}  // namespace labelgrove
