// The last check of examples before they enter the core: verifies in one pass what Python guarantees.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "labelgrove/base.hpp"

namespace labelgrove {

enum class RowFault : std::uint8_t { none = 0, indptr = 1, range = 2, order = 3, not_finite = 4 };

struct RowCheck {
  RowFault fault = RowFault::none;
  std::size_t row = 0;
  std::size_t position = 0;  // index into ids and values
};

// Finds the first fault of compressed sparse rows: row pointers that do not increase from 0 to ids.size(), an id that
// is not below `columns`, a value that is not finite, or, if all of these are right, ids that do not strictly increase
// within a row.
inline RowCheck check_rows(std::span<const std::int64_t> indptr, std::span<const FeatureId> ids,
                           std::span<const float> values, std::uint64_t columns) {
  const auto n = static_cast<std::int64_t>(ids.size());
  if (indptr.empty() || indptr[0] != 0 || values.size() != ids.size()) return {RowFault::indptr, 0, 0};
  for (std::size_t row = 0; row + 1 < indptr.size(); ++row) {
    if (indptr[row + 1] < indptr[row] || indptr[row + 1] > n) return {RowFault::indptr, row, 0};
  }
  if (indptr.back() != n) return {RowFault::indptr, indptr.size() - 1, 0};
  RowCheck unordered;
  for (std::size_t row = 0; row + 1 < indptr.size(); ++row) {
    const auto begin = static_cast<std::size_t>(indptr[row]);
    const auto end = static_cast<std::size_t>(indptr[row + 1]);
    for (std::size_t i = begin; i < end; ++i) {
      if (ids[i] >= columns) return {RowFault::range, row, i};
      if (!std::isfinite(values[i])) return {RowFault::not_finite, row, i};
      if (i > begin && ids[i] <= ids[i - 1] && unordered.fault == RowFault::none) unordered = {RowFault::order, row, i};
    }
  }
  return unordered;
}

}  // namespace labelgrove
