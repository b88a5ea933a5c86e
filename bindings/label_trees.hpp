// What all engines have in common that consist of one or several label trees with a block for each node.
#pragma once

#include <cstdint>

#include "arrays.hpp"
#include "explanations.hpp"
#include "held.hpp"
#include "label_tree_search.hpp"
#include "labelgrove/compact_plt.hpp"
#include "model_archive.hpp"
#include "predictions.hpp"
#include "tree_arrays.hpp"

namespace labelgrove::bindings {

// Adds search and explanations, the properties of the trees and their labels, `compact_threshold`, and `compact`, which
// returns what CompactPlt.load or the engine's own compact class loads.
template <typename Engine>
void bind_label_trees(nb::class_<Held<Engine>>& engine) {
  using Model = Held<Engine>;
  bind_search(engine, &scope_of<Engine>, &top_k<Engine>, &above_threshold<Engine>);
  bind_explanations(engine);
  engine.def("tree", [](const Model& self) { return tree_arrays(self.whole().tree()); })
      .def("labels", [](const Model& self) { return labels_of(self.whole().tree()); })
      .def_prop_ro("label_count", [](const Model& self) { return self.engine.tree().label_count(); })
      .def(
          "compact",
          [](const Model& self, std::uint8_t dtype, float threshold) {
            const Compaction how{static_cast<WeightType>(dtype), threshold};
            const Engine& whole = self.whole();
            return saved_by([&](ArrayWriter& out) {
              if constexpr (requires { whole.write_compact(how, out); }) whole.write_compact(how, out);
              else write_compact(views_of(whole), whole.examples_seen(), how, out);
            });
          },
          nb::arg("dtype"), nb::arg("threshold"))
      .def(
          "compact_threshold",
          [](const Model& self, std::uint8_t dtype, std::uint64_t most_bytes, unsigned threads) {
            const auto type = static_cast<WeightType>(dtype);
            const Engine& whole = self.whole();
            const WithoutGil without_gil;
            if constexpr (requires { whole.threshold_for(type, most_bytes); }) {
              return whole.threshold_for(type, most_bytes);
            } else {
              return threshold_for(views_of(whole), type, most_bytes, threads);
            }
          },
          nb::arg("dtype"), nb::arg("most_bytes"), nb::arg("threads"),
          "The smallest threshold at which the weights that may be dropped take at most `most_bytes`; infinity if none "
          "may stay.");
}

}  // namespace labelgrove::bindings
