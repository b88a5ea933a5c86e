#include <cstdint>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/memory_search.hpp"
#include "labelgrove/memory_tree.hpp"
#include "register.hpp"
#include "routed.hpp"

namespace labelgrove::bindings {
namespace {

MemoryTreeOptions options_from(const nb::dict& given) {
  MemoryTreeOptions options;
  take_option(given, "r", options.learner.r);
  take_option(given, "alpha", options.alpha);
  take_option(given, "leaf_multiplier", options.leaf_multiplier);
  take_option(given, "reroutes", options.reroutes);
  take_option(given, "max_examples", options.max_examples);
  take_option(given, "max_bytes", options.max_bytes);
  take_option(given, "leaves", options.leaves);
  take_option(given, "classifiers", options.classifiers);
  take_option(given, "normalize", options.normalize);
  take_option(given, "seed", options.seed);
  return options;
}

// The path of the row, and the evidence for a label (see MemoryEvidence).
void explain(const MemoryTree& tree, const Features& x, LabelId label, nb::dict& out) {
  add_route(tree, x, out);
  const LabelScope scope(tree.known());
  const MemoryEvidence evidence = MemorySearcher(tree, scope, tree.options().leaves).evidence(x, label);
  out["share"] = evidence.share;
  out["near.bias"] = evidence.near_bias;
  out["near"] = to_array(evidence.near);
  out["classifier.bias"] = evidence.bias;
  out["classifier"] = to_array(evidence.contributions);
}

}  // namespace

void register_memory_tree(nb::module_& module) {
  nb::class_<Held<MemoryTree>> engine(module, "MemoryTree",
                                      "Contextual memory tree; see core/include/labelgrove/memory_tree.hpp.");
  bind_routed<MemorySearcher>(engine, &options_from, &explain);
}

}  // namespace labelgrove::bindings
