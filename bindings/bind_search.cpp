#include "label_tree_search.hpp"
#include "register.hpp"

namespace labelgrove::bindings {

void register_search(nb::module_& module) {
  nb::class_<PreparedThresholds>(module, "PreparedThresholds",
                                 "Thresholds prepared for searching one engine; invalid once the engine changes.");
}

}  // namespace labelgrove::bindings
