#include <algorithm>
#include <string>
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
            learners.learn(v, example, random_subset(random, 2, 0.5), 2,
                           {.replays = 2, .several = true, .share = 0.5F});
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
      if (v == 0) alone.learn(x.view(), positives, 0.5F * weight, Evidence::full, work);
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

TEST("node learners: a budget counts what is announced, and forgets rows only for what will fit") {
  LearnerOptions learner;
  learner.kind = LearnerKind::adagrad;
  LabelTree tree;
  tree.insert_node(kRoot);
  tree.give_label(2, 0);
  tree.add_leaf(kRoot, 1);
  Random random(8);
  const Example x = random_example(random, 200, 1.0);
  Workspace work;
  // Node 0 has no classifiers. 256 bytes are counted for every node, 128 less for one with children.
  const auto start = [&](NodeLearners& learners) {
    learners.start(kRoot, 2, true);
    const std::vector<std::uint32_t> positives{0};
    learners.block(kRoot).learn(x.view(), positives, 1.0F, Evidence::full, work);
    learners.examples().add(x.view(), 1.0, 1.0F);
    const std::uint64_t memories = learners.examples().most_bytes() + learners.memory(kRoot).most_bytes();
    return 2 * 256 - 128 + memories + learners.block(kRoot).most_bytes();
  };
  NodeLearners unbounded(learner, {}, kSeed);
  const std::uint64_t count = start(unbounded);
  unbounded.make_room(1000);
  CHECK_EQ(unbounded.budget().counted, 0U);

  const std::uint64_t memory = ReplayMemory().most_bytes();
  const std::uint64_t lasting = 2 * 256 - 128 + unbounded.block(kRoot).lasting_bytes() + memory;
  const std::uint64_t labels = (count + 2500 - lasting) / 256;  // as many as there is room for without any rows
  const std::uint64_t most = lasting + labels * 256;
  NodeLearners learners(learner, {.max_bytes = most}, kSeed);
  start(learners);
  const SiblingBlock& block = learners.block(kRoot);
  const auto counted = [&] { return learners.budget().counted; };
  learners.make_room(most);
  CHECK_EQ(counted(), most);
  learners.make_room(7);  // more than is left, so that it is counted anew
  CHECK_EQ(counted(), count + 7);
  const std::vector<NodeId> nodes{0, kRoot};
  learners.restore({100, 0});
  learners.make_room_for_learning(nodes, tree, 3, 1);
  CHECK_EQ(counted(), 100 + block.growth(3, 3) + 64 + ReplayMemory::growth(1, 1));
  const std::uint64_t leaf = SiblingBlock(learner, 0, true).most_bytes() + memory + 256;
  learners.restore({100, 0});
  learners.make_room_for_leaf(kRoot, false);
  CHECK_EQ(counted(), 100 + leaf + block.growth_by_leaf());
  learners.restore({100, 0});
  learners.make_room_for_leaf(kRoot, true);
  const std::uint64_t above = block.most_bytes_of_parent() + memory + 256;
  CHECK_EQ(counted(), std::min(100 + leaf + above, count + leaf + above));

  learners.restore({most, 5});
  CHECK_EQ(learners.budget().replay_memory, 5U);
  learners.check_fits(labels, 0, tree);
  CHECK_THROWS(BudgetExceeded, learners.check_fits(labels + 1, 0, tree));
  CHECK_THROWS(BudgetExceeded, learners.check_fits(0, most, tree));
  std::string message;
  try {
    learners.make_room(most);
  } catch (const BudgetExceeded& error) {
    message = error.what();
  }
  const std::uint64_t memories = learners.examples().most_bytes() + learners.memory(kRoot).most_bytes();
  CHECK(message.find(std::to_string(lasting - memory + memories + most) + " bytes") != std::string::npos);
  CHECK_EQ(counted(), count);
  CHECK_EQ(block.rows(), 201U);

  learners.restore({most, 0});
  learners.make_room(most - count);
  CHECK_EQ(counted(), most);
  CHECK_EQ(block.rows(), 201U);
  learners.restore({most, 0});
  learners.make_room(most - count + 1);
  CHECK(block.rows() < 201);
  CHECK_EQ(counted(), 2 * 256 - 128 + memories + block.most_bytes() + most - count + 1);
  CHECK(counted() <= most);
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
