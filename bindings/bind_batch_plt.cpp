#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/batch_trainer.hpp"
#include "labelgrove/compact_plt.hpp"
#include "model_archive.hpp"
#include "register.hpp"
#include "rows.hpp"
#include "tree_arrays.hpp"

namespace labelgrove::bindings {

namespace {

TrainingOptions training_options_from(const nb::dict& given) {
  const auto real = [&](const char* name) { return static_cast<float>(nb::cast<double>(given[name])); };
  TrainingOptions options;
  options.solver.loss = static_cast<BatchLoss>(nb::cast<std::uint64_t>(given["loss"]));
  options.solver.cost = real("cost");
  options.solver.bias = real("bias");
  options.solver.tolerance = real("tolerance");
  options.solver.max_passes = nb::cast<std::uint32_t>(given["max_passes"]);
  options.solver.seed = nb::cast<std::uint64_t>(given["seed"]);
  options.link = static_cast<Link>(nb::cast<std::uint64_t>(given["link"]));
  options.weight_threshold = real("weight_threshold");
  return options;
}

// None stands for: all 1.
std::span<const float> costs_from(const nb::object& given, std::size_t size) {
  if (given.is_none()) return {};
  const auto costs = view(nb::cast<In<float>>(given, false));
  if (costs.size() != size) throw std::invalid_argument("there must be one cost for every example, or label");
  return costs;
}

nb::dict train(const nb::dict& options, const nb::list& trees, LabelId label_count, const In<std::int64_t>& indptr,
               const In<FeatureId>& ids, const In<float>& values, const In<std::int64_t>& label_indptr,
               const In<LabelId>& labels, const nb::object& example_costs, const nb::object& label_costs,
               unsigned threads, Progress& progress) {
  const Rows rows(indptr, ids, values);
  const RowLabels row_labels(label_indptr, labels, rows.size());
  const std::vector<LabelTree> label_trees = trees_from(trees, label_count);
  for (const LabelId label : row_labels.all()) {
    if (std::ranges::any_of(label_trees, [=](const LabelTree& tree) { return tree.leaf_of(label) == kNone; })) {
      throw std::invalid_argument("a label is not in every tree");
    }
  }
  TrainingSet data;
  data.size = rows.size();
  data.example = [&](std::size_t row) { return TrainingSet::Example{rows[row], row_labels[row]}; };
  data.normalize = nb::cast<bool>(options["normalize"]);
  data.example_costs = costs_from(example_costs, rows.size());
  data.label_costs = costs_from(label_costs, label_count);
  const TrainingOptions training = training_options_from(options);
  std::vector<CompactedBlock> blocks;
  {
    const WithoutGil without_gil;
    blocks = train_blocks(training, label_trees, data, threads, progress);
  }
  std::vector<const LabelTree*> learnt;
  for (const LabelTree& tree : label_trees) learnt.push_back(&tree);
  return saved_by([&](ArrayWriter& out) { write_blocks(learnt, data.size, WeightType::float32, blocks, out); });
}

}  // namespace

void register_batch_plt(nb::module_& module) {
  nb::exception<Stopped>(module, "Stopped", PyExc_KeyboardInterrupt);
  nb::class_<Progress>(module, "Progress", "See core/include/labelgrove/progress.hpp.")
      .def(nb::init<>())
      .def("stop", &Progress::stop)
      .def_prop_ro("share", &Progress::share);
  module.def("train_batch_plt", &train, nb::arg("options"), nb::arg("trees"), nb::arg("label_count"),
             nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
             nb::arg("label_indptr").noconvert(), nb::arg("labels").noconvert(), nb::arg("example_costs").none(),
             nb::arg("label_costs").none(), nb::arg("threads"), nb::arg("progress"),
             "What CompactPlt loads: trees learnt in batch; see core/include/labelgrove/batch_trainer.hpp.");
}

}  // namespace labelgrove::bindings
