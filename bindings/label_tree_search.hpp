// Prediction by engines that are one label tree and a block for each of its nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/search.hpp"
#include "predictions.hpp"
#include "rows.hpp"
#include "tree_arrays.hpp"

namespace labelgrove::bindings {

inline Scope make_scope(const LabelTree& tree, const nb::object& allowed) {
  if (allowed.is_none()) return Scope(tree);
  return Scope(tree, view(nb::cast<In<LabelId>>(allowed)));
}

// How an engine searches: what must not be entered, and a finder of labels for each task of a thread.
template <typename Engine>
struct Searching {
  Searching(const Engine& one, const nb::object& allowed) : engine(one), scope(make_scope(one.tree(), allowed)) {}
  Searcher finder() const { return Searcher(engine.tree(), engine.blocks(), scope); }

  const Engine& engine;
  Scope scope;
};

template <typename Engine>
nb::tuple top_k(const Held<Engine>& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                const In<float>& values, std::size_t k, std::size_t beam_width, const nb::object& allowed,
                unsigned threads) {
  const Engine& engine = model.whole();
  const Searching<Engine> searching(engine, allowed);
  const auto make = [&] { return searching.finder(); };
  const auto find = [&](auto& searcher, const Features& x, std::vector<Scored>& found) {
    if (beam_width > 0) searcher.beam(x, k, beam_width, found);
    else searcher.top_k(x, k, found);
  };
  return ranked(Rows(indptr, ids, values), k, engine.options().normalize, threads, make, find);
}

template <typename Engine>
nb::tuple above_threshold(const Held<Engine>& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                          const In<float>& values, const In<float>& thresholds, const nb::object& allowed,
                          unsigned threads) {
  const Engine& engine = model.whole();
  Searching<Engine> searching(engine, allowed);
  searching.scope.set_thresholds(view(thresholds));
  const auto make = [&] { return searching.finder(); };
  const auto find = [](auto& searcher, const Features& x, std::vector<Scored>& found) {
    searcher.above_threshold(x, found);
  };
  return collected(Rows(indptr, ids, values), engine.options().normalize, threads, make, find);
}

// Adds `top_k` and `above_threshold`.
template <typename Engine>
void bind_search(nb::class_<Held<Engine>>& engine) {
  engine
      .def("top_k", &top_k<Engine>, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(),
           nb::arg("values").noconvert(), nb::arg("k"), nb::arg("beam_width"), nb::arg("allowed").none(),
           nb::arg("threads"))
      .def("above_threshold", &above_threshold<Engine>, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(),
           nb::arg("values").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("allowed").none(),
           nb::arg("threads"));
}

// Adds what is to be known about the tree and its labels.
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
