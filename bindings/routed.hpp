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
void learn_routed(Tree& tree, const LearnCall& call) {
  const TakenExamples& given = call.examples;
  constexpr bool kOneLabel = requires(const Features& x, LabelId label) { tree.learn(x, label); };
  if constexpr (kOneLabel) given.labels.require_one();
  const auto teach = [&](std::size_t from, std::size_t to) {
    for (std::size_t row = from; row < to; ++row) {
      if constexpr (kOneLabel) tree.learn(given.rows[row], given.labels[row].front(), given.weights[row]);
      else tree.learn(given.rows[row], given.labels[row], given.weights[row]);
    }
  };
  std::vector<float> values;
  const auto rank = [&](std::size_t row, std::vector<Scored>& found) {
    const LabelScope scope(tree.known());
    const Features x = tree.options().normalize ? of_unit_length(given.rows[row], values) : given.rows[row];
    Searcher(tree, scope, tree.options().leaves).top_k(x, call.k, found);
  };
  call.learn_and_rank(teach, rank);
}

// The path of the row (see Route), and whether each node is a right child.
template <typename Tree>
Route add_route(const Tree& tree, const Features& x, nb::dict& out) {
  Route route = explain_route(tree, x);
  std::vector<std::uint8_t> right;
  for (const NodeId v : route.nodes) {
    const NodeId parent = tree.nodes()[v].parent;
    right.push_back(parent != kNone && tree.nodes()[parent].right == v ? 1 : 0);
  }
  out["node"] = to_array(route.nodes);
  out["right"] = to_array(right);
  add_terms(out, x, route.bias, route.contributions);
  return route;
}

template <typename Searcher, typename Tree, typename OptionsFrom, typename Explain>
void bind_routed(nb::class_<Held<Tree>>& engine, OptionsFrom options_from, Explain explain) {
  const auto find_all = [](const Tree& tree, const Rows& rows, const LabelScope& scope, std::size_t beam_width,
                           unsigned threads, auto&& find, auto&& take) {
    const std::size_t leaves = beam_width > 0 ? beam_width : tree.options().leaves;
    const auto make = [&] { return std::pair(Searcher(tree, scope, leaves), std::vector<Scored>()); };
    const auto body = [&](auto& worker, std::size_t row, const Features& x) {
      auto& [searcher, found] = worker;
      find(searcher, x, found);
      take(row, searcher.stats(), found);
    };
    for_each_row(rows, tree.options().normalize, threads, make, body);
  };
  bind_archive(engine, options_from);
  bind_known_labels(engine, find_all);
  bind_init(engine, options_from);
  bind_learn(engine, &learn_routed<Tree, Searcher>);
  bind_explain(engine, explain);
}

}  // namespace labelgrove::bindings
