#include "label_tree_search.hpp"
#include "register.hpp"

namespace labelgrove::bindings {

void register_search(nb::module_& module) {
  nb::class_<PreparedThresholds>(
      module, "PreparedThresholds",
      "Thresholds of one engine with what a search derives from them; void once it changes.");
}

}  // namespace labelgrove::bindings
