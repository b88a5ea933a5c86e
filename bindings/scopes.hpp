// The labels that a search of an engine without a label tree may return, and their thresholds.
#pragma once

#include <cstddef>
#include <stdexcept>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/known_labels.hpp"
#include "predictions.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {

inline void require_fit(bool fits) {
  if (!fits) throw std::invalid_argument("the scope was made for another model, or the model has grown since");
}

template <typename Engine>
LabelScope label_scope_of(const Engine& engine, const nb::object& allowed) {
  const KnownLabels& known = engine.known();
  return allowed.is_none() ? LabelScope(known) : LabelScope(known, view(nb::cast<In<LabelId>>(allowed, false)));
}

// Adds searches of such an engine, and what depends only on the labels that it knows. find_all(engine, rows, scope,
// beam_width, threads, find, take) runs find(finder, example, found) and then take(row, stats, found) for every row.
template <typename Engine, typename FindAll>
void bind_known_labels(nb::class_<Held<Engine>>& engine, FindAll find_all) {
  const auto top_k = [find_all](const Engine& whole, const Rows& rows, const LabelScope& scope, std::size_t k,
                                std::size_t beam_width, unsigned threads, const nb::object& /*least*/) {
    const auto find = [k](auto& finder, const auto& example, auto& found) { finder.top_k(example, k, found); };
    const auto find_each = [&](const auto& take) { find_all(whole, rows, scope, beam_width, threads, find, take); };
    return ranked_by(rows.size(), k, find_each);
  };
  const auto above_threshold = [find_all](const Engine& whole, const Rows& rows, const LabelScope& scope,
                                          unsigned threads) {
    require_fit(scope.fits(whole.known()));
    const auto find = [](auto& finder, const auto& example, auto& found) { finder.above_threshold(example, found); };
    return collected_by(rows.size(), [&](const auto& take) { find_all(whole, rows, scope, 0, threads, find, take); });
  };
  bind_search(engine, &label_scope_of<Engine>, top_k, above_threshold);
  engine.def("labels", [](const Held<Engine>& self) { return to_array(self.whole().known().there()); })
      .def_prop_ro("label_count", [](const Held<Engine>& self) { return self.engine.known().count(); });
}

}  // namespace labelgrove::bindings
