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
  const auto integer = [&](const char* name) { return nb::cast<std::uint64_t>(given[name]); };
  const auto real = [&](const char* name) { return static_cast<float>(nb::cast<double>(given[name])); };
  options.learner.r = real("r");
  options.alpha = real("alpha");
  options.leaf_multiplier = static_cast<std::uint32_t>(integer("leaf_multiplier"));
  options.reroutes = static_cast<std::uint32_t>(integer("reroutes"));
  options.max_examples = integer("max_examples");
  options.max_bytes = integer("max_bytes");
  options.leaves = static_cast<std::uint32_t>(integer("leaves"));
  options.classifiers = nb::cast<bool>(given["classifiers"]);
  options.normalize = nb::cast<bool>(given["normalize"]);
  options.seed = integer("seed");
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
    out["near"] = to_array(std::span<const float>(evidence.near));
    out["classifier.bias"] = evidence.bias;
    out["classifier"] = to_array(std::span<const float>(evidence.contributions));
  });
}

}  // namespace

void register_memory_tree(nb::module_& module) {
  nb::class_<Model> engine(module, "MemoryTree",
                           "Contextual memory tree; see core/include/labelgrove/memory_tree.hpp.");
  bind_routed<MemoryTree, MemorySearcher>(engine, &options_from, &explain);
}

}  // namespace labelgrove::bindings
