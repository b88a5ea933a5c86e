#include <algorithm>

#include "arrays.hpp"
#include "labelgrove/clustering.hpp"
#include "labelgrove/label_vectors.hpp"
#include "labelgrove/search_cost.hpp"
#include "register.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {
namespace {

ClusteringOptions options_from(const nb::dict& given) {
  ClusteringOptions options;
  take_option(given, "arity", options.arity);
  take_option(given, "max_leaf_size", options.max_leaf_size);
  take_option(given, "tolerance", options.tolerance);
  take_option(given, "max_iterations", options.max_iterations);
  take_option(given, "seed", options.seed);
  if (options.arity < 2 || options.max_leaf_size < 1)
    throw std::invalid_argument("arity or max_leaf_size is too small");
  return options;
}

Interpolation interpolation_from(const nb::dict& given, const In<double>& frequencies, const In<double>& fano,
                                 std::size_t labels) {
  Interpolation interpolation{view(frequencies), view(fano)};
  if (interpolation.fano_frequencies.size() != interpolation.frequencies.size() ||
      (!interpolation.frequencies.empty() && interpolation.frequencies.size() != labels)) {
    throw std::invalid_argument("expected a frequency for each label");
  }
  take_option(given, "lambda", interpolation.lambda);
  take_option(given, "smoothing", interpolation.smoothing);
  take_option(given, "weighted_intermediate", interpolation.weighted_intermediate);
  return interpolation;
}

nb::tuple to_tuple(const ClusterTree& tree) { return nb::make_tuple(to_array(tree.parents), to_array(tree.labels)); }

// Throws std::invalid_argument unless every parent comes before its children, and labels are 0, 1, 2, … in any order.
ClusterTree tree_from(const In<std::int64_t>& parents, const In<LabelId>& labels) {
  const auto p = view(parents);
  const auto l = view(labels);
  ClusterTree tree{{p.begin(), p.end()}, {l.begin(), l.end()}};
  bool fits = !p.empty() && p[0] == -1;
  std::vector<std::uint8_t> inner(p.size(), 0);
  for (std::size_t v = 1; fits && v < p.size(); ++v) {
    fits = p[v] >= 0 && p[v] < static_cast<std::int64_t>(v);
    if (fits) inner[static_cast<std::size_t>(p[v])] = 1;
  }
  std::vector<std::uint8_t> seen(l.size(), 0);
  fits = fits && static_cast<std::size_t>(std::ranges::count(inner, 0)) == l.size() &&
         std::ranges::all_of(l, [&](LabelId label) { return label < seen.size() && seen[label]++ == 0; });
  if (!fits) throw std::invalid_argument("the arrays of the tree do not fit together");
  return tree;
}

}  // namespace

void register_trees(nb::module_& module) {
  module.def(
      "label_vectors",
      [](const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values, std::uint32_t dimension,
         const In<std::int64_t>& ends, const In<std::uint32_t>& examples, unsigned threads) {
        const Rows rows(indptr, ids, values);
        const RowLabels of_labels(ends, examples, ends.size() - 1);
        if (rows.dense()) throw std::invalid_argument("expected sparse rows");
        return as_tuple(
            without_gil([&] { return label_vectors(rows, dimension, of_labels.ends(), of_labels.all(), threads); }));
      },
      nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("dimension"), nb::arg("ends"), nb::arg("examples"),
      nb::arg("threads"),
      "(indptr, ids, values): for each label, the direction of the sum of its examples, each scaled to unit length.");
  module.def(
      "cluster_labels",
      [](const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values, std::uint32_t dimension,
         const In<double>& frequencies, const In<double>& fano_frequencies, const nb::dict& options, unsigned threads,
         bool fixed) {
        Rows vectors(indptr, ids, values);
        if (!fixed) vectors.take_ids(dimension);
        const Interpolation interpolation = interpolation_from(options, frequencies, fano_frequencies, vectors.size());
        const ClusteringOptions clustering = options_from(options);
        const auto tree =
            without_gil([&] { return cluster_labels(vectors, dimension, interpolation, clustering, threads); });
        return to_tuple(tree);
      },
      nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("dimension"), nb::arg("frequencies"),
      nb::arg("fano_frequencies"), nb::arg("options"), nb::arg("threads"), nb::arg("fixed"),
      "(parents, labels): a tree over the rows, numbered level by level, and the labels of its leaves in ascending "
      "order of nodes. Without frequencies all labels have the same weight. `fixed` rows, which nothing can change, "
      "are not copied.");
  module.def(
      "visits",
      [](const In<std::int64_t>& parents, const In<LabelId>& labels, const In<std::int64_t>& indptr,
         const In<LabelId>& sets, const In<double>& frequencies) {
        const ClusterTree tree = tree_from(parents, labels);
        const RowLabels rows(indptr, sets, frequencies.size());
        if (std::ranges::any_of(rows.all(), [&](LabelId label) { return label >= tree.labels.size(); })) {
          throw std::invalid_argument("a label is not in the tree");
        }
        const auto visits = without_gil([&] { return visits_of(tree, {rows.ends(), rows.all(), view(frequencies)}); });
        return to_array(visits);
      },
      nb::arg("parents"), nb::arg("labels"), nb::arg("indptr"), nb::arg("sets"), nb::arg("frequencies"),
      "For every node, the total frequency of the sets with a label below it.");
  module.def(
      "cheapest_reduction",
      [](const In<std::int64_t>& parents, const In<LabelId>& labels, const In<double>& visits, double block_cost) {
        const ClusterTree tree = tree_from(parents, labels);
        if (visits.size() != tree.parents.size()) throw std::invalid_argument("expected the visits of every node");
        const auto reduced = without_gil([&] { return cheapest_reduction(tree, view(visits), block_cost); });
        return to_tuple(reduced);
      },
      nb::arg("parents"), nb::arg("labels"), nb::arg("visits"), nb::arg("block_cost"),
      "(parents, labels) of the cheapest tree that results from removing inner nodes.");
}

}  // namespace labelgrove::bindings
