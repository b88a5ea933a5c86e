#include <memory>

#include "arrays.hpp"
#include "compacting.hpp"
#include "explanations.hpp"
#include "held.hpp"
#include "label_tree_search.hpp"
#include "labelgrove/compact_plt.hpp"
#include "model_archive.hpp"
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
  bind_archive(engine, [](const nb::dict& options) { return nb::cast<bool>(options["normalize"]); });
  engine.def_prop_ro("n_trees", [](const Model& self) { return self.engine.trees().size(); })
      .def_prop_ro("can_learn", [](const Model&) { return false; });
}

}  // namespace labelgrove::bindings
