// Every model is the same on every machine, to the last bit. The hashes here were computed on x86-64 with AVX-512, and
// agree with its other kernels and with ARM. A deliberate change of a model changes its hash.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness.hpp"
#include "labelgrove/clustering.hpp"
#include "labelgrove/elementary.hpp"
#include "labelgrove/embedding_plt.hpp"
#include "labelgrove/forest.hpp"
#include "labelgrove/lom_tree.hpp"
#include "labelgrove/memory_tree.hpp"
#include "labelgrove/score_calibration.hpp"
#include "memory_archive.hpp"
#include "sparse_rows.hpp"
#include "stream.hpp"

namespace labelgrove::testing {
namespace {

constexpr LabelId kLabels = 40;

const Stream& stream() {
  static const Stream stream = [] {
    Random random(17);
    return random_stream(random, 1500, kLabels, 60);
  }();
  return stream;
}

// Only the first label of each example.
const Stream& single() {
  static const Stream single = [] {
    Stream some;
    for (std::size_t i = 0; i < stream().size(); ++i) {
      if (stream().labels[i].empty()) continue;
      some.x.push_back(stream().x[i]);
      some.labels.push_back({stream().labels[i].front()});
    }
    return some;
  }();
  return single;
}

OnlinePltOptions online_options(LearnerKind learner) {
  OnlinePltOptions options;
  options.learner.kind = learner;
  options.learner.l2 = learner == LearnerKind::sgd ? 0.001F : 0.0F;
  options.arity = 3;
  options.max_leaves = 12;
  options.seed = 3;
  if (learner == LearnerKind::arow) options.replay = 2;
  if (learner == LearnerKind::arow) options.replay_most = 12;
  return options;
}

std::uint64_t online(LearnerKind learner, const Stream& examples) {
  OnlinePlt model(online_options(learner));
  learn(model, examples);
  return saved(model).fingerprint();
}

LabelTree clustered(double lambda) {
  const SparseRows vectors = random_vectors(kLabels, 30, 0.2);
  std::vector<double> often;
  for (LabelId label = 0; label < kLabels; ++label) often.push_back(1.0 / (label + 1.0));
  const ClusterTree tree = cluster_labels(vectors.view(), 30, {often, often, lambda, 0.1, true}, {3, 5}, 1);
  std::vector<NodeId> parents = {kNone};
  std::vector<LabelId> labels(tree.parents.size() + 1, kNone);
  for (const std::int64_t parent : tree.parents) parents.push_back(static_cast<NodeId>(parent + 1));
  std::size_t leaf = 0;
  for (NodeId v = kRoot; v < parents.size(); ++v) {
    if (std::ranges::find(parents, v) == parents.end()) labels[v] = tree.labels[leaf++];
  }
  return {parents, labels, std::vector<std::uint8_t>(parents.size()), kLabels};
}

std::uint64_t batch(BatchLoss loss, double lambda) {
  TrainingOptions options;
  options.solver.loss = loss;
  options.link = loss == BatchLoss::log ? Link::logistic : Link::squared_hinge;
  return trained(options, {clustered(lambda)}, training_set(stream())).fingerprint();
}

// A compact copy of a tree whose link is measured. Its features are so far apart that tables find them.
std::uint64_t compact_copy(WeightType type) {
  Stream wide = stream();
  for (Example& x : wide.x) {
    for (FeatureId& feature : x.ids) feature *= 30'000'001;
  }
  TrainingOptions options;
  options.solver.held_out = 0.125F;
  options.link = Link::calibrated;
  const MemoryArchive whole = trained(options, {clustered(0.0)}, training_set(wide));
  const CompactPlt model(true, whole);
  MemoryArchive copy;
  write_compact(views_of(model), model.examples_seen(), {type, 0.2F}, copy);
  return copy.fingerprint();
}

std::uint64_t lom_tree(LearnerKind learner) {
  LomTreeOptions options;
  options.learner.kind = learner;
  options.learner.loss = Loss::squared;
  options.learner.rate = 0.25F;
  options.max_nodes = 60;
  LomTree tree(options);
  for (std::size_t i = 0; i < single().size(); ++i) tree.learn(single().x[i].view(), single().labels[i].front(), 1.0F);
  return saved(tree).fingerprint();
}

std::uint64_t memory_tree() {
  MemoryTree tree(MemoryTreeOptions{});
  for (std::size_t i = 0; i < stream().size(); ++i) tree.learn(stream().x[i].view(), stream().labels[i]);
  return saved(tree).fingerprint();
}

std::uint64_t forest(const decltype(ForestOptions::growth)& growth) {
  ForestOptions options;
  options.growth = growth;
  options.children = 2;
  options.trees = 2;
  options.max_nodes = 100;
  options.seed = 5;
  Forest grown(options);
  grown.grow(forest_examples(stream(), kLabels), 1);
  return saved(grown).fingerprint();
}

std::uint64_t embedding(bool softmax) {
  EmbeddingOptions options;
  options.learner.kind = LearnerKind::adagrad;
  options.dimension = 20;
  options.softmax = softmax;
  options.replay = 1;
  EmbeddingPlt model(options, clustered(0.0));
  const auto example = [](std::size_t i) { return stream()[i]; };
  Progress progress;
  model.fit(example, 1000, 2, 1, progress);
  model.learn(example, 1000, stream().size());
  return saved(model).fingerprint();
}

// What it counted, and what it makes of some scores.
std::uint64_t score_calibration() {
  Random random(17);
  ScoreCalibration calibration(4);
  std::vector<double> logits(6);
  for (int i = 0; i < 500; ++i) {
    bool right[6];
    for (std::size_t j = 0; j < logits.size(); ++j) {
      logits[j] = log_odds(static_cast<double>(random.between(0.0F, 1.0F)));
      right[j] = random.chance(0.3);
    }
    calibration.add(logits, right, 0.99);
  }
  MemoryArchive archive;
  ArrayWriter& out = archive;
  std::ranges::copy(calibration.counts(), out.f64("counts", calibration.counts().size()).begin());
  std::ranges::copy(calibration.hits(), out.f64("hits", calibration.hits().size()).begin());
  std::ranges::copy(calibration.losses(), out.f64("losses", calibration.losses().size()).begin());
  const std::vector<std::size_t> places{0, 1, 2, 3, 4, 5};
  calibration.apply(logits, places, out.f64("found", logits.size()).data());
  return archive.fingerprint();
}

TEST("every machine: online label trees") {
  CHECK_EQ(online(LearnerKind::arow, stream()), 18367778928295436483U);
  CHECK_EQ(online(LearnerKind::arow, single()), 15683749410124400735U);
  CHECK_EQ(online(LearnerKind::adagrad, stream()), 697669067758017283U);
  CHECK_EQ(online(LearnerKind::sgd, stream()), 5369228190030069970U);
}

TEST("every machine: label trees learnt in batch, on clustered labels") {
  CHECK_EQ(batch(BatchLoss::squared_hinge, 0.0), 18069747813859236244U);
  CHECK_EQ(batch(BatchLoss::log, 0.7), 16631040060286438527U);
}

TEST("every machine: compact copies of a tree with a measured link") {
  CHECK_EQ(compact_copy(WeightType::float32), 5333673924770901198U);
  CHECK_EQ(compact_copy(WeightType::float16), 12513956932074010099U);
  CHECK_EQ(compact_copy(WeightType::int8), 6956047265065352386U);
}

TEST("every machine: LOMtree and memory tree") {
  CHECK_EQ(lom_tree(LearnerKind::arow), 15529217923112762988U);
  CHECK_EQ(lom_tree(LearnerKind::adagrad), 11533114904749515664U);
  CHECK_EQ(memory_tree(), 12433165546820666797U);
}

TEST("every machine: forests") {
  LdsmOptions ldsm;
  ldsm.learner.kind = LearnerKind::nag;
  ldsm.learner.loss = Loss::squared;
  ldsm.epochs = 2;
  ldsm.objective = {1.5, 2.0};
  CHECK_EQ(forest(ldsm), 675167669965368356U);
  CHECK_EQ(forest(FastxmlOptions{}), 14352545311767387432U);
}

TEST("every machine: calibrated scores") { CHECK_EQ(score_calibration(), 12203139739422166343U); }

TEST("every machine: embeddings") {
  CHECK_EQ(embedding(false), 11566869516704825480U);
  CHECK_EQ(embedding(true), 7670797407577889087U);
}

}  // namespace
}  // namespace labelgrove::testing
