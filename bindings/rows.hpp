// Rows validated by Python.
//
// The arrays may belong to the caller, and the interpreter's lock is released while they are read, so another thread
// may write to them at any time. Results may then be wrong, but nothing outside the arrays is touched: row pointers and
// labels are copied and checked here, before the lock is released, and ids when a row is used (TakenRow, TakenRows).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/row_view.hpp"

namespace labelgrove::bindings {

// Throws std::invalid_argument unless ids increase.
inline void require_increasing(std::span<const FeatureId> ids) {
  std::uint32_t bad = 0;
  for (std::size_t j = 1; j < ids.size(); ++j) bad |= ids[j - 1] >= ids[j] ? 1U : 0U;
  if (bad != 0 || (!ids.empty() && ids.back() >= kNone / 2)) {
    throw std::invalid_argument("the rows of X have been changed during the call, by another thread");
  }
}

// (indptr, ids, values), for Python.
inline nb::tuple as_tuple(SparseRows&& rows) {
  return nb::make_tuple(to_array(std::move(rows.indptr)), to_array(std::move(rows.ids)),
                        to_array(std::move(rows.values)));
}

// A row with its own copy of the ids, and of the values if they are scaled.
struct TakenRow {
  std::vector<FeatureId> ids;
  std::vector<float> values;
};

class Rows : public RowView {
 public:
  Rows(const In<std::int64_t>& p, const In<FeatureId>& i, const In<float>& v)
      : RowView(view(p), view(i), view(v)), ends_(indptr.begin(), indptr.end()) {
    indptr = ends_;
    const bool fits = dense() || (indptr.front() == 0 && std::ranges::is_sorted(indptr) &&
                                  static_cast<std::size_t>(indptr.back()) == ids.size());
    if (!fits) throw std::invalid_argument("the arrays of the rows do not fit together");
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  // Copies the rows' ids, for algorithms that read them more than once. Throws std::invalid_argument unless they
  // increase in every row and are below `columns`.
  void take_ids(std::uint64_t columns) {
    if (dense()) return;
    ids_.assign(ids.begin(), ids.end());
    ids = ids_;
    for (std::size_t row = 0; row < size(); ++row) {
      const Features x = (*this)[row];
      require_increasing({x.ids, x.size});
      if (x.size > 0 && x.ids[x.size - 1] >= columns) throw std::invalid_argument("an id is out of range");
    }
  }
  // The row as it is learnt: scaled to unit length if `normalize`. Its copies are in `taken`.
  Features as_learnt(std::size_t row, bool normalize, TakenRow& taken) const {
    Features x = (*this)[row];
    if (!dense()) {
      taken.ids.assign(x.ids, x.ids + x.size);
      require_increasing(taken.ids);
      x.ids = taken.ids.data();
    }
    return normalize ? of_unit_length(x, taken.values) : x;
  }

 private:
  std::vector<std::int64_t> ends_;
  std::vector<FeatureId> ids_;
};

// An example as the classifiers of the engine's tree see it: unchanged, or as embedded by the engine in `made`.
template <typename Engine>
Features as_searched(const Engine& engine, const Features& x, Workspace& work, std::vector<float>& made) {
  if constexpr (requires { engine.embed(x, work, made); }) return engine.embed(x, work, made);
  else return x;
}

// The rows [begin, end) with their own copy of the ids, for algorithms that read them more than once.
class TakenRows {
 public:
  TakenRows(const In<std::int64_t>& p, const In<FeatureId>& i, const In<float>& v, std::size_t begin, std::size_t end)
      : rows_(view(p), view(i), view(v)), first_(begin) {
    if (begin > end || end > rows_.size()) throw std::invalid_argument("the range of examples is out of bounds");
    if (rows_.dense()) return;
    ends_.assign(rows_.indptr.begin() + static_cast<std::ptrdiff_t>(begin),
                 rows_.indptr.begin() + static_cast<std::ptrdiff_t>(end) + 1);
    if (ends_.front() < 0 || !std::ranges::is_sorted(ends_) ||
        static_cast<std::size_t>(ends_.back()) > rows_.ids.size()) {
      throw std::invalid_argument("the arrays of the rows do not fit together");
    }
    ids_.assign(rows_.ids.begin() + ends_.front(), rows_.ids.begin() + ends_.back());
    for (std::size_t row = begin; row < end; ++row) {
      const Features x = (*this)[row];
      require_increasing({x.ids, x.size});
    }
  }
  TakenRows(const TakenRows&) = delete;
  TakenRows& operator=(const TakenRows&) = delete;

  bool dense() const { return rows_.dense(); }
  // The number of rows in the arrays.
  std::size_t total() const { return rows_.size(); }
  // REQUIRES: begin <= row < end.
  Features operator[](std::size_t row) const {
    if (dense()) return rows_[row];
    const std::int64_t from = ends_[row - first_];
    const auto size = static_cast<std::uint32_t>(ends_[row - first_ + 1] - from);
    return {ids_.data() + (from - ends_.front()), rows_.values.data() + from, size};
  }

 private:
  RowView rows_;
  std::size_t first_;
  std::vector<std::int64_t> ends_;
  std::vector<FeatureId> ids_;
};

// The labels of the rows [begin, end): those of row i are labels[indptr[i]], …, labels[indptr[i + 1] - 1].
class RowLabels {
 public:
  // Throws std::invalid_argument unless they are the labels of this number of rows.
  RowLabels(const In<std::int64_t>& p, const In<LabelId>& l, std::size_t rows) : RowLabels(p, l, rows, 0, rows) {}
  RowLabels(const In<std::int64_t>& p, const In<LabelId>& l, std::size_t rows, std::size_t begin, std::size_t end)
      : first_(begin) {
    bool fits = p.size() > 0 && p.size() - 1 == rows && begin <= end && end <= rows;
    if (fits) {
      ends_.assign(p.data() + begin, p.data() + end + 1);
      fits = ends_.front() >= 0 && std::ranges::is_sorted(ends_) &&
             static_cast<std::size_t>(ends_.back()) <= l.size() && (begin > 0 || ends_.front() == 0) &&
             (end < rows || static_cast<std::size_t>(ends_.back()) == l.size());
    }
    if (fits) labels_.assign(l.data() + ends_.front(), l.data() + ends_.back());
    fits = fits && std::ranges::all_of(labels_, [](LabelId label) { return label < kNone / 2; });
    if (!fits) throw std::invalid_argument("the labels' arrays do not fit together");
  }
  RowLabels(const RowLabels&) = delete;
  RowLabels& operator=(const RowLabels&) = delete;

  // Throws std::invalid_argument unless every row has exactly one label.
  void require_one() const {
    for (std::size_t i = 0; i + 1 < ends_.size(); ++i) {
      if (ends_[i + 1] - ends_[i] != 1) throw std::invalid_argument("an example must have exactly one class");
    }
  }
  // The labels of all rows, concatenated, and the beginning of each row's.
  std::span<const LabelId> all() const { return labels_; }
  std::span<const std::int64_t> ends() const { return ends_; }
  // REQUIRES: begin <= row < end.
  std::span<const LabelId> operator[](std::size_t row) const {
    const auto from = static_cast<std::size_t>(ends_[row - first_] - ends_.front());
    const auto to = static_cast<std::size_t>(ends_[row - first_ + 1] - ends_.front());
    return std::span(labels_).subspan(from, to - from);
  }

 private:
  std::size_t first_;
  std::vector<std::int64_t> ends_;
  std::vector<LabelId> labels_;
};

// The rows among [begin, end) that are to be predicted just before they are learnt, increasing; empty for None.
inline std::vector<std::uint64_t> asked_rows(const nb::object& given, std::size_t begin, std::size_t end) {
  if (given.is_none()) return {};
  const auto array = nb::cast<In<std::uint64_t>>(given, false);
  std::vector<std::uint64_t> asked(view(array).begin(), view(array).end());
  const bool within = asked.empty() || (asked.front() >= begin && asked.back() < end);
  if (!within || !std::ranges::is_sorted(asked))
    throw std::invalid_argument("the rows to predict must increase and be among those to learn");
  return asked;
}

// The weights of the rows [begin, end): the number of times that each counts; 1 for None.
class RowWeights {
 public:
  // Throws std::invalid_argument unless `given` is None, or has one number from 0 to kMostWeight for each of `rows`
  // rows.
  RowWeights(const nb::object& given, std::size_t rows, std::size_t begin, std::size_t end) : first_(begin) {
    if (given.is_none()) return;
    In<float> array;
    const bool fits = nb::try_cast(given, array, false) && array.size() == rows && begin <= end && end <= rows;
    if (fits) weights_.assign(array.data() + begin, array.data() + end);
    if (!fits || !std::ranges::all_of(weights_, [](float w) { return w >= 0.0F && w <= kMostWeight; })) {
      throw std::invalid_argument("expected a weight from 0 to a million for every row");
    }
  }
  float operator[](std::size_t row) const { return weights_.empty() ? 1.0F : weights_[row - first_]; }

 private:
  std::size_t first_;
  std::vector<float> weights_;
};

// The examples [begin, end) of a call.
struct TakenExamples {
  TakenExamples(const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
                const In<std::int64_t>& label_indptr, const In<LabelId>& row_labels, const nb::object& row_weights,
                std::size_t begin, std::size_t end)
      : rows(indptr, ids, values, begin, end),
        labels(label_indptr, row_labels, rows.total(), begin, end),
        weights(row_weights, rows.total(), begin, end) {}

  LabelledExample operator[](std::size_t row) const { return {rows[row], labels[row], weights[row]}; }

  TakenRows rows;
  RowLabels labels;
  RowWeights weights;
};

}  // namespace labelgrove::bindings
