// The results of all engines for many rows: arrays of fixed shape, or a CSR triple.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>
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

// The costs of searches (n, 4): classifiers, depth, blocks and bytes. They share a single array, since creating one is
// a large part of a call for one row.
using Costs = nb::ndarray<std::uint64_t, nb::numpy>;

inline void set_cost(Costs& costs, std::size_t row, const SearchStats& stats) {
  const std::uint64_t cost[] = {stats.classifiers, stats.depth, stats.blocks, stats.bytes};
  std::ranges::copy(cost, costs.data() + 4 * row);
}

// The best labels of rows and their scores, (n, k) each; missing entries are kNone and NaN.
struct Ranking {
  Ranking(std::size_t n, std::size_t k) : labels(make_array<LabelId>({n, k})), scores(make_array<float>({n, k})) {
    std::fill_n(labels.data(), labels.size(), kNone);
    std::fill_n(scores.data(), scores.size(), std::numeric_limits<float>::quiet_NaN());
  }

  // `found` is sorted, best first.
  void set(std::size_t row, std::span<const Scored> found) {
    const std::size_t k = labels.shape(1);
    for (std::size_t i = 0; i < std::min(k, found.size()); ++i) {
      labels.data()[row * k + i] = found[i].label;
      scores.data()[row * k + i] = found[i].probability;
    }
  }

  nb::ndarray<LabelId, nb::numpy> labels;
  nb::ndarray<float, nb::numpy> scores;
};

// (labels (n, k), scores (n, k), costs (n, 4)). find_all(take) calls take(row, stats, found) for every row, in any
// order and from any thread.
template <typename FindAll>
nb::tuple ranked_by(std::size_t n, std::size_t k, FindAll&& find_all) {
  Ranking ranking(n, k);
  Costs costs = make_array<std::uint64_t>({n, 4});
  {
    const WithoutGil without_gil;
    const auto take = [&](std::size_t row, const SearchStats& stats, const std::vector<Scored>& found) {
      ranking.set(row, found);
      set_cost(costs, row, stats);
    };
    find_all(take);
  }
  return nb::make_tuple(ranking.labels, ranking.scores, costs);
}

// (indptr (n + 1,), labels, scores, costs (n, 4)); find_all as above.
template <typename FindAll>
nb::tuple collected_by(std::size_t n, FindAll&& find_all) {
  Costs costs = make_array<std::uint64_t>({n, 4});
  auto indptr = make_array<std::int64_t>({n + 1});
  std::vector<std::vector<Scored>> all(n);
  {
    const WithoutGil without_gil;
    const auto take = [&](std::size_t row, const SearchStats& stats, const std::vector<Scored>& found) {
      all[row] = found;
      set_cost(costs, row, stats);
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
  return nb::make_tuple(indptr, labels, scores, costs);
}

// --- methods of all engines: their parameters are those that models/engine/_learned.py lists -------------------------

// Adds `scope`, `top_k` and `above_threshold`, and what else is the same for all. scope_of(engine, allowed) makes a
// scope without thresholds; top_k(engine, rows, scope, k, beam_width, threads, least) and
// above_threshold(engine, rows, scope, threads) return what Python gets.
template <typename Engine, typename ScopeOf, typename TopK, typename AboveThreshold>
void bind_search(nb::class_<Held<Engine>>& engine, ScopeOf scope_of, TopK top_k, AboveThreshold above_threshold) {
  using Model = Held<Engine>;
  using Scope = std::invoke_result_t<ScopeOf, const Engine&, const nb::object&>;
  engine
      .def(
          "scope",
          [scope_of](const Model& self, const In<float>& thresholds, const nb::object& allowed) {
            if (thresholds.size() == 0) throw std::invalid_argument("expected one threshold, or one for each label");
            Scope scope = scope_of(self.whole(), allowed);
            scope.set_thresholds(view(thresholds));
            return scope;
          },
          nb::keep_alive<0, 1>(), nb::arg("thresholds"), nb::arg("allowed").none() = nb::none())
      .def(
          "top_k",
          [scope_of, top_k](const Model& self, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                            const In<float>& values, std::size_t k, std::size_t beam_width, const nb::object& allowed,
                            unsigned threads, const nb::object& least) {
            const Engine& whole = self.whole();
            const Rows rows(indptr, ids, values);
            return top_k(whole, rows, scope_of(whole, allowed), k, beam_width, threads, least);
          },
          nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("k"), nb::arg("beam_width"),
          nb::arg("allowed").none(), nb::arg("threads"), nb::arg("least") = nb::none())
      .def(
          "above_threshold",
          [above_threshold](const Model& self, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                            const In<float>& values, const Scope& scope, unsigned threads) {
            return above_threshold(self.whole(), Rows(indptr, ids, values), scope, threads);
          },
          nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("scope"), nb::arg("threads"))
      .def(
          "remove_labels", [](Model& self, const In<LabelId>& labels) { self.whole().remove_labels(view(labels)); },
          nb::arg("labels"))
      .def_prop_ro("examples_seen", [](const Model& self) { return self.engine.examples_seen(); })
      .def_prop_ro("can_learn", [](const Model& self) { return self.engine.can_learn(); });
}

// Adds `explain`: explain(engine, x, label, out) adds to the values of the single row, as the classifiers see them.
template <typename Engine, typename Explain>
void bind_explain(nb::class_<Held<Engine>>& engine, Explain explain) {
  engine.def(
      "explain",
      [explain](const Held<Engine>& self, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                const In<float>& values, LabelId label) {
        const Engine& whole = self.whole();
        const Rows rows(indptr, ids, values);
        TakenRow taken;
        if (rows.size() != 1) throw std::invalid_argument("expected one row to explain");
        const Features x = rows.as_learnt(0, whole.options().normalize, taken);
        nb::dict out;
        out["value"] = to_array(std::span<const float>(x.values, x.size));
        explain(whole, x, label, out);
        return out;
      },
      nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("label"));
}

// Adds the terms of linear scores of x: the bias of each, and a row with the contribution of every feature.
inline void add_terms(nb::dict& out, const Features& x, const std::vector<float>& bias,
                      const std::vector<float>& contributions) {
  auto rows = make_array<float>({bias.size(), x.size});
  std::ranges::copy(contributions, rows.data());
  out["bias"] = to_array(bias);
  out["contributions"] = rows;
}

// The examples [begin, end) of a call, and the best labels of the rows `asked`, each just before it is learnt.
struct LearnCall {
  const TakenExamples& examples;
  std::size_t begin;
  std::size_t end;
  unsigned threads;
  std::span<const std::uint64_t> asked;
  std::size_t k;
  Ranking& answers;

  // learn(from, to) learns a part of the rows; rank(row, found) finds the best labels of a row.
  template <typename Learn, typename Rank>
  void learn_and_rank(Learn&& learn, Rank&& rank) const {
    std::vector<Scored> found;
    std::size_t at = begin;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      learn(at, asked[i]);
      at = asked[i];
      rank(at, found);
      answers.set(i, found);
    }
    learn(at, end);
  }
};

// Adds `learn`, which returns the answers (labels, scores): learn(engine, call) is called without the GIL. If it
// refuses an example, those before it are learnt, so Python's BudgetExceeded has their answers after its message.
template <typename Engine, typename Learn>
void bind_learn(nb::class_<Held<Engine>>& engine, Learn learn) {
  engine.def(
      "learn",
      [learn](Held<Engine>& self, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
              const In<std::int64_t>& label_indptr, const In<LabelId>& labels, std::size_t begin, std::size_t end,
              unsigned threads, const nb::object& weights, const nb::object& asked, std::size_t k) {
        const TakenExamples given(indptr, ids, values, label_indptr, labels, weights, begin, end);
        Engine& whole = self.whole();
        if (!whole.can_learn()) throw std::runtime_error("this model was loaded for prediction only");
        const std::vector<std::uint64_t> questions = asked_rows(asked, begin, end);
        Ranking answers(questions.size(), k);
        try {
          const WithoutGil without_gil;
          learn(whole, LearnCall{given, begin, end, threads, questions, k, answers});
        } catch (const BudgetExceeded& refused) {
          const nb::object type = nb::module_::import_("labelgrove._core").attr("BudgetExceeded");
          const nb::tuple args = nb::make_tuple(refused.what(), answers.labels, answers.scores);
          PyErr_SetObject(type.ptr(), args.ptr());
          throw nb::python_error();
        }
        return nb::make_tuple(answers.labels, answers.scores);
      },
      nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("label_indptr"), nb::arg("labels"),
      nb::arg("begin"), nb::arg("end"), nb::arg("threads"), nb::arg("weights").none() = nb::none(),
      nb::arg("asked").none() = nb::none(), nb::arg("k") = 0);
}

}  // namespace labelgrove::bindings
