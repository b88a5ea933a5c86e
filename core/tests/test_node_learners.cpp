#include <vector>

#include "harness.hpp"
#include "labelgrove/node_archive.hpp"
#include "labelgrove/node_learners.hpp"
#include "memory_archive.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

constexpr std::uint64_t kSeed = 3;

std::vector<float> weights_of(const RowBlock& block) {
  std::vector<float> weights;
  for (std::uint32_t r = 0; r < block.rows(); ++r) {
    for (std::uint32_t c = 0; c < block.columns(); ++c) weights.push_back(block.weight(r, c));
  }
  return weights;
}

// Forty examples for each of ten nodes with two children and theta; one node gets another leaf halfway.
void live(NodeLearners& learners, unsigned threads) {
  Random random(4);
  for (NodeId v = 0; v < 10; ++v) learners.start(v, 2, true);
  int window = 0;
  learners.run(
      [&](const NodeLearners::Idle& idle) {
        if (window == 0) CHECK_EQ(idle(), threads > 1);  // the other threads have nothing to do yet
        if (window == 4) return false;
        for (int i = 0; i < 10; ++i) {
          const Example x = random_example(random, 12, 0.4);
          const ExampleId example = learners.examples().add(x.view(), 1.0, random.between(0.5F, 2.0F));
          for (NodeId v = 0; v < 10; ++v)
            learners.learn(v, example, random_subset(random, 2, 0.5), 2, 2, Evidence::full, true);
          learners.examples().release(example);
          if (i == 5) learners.bring_up_to_date(static_cast<NodeId>(window));
        }
        if (++window == 2) learners.add_leaf(4);
        return true;
      },
      threads);
}

TEST("node learners: the same for any number of threads, and as blocks learn alone") {
  NodeLearners one({}, {.replay = 0, .replay_memory = 0}, kSeed);
  NodeLearners many({}, {.replay = 0, .replay_memory = 0}, kSeed);
  live(one, 1);
  live(many, 4);
  for (NodeId v = 0; v < 10; ++v) {
    CHECK_EQ(one.block(v).children(), v == 4 ? 3U : 2U);
    CHECK_EQ(one.block(v).updates(), 40U);
    CHECK(same_bits(weights_of(one.block(v)), weights_of(many.block(v))));
  }
  Random random(4);
  Workspace work;
  SiblingBlock alone({}, 2, true);
  for (int i = 0; i < 40; ++i) {
    const Example x = random_example(random, 12, 0.4);
    const float weight = random.between(0.5F, 2.0F);
    for (NodeId v = 0; v < 10; ++v) {
      const auto positives = random_subset(random, 2, 0.5);
      if (v == 0) alone.learn(x.view(), positives, weight, Evidence::full, work);
    }
  }
  CHECK(same_bits(weights_of(alone), weights_of(one.block(0))));
}

TEST("node learners: a node above remembers the same examples, and discarding releases them") {
  NodeLearners learners({}, {.replay = 2, .replay_memory = 7}, kSeed);
  live(learners, 2);
  CHECK_EQ(learners.block(3).updates(), 120U);
  CHECK_EQ(learners.memory(3).size(), 7U);
  learners.insert_above(3, 10);
  CHECK_EQ(learners.block(3).children(), 1U);
  CHECK_EQ(learners.block(10).children(), 2U);
  CHECK_EQ(learners.memory(3).size(), 7U);
  for (std::size_t i = 0; i < 7; ++i) CHECK_EQ(learners.memory(3).example(i), learners.memory(10).example(i));
  const std::size_t bytes = learners.memory_bytes();
  for (NodeId v = 0; v <= 10; ++v) learners.discard(v);
  CHECK(!learners.has(3));
  CHECK(learners.memory_bytes() < bytes);
}

TEST("node archive: restores what nodes know and remember, also for prediction only") {
  const LearnerOptions learner;
  const ReplayOptions replay{.replay = 1, .replay_memory = 5};
  NodeLearners learners(learner, replay, kSeed);
  live(learners, 1);
  const std::vector<NodeId> parents{kNone, 0, 1, 1};
  const std::vector<LabelId> labels{kNone, kNone, 0, 1};
  const std::vector<std::uint8_t> silent(4);
  const TreeOutline tree(parents, labels, silent, 2);
  const std::vector<NodeId> nodes{1};
  const std::vector<const RowBlock*> blocks{&learners.block(1)};
  const auto has_theta = [](NodeId) { return true; };
  MemoryArchive archive;
  save_blocks(archive, nodes, blocks, learner, false);
  save_memories(archive, nodes, learners);
  NodeLearners other(learner, replay, kSeed);
  load_blocks(archive, tree, learner, false, has_theta, nullptr, [&](NodeId v, const BlockView& view) {
    other.put(v, SiblingBlock(learner, view));
    return other.block(v).features().size();
  });
  load_memories(archive, nodes, tree, replay, &other);
  MemoryArchive again;
  const std::vector<const RowBlock*> loaded{&other.block(1)};
  save_blocks(again, nodes, loaded, learner, false);
  save_memories(again, nodes, other);
  CHECK(again == archive);

  MemoryArchive small;
  save_blocks(small, nodes, blocks, learner, true);
  CHECK(!small.has("weights.state8"));
  load_blocks(small, tree, learner, true, has_theta, nullptr, [&](NodeId, const BlockView& view) {
    const StoredBlock stored(learner, view);
    Workspace work;
    Random random(9);
    std::vector<float> one(2);
    std::vector<float> two(2);
    const Example x = random_example(random, 12, 0.5);
    stored.predict(x.view(), work, one.data());
    learners.block(1).predict(x.view(), work, two.data());
    CHECK(same_bits(one, two));
    return stored.features().size();
  });
}

}  // namespace
}  // namespace labelgrove::testing
