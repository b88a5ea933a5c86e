#include <nanobind/nanobind.h>

#include "register.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The compiled engine of LabelGrove; private.";
  labelgrove::bindings::register_enumerations(module);
  labelgrove::bindings::register_scopes(module);
  labelgrove::bindings::register_streamed_array(module);
  labelgrove::bindings::register_lom_tree(module);
  labelgrove::bindings::register_memory_tree(module);
  labelgrove::bindings::register_forest(module);
  labelgrove::bindings::register_online_plt(module);
  labelgrove::bindings::register_batch_plt(module);
  labelgrove::bindings::register_compact_plt(module);
  labelgrove::bindings::register_embedding_plt(module);
  labelgrove::bindings::register_rows(module);
  labelgrove::bindings::register_label_sums(module);
  labelgrove::bindings::register_reranking(module);
  labelgrove::bindings::register_score_calibration(module);
  labelgrove::bindings::register_text(module);
  labelgrove::bindings::register_trees(module);
  labelgrove::bindings::register_machine(module);
}
