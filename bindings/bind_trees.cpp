#include <algorithm>

#include "arrays.hpp"
#include "labelgrove/clustering.hpp"
#include "register.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {
namespace {

ClusteringOptions options_from(const nb::dict& given) {
  ClusteringOptions options;
  options.arity = nb::cast<std::uint32_t>(given["arity"]);
  options.max_leaf_size = nb::cast<std::uint32_t>(given["max_leaf_size"]);
  options.tolerance = nb::cast<double>(given["tolerance"]);
  options.max_iterations = nb::cast<std::uint32_t>(given["max_iterations"]);
  options.seed = nb::cast<std::uint64_t>(given["seed"]);
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
  interpolation.lambda = nb::cast<double>(given["lambda"]);
  interpolation.smoothing = nb::cast<double>(given["smoothing"]);
  interpolation.weighted_intermediate = nb::cast<bool>(given["weighted_intermediate"]);
  return interpolation;
}

}  // namespace

void register_trees(nb::module_& module) {
  module.def(
      "cluster_labels",
      [](const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values, std::uint32_t dimension,
         const In<double>& frequencies, const In<double>& fano_frequencies, const nb::dict& options, unsigned threads) {
        const Rows vectors(indptr, ids, values);
        const Interpolation interpolation = interpolation_from(options, frequencies, fano_frequencies, vectors.size());
        const ClusteringOptions clustering = options_from(options);
        ClusterTree tree;
        {
          const nb::gil_scoped_release no_gil;
          tree = cluster_labels(vectors, dimension, interpolation, clustering, threads);
        }
        return nb::make_tuple(to_array(std::span<const std::int64_t>(tree.parents)),
                              to_array(std::span<const LabelId>(tree.labels)));
      },
      nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(), nb::arg("dimension"),
      nb::arg("frequencies").noconvert(), nb::arg("fano_frequencies").noconvert(), nb::arg("options"),
      nb::arg("threads"),
      "(parents, labels): a tree over the rows, numbered by level; the labels of its leaves in ascending order. "
      "Without "
      "frequencies all labels weigh the same.");
}

}  // namespace labelgrove::bindings
