#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "held.hpp"
#include "label_trees.hpp"
#include "labelgrove/compact_embedding.hpp"
#include "labelgrove/embedding_plt.hpp"
#include "model_archive.hpp"
#include "register.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {
namespace {

using Model = Held<EmbeddingPlt>;

EmbeddingOptions options_from(const nb::dict& given) {
  EmbeddingOptions options;
  take_option(given, "learner", options.learner.kind);
  take_option(given, "rate", options.learner.rate);
  take_option(given, "epsilon", options.learner.epsilon);
  take_option(given, "dimension", options.dimension);
  take_option(given, "softmax", options.softmax);
  take_option(given, "alpha", options.alpha);
  take_option(given, "arity", options.arity);
  take_option(given, "max_leaves", options.max_leaves);
  take_option(given, "seed", options.seed);
  take_option(given, "replay", options.replay);
  take_option(given, "replay_memory", options.replay_memory);
  return options;
}

void learn(EmbeddingPlt& plt, const LearnCall& call) {
  const LabelledExamples examples = [&](std::size_t row) { return call.examples[row]; };
  const auto teach = [&](std::size_t from, std::size_t to) { plt.learn(examples, from, to); };
  Workspace work;
  std::vector<float> made;
  const auto rank = [&](std::size_t row, std::vector<Scored>& found) {
    const Scope scope(plt.tree());
    Searcher searcher({plt.tree(), plt.blocks()}, scope);
    searcher.top_k(plt.embed(examples(row).x, work, made), call.k, found);
  };
  call.learn_and_rank(teach, rank);
}

void fit(Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
         const In<std::int64_t>& label_indptr, const In<LabelId>& labels, const nb::object& weights,
         std::uint32_t epochs, unsigned threads, Progress& progress) {
  const std::size_t rows = label_indptr.size() - 1;
  const TakenExamples given(indptr, ids, values, label_indptr, labels, weights, 0, rows);
  EmbeddingPlt& plt = model.whole();
  if (!plt.can_learn()) throw std::runtime_error("this model was loaded for prediction only");
  for (const LabelId label : given.labels.all()) {
    if (plt.tree().leaf_of(label) == kNone) throw std::invalid_argument("a label is not in the tree");
  }
  const WithoutGil without_gil;
  plt.fit([&](std::size_t row) { return given[row]; }, rows, epochs, threads, progress);
}

}  // namespace

void register_embedding_plt(nb::module_& module) {
  nb::class_<Model> engine(module, "EmbeddingPlt",
                           "Learnt vectors under a label tree; see core/include/labelgrove/embedding_plt.hpp.");
  bind_label_trees(engine);
  bind_archive(engine, &options_from);
  bind_learn(engine, &learn);
  engine
      .def_static(
          "on_tree",
          [](const nb::dict& options, const In<NodeId>& parents, const In<LabelId>& labels, LabelId label_count) {
            const std::vector<std::uint8_t> silent(parents.size());
            return std::make_unique<Model>(nb::none(), options_from(options),
                                           LabelTree(view(parents), view(labels), silent, label_count));
          },
          nb::arg("options"), nb::arg("parents"), nb::arg("labels"), nb::arg("label_count"))
      .def(
          "start_with",
          [](Model& self, const In<FeatureId>& features, const In<float>& vectors) {
            if (vectors.size() != features.size() * self.engine.options().dimension)
              throw std::invalid_argument("there must be a vector for every feature");
            self.whole().start_with(view(features), view(vectors));
          },
          nb::arg("features"), nb::arg("vectors"))
      .def("fit", &fit, nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("label_indptr"),
           nb::arg("labels"), nb::arg("weights").none(), nb::arg("epochs"), nb::arg("threads"), nb::arg("progress"));

  using Compact = Held<CompactEmbedding>;
  nb::class_<Compact> compact(module, "CompactEmbedding",
                              "Compact vectors under a label tree; see core/include/labelgrove/compact_embedding.hpp.");
  bind_label_trees(compact);
  bind_archive(compact, [](const nb::dict& options) {
    return CompactEmbedding::Options{nb::cast<std::uint32_t>(options["dimension"]), nb::cast<bool>(options["softmax"])};
  });
}

}  // namespace labelgrove::bindings
