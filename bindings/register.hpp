// One function per concept, each in a file of its own.
#pragma once

#include <nanobind/nanobind.h>

namespace labelgrove::bindings {

void register_scopes(nanobind::module_& module);
void register_lom_tree(nanobind::module_& module);
void register_memory_tree(nanobind::module_& module);
void register_forest(nanobind::module_& module);
void register_online_plt(nanobind::module_& module);
void register_batch_plt(nanobind::module_& module);
void register_compact_plt(nanobind::module_& module);
void register_embedding_plt(nanobind::module_& module);
void register_enumerations(nanobind::module_& module);
void register_rows(nanobind::module_& module);
void register_label_sums(nanobind::module_& module);
void register_reranking(nanobind::module_& module);
void register_score_calibration(nanobind::module_& module);
void register_text(nanobind::module_& module);
void register_trees(nanobind::module_& module);
void register_machine(nanobind::module_& module);
void register_streamed_array(nanobind::module_& module);

}  // namespace labelgrove::bindings
