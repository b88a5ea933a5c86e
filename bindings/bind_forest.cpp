#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/forest.hpp"
#include "labelgrove/forest_explain.hpp"
#include "model_archive.hpp"
#include "predictions.hpp"
#include "register.hpp"
#include "rows.hpp"
#include "scopes.hpp"

namespace labelgrove::bindings {
namespace {

using Model = Held<Forest>;

ForestOptions options_from(const nb::dict& given) {
  ForestOptions options;
  take_option(given, "trees", options.trees);
  take_option(given, "normalize", options.normalize);
  take_option(given, "seed", options.seed);
  if (given.contains("max_rounds")) {  // FastXML
    FastxmlOptions fastxml;
    take_option(given, "cost", fastxml.cost);
    take_option(given, "gain_cost", fastxml.gain_cost);
    take_option(given, "bias", fastxml.bias);
    take_option(given, "tolerance", fastxml.tolerance);
    take_option(given, "max_rounds", fastxml.max_rounds);
    options.growth = fastxml;
    options.children = 2;
    options.min_examples = nb::cast<std::uint32_t>(given["max_leaf"]) + 1;
    return options;
  }
  LdsmOptions ldsm;
  take_option(given, "epochs", ldsm.epochs);
  take_option(given, "min_count", ldsm.min_count);
  take_option(given, "lambda1", ldsm.objective.lambda1);
  take_option(given, "lambda2", ldsm.objective.lambda2);
  take_option(given, "learner", ldsm.learner.kind);
  take_option(given, "rate", ldsm.learner.rate);
  ldsm.learner.epsilon = 1e-8F;
  ldsm.learner.loss = Loss::squared;
  take_option(given, "spread", ldsm.learner.spread);
  take_option(given, "shuffle", ldsm.shuffle);
  options.growth = ldsm;
  take_option(given, "arity", options.children);
  take_option(given, "max_nodes", options.max_nodes);
  take_option(given, "min_examples", options.min_examples);
  take_option(given, "share", options.share);
  take_option(given, "tail_weight", options.tail_weight);
  take_option(given, "tail_gamma", options.tail_gamma);
  return options;
}

void grow(Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
          const In<std::int64_t>& label_indptr, const In<LabelId>& labels, const nb::object& weights,
          const nb::object& gains, LabelId label_count, unsigned threads, Progress& progress) {
  const Rows rows(indptr, ids, values);
  const RowLabels row_labels(label_indptr, labels, rows.size());
  ForestExamples data;
  data.size = rows.size();
  data.example = [&](std::size_t row) { return LabelledExample{rows[row], row_labels[row]}; };
  data.label_count = label_count;
  data.progress = &progress;
  data.weights = view_or_empty<float>(weights, data.size);
  data.gains = view_or_empty<double>(gains, label_count);
  const bool fits =
      data.size < kNone && std::ranges::all_of(row_labels.all(), [&](LabelId label) { return label < label_count; });
  if (!fits) throw std::invalid_argument("examples and labels do not fit together");
  if (!model.engine.trees().empty()) throw std::runtime_error("this forest has already been grown");
  const WithoutGil without_gil;
  model.engine.grow(data, threads);
}

// Rows that are routed together, so that a node's weights are fetched once for all of them.
constexpr std::size_t kBatch = 4096;

template <typename Find, typename Take>
void find_in_batches(const Forest& forest, const Rows& rows, const LabelScope& scope, std::size_t /*beam_width*/,
                     unsigned threads, Find&& find, Take&& take) {
  const auto make = [&] { return ForestFinder(forest, scope); };
  const auto body = [&](ForestFinder& finder, std::size_t begin, std::span<const Features> batch) {
    finder.start(batch);
    std::vector<Scored> found;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      find(finder, i, found);
      take(begin + i, finder.stats(i), found);
    }
  };
  for_each_batch(rows, forest.options().normalize, kBatch, threads, make, body);
}

// The paths of the row (see ForestRoutes): the steps, and the leaves with the label's share in each.
void explain(const Forest& forest, const Features& x, LabelId label, nb::dict& out) {
  const ForestRoutes routes = explain_forest(forest, x);
  const auto gathered = [](const auto& from, auto&& member) {
    auto all = make_array<std::uint32_t>({from.size()});
    std::ranges::transform(from, all.data(), member);
    return all;
  };
  std::vector<float> shares;
  std::vector<std::uint8_t> votes;
  for (const ForestRoutes::Leaf& leaf : routes.leaves) {
    const ForestTree& tree = forest.trees()[leaf.tree];
    const ForestTree::Node& node = tree.nodes[leaf.node];
    const auto labels = std::span(tree.labels).subspan(node.begin, node.end - node.begin);
    const auto found = std::ranges::lower_bound(labels, label);
    const bool is_there = found != labels.end() && *found == label;
    shares.push_back(is_there ? tree.shares[node.begin + static_cast<std::size_t>(found - labels.begin())] : 0.0F);
    votes.push_back(labels.empty() ? 0 : 1);
  }
  add_terms(out, x, routes.bias, routes.contributions);
  out["step.node"] = gathered(routes.steps, &ForestRoutes::Step::node);
  out["step.before"] = gathered(routes.steps, &ForestRoutes::Step::before);
  out["leaf.tree"] = gathered(routes.leaves, &ForestRoutes::Leaf::tree);
  out["leaf.node"] = gathered(routes.leaves, &ForestRoutes::Leaf::node);
  out["leaf.step"] = gathered(routes.leaves, &ForestRoutes::Leaf::step);
  out["leaf.share"] = to_array(shares);
  out["leaf.votes"] = to_array(votes);
}

}  // namespace

void register_forest(nb::module_& module) {
  nb::class_<Model> engine(module, "Forest", "A forest of decision trees; see core/include/labelgrove/forest.hpp.");
  bind_archive(engine, &options_from);
  bind_known_labels(engine, [](auto&&... given) { find_in_batches(given...); });
  bind_explain(engine, &explain);
  bind_init(engine, &options_from);
  engine
      .def(
          "nodes",
          [](const Model& self) {
            return saved_by([&](ArrayWriter& out) {
              self.engine.save_structure(out);
              if (self.engine.can_learn()) self.engine.save_statistics(out);
            });
          },
          "The saved arrays of the trees and of the statistics of their splits.")
      .def("grow", &grow, nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("label_indptr"),
           nb::arg("labels"), nb::arg("weights").none(), nb::arg("gains").none(), nb::arg("label_count"),
           nb::arg("threads"), nb::arg("progress"))
      .def_prop_ro("children", [](const Model& self) { return self.engine.options().children; })
      .def_prop_ro("rows_together", [](const Model&) { return kBatch; });
}

}  // namespace labelgrove::bindings
