// Prediction by engines that consist of one or several label trees with a block for each node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/grove_search.hpp"
#include "labelgrove/parallel.hpp"
#include "labelgrove/search.hpp"
#include "predictions.hpp"
#include "rows.hpp"
#include "scopes.hpp"

namespace labelgrove::bindings {

// The number of rows searched together: enough to share the weights that they read, few enough for their partial
// results to stay in the cache. Searches of several trees have larger partial results.
inline constexpr std::size_t kRowsOfTree = 256;
inline constexpr std::size_t kRowsOfGrove = 16;

// Searches an engine's trees for many rows.
template <typename Engine>
class Searching {
 public:
  Searching(const Engine& engine, const GroveScope& scope)
      : engine_(engine), views_(views_of(engine)), normalize_(engine.options().normalize), scope_(scope) {
    require_fit(scope.fits(views_));
  }

  // Calls take(row, stats, found) for every row, whose query is query_of(row).
  template <typename QueryOf, typename Take>
  void run(const Rows& rows, QueryOf&& query_of, unsigned threads, Take&& take) const {
    const auto one = [&] { return Searcher(views_.front(), scope_.of_tree(0)); };
    const auto several = [&] { return GroveSearcher(views_, scope_); };
    if (views_.size() == 1) together(rows, query_of, threads, kRowsOfTree, one, take);
    else together(rows, query_of, threads, kRowsOfGrove, several, take);
  }

 private:
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
  const GroveScope& scope_;
};

template <typename Engine>
GroveScope scope_of(const Held<Engine>& model, const nb::object& allowed) {
  const std::vector<TreeView> views = views_of(model.whole());
  return allowed.is_none() ? GroveScope(views) : GroveScope(views, view(nb::cast<In<LabelId>>(allowed)));
}

// With `least`, a matrix with a row for each example, or one for all, labels less probable than the entry of their place
// may be left out.
template <typename Engine>
nb::tuple top_k(const Held<Engine>& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                const In<float>& values, std::size_t k, std::size_t beam_width, const nb::object& allowed,
                unsigned threads, const nb::object& least) {
  const Rows rows(indptr, ids, values);
  const GroveScope scope = scope_of(model, allowed);
  const Searching<Engine> searching(model.whole(), scope);
  const auto by_place = least.is_none() ? InMatrix<float>() : nb::cast<InMatrix<float>>(least);
  const std::size_t n_least = by_place.is_valid() ? by_place.shape(0) : 1;
  if (n_least != 1 && n_least != rows.size()) throw std::invalid_argument("expected `least` of one row or of all");
  const auto query_of = [&](std::size_t row) {
    Query query{beam_width > 0 ? Query::Kind::beam : Query::Kind::top_k, k, beam_width};
    if (beam_width == 0 && by_place.is_valid()) {
      const std::size_t places = by_place.shape(1);
      query.least = {by_place.data() + (n_least == 1 ? 0 : row * places), places};
    }
    return query;
  };
  return ranked_by(rows.size(), k, [&](auto&& take) { searching.run(rows, query_of, threads, take); });
}

template <typename Engine>
nb::tuple above_threshold(const Held<Engine>& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                          const In<float>& values, const GroveScope& scope, unsigned threads) {
  const Rows rows(indptr, ids, values);
  const Searching<Engine> searching(model.whole(), scope);
  const auto query_of = [](std::size_t) { return Query{Query::Kind::above_threshold}; };
  return collected_by(rows.size(), [&](auto&& take) { searching.run(rows, query_of, threads, take); });
}

}  // namespace labelgrove::bindings
