#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/lom_search.hpp"
#include "labelgrove/lom_tree.hpp"
#include "register.hpp"
#include "routed.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {
namespace {

using Model = Held<LomTree>;

LomTreeOptions options_from(const nb::dict& given) {
  LomTreeOptions options;
  take_option(given, "learner", options.learner.kind);
  take_option(given, "loss", options.learner.loss);
  take_option(given, "rate", options.learner.rate);
  take_option(given, "epsilon", options.learner.epsilon);
  take_option(given, "r", options.learner.r);
  take_option(given, "max_nodes", options.max_nodes);
  take_option(given, "nodes_per_class", options.nodes_per_class);
  take_option(given, "max_bytes", options.max_bytes);
  take_option(given, "swap_resistance", options.swap_resistance);
  take_option(given, "leaves", options.leaves);
  take_option(given, "normalize", options.normalize);
  return options;
}

// The path of the row, with the number of examples that reached each node, and of those that had the label.
void explain(const LomTree& tree, const Features& x, LabelId label, nb::dict& out) {
  std::vector<std::uint64_t> reached;
  std::vector<std::uint64_t> seen;
  for (const NodeId v : add_route(tree, x, out).nodes) {
    const LomTree::Node& node = tree.nodes()[v];
    const ClassCount* count = node.classes.find(label);
    reached.push_back(node.reached);
    seen.push_back(count == nullptr ? 0 : count->reached);
  }
  out["reached"] = to_array(reached);
  out["seen"] = to_array(seen);
}

}  // namespace

void register_lom_tree(nb::module_& module) {
  nb::class_<Model> engine(module, "LomTree", "LOMtree; see core/include/labelgrove/lom_tree.hpp.");
  bind_routed<LomSearcher>(engine, &options_from, &explain);
  engine.def(
      "nodes",
      [](const Model& self) {
        return saved_by([&](ArrayWriter& out) { self.whole().save_nodes(out, !self.engine.can_learn()); });
      },
      "The saved arrays of the tree and its statistics.");
}

}  // namespace labelgrove::bindings
