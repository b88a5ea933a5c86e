// Prediction by engines that consist of one or several label trees with a block for each node.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "labelgrove/grove_search.hpp"
#include "labelgrove/search.hpp"
#include "predictions.hpp"
#include "rows.hpp"
#include "scopes.hpp"

namespace labelgrove::bindings {

// The number of rows searched together: enough to share the weights that they read, few enough for their partial
// results to stay in the cache. Searches of several trees have larger partial results.
inline constexpr std::size_t kRowsOfTree = 256;
inline constexpr std::size_t kRowsOfGrove = 16;

// Calls take(row, stats, found) for every row, whose query is query_of(row).
template <typename Engine, typename QueryOf, typename Take>
void find_together(const Engine& engine, const GroveScope& scope, const Rows& rows, QueryOf&& query_of,
                   unsigned threads, Take&& take) {
  const std::vector<TreeView> views = views_of(engine);
  require_fit(scope.fits(views));
  const auto body = [&](auto& searcher, std::size_t begin, std::span<Features> batch) {
    std::vector<std::vector<float>> made(batch.size());
    Workspace work;
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i] = as_searched(engine, batch[i], work, made[i]);
    const auto searches = searcher.find_together([&](std::size_t i) { return query_of(begin + i); }, batch);
    for (std::size_t i = 0; i < batch.size(); ++i) take(begin + i, searches[i].stats(), searches[i].found());
  };
  const auto one = [&] { return Searcher(views.front(), scope.of_tree(0)); };
  const auto several = [&] { return GroveSearcher(views, scope); };
  const bool normalize = engine.options().normalize;
  if (views.size() == 1) for_each_batch(rows, normalize, kRowsOfTree, threads, one, body);
  else for_each_batch(rows, normalize, kRowsOfGrove, threads, several, body);
}

template <typename Engine>
GroveScope scope_of(const Engine& engine, const nb::object& allowed) {
  const std::vector<TreeView> views = views_of(engine);
  return allowed.is_none() ? GroveScope(views) : GroveScope(views, view(nb::cast<In<LabelId>>(allowed, false)));
}

// With `least`, a matrix with a row for each example, or one for all, labels less probable than the entry of their place
// may be left out.
template <typename Engine>
nb::tuple top_k(const Engine& engine, const Rows& rows, const GroveScope& scope, std::size_t k, std::size_t beam_width,
                unsigned threads, const nb::object& least) {
  const auto by_place = least.is_none() ? InMatrix<float>() : nb::cast<InMatrix<float>>(least, false);
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
  return ranked_by(rows.size(), k, [&](auto&& take) { find_together(engine, scope, rows, query_of, threads, take); });
}

template <typename Engine>
nb::tuple above_threshold(const Engine& engine, const Rows& rows, const GroveScope& scope, unsigned threads) {
  const auto query_of = [](std::size_t) { return Query{Query::Kind::above_threshold}; };
  return collected_by(rows.size(), [&](auto&& take) { find_together(engine, scope, rows, query_of, threads, take); });
}

}  // namespace labelgrove::bindings
