// Builds label trees top down by clustering: every group of labels is split until it is small enough.
#pragma once

#include <cstdint>
#include <vector>

#include "labelgrove/interpolation.hpp"
#include "labelgrove/row_view.hpp"

namespace labelgrove {

struct ClusteringOptions {
  std::uint32_t arity = 2;
  std::uint32_t max_leaf_size = 100;
  double tolerance = 1e-4;
  std::uint32_t max_iterations = 100;
  std::uint64_t seed = 0;
};

// A tree whose nodes are numbered level by level.
struct ClusterTree {
  std::vector<std::int64_t> parents;  // -1 for the root, node 0
  std::vector<LabelId> labels;        // of the leaves, in ascending order of nodes
};

// A group of at most max(max_leaf_size, arity) labels becomes a node with one leaf for each label. A larger group is
// divided into `arity` parts by repeated bisection, each in proportion to the number of parts still to be made on
// either side. Only the directions of vectors matter. With equal weights, parts therefore differ in size by 1 at most,
// and arity 2 is balanced 2-means. If the weights leave one side with fewer labels than parts, the other side gets the
// remaining parts. The tree does not depend on the number of threads. REQUIRES: arity >= 2, max_leaf_size >= 1.
ClusterTree cluster_labels(const RowView& vectors, std::uint32_t dimension, const Interpolation& interpolation,
                           const ClusteringOptions& options, unsigned threads);

}  // namespace labelgrove
