// Rows as Python has validated them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/row_view.hpp"

namespace labelgrove::bindings {

struct Rows : RowView {
  Rows(const In<std::int64_t>& p, const In<FeatureId>& i, const In<float>& v) : RowView(view(p), view(i), view(v)) {}
  // The row as it is learnt: with `normalize` scaled to unit length, its values then in `unit`.
  Features as_learnt(std::size_t row, bool normalize, std::vector<float>& unit) const {
    Features x = (*this)[row];
    if (!normalize) return x;
    const double scale = unit_scale(x);
    unit.resize(x.size);
    for (std::uint32_t j = 0; j < x.size; ++j) unit[j] = scaled(x.values[j], scale);
    x.values = unit.data();
    return x;
  }
};

// The labels of rows: those of row i are labels[indptr[i]], …, labels[indptr[i + 1] - 1].
struct RowLabels {
  std::span<const std::int64_t> indptr;
  std::span<const LabelId> labels;

  // Throws std::invalid_argument unless they are labels of that many rows.
  RowLabels(const In<std::int64_t>& p, const In<LabelId>& l, std::size_t rows) : indptr(view(p)), labels(view(l)) {
    if (indptr.size() != rows + 1 || indptr.front() != 0 || !std::ranges::is_sorted(indptr) ||
        static_cast<std::size_t>(indptr.back()) != labels.size() ||
        std::ranges::any_of(labels, [](LabelId label) { return label >= kNone / 2; })) {
      throw std::invalid_argument("the labels' arrays do not fit together");
    }
  }
  std::span<const LabelId> operator[](std::size_t row) const {
    const auto begin = static_cast<std::size_t>(indptr[row]);
    return labels.subspan(begin, static_cast<std::size_t>(indptr[row + 1]) - begin);
  }
};

// How many times each row counts; once where nothing is given.
struct RowWeights {
  std::span<const float> weights;

  // Throws std::invalid_argument unless they are None, or one number from 0 to kMostWeight for each of so many rows.
  RowWeights(const nb::object& given, std::size_t rows) {
    if (given.is_none()) return;
    In<float> array;
    if (nb::try_cast(given, array, false)) weights = view(array);
    if (weights.size() != rows ||
        !std::ranges::all_of(weights, [](float weight) { return weight >= 0.0F && weight <= kMostWeight; })) {
      throw std::invalid_argument("the weights must be a number from 0 to a million for every row");
    }
  }
  float operator[](std::size_t row) const { return weights.empty() ? 1.0F : weights[row]; }
};

}  // namespace labelgrove::bindings
