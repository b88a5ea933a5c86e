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
  RowLabels(const In<std::int64_t>& p, const In<LabelId>& l, std::size_t rows) : RowLabels(p, l, rows, 0, rows) {
    if (indptr.front() != 0 || static_cast<std::size_t>(indptr.back()) != labels.size()) refuse();
  }
  // The same where only some of the rows are looked at: what is checked grows with these, not with all.
  RowLabels(const In<std::int64_t>& p, const In<LabelId>& l, std::size_t rows, std::size_t begin, std::size_t end)
      : indptr(view(p)), labels(view(l)) {
    if (begin > end || end > rows) throw std::invalid_argument("there are no such examples");
    if (indptr.size() != rows + 1) refuse();
    const auto ends = indptr.subspan(begin, end - begin + 1);
    if (ends.front() < 0 || !std::ranges::is_sorted(ends) || static_cast<std::size_t>(ends.back()) > labels.size()) {
      refuse();
    }
    const auto first = static_cast<std::size_t>(ends.front());
    const auto seen = labels.subspan(first, static_cast<std::size_t>(ends.back()) - first);
    if (std::ranges::any_of(seen, [](LabelId label) { return label >= kNone / 2; })) refuse();
  }
  std::span<const LabelId> operator[](std::size_t row) const {
    const auto begin = static_cast<std::size_t>(indptr[row]);
    return labels.subspan(begin, static_cast<std::size_t>(indptr[row + 1]) - begin);
  }

 private:
  [[noreturn]] static void refuse() { throw std::invalid_argument("the labels' arrays do not fit together"); }
};

// How many times each row counts; once where nothing is given.
struct RowWeights {
  std::span<const float> weights;

  // Throws std::invalid_argument unless they are None, or one number for each of so many rows, of which those looked at lie
  // from 0 to kMostWeight.
  RowWeights(const nb::object& given, std::size_t rows, std::size_t begin, std::size_t end) {
    if (given.is_none()) return;
    In<float> array;
    if (nb::try_cast(given, array, false)) weights = view(array);
    if (weights.size() != rows || !std::ranges::all_of(weights.subspan(begin, end - begin), [](float weight) {
          return weight >= 0.0F && weight <= kMostWeight;
        })) {
      throw std::invalid_argument("the weights must be a number from 0 to a million for every row");
    }
  }
  float operator[](std::size_t row) const { return weights.empty() ? 1.0F : weights[row]; }
};

}  // namespace labelgrove::bindings
