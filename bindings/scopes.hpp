// The labels that a search may return, and their thresholds, prepared once for many calls.
#pragma once

#include <stdexcept>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/known_labels.hpp"

namespace labelgrove::bindings {

inline void require_fit(bool fits) {
  if (!fits) throw std::invalid_argument("the scope was made for another model, or the model has grown since");
}

// Adds `scope`; scope_of(model, allowed) makes one without thresholds.
template <typename Engine, typename ScopeOf>
void bind_scope(nb::class_<Held<Engine>>& engine, ScopeOf scope_of) {
  engine.def(
      "scope",
      [scope_of](const Held<Engine>& self, const In<float>& thresholds, const nb::object& allowed) {
        if (thresholds.size() == 0) throw std::invalid_argument("expected one threshold, or one for each label");
        auto scope = scope_of(self, allowed);
        scope.set_thresholds(view(thresholds));
        return scope;
      },
      nb::keep_alive<0, 1>(), nb::arg("thresholds").noconvert(), nb::arg("allowed").none() = nb::none());
}

// For engines without a label tree.
template <typename Engine>
LabelScope label_scope_of(const Held<Engine>& model, const nb::object& allowed) {
  const KnownLabels& known = model.whole().known();
  return allowed.is_none() ? LabelScope(known) : LabelScope(known, view(nb::cast<In<LabelId>>(allowed, false)));
}

// Adds `scope` and what else depends only on the labels that such an engine knows.
template <typename Engine>
void bind_known_labels(nb::class_<Held<Engine>>& engine) {
  using Model = Held<Engine>;
  bind_scope(engine, &label_scope_of<Engine>);
  engine
      .def(
          "remove_labels", [](Model& self, const In<LabelId>& labels) { self.whole().remove_labels(view(labels)); },
          nb::arg("labels").noconvert())
      .def("labels", [](const Model& self) { return to_array(self.whole().known().there()); })
      .def_prop_ro("examples_seen", [](const Model& self) { return self.engine.examples_seen(); })
      .def_prop_ro("label_count", [](const Model& self) { return self.engine.known().count(); })
      .def_prop_ro("can_learn", [](const Model& self) { return self.engine.can_learn(); });
}

}  // namespace labelgrove::bindings
