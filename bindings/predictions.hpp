// The results of all engines for many rows: arrays of fixed shape, or a CSR triple.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/budget.hpp"
#include "labelgrove/parallel.hpp"
#include "labelgrove/search.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {

inline constexpr std::size_t kRowsPerTask = 32;

// Runs body(worker, row, x) for all rows, with x scaled to unit length if `normalize`; each thread makes a worker.
template <typename Make, typename Body>
void for_each_row(const Rows& rows, bool normalize, unsigned threads, Make&& make, Body&& body) {
  const auto run = [&](auto& worker, std::size_t begin, std::size_t end) {
    TakenRow taken;
    for (std::size_t row = begin; row < end; ++row) body(worker, row, rows.as_learnt(row, normalize, taken));
  };
  parallel_for_runs(rows.size(), kRowsPerTask, threads, make, run);
}

// The same with body(worker, begin, batch) for batches of rows, as large as the threads and `most` allow.
template <typename Make, typename Body>
void for_each_batch(const Rows& rows, bool normalize, std::size_t most, unsigned threads, Make&& make, Body&& body) {
  const std::size_t size = std::clamp<std::size_t>(rows.size() / std::max(threads, 1U), 1, most);
  parallel_for_runs(rows.size(), size, threads, make, [&](auto& worker, std::size_t begin, std::size_t end) {
    std::vector<TakenRow> taken(end - begin);
    std::vector<Features> batch;
    for (std::size_t row = begin; row < end; ++row) {
      batch.push_back(rows.as_learnt(row, normalize, taken[row - begin]));
    }
    body(worker, begin, batch);
  });
}

// The costs of searches, one row for each: classifiers, depth, blocks and bytes. They share a single array, since
// creating one is a large part of a call for one row.
class Costs {
 public:
  explicit Costs(std::size_t n) : rows_(make_array<std::uint64_t>({n, 4})) {}

  void set(std::size_t row, const SearchStats& stats) {
    const std::uint64_t cost[] = {stats.classifiers, stats.depth, stats.blocks, stats.bytes};
    std::ranges::copy(cost, rows_.data() + 4 * row);
  }
  const nb::ndarray<std::uint64_t, nb::numpy>& rows() const { return rows_; }

 private:
  nb::ndarray<std::uint64_t, nb::numpy> rows_;
};

// The best labels of rows and their scores, (n, k) each; missing entries are kNone and NaN.
class Ranking {
 public:
  Ranking(std::size_t n, std::size_t k)
      : k_(k), labels_(make_array<LabelId>({n, k})), scores_(make_array<float>({n, k})) {
    std::fill_n(labels_.data(), labels_.size(), kNone);
    std::fill_n(scores_.data(), scores_.size(), std::numeric_limits<float>::quiet_NaN());
  }

  // `found` is sorted, best first.
  void set(std::size_t row, std::span<const Scored> found) {
    for (std::size_t i = 0; i < std::min(k_, found.size()); ++i) {
      labels_.data()[row * k_ + i] = found[i].label;
      scores_.data()[row * k_ + i] = found[i].probability;
    }
  }
  const nb::ndarray<LabelId, nb::numpy>& labels() const { return labels_; }
  const nb::ndarray<float, nb::numpy>& scores() const { return scores_; }

 private:
  std::size_t k_;
  nb::ndarray<LabelId, nb::numpy> labels_;
  nb::ndarray<float, nb::numpy> scores_;
};

// (labels (n, k), scores (n, k), costs (n, 4)). find_all(take) calls take(row, stats, found) for every row, in any
// order and from any thread.
template <typename FindAll>
nb::tuple ranked_by(std::size_t n, std::size_t k, FindAll&& find_all) {
  Ranking ranking(n, k);
  Costs costs(n);
  {
    const WithoutGil without_gil;
    const auto take = [&](std::size_t row, const SearchStats& stats, const std::vector<Scored>& found) {
      ranking.set(row, found);
      costs.set(row, stats);
    };
    find_all(take);
  }
  return nb::make_tuple(ranking.labels(), ranking.scores(), costs.rows());
}

// Runs learn() without the GIL, and returns its answers as (labels, scores). If it refuses an example, those before it
// are learnt, so Python's BudgetExceeded has their answers after its message.
template <typename Learn>
nb::tuple answers_of(const Ranking& answers, Learn&& learn) {
  try {
    const WithoutGil without_gil;
    learn();
  } catch (const BudgetExceeded& refused) {
    const nb::object type = nb::module_::import_("labelgrove._core").attr("BudgetExceeded");
    const nb::tuple args = nb::make_tuple(refused.what(), answers.labels(), answers.scores());
    PyErr_SetObject(type.ptr(), args.ptr());
    throw nb::python_error();
  }
  return nb::make_tuple(answers.labels(), answers.scores());
}

// (labels, scores): the best labels of the rows `asked`, each just before it is learnt. learn(from, to) learns a part
// of the rows [begin, end); rank(row, found) finds the best labels of a row.
template <typename Learn, typename Rank>
nb::tuple learn_and_rank(std::size_t begin, std::size_t end, const nb::object& asked, std::size_t k, Learn&& learn,
                         Rank&& rank) {
  const std::vector<std::uint64_t> questions = asked_rows(asked, begin, end);
  Ranking answers(questions.size(), k);
  return answers_of(answers, [&] {
    std::vector<Scored> found;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      learn(begin, questions[i]);
      begin = questions[i];
      rank(begin, found);
      answers.set(i, found);
    }
    learn(begin, end);
  });
}

// (indptr (n + 1,), labels, scores, costs (n, 4)); find_all as above.
template <typename FindAll>
nb::tuple collected_by(std::size_t n, FindAll&& find_all) {
  Costs costs(n);
  auto indptr = make_array<std::int64_t>({n + 1});
  std::vector<std::vector<Scored>> all(n);
  {
    const WithoutGil without_gil;
    const auto take = [&](std::size_t row, const SearchStats& stats, const std::vector<Scored>& found) {
      all[row] = found;
      costs.set(row, stats);
    };
    find_all(take);
  }
  indptr.data()[0] = 0;
  for (std::size_t i = 0; i < n; ++i)
    indptr.data()[i + 1] = indptr.data()[i] + static_cast<std::int64_t>(all[i].size());
  const auto total = static_cast<std::size_t>(indptr.data()[n]);
  auto labels = make_array<LabelId>({total});
  auto scores = make_array<float>({total});
  std::size_t at = 0;
  for (const auto& row : all) {
    for (const Scored& one : row) {
      labels.data()[at] = one.label;
      scores.data()[at++] = one.probability;
    }
  }
  return nb::make_tuple(indptr, labels, scores, costs.rows());
}

// --- methods of all engines: their parameters are those that models/engine/_learned.py lists -------------------------

template <typename Engine, typename TopK, typename AboveThreshold>
void bind_queries(nb::class_<Held<Engine>>& engine, TopK top_k, AboveThreshold above_threshold) {
  engine
      .def("top_k", top_k, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
           nb::arg("k"), nb::arg("beam_width"), nb::arg("allowed").none(), nb::arg("threads"),
           nb::arg("least") = nb::none())
      .def("above_threshold", above_threshold, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(),
           nb::arg("values").noconvert(), nb::arg("scope"), nb::arg("threads"));
}

template <typename Engine, typename Explain>
void bind_explain(nb::class_<Held<Engine>>& engine, Explain explain) {
  engine.def("explain", explain, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(),
             nb::arg("values").noconvert(), nb::arg("label"));
}

template <typename Engine, typename Learn>
void bind_learn(nb::class_<Held<Engine>>& engine, Learn learn) {
  engine.def("learn", learn, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
             nb::arg("label_indptr").noconvert(), nb::arg("labels").noconvert(), nb::arg("begin"), nb::arg("end"),
             nb::arg("threads"), nb::arg("weights").none() = nb::none(), nb::arg("asked").none() = nb::none(),
             nb::arg("k") = 0);
}

}  // namespace labelgrove::bindings
