#include "arrays.hpp"
#include "labelgrove/grove_search.hpp"
#include "labelgrove/known_labels.hpp"
#include "register.hpp"

namespace labelgrove::bindings {

void register_scopes(nb::module_& module) {
  nb::class_<GroveScope>(module, "GroveScope", "What searches of label trees may return; see grove_search.hpp.");
  nb::class_<LabelScope>(module, "LabelScope", "What searches of other engines may return; see known_labels.hpp.");
}

}  // namespace labelgrove::bindings
