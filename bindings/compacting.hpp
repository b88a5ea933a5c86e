// Compact copies of engines that are label trees with a block for each node.
#pragma once

#include <cstdint>

#include "arrays.hpp"
#include "held.hpp"
#include "label_tree_search.hpp"
#include "labelgrove/compact_plt.hpp"
#include "model_archive.hpp"

namespace labelgrove::bindings {

// Adds `compact`, which returns what CompactPlt.load or the engine's own compact class loads, and `compact_threshold`.
template <typename Engine>
void bind_compacting(nb::class_<Held<Engine>>& engine) {
  using Model = Held<Engine>;
  engine
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
