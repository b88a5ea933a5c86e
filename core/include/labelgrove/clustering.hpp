// Label trees from the top downwards, by clustering: every group of labels is cut into parts until it is small enough.
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

// A tree, its nodes numbered by level.
struct ClusterTree {
  std::vector<std::int64_t> parents;  // -1 for the root, node 0
  std::vector<LabelId> labels;        // of the leaves in ascending order
};

// A group of at most max(max_leaf_size, arity) labels becomes a node with a leaf for each. A larger one is cut into
// `arity` parts by cutting it in two again and again, each time in proportion to the parts that either side is still to
// have; only the direction of vectors counts. So with equal weights the sizes of parts differ by 1 at most, and arity 2
// is balanced 2-means. Where weights leave a side with fewer labels than parts, the other side gets the parts that are
// left over. The tree does not depend on the number of threads.
// REQUIRES: arity >= 2, max_leaf_size >= 1.
ClusterTree cluster_labels(const RowView& vectors, std::uint32_t dimension, const Interpolation& interpolation,
                           const ClusteringOptions& options, unsigned threads);

}  // namespace labelgrove
