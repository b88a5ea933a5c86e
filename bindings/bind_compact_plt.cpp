#include <memory>

#include "arrays.hpp"
#include "compacting.hpp"
#include "dict_archive.hpp"
#include "explanations.hpp"
#include "held.hpp"
#include "label_tree_search.hpp"
#include "labelgrove/compact_plt.hpp"
#include "register.hpp"

namespace labelgrove::bindings {

void register_compact_plt(nb::module_& module) {
  using Model = Held<CompactPlt>;
  nb::class_<Model> engine(module, "CompactPlt",
                           "Label trees in few bytes; see core/include/labelgrove/compact_plt.hpp.");
  bind_search(engine);
  bind_label_tree(engine);
  bind_explanations(engine);
  bind_compacting(engine);
  engine
      .def_static(
          "load",
          [](const nb::dict& options, const nb::dict& arrays, bool) {
            return std::make_unique<Model>(arrays, nb::cast<bool>(options["normalize"]), DictReader(arrays));
          },
          nb::arg("options"), nb::arg("arrays"), nb::arg("for_prediction"))
      .def(
          "save",
          [](const Model& self, bool) {
            nb::dict out;
            DictWriter writer(out);
            self.engine.save(writer);
            return out;
          },
          nb::arg("for_prediction"))
      .def_prop_ro("n_trees", [](const Model& self) { return self.engine.trees().size(); })
      .def_prop_ro("can_learn", [](const Model&) { return false; })
      .def("size", [](const Model& self) {
        const auto size = self.engine.size();
        nb::dict out;
        out["weights"] = size.weights;
        out["model_bytes"] = size.model_bytes;
        out["memory_bytes"] = 0;
        return out;
      });
}

}  // namespace labelgrove::bindings
