// Prediction by engines that consist of one or several label trees with a block for each node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/grove_search.hpp"
#include "labelgrove/parallel.hpp"
#include "labelgrove/search.hpp"
#include "predictions.hpp"
#include "rows.hpp"
#include "tree_arrays.hpp"

namespace labelgrove::bindings {

// The number of rows searched together: enough to share the weights that they read, few enough for their partial
// results to stay in the cache. Searches of several trees have larger partial results.
inline constexpr std::size_t kRowsOfTree = 256;
inline constexpr std::size_t kRowsOfGrove = 16;

// Searches an engine's trees for many rows.
template <typename Engine>
class Searching {
 public:
  Searching(const Engine& engine, const nb::object& allowed)
      : engine_(engine),
        views_(views_of(engine)),
        normalize_(engine.options().normalize),
        own_(make_scope(views_, allowed)),
        scope_(&*own_) {}
  // Uses a scope that was prepared for this engine.
  Searching(const Engine& engine, const GroveScope& scope)
      : engine_(engine), views_(views_of(engine)), normalize_(engine.options().normalize), scope_(&scope) {
    if (!scope.fits(views_))
      throw std::invalid_argument("the thresholds were prepared for another model, or the model has grown since");
  }
  Searching(const Searching&) = delete;
  Searching& operator=(const Searching&) = delete;

  void set_thresholds(std::span<const float> by_label) { own_->set_thresholds(by_label); }

  // Calls take(row, stats, found) for every row, whose query is query_of(row).
  template <typename QueryOf, typename Take>
  void run(const Rows& rows, QueryOf&& query_of, unsigned threads, Take&& take) const {
    const auto one = [&] { return Searcher(views_.front(), scope_->of_tree(0)); };
    const auto several = [&] { return GroveSearcher(views_, *scope_); };
    if (views_.size() == 1) together(rows, query_of, threads, kRowsOfTree, one, take);
    else together(rows, query_of, threads, kRowsOfGrove, several, take);
  }

 private:
  static GroveScope make_scope(std::span<const TreeView> views, const nb::object& allowed) {
    if (allowed.is_none()) return GroveScope(views);
    return GroveScope(views, view(nb::cast<In<LabelId>>(allowed)));
  }

  template <typename QueryOf, typename Make, typename Take>
  void together(const Rows& rows, QueryOf&& query_of, unsigned threads, std::size_t most, Make&& make,
                Take&& take) const {
    const std::size_t size = std::clamp<std::size_t>(rows.size() / std::max(threads, 1U), 1, most);
    parallel_for((rows.size() + size - 1) / size, threads, make, [&](auto& searcher, std::size_t task) {
      const std::size_t first = task * size;
      const std::size_t n = std::min(size, rows.size() - first);
      std::vector<TakenRow> taken(n);
      std::vector<Features> examples(n);
      std::vector<std::vector<float>> made(n);
      Workspace work;
      for (std::size_t i = 0; i < n; ++i) {
        examples[i] = as_searched(engine_, rows.as_learnt(first + i, normalize_, taken[i]), work, made[i]);
      }
      const auto of_example = [&](std::size_t i) { return query_of(first + i); };
      const auto searches = searcher.find_together(of_example, examples);
      for (std::size_t i = 0; i < n; ++i) take(first + i, searches[i].stats(), searches[i].found());
    });
  }

  const Engine& engine_;
  std::vector<TreeView> views_;
  bool normalize_;
  std::optional<GroveScope> own_;
  const GroveScope* scope_;
};

inline Query above_thresholds(std::size_t /*row*/) { return {Query::Kind::above_threshold}; }

// With `least`, labels of a row that are less probable than its entry may be left out.
template <typename Engine>
nb::tuple top_k(const Held<Engine>& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                const In<float>& values, std::size_t k, std::size_t beam_width, const nb::object& allowed,
                unsigned threads, const nb::object& least) {
  const Rows rows(indptr, ids, values);
  const Searching<Engine> searching(model.whole(), allowed);
  const auto of_row = least.is_none() ? In<float>() : nb::cast<In<float>>(least);
  if (!least.is_none() && of_row.size() != rows.size()) throw std::invalid_argument("expected `least` of every row");
  const auto query_of = [&](std::size_t row) {
    Query query{beam_width > 0 ? Query::Kind::beam : Query::Kind::top_k, k, beam_width};
    if (beam_width == 0 && of_row.is_valid()) query.least = of_row.data()[row];
    return query;
  };
  return ranked_by(rows.size(), k, [&](auto&& take) { searching.run(rows, query_of, threads, take); });
}

template <typename Engine>
nb::tuple above_threshold(const Held<Engine>& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                          const In<float>& values, const In<float>& thresholds, const nb::object& allowed,
                          unsigned threads) {
  const Rows rows(indptr, ids, values);
  Searching<Engine> searching(model.whole(), allowed);
  searching.set_thresholds(view(thresholds));
  return collected_by(rows.size(), [&](auto&& take) { searching.run(rows, above_thresholds, threads, take); });
}

// Thresholds and what a search derives from them, prepared once for many calls.
struct PreparedThresholds {
  GroveScope scope;
};

template <typename Engine>
PreparedThresholds prepare_thresholds(const Held<Engine>& model, const In<float>& thresholds) {
  PreparedThresholds prepared{GroveScope(views_of(model.whole()))};
  prepared.scope.set_thresholds(view(thresholds));
  return prepared;
}

template <typename Engine>
nb::tuple above_prepared(const Held<Engine>& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                         const In<float>& values, const PreparedThresholds& thresholds, unsigned threads) {
  const Rows rows(indptr, ids, values);
  const Searching<Engine> searching(model.whole(), thresholds.scope);
  return collected_by(rows.size(), [&](auto&& take) { searching.run(rows, above_thresholds, threads, take); });
}

// Adds `top_k` and `above_threshold`, the latter also with thresholds from `prepare_thresholds`.
template <typename Engine>
void bind_search(nb::class_<Held<Engine>>& engine) {
  engine
      .def("top_k", &top_k<Engine>, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(),
           nb::arg("values").noconvert(), nb::arg("k"), nb::arg("beam_width"), nb::arg("allowed").none(),
           nb::arg("threads"), nb::arg("least") = nb::none())
      .def("above_threshold", &above_threshold<Engine>, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(),
           nb::arg("values").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("allowed").none(),
           nb::arg("threads"))
      .def("prepare_thresholds", &prepare_thresholds<Engine>, nb::keep_alive<0, 1>(), nb::arg("thresholds").noconvert())
      .def("above_prepared", &above_prepared<Engine>, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(),
           nb::arg("values").noconvert(), nb::arg("thresholds"), nb::arg("threads"));
}

// Adds the properties of the tree and its labels.
template <typename Engine>
void bind_label_tree(nb::class_<Held<Engine>>& engine) {
  using Model = Held<Engine>;
  engine
      .def(
          "remove_labels", [](Model& self, const In<LabelId>& labels) { self.whole().remove_labels(view(labels)); },
          nb::arg("labels").noconvert())
      .def("tree", [](const Model& self) { return tree_arrays(self.whole().tree()); })
      .def("labels", [](const Model& self) { return labels_of(self.whole().tree()); })
      .def_prop_ro("examples_seen", [](const Model& self) { return self.engine.examples_seen(); })
      .def_prop_ro("label_count", [](const Model& self) { return self.engine.tree().label_count(); });
}

}  // namespace labelgrove::bindings
