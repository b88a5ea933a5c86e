// Rows of features: views of arrays that Python has validated, and rows that the core has made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "labelgrove/base.hpp"

namespace labelgrove {

// Compressed sparse rows that others own; or, if indptr is empty, dense rows with the features 0, 1, 2, … of `ids`.
struct RowView {
  std::span<const std::int64_t> indptr;
  std::span<const FeatureId> ids;
  std::span<const float> values;

  // Throws std::invalid_argument if the arrays do not fit together.
  RowView(std::span<const std::int64_t> p, std::span<const FeatureId> i, std::span<const float> v)
      : indptr(p), ids(i), values(v) {
    const bool fits = dense() ? !ids.empty() && values.size() % ids.size() == 0
                              : ids.size() == values.size() && indptr.front() == 0 &&
                                    static_cast<std::size_t>(indptr.back()) == ids.size();
    if (!fits) throw std::invalid_argument("the arrays of the rows do not fit together");
  }
  bool dense() const { return indptr.empty(); }
  std::size_t size() const { return dense() ? values.size() / ids.size() : indptr.size() - 1; }
  Features operator[](std::size_t row) const {
    if (dense()) return {ids.data(), values.data() + row * ids.size(), static_cast<std::uint32_t>(ids.size())};
    const auto begin = static_cast<std::size_t>(indptr[row]);
    return {ids.data() + begin, values.data() + begin, static_cast<std::uint32_t>(indptr[row + 1] - indptr[row])};
  }
};

// Compressed sparse rows that own their arrays.
struct SparseRows {
  std::vector<std::int64_t> indptr{0};
  std::vector<FeatureId> ids;  // increasing within a row
  std::vector<float> values;

  RowView view() const { return {indptr, ids, values}; }
  void append(const SparseRows& rows) {
    const auto begin = static_cast<std::int64_t>(ids.size());
    for (std::size_t row = 1; row < rows.indptr.size(); ++row) indptr.push_back(begin + rows.indptr[row]);
    ids.insert(ids.end(), rows.ids.begin(), rows.ids.end());
    values.insert(values.end(), rows.values.begin(), rows.values.end());
  }
};

}  // namespace labelgrove
