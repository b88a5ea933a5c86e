// The Python interface of trees that route examples to leaves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/known_labels.hpp"
#include "labelgrove/routers.hpp"
#include "model_archive.hpp"
#include "predictions.hpp"
#include "rows.hpp"
#include "scopes.hpp"

namespace labelgrove::bindings {

template <typename Tree, typename Searcher>
struct Routed {
  using Model = Held<Tree>;
  static constexpr bool kOneLabel = requires(Tree& tree, const Features& x, LabelId label) { tree.learn(x, label); };

  // Returns the `k` best labels of the rows `asked`, each predicted just before it is learnt; see Ranking.
  static nb::tuple learn(Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                         const In<float>& values, const In<std::int64_t>& label_indptr, const In<LabelId>& labels,
                         std::size_t begin, std::size_t end, unsigned, const nb::object& weights,
                         const nb::object& asked, std::size_t k) {
    const TakenExamples given(indptr, ids, values, label_indptr, labels, weights, begin, end);
    Tree& tree = model.whole();
    if constexpr (kOneLabel) given.labels.require_one();
    if (!tree.can_learn()) throw std::runtime_error("this model was loaded for prediction only");
    const auto teach = [&](std::size_t from, std::size_t to) {
      for (std::size_t row = from; row < to; ++row) {
        if constexpr (kOneLabel) tree.learn(given.rows[row], given.labels[row].front(), given.weights[row]);
        else tree.learn(given.rows[row], given.labels[row], given.weights[row]);
      }
    };
    std::vector<float> values_of_row;
    const auto rank = [&](std::size_t row, std::vector<Scored>& found) {
      const LabelScope scope(tree.known());
      const Features x = tree.options().normalize ? of_unit_length(given.rows[row], values_of_row) : given.rows[row];
      Searcher(tree, scope, tree.options().leaves).top_k(x, k, found);
    };
    return learn_and_rank(begin, end, asked, k, teach, rank);
  }

  static nb::tuple top_k(const Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                         const In<float>& values, std::size_t k, std::size_t beam_width, const nb::object& allowed,
                         unsigned threads, const nb::object& /*least*/) {
    const LabelScope scope = label_scope_of(model, allowed);
    const Rows rows(indptr, ids, values);
    const std::size_t leaves = beam_width > 0 ? beam_width : model.engine.options().leaves;
    const auto find = [k](Searcher& searcher, const Features& x, std::vector<Scored>& found) {
      searcher.top_k(x, k, found);
    };
    return ranked_by(rows.size(), k,
                     [&](const auto& take) { find_all(model, rows, scope, leaves, threads, find, take); });
  }

  static nb::tuple above_threshold(const Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                                   const In<float>& values, const LabelScope& scope, unsigned threads) {
    require_fit(scope.fits(model.whole().known()));
    const Rows rows(indptr, ids, values);
    const std::size_t leaves = model.engine.options().leaves;
    const auto find = [](Searcher& searcher, const Features& x, std::vector<Scored>& found) {
      searcher.above_threshold(x, found);
    };
    return collected_by(rows.size(),
                        [&](const auto& take) { find_all(model, rows, scope, leaves, threads, find, take); });
  }

 private:
  // Runs find(searcher, x, found) for all rows, and then take(row, stats, found).
  template <typename Find, typename Take>
  static void find_all(const Model& model, const Rows& rows, const LabelScope& scope, std::size_t leaves,
                       unsigned threads, Find&& find, Take&& take) {
    const auto make = [&] { return std::pair(Searcher(model.engine, scope, leaves), std::vector<Scored>()); };
    const auto body = [&](auto& worker, std::size_t row, const Features& x) {
      auto& [searcher, found] = worker;
      find(searcher, x, found);
      take(row, searcher.stats(), found);
    };
    for_each_row(rows, model.engine.options().normalize, threads, make, body);
  }
};

// The path of the single row (see Route): its values, the nodes, and whether each is a right child; add(out, route, x)
// adds more.
template <typename Tree, typename Add>
nb::dict explained_route(const Held<Tree>& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                         const In<float>& values, Add&& add) {
  TakenRow taken;
  const Rows rows(indptr, ids, values);
  const Features x = rows.only_as_learnt(model.whole().options().normalize, taken);
  const Route route = explain_route(model.engine, x);
  auto contributions = make_array<float>({route.bias.size(), x.size});
  std::ranges::copy(route.contributions, contributions.data());
  std::vector<std::uint8_t> right;
  for (const NodeId v : route.nodes) {
    const NodeId parent = model.engine.nodes()[v].parent;
    right.push_back(parent != kNone && model.engine.nodes()[parent].right == v ? 1 : 0);
  }
  nb::dict out;
  out["value"] = to_array(std::span<const float>(x.values, x.size));
  out["node"] = to_array(route.nodes);
  out["bias"] = to_array(route.bias);
  out["contributions"] = contributions;
  out["right"] = to_array(right);
  add(out, route, x);
  return out;
}

template <typename Tree, typename Searcher, typename OptionsFrom, typename Explain>
void bind_routed(nb::class_<Held<Tree>>& engine, OptionsFrom options_from, Explain explain) {
  using Model = Held<Tree>;
  using Of = Routed<Tree, Searcher>;
  bind_archive(engine, options_from);
  bind_known_labels(engine);
  engine.def(
      "__init__",
      [options_from](Model* self, const nb::dict& options) { new (self) Model(nb::none(), options_from(options)); },
      nb::arg("options"));
  bind_learn(engine, &Of::learn);
  bind_queries(engine, &Of::top_k, &Of::above_threshold);
  bind_explain(engine, explain);
}

}  // namespace labelgrove::bindings
