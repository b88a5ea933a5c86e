#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "compacting.hpp"
#include "explanations.hpp"
#include "held.hpp"
#include "label_tree_search.hpp"
#include "labelgrove/batch_plt.hpp"
#include "labelgrove/convert.hpp"
#include "model_archive.hpp"
#include "register.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {

namespace {

using Model = Held<BatchPlt>;

BatchPltOptions options_from(const nb::dict& given) {
  return {static_cast<Link>(nb::cast<std::uint64_t>(given["link"])), nb::cast<bool>(given["normalize"])};
}

TrainingOptions training_options_from(const nb::dict& given) {
  const auto real = [&](const char* name) { return static_cast<float>(nb::cast<double>(given[name])); };
  TrainingOptions options;
  options.solver.loss = static_cast<BatchLoss>(nb::cast<std::uint64_t>(given["loss"]));
  options.solver.cost = real("cost");
  options.solver.bias = real("bias");
  options.solver.tolerance = real("tolerance");
  options.solver.max_passes = nb::cast<std::uint32_t>(given["max_passes"]);
  options.solver.seed = nb::cast<std::uint64_t>(given["seed"]);
  options.link = options_from(given).link;
  options.weight_threshold = real("weight_threshold");
  return options;
}

std::vector<LabelTree> trees_from(const nb::list& given, LabelId label_count) {
  std::vector<LabelTree> trees;
  for (const nb::handle one : given) {
    const nb::tuple t = nb::cast<nb::tuple>(one);
    const auto parents = nb::cast<In<NodeId>>(t[0], false);
    const auto labels = nb::cast<In<LabelId>>(t[1], false);
    const std::vector<std::uint8_t> silent(parents.size());
    trees.emplace_back(view(parents), view(labels), silent, label_count);
  }
  if (trees.empty()) throw std::invalid_argument("there is no tree");
  return trees;
}

// None stands for: all 1.
std::span<const float> costs_from(const nb::object& given, std::size_t size) {
  if (given.is_none()) return {};
  const auto costs = view(nb::cast<In<float>>(given, false));
  if (costs.size() != size) throw std::invalid_argument("there must be one cost for every example, or label");
  return costs;
}

std::unique_ptr<Model> train(const nb::dict& options, const nb::list& trees, LabelId label_count,
                             const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
                             const In<std::int64_t>& label_indptr, const In<LabelId>& labels,
                             const nb::object& example_costs, const nb::object& label_costs, unsigned threads) {
  const Rows rows(indptr, ids, values);
  const RowLabels row_labels(label_indptr, labels, rows.size());
  std::vector<LabelTree> label_trees = trees_from(trees, label_count);
  for (const LabelId label : row_labels.labels) {
    if (std::ranges::any_of(label_trees, [=](const LabelTree& tree) { return tree.leaf_of(label) == kNone; })) {
      throw std::invalid_argument("a label is not in every tree");
    }
  }
  TrainingSet data;
  data.size = rows.size();
  data.example = [&](std::size_t row) { return TrainingSet::Example{rows[row], row_labels[row]}; };
  data.normalize = options_from(options).normalize;
  data.example_costs = costs_from(example_costs, rows.size());
  data.label_costs = costs_from(label_costs, label_count);
  const TrainingOptions training = training_options_from(options);
  const nb::gil_scoped_release no_gil;
  return std::make_unique<Model>(nb::none(), training, std::move(label_trees), data, threads);
}

std::unique_ptr<Model> from_online(const nb::dict& options, const nb::list& models) {
  std::vector<WeightedTree> trees;
  std::uint64_t examples = 0;
  for (const nb::handle one : models) {
    const OnlinePlt& model = nb::cast<const Held<OnlinePlt>&>(one).whole();
    trees.push_back(weighted_tree(model, training_options_from(options).weight_threshold));
    examples = model.examples_seen();
  }
  if (trees.empty()) throw std::invalid_argument("there is no tree");
  return std::make_unique<Model>(nb::none(), options_from(options), std::move(trees), examples);
}

}  // namespace

void register_batch_plt(nb::module_& module) {
  nb::class_<Model> engine(module, "BatchPlt", "Batch PLT; see core/include/labelgrove/batch_plt.hpp.");
  bind_search(engine);
  bind_label_tree(engine);
  bind_explanations(engine);
  bind_compacting(engine);
  bind_archive(engine, &options_from);
  engine
      .def_static("train", &train, nb::arg("options"), nb::arg("trees"), nb::arg("label_count"),
                  nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
                  nb::arg("label_indptr").noconvert(), nb::arg("labels").noconvert(), nb::arg("example_costs").none(),
                  nb::arg("label_costs").none(), nb::arg("threads"))
      .def_static("from_online", &from_online, nb::arg("options"), nb::arg("models"))
      .def_prop_ro("n_trees", [](const Model& self) { return self.engine.trees().size(); })
      .def_prop_ro("can_learn", [](const Model&) { return false; });
}

}  // namespace labelgrove::bindings
