#include <cstdint>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "dict_archive.hpp"
#include "explanations.hpp"
#include "held.hpp"
#include "labelgrove/online_plt.hpp"
#include "labelgrove/search.hpp"
#include "predictions.hpp"
#include "register.hpp"
#include "rows.hpp"
#include "tree_arrays.hpp"

namespace labelgrove::bindings {
namespace {

using Model = Held<OnlinePlt>;

OnlinePltOptions options_from(const nb::dict& given) {
  OnlinePltOptions options;
  const auto integer = [&](const char* name) { return nb::cast<std::uint64_t>(given[name]); };
  const auto real = [&](const char* name) { return nb::cast<double>(given[name]); };
  options.learner.kind = static_cast<LearnerKind>(integer("learner"));
  options.learner.rate = static_cast<float>(real("rate"));
  options.learner.epsilon = static_cast<float>(real("epsilon"));
  options.learner.l2 = static_cast<float>(real("l2"));
  options.learner.r = static_cast<float>(real("r"));
  options.policy = static_cast<Policy>(integer("policy"));
  options.alpha = real("alpha");
  options.arity = static_cast<std::uint32_t>(integer("arity"));
  options.max_leaves = static_cast<std::uint32_t>(integer("max_leaves"));
  options.replay = static_cast<std::uint32_t>(integer("replay"));
  options.replay_memory = integer("replay_memory");
  options.normalize = nb::cast<bool>(given["normalize"]);
  options.seed = integer("seed");
  if (real("ofo_b") > 0.0) options.ofo = OfoOptions{real("ofo_a"), real("ofo_b")};
  return options;
}

void learn(Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
           const In<std::int64_t>& label_indptr, const In<LabelId>& labels, std::size_t begin, std::size_t end,
           unsigned threads) {
  const Rows rows(indptr, ids, values);
  const RowLabels row_labels(label_indptr, labels, rows.size());
  if (end > rows.size() || begin > end) throw std::invalid_argument("there are no such examples");
  if (!model.whole().can_learn()) throw std::runtime_error("this model was loaded for prediction only");
  const nb::gil_scoped_release no_gil;
  const auto example = [&](std::size_t row) { return OnlinePlt::Example{rows[row], row_labels[row]}; };
  if (rows.indptr.empty()) model.engine.expect_dense(static_cast<std::uint32_t>(rows.ids.size()));
  model.engine.learn(example, begin, end, threads);
}

Scope make_scope(const Model& model, const nb::object& allowed) {
  const LabelTree& tree = model.whole().tree();
  if (allowed.is_none()) return Scope(tree);
  return Scope(tree, view(nb::cast<In<LabelId>>(allowed)));
}

nb::tuple top_k(const Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
                std::size_t k, std::size_t beam_width, const nb::object& allowed, unsigned threads) {
  const Scope scope = make_scope(model, allowed);
  const auto make = [&] { return Searcher(model.engine.tree(), model.engine.blocks(), scope); };
  const auto find = [&](Searcher& searcher, const Features& x, std::vector<Scored>& found) {
    if (beam_width > 0) searcher.beam(x, k, beam_width, found);
    else searcher.top_k(x, k, found);
  };
  return ranked(Rows(indptr, ids, values), k, model.engine.options().normalize, threads, make, find);
}

nb::tuple above_threshold(const Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                          const In<float>& values, const In<float>& thresholds, const nb::object& allowed,
                          unsigned threads) {
  Scope scope = make_scope(model, allowed);
  scope.set_thresholds(view(thresholds));
  const auto make = [&] { return Searcher(model.engine.tree(), model.engine.blocks(), scope); };
  const auto find = [](Searcher& searcher, const Features& x, std::vector<Scored>& found) {
    searcher.above_threshold(x, found);
  };
  return collected(Rows(indptr, ids, values), model.engine.options().normalize, threads, make, find);
}

// By label id; empty if none are tuned.
nb::ndarray<double, nb::numpy> thresholds(const Model& model) {
  const OnlineThresholds* tuned = model.whole().thresholds();
  auto values = make_array<double>({tuned != nullptr ? std::size_t{model.engine.tree().label_count()} : 0});
  for (LabelId label = 0; label < values.size(); ++label) values.data()[label] = tuned->threshold(label);
  return values;
}

}  // namespace

void register_online_plt(nb::module_& module) {
  nb::class_<Model> engine(module, "OnlinePlt", "OPLT or IPLT; see core/include/labelgrove/online_plt.hpp.");
  bind_explanations(engine);
  engine
      .def(
          "__init__", [](Model* self, const nb::dict& options) { new (self) Model(nb::none(), options_from(options)); },
          nb::arg("options"))
      .def_static(
          "on_tree",
          [](const nb::dict& options, const In<NodeId>& parents, const In<LabelId>& labels, LabelId label_count) {
            const std::vector<std::uint8_t> silent(parents.size());
            return std::make_unique<Model>(nb::none(), options_from(options),
                                           LabelTree(view(parents), view(labels), silent, label_count));
          },
          nb::arg("options"), nb::arg("parents").noconvert(), nb::arg("labels").noconvert(), nb::arg("label_count"))
      .def_static(
          "load",
          [](const nb::dict& options, const nb::dict& arrays, bool for_prediction) {
            return std::make_unique<Model>(arrays, options_from(options), DictReader(arrays), for_prediction);
          },
          nb::arg("options"), nb::arg("arrays"), nb::arg("for_prediction"))
      .def(
          "save",
          [](const Model& self, bool for_prediction) {
            nb::dict out;
            DictWriter writer(out);
            self.whole().save(writer, for_prediction);
            return out;
          },
          nb::arg("for_prediction"))
      .def("learn", &learn, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
           nb::arg("label_indptr").noconvert(), nb::arg("labels").noconvert(), nb::arg("begin"), nb::arg("end"),
           nb::arg("threads"))
      .def(
          "remove_labels", [](Model& self, const In<LabelId>& labels) { self.whole().remove_labels(view(labels)); },
          nb::arg("labels").noconvert())
      .def("top_k", &top_k, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
           nb::arg("k"), nb::arg("beam_width"), nb::arg("allowed").none(), nb::arg("threads"))
      .def("above_threshold", &above_threshold, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(),
           nb::arg("values").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("allowed").none(),
           nb::arg("threads"))
      .def("tree", [](const Model& self) { return tree_arrays(self.whole().tree()); })
      .def("thresholds", &thresholds)
      .def("labels", [](const Model& self) { return labels_of(self.whole().tree()); })
      .def_prop_ro("examples_seen", [](const Model& self) { return self.engine.examples_seen(); })
      .def_prop_ro("label_count", [](const Model& self) { return self.engine.tree().label_count(); })
      .def_prop_ro("can_learn", [](const Model& self) { return self.engine.can_learn(); })
      .def("size", [](const Model& self) {
        const auto size = self.whole().size();
        nb::dict out;
        out["weights"] = size.weights;
        out["model_bytes"] = size.model_bytes;
        out["memory_bytes"] = size.memory_bytes;
        return out;
      });
}

}  // namespace labelgrove::bindings
