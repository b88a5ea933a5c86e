#include <cstdint>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/memory_search.hpp"
#include "labelgrove/memory_tree.hpp"
#include "register.hpp"
#include "routed.hpp"

namespace labelgrove::bindings {
namespace {

using Model = Held<MemoryTree>;

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

// The path of the single row, and the evidence for a label (see MemoryEvidence).
nb::dict explain(const Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
                 LabelId label) {
  return explained_route(model, indptr, ids, values, [&](nb::dict& out, const Route&, const Features& x) {
    const LabelScope scope(model.engine.known());
    MemorySearcher searcher(model.engine, scope, model.engine.options().leaves);
    const MemoryEvidence evidence = searcher.evidence(x, label);
    out["share"] = evidence.share;
    out["near.bias"] = evidence.near_bias;
    out["near"] = to_array(evidence.near);
    out["classifier.bias"] = evidence.bias;
    out["classifier"] = to_array(evidence.contributions);
  });
}

}  // namespace

void register_memory_tree(nb::module_& module) {
  nb::class_<Model> engine(module, "MemoryTree",
                           "Contextual memory tree; see core/include/labelgrove/memory_tree.hpp.");
  bind_routed<MemoryTree, MemorySearcher>(engine, &options_from, &explain);
}

}  // namespace labelgrove::bindings
