// The structure of a label tree as arrays.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "labelgrove/label_tree.hpp"

namespace labelgrove::bindings {

// By node, starting with the node above the root: parent, label (or kNone), and whether the label was removed.
inline nb::dict tree_arrays(const LabelTree& tree) {
  const std::size_t n = tree.size();
  auto parents = make_array<NodeId>({n});
  auto labels = make_array<LabelId>({n});
  auto silent = make_array<std::uint8_t>({n});
  tree.store({parents.data(), n}, {labels.data(), n}, {silent.data(), n});
  nb::dict out;
  out["parent"] = parents;
  out["label"] = labels;
  out["silent"] = silent;
  return out;
}

// The ids of all labels that have a leaf, in ascending order.
inline nb::ndarray<LabelId, nb::numpy> labels_of(const LabelTree& tree) {
  std::vector<LabelId> labels;
  for (LabelId label = 0; label < tree.label_count(); ++label) {
    if (tree.leaf_of(label) != kNone) labels.push_back(label);
  }
  return to_array(labels);
}

// Builds a tree given as (parents, labels) by node, starting with the node above the root.
inline LabelTree tree_from(const nb::tuple& given, LabelId label_count) {
  const auto parents = nb::cast<In<NodeId>>(given[0], false);
  const auto labels = nb::cast<In<LabelId>>(given[1], false);
  const std::vector<std::uint8_t> silent(parents.size());
  return {view(parents), view(labels), silent, label_count};
}
inline std::vector<LabelTree> trees_from(const nb::list& given, LabelId label_count) {
  std::vector<LabelTree> trees;
  for (const nb::handle one : given) trees.push_back(tree_from(nb::cast<nb::tuple>(one), label_count));
  if (trees.empty()) throw std::invalid_argument("there is no tree");
  return trees;
}

}  // namespace labelgrove::bindings
