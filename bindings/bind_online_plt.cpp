#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "held.hpp"
#include "label_trees.hpp"
#include "labelgrove/online_grove.hpp"
#include "model_archive.hpp"
#include "predictions.hpp"
#include "register.hpp"
#include "rows.hpp"
#include "tree_arrays.hpp"

namespace labelgrove::bindings {
namespace {

using Model = Held<OnlineGrove>;

OnlineGroveOptions options_from(const nb::dict& given) {
  OnlineGroveOptions options;
  take_option(given, "learner", options.learner.kind);
  take_option(given, "rate", options.learner.rate);
  take_option(given, "epsilon", options.learner.epsilon);
  take_option(given, "l2", options.learner.l2);
  take_option(given, "r", options.learner.r);
  take_option(given, "policy", options.policy);
  take_option(given, "alpha", options.alpha);
  take_option(given, "arity", options.arity);
  take_option(given, "max_leaves", options.max_leaves);
  take_option(given, "first_leaves", options.first_leaves);
  take_option(given, "replay", options.replay);
  take_option(given, "replay_most", options.replay_most);
  take_option(given, "replay_memory", options.replay_memory);
  take_option(given, "max_bytes", options.max_bytes);
  take_option(given, "normalize", options.normalize);
  take_option(given, "seed", options.seed);
  take_option(given, "n_trees", options.trees);
  OfoOptions ofo;
  take_option(given, "ofo_a", ofo.a);
  take_option(given, "ofo_b", ofo.b);
  take_option(given, "ofo_every", ofo.every);
  if (ofo.b > 0.0) options.ofo = ofo;
  return options;
}

void learn(OnlineGrove& grove, const LearnCall& call) {
  const auto example = [&](std::size_t row) { return call.examples[row]; };
  const auto answer = [&](std::size_t i, const std::vector<Scored>& found) { call.answers.set(i, found); };
  grove.learn(example, call.begin, call.end, call.threads, {call.asked, call.k, answer});
}

// Resumes from a batch model with the same number of trees, whose arrays are kept. `counts` has the number of examples
// of each label, or is None: see OnlinePlt::Past.
std::unique_ptr<Model> from_batch(const nb::dict& given, const nb::dict& batch, const nb::object& counts) {
  std::optional<std::span<const std::uint64_t>> past;
  In<std::uint64_t> of_labels;
  if (!counts.is_none()) {
    of_labels = nb::cast<In<std::uint64_t>>(counts, false);
    past = view(of_labels);
  }
  return std::make_unique<Model>(batch, options_from(given), DictReader(batch), past);
}

std::unique_ptr<Model> on_trees(const nb::dict& given, const nb::list& trees, LabelId label_count) {
  const OnlineGroveOptions options = options_from(given);
  const std::vector<LabelTree> label_trees = trees_from(trees, label_count);
  if (label_trees.size() != options.trees) throw std::invalid_argument("the number of trees must match the options");
  return std::make_unique<Model>(nb::none(), options, std::span(label_trees));
}

// By label id; empty if thresholds are not tuned.
nb::ndarray<double, nb::numpy> thresholds(const Model& model) {
  const OnlineThresholds* tuned = model.whole().thresholds();
  auto values = make_array<double>({tuned != nullptr ? std::size_t{model.engine.tree().label_count()} : 0});
  for (LabelId label = 0; label < values.size(); ++label) values.data()[label] = tuned->threshold(label);
  return values;
}

}  // namespace

void register_online_plt(nb::module_& module) {
  nb::exception<BudgetExceeded>(module, "BudgetExceeded", PyExc_RuntimeError);
  nb::class_<Model> engine(module, "OnlinePlt", "Trees of OPLT or IPLT; see core/include/labelgrove/online_grove.hpp.");
  bind_label_trees(engine);
  bind_archive(engine, &options_from);
  bind_learn(engine, &learn);
  bind_init(engine, &options_from);
  engine
      .def_static("on_trees", &on_trees, nb::arg("options"), nb::arg("trees"), nb::arg("label_count"),
                  "Start from given trees with the same labels: (parents, labels) by node for each tree.")
      .def_static("from_batch", &from_batch, nb::arg("options"), nb::arg("batch"), nb::arg("label_counts").none(),
                  "Resume learning from a batch model, given its arrays.")
      .def("restore_inherited",
           [](Model& self) {
             self.whole().restore_inherited();
             self.keep = nb::none();
           })
      .def("thresholds", &thresholds)
      .def_prop_ro("n_trees", [](const Model& self) { return self.engine.trees().size(); });
}

}  // namespace labelgrove::bindings
