#include <stdexcept>

#include "arrays.hpp"
#include "held.hpp"
#include "label_trees.hpp"
#include "labelgrove/compact_plt.hpp"
#include "model_archive.hpp"
#include "register.hpp"

namespace labelgrove::bindings {

void register_compact_plt(nb::module_& module) {
  using Model = Held<CompactPlt>;
  nb::class_<Model> engine(module, "CompactPlt", "Compact label trees; see core/include/labelgrove/compact_plt.hpp.");
  bind_label_trees(engine);
  bind_archive(engine, [](const nb::dict& options) { return nb::cast<bool>(options["normalize"]); });
  engine
      .def(
          "weights_of",
          [](const Model& self, NodeId node) {
            if (node >= self.engine.tree().size() || self.engine.blocks()[node] == nullptr) {
              throw std::invalid_argument("there is no such inner node");
            }
            const LinearBlock block = self.engine.blocks()[node]->linear();
            return nb::make_tuple(to_array(block.features), to_array(block.weights));
          },
          nb::arg("node"),
          "The features of an inner node of the first tree, and its (features + 1, children) weights as a flat array, "
          "the bias first.")
      .def_prop_ro("n_trees", [](const Model& self) { return self.engine.trees().size(); })
      .def_prop_ro("link_is_measured", [](const Model& self) { return self.engine.link_is_measured(); });
}

}  // namespace labelgrove::bindings
