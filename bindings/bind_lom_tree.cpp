#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/lom_search.hpp"
#include "labelgrove/lom_tree.hpp"
#include "model_archive.hpp"
#include "predictions.hpp"
#include "register.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {
namespace {

using Model = Held<LomTree>;

LomTreeOptions options_from(const nb::dict& given) {
  LomTreeOptions options;
  const auto integer = [&](const char* name) { return nb::cast<std::uint64_t>(given[name]); };
  const auto real = [&](const char* name) { return static_cast<float>(nb::cast<double>(given[name])); };
  options.learner.kind = static_cast<LearnerKind>(integer("learner"));
  options.learner.loss = static_cast<Loss>(integer("loss"));
  options.learner.rate = real("rate");
  options.learner.epsilon = real("epsilon");
  options.learner.r = real("r");
  options.max_nodes = integer("max_nodes");
  options.nodes_per_class = static_cast<std::uint32_t>(integer("nodes_per_class"));
  options.swap_resistance = integer("swap_resistance");
  options.leaves = static_cast<std::uint32_t>(integer("leaves"));
  options.normalize = nb::cast<bool>(given["normalize"]);
  return options;
}

void learn(Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
           const In<std::int64_t>& label_indptr, const In<LabelId>& labels, std::size_t begin, std::size_t end,
           unsigned, const nb::object& weights) {
  const TakenRows rows(indptr, ids, values, begin, end);
  const RowLabels row_labels(label_indptr, labels, rows.total(), begin, end);
  const RowWeights row_weights(weights, rows.total(), begin, end);
  for (std::size_t row = begin; row < end; ++row) {
    if (row_labels[row].size() != 1) throw std::invalid_argument("an example has no class, or several");
  }
  if (!model.whole().can_learn()) throw std::runtime_error("this model was loaded for prediction only");
  const WithoutGil without_gil;
  for (std::size_t row = begin; row < end; ++row) {
    model.engine.learn(rows[row], row_labels[row].front(), row_weights[row]);
  }
}

LomScope make_scope(const Model& model, const nb::object& allowed) {
  if (allowed.is_none()) return LomScope(model.whole());
  return LomScope(model.whole(), view(nb::cast<In<LabelId>>(allowed)));
}

nb::tuple top_k(const Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
                std::size_t k, std::size_t beam_width, const nb::object& allowed, unsigned threads) {
  const LomScope scope = make_scope(model, allowed);
  const std::size_t leaves = beam_width > 0 ? beam_width : model.engine.options().leaves;
  const auto make = [&] { return LomSearcher(model.engine, scope, leaves); };
  const auto find = [&](LomSearcher& searcher, const Features& x, std::vector<Scored>& found) {
    searcher.top_k(x, k, found);
  };
  return ranked(Rows(indptr, ids, values), k, model.engine.options().normalize, threads, make, find);
}

nb::tuple above_threshold(const Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                          const In<float>& values, const In<float>& thresholds, const nb::object& allowed,
                          unsigned threads) {
  LomScope scope = make_scope(model, allowed);
  scope.set_thresholds(view(thresholds));
  const auto make = [&] { return LomSearcher(model.engine, scope, model.engine.options().leaves); };
  const auto find = [](LomSearcher& searcher, const Features& x, std::vector<Scored>& found) {
    searcher.above_threshold(x, found);
  };
  return collected(Rows(indptr, ids, values), model.engine.options().normalize, threads, make, find);
}

nb::tuple above_prepared(const Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                         const In<float>& values, const In<float>& thresholds, unsigned threads) {
  return above_threshold(model, indptr, ids, values, thresholds, nb::none(), threads);
}

// The way of the only row (see LomRoute): its values, nodes with the examples that reached them, and those of a label.
nb::dict explain(const Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
                 LabelId label) {
  const Rows rows(indptr, ids, values);
  if (rows.size() != 1) throw std::invalid_argument("one row can be explained at a time");
  TakenRow taken;
  const Features x = rows.as_learnt(0, model.whole().options().normalize, taken);
  const LomRoute route = explain_route(model.engine, x);
  auto contributions = make_array<float>({route.bias.size(), x.size});
  std::ranges::copy(route.contributions, contributions.data());
  std::vector<std::uint64_t> reached;
  std::vector<std::uint64_t> seen;
  std::vector<std::uint8_t> right;  // whether the node is a right child
  for (const NodeId v : route.nodes) {
    const LomTree::Node& node = model.engine.nodes()[v];
    const ClassCount* count = node.classes.find(label);
    reached.push_back(node.reached);
    seen.push_back(count == nullptr ? 0 : count->reached);
    right.push_back(node.parent != kNone && model.engine.nodes()[node.parent].right == v ? 1 : 0);
  }
  nb::dict out;
  out["value"] = to_array(std::span<const float>(x.values, x.size));
  out["node"] = to_array(std::span<const NodeId>(route.nodes));
  out["bias"] = to_array(std::span<const float>(route.bias));
  out["contributions"] = contributions;
  out["right"] = to_array(std::span<const std::uint8_t>(right));
  out["reached"] = to_array(std::span<const std::uint64_t>(reached));
  out["seen"] = to_array(std::span<const std::uint64_t>(seen));
  return out;
}

}  // namespace

void register_lom_tree(nb::module_& module) {
  nb::class_<Model> engine(module, "LomTree", "LOMtree; see core/include/labelgrove/lom_tree.hpp.");
  bind_archive(engine, &options_from);
  engine
      .def(
          "__init__", [](Model* self, const nb::dict& options) { new (self) Model(nb::none(), options_from(options)); },
          nb::arg("options"))
      .def(
          "nodes",
          [](const Model& self) {
            return saved_by([&](ArrayWriter& out) { self.whole().save_nodes(out, !self.engine.can_learn()); });
          },
          "The tree and its statistics, as they are saved.")
      .def("learn", &learn, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
           nb::arg("label_indptr").noconvert(), nb::arg("labels").noconvert(), nb::arg("begin"), nb::arg("end"),
           nb::arg("threads"), nb::arg("weights").none() = nb::none())
      .def(
          "remove_labels", [](Model& self, const In<LabelId>& labels) { self.whole().remove_labels(view(labels)); },
          nb::arg("labels").noconvert())
      .def("top_k", &top_k, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
           nb::arg("k"), nb::arg("beam_width"), nb::arg("allowed").none(), nb::arg("threads"))
      .def(
          "prepare_thresholds", [](const Model&, const In<float>& thresholds) { return thresholds; },
          nb::arg("thresholds").noconvert())
      .def("above_prepared", &above_prepared, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(),
           nb::arg("values").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("threads"))
      .def("above_threshold", &above_threshold, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(),
           nb::arg("values").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("allowed").none(),
           nb::arg("threads"))
      .def("explain", &explain, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(),
           nb::arg("values").noconvert(), nb::arg("label"))
      .def("labels", [](const Model& self) { return to_array(std::span<const LabelId>(self.whole().labels())); })
      .def_prop_ro("examples_seen", [](const Model& self) { return self.engine.examples_seen(); })
      .def_prop_ro("label_count", [](const Model& self) { return self.engine.label_count(); })
      .def_prop_ro("can_learn", [](const Model& self) { return self.engine.can_learn(); });
}

}  // namespace labelgrove::bindings
