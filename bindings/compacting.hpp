// Compact copies of engines that are label trees with a block for each node.
#pragma once

#include <cstdint>

#include "arrays.hpp"
#include "dict_archive.hpp"
#include "held.hpp"
#include "label_tree_search.hpp"
#include "labelgrove/compact_plt.hpp"

namespace labelgrove::bindings {

// Adds `compact`, what CompactPlt.load takes, and `compact_threshold`.
template <typename Engine>
void bind_compacting(nb::class_<Held<Engine>>& engine) {
  using Model = Held<Engine>;
  engine
      .def(
          "compact",
          [](const Model& self, std::uint8_t dtype, float threshold) {
            nb::dict out;
            DictWriter writer(out);
            write_compact(views_of(self.whole()), self.engine.examples_seen(),
                          {static_cast<WeightType>(dtype), threshold}, writer);
            return out;
          },
          nb::arg("dtype"), nb::arg("threshold"))
      .def(
          "compact_threshold",
          [](const Model& self, std::uint8_t dtype, std::uint64_t most_bytes, unsigned threads) {
            const auto views = views_of(self.whole());
            const WithoutGil without_gil;
            return threshold_for(views, static_cast<WeightType>(dtype), most_bytes, threads);
          },
          nb::arg("dtype"), nb::arg("most_bytes"), nb::arg("threads"),
          "The least threshold with which the blocks take at most so many bytes; infinity where none does.");
}

}  // namespace labelgrove::bindings
