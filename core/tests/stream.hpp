// A stream of labelled examples with new labels arriving all the time, and models that learn from it.
#pragma once

#include <vector>

#include "labelgrove/batch_trainer.hpp"
#include "labelgrove/compact_plt.hpp"
#include "labelgrove/forest_tree.hpp"
#include "labelgrove/online_plt.hpp"
#include "labelgrove/training_set.hpp"
#include "memory_archive.hpp"
#include "support.hpp"

namespace labelgrove::testing {

struct Stream {
  std::vector<Example> x;
  std::vector<std::vector<LabelId>> labels;
  std::vector<float> weights;  // empty: all 1

  std::size_t size() const { return x.size(); }
  LabelledExample operator[](std::size_t i) const {
    return {x[i].view(), labels[i], weights.empty() ? 1.0F : weights[i]};
  }
};

// Gives the examples random weights, some of them 0.
inline void weigh(Stream& stream, Random& random) {
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const float chosen[] = {0.0F, 0.5F, 1.0F, 3.0F};
    stream.weights.push_back(stream.labels[i].empty() ? random.between(0.1F, 4.0F) : chosen[random.below(4)]);
  }
}

// Labels are numbered in order of arrival, below `most`. Some examples have none; some features are correlated with
// labels.
inline Stream random_stream(Random& random, std::size_t n, LabelId most, std::uint32_t features = 20) {
  Stream stream;
  LabelId known = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<LabelId> labels;
    const std::uint32_t count = most == 0 || random.chance(0.1) ? 0 : 1 + random.below(3);
    for (std::uint32_t j = 0; j < count; ++j) {
      const bool is_new = known < most && (known == 0 || random.chance(4.0 * most / static_cast<double>(n)));
      const LabelId label = is_new ? known++ : random.below(known);
      if (std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
    }
    Example x = random_example(random, features, 0.25);
    for (const LabelId label : labels) {
      const FeatureId id = label * 7 % features;
      const auto at = std::ranges::lower_bound(x.ids, id);
      if (at != x.ids.end() && *at == id) continue;
      x.values.insert(x.values.begin() + (at - x.ids.begin()), 2.0F);
      x.ids.insert(at, id);
    }
    stream.x.push_back(std::move(x));
    stream.labels.push_back(std::move(labels));
  }
  return stream;
}

inline void learn(OnlinePlt& model, const Stream& stream, std::size_t begin, std::size_t end, unsigned threads = 1) {
  model.learn([&stream](std::size_t i) { return stream[i]; }, begin, end, threads);
}
inline void learn(OnlinePlt& model, const Stream& stream) { learn(model, stream, 0, stream.size()); }

// The stream as a data set, which must outlive it.
inline TrainingSet training_set(const Stream& stream) {
  TrainingSet data;
  data.size = stream.size();
  data.example = [&stream](std::size_t i) { return stream[i]; };
  return data;
}
// What batch training learns, as files hold it.
inline MemoryArchive trained(const TrainingOptions& options, const std::vector<LabelTree>& trees,
                             const TrainingSet& data, unsigned threads = 1) {
  Progress progress;
  const auto blocks = train_blocks(options, trees, data, threads, progress);
  CHECK(progress.share() > 0.8 && progress.share() <= 1.0);  // trees need not have equal costs
  std::vector<const LabelTree*> views;
  for (const LabelTree& tree : trees) views.push_back(&tree);
  MemoryArchive archive;
  write_blocks(views, data.size, WeightType::float32, blocks, archive);
  return archive;
}
// The stream as a forest's data set; all labels are below `labels`.
inline ForestExamples forest_examples(const Stream& stream, LabelId labels) {
  ForestExamples data;
  data.size = stream.size();
  data.example = [&stream](std::size_t i) { return stream[i]; };
  data.label_count = labels;
  return data;
}

inline constexpr Policy kGrowing[] = {Policy::best_greedy, Policy::random, Policy::cpet, Policy::complete};

inline OnlinePltOptions small_options(Policy policy, LearnerKind learner, std::uint32_t replay = 0,
                                      std::uint64_t replay_memory = 0) {
  OnlinePltOptions options;
  options.policy = policy;
  options.learner.kind = learner;
  options.learner.l2 = 0.01F;
  options.arity = 2;
  options.max_leaves = 4;
  options.replay = replay;
  options.replay_memory = replay_memory;
  options.seed = 17;
  return options;
}

}  // namespace labelgrove::testing
