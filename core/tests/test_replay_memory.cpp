#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "harness.hpp"
#include "labelgrove/replay_memory.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

using Children = std::vector<std::uint32_t>;

// A simple model of it: Algorithm R, with a separate list for every entry.
struct Reference {
  struct Entry {
    ExampleId example;
    Children positives;
  };
  std::vector<Entry> entries;
  std::uint64_t reached = 0;

  ExampleId offer(std::uint64_t seed, std::uint64_t capacity, ExampleId example, const Children& positives) {
    ++reached;
    if (capacity == 0 || entries.size() < capacity) {
      entries.push_back({example, positives});
      return kNone;
    }
    const std::uint64_t slot = draw(seed, Draw::reservoir, reached) % reached;
    if (slot >= capacity) return example;
    return std::exchange(entries[static_cast<std::size_t>(slot)], Entry{example, positives}).example;
  }
  void forget(std::uint32_t child) {
    for (Entry& entry : entries) std::erase(entry.positives, child);
  }
};

void check_same(const ReplayMemory& memory, const Reference& reference) {
  CHECK_EQ(memory.reached(), reference.reached);
  REQUIRE(memory.size() == reference.entries.size());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    CHECK_EQ(memory.example(i), reference.entries[i].example);
    CHECK(std::ranges::equal(memory.positives(i), reference.entries[i].positives));
  }
}

TEST("replay memory: any history of offers and forgotten children") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    const std::uint64_t capacity = seed % 3 == 0 ? 0 : 1 + random.below(40);
    const double density = random.uniform();
    ReplayMemory memory;
    Reference reference;
    for (ExampleId example = 0; example < 500; ++example) {
      const Children positives = random_subset(random, 6, density);
      CHECK_EQ(memory.offer(seed, capacity, example, positives), reference.offer(seed, capacity, example, positives));
      if (random.chance(0.02)) {
        const std::uint32_t child = random.below(6);
        memory.forget_child(child);
        reference.forget(child);
      }
      if (example % 50 == 0) check_same(memory, reference);
    }
    check_same(memory, reference);
    CHECK(capacity == 0 || memory.size() <= capacity);
  }
}

TEST("replay memory: a bounded one does not grow with the stream") {
  ReplayMemory memory;
  const Children positives{0, 1, 2};
  for (ExampleId example = 0; example < 100; ++example) memory.offer(1, 50, example, positives);
  const std::size_t early = memory.bytes();
  for (ExampleId example = 100; example < 100'000; ++example) memory.offer(1, 50, example, positives);
  CHECK(memory.bytes() <= 3 * early);
}

TEST("replay memory: every reference is kept or given back, none twice") {
  Random random(1);
  ReplayMemory memory;
  std::set<ExampleId> held;
  for (ExampleId example = 0; example < 3000; ++example) {
    held.insert(example);
    const ExampleId unneeded = memory.offer(5, 64, example, random_subset(random, 4, 0.5));
    if (unneeded != kNone) CHECK_EQ(held.erase(unneeded), 1U);
  }
  std::set<ExampleId> kept;
  for (std::size_t i = 0; i < memory.size(); ++i) kept.insert(memory.example(i));
  CHECK(kept == held);
  CHECK_EQ(kept.size(), 64U);
}

// Each of 60 examples must be in a memory of 12 with probability 1/5, the first as well as the last.
TEST("replay memory: remembers a uniform sample of all examples") {
  constexpr std::size_t kStream = 60;
  constexpr std::size_t kCapacity = 12;
  constexpr std::size_t kSeeds = 10'000;
  std::vector<double> remembered(kStream);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    ReplayMemory memory;
    for (ExampleId example = 0; example < kStream; ++example) memory.offer(seed, kCapacity, example, {});
    for (std::size_t i = 0; i < memory.size(); ++i) remembered[memory.example(i)] += 1.0;
  }
  const double share = static_cast<double>(kCapacity) / kStream;
  const double deviation = std::sqrt(kSeeds * share * (1.0 - share));
  for (const double count : remembered) CHECK_NEAR(count, kSeeds * share, 4.5 * deviation);
}

TEST("replay memory: replays are drawn uniformly and independently") {
  ReplayMemory memory;
  std::vector<double> picked(7);
  for (ExampleId example = 0; example < 7; ++example) memory.offer(3, 7, example, {});
  constexpr int kOffers = 7000;
  int equal = 0;
  for (int i = 0; i < kOffers; ++i) {
    memory.offer(3, 7, 100, {});
    const std::size_t first = memory.pick(3, 0);
    REQUIRE(first < memory.size());
    picked[first] += 1.0;
    equal += first == memory.pick(3, 1) ? 1 : 0;
    CHECK_EQ(memory.pick(3, 0), first);
  }
  for (const double count : picked) CHECK_NEAR(count, kOffers / 7.0, 5.0 * std::sqrt(kOffers / 7.0));
  CHECK_NEAR(equal, kOffers / 7.0, 5.0 * std::sqrt(kOffers / 7.0));
}

TEST("replay memory: nodes reached by the same examples remember and replay the same ones") {
  Random random(2);
  ReplayMemory one;
  ReplayMemory other;
  for (ExampleId example = 0; example < 400; ++example) {
    CHECK_EQ(one.offer(8, 20, example, random_subset(random, 5, 0.5)),
             other.offer(8, 20, example, random_subset(random, 3, 0.9)));
    for (std::uint64_t r = 0; r < 3; ++r) CHECK_EQ(one.pick(8, r), other.pick(8, r));
  }
  for (std::size_t i = 0; i < one.size(); ++i) CHECK_EQ(one.example(i), other.example(i));
}

TEST("replay memory: a node inserted above remembers as if it had been there from the start") {
  for (const std::uint64_t capacity : {std::uint64_t{0}, std::uint64_t{30}}) {
    Random random(3);
    ReplayMemory below;
    ReplayMemory above;
    const Children only_child{0};
    for (ExampleId example = 0; example < 200; ++example) {
      below.offer(4, capacity, example, random_subset(random, 5, 0.5));
      above.offer(4, capacity, example, only_child);
    }
    ReplayMemory made = below.parent_memory();
    for (ExampleId example = 200; example < 300; ++example) {
      REQUIRE(made.size() == above.size());
      CHECK_EQ(made.reached(), above.reached());
      for (std::size_t i = 0; i < made.size(); ++i) {
        CHECK_EQ(made.example(i), above.example(i));
        CHECK(std::ranges::equal(made.positives(i), above.positives(i)));
      }
      CHECK_EQ(made.offer(4, capacity, example, only_child), above.offer(4, capacity, example, only_child));
    }
  }
}

TEST("replay memory: resumes unchanged after loading") {
  Random random(5);
  ReplayMemory memory;
  for (ExampleId example = 0; example < 300; ++example) memory.offer(6, 25, example, random_subset(random, 5, 0.4));
  memory.forget_child(2);
  ReplayMemory restored;
  restored.restore(memory.reached());
  for (std::size_t i = 0; i < memory.size(); ++i) restored.append(memory.example(i), memory.positives(i));
  for (ExampleId example = 300; example < 600; ++example) {
    const Children positives = random_subset(random, 5, 0.4);
    CHECK_EQ(memory.offer(6, 25, example, positives), restored.offer(6, 25, example, positives));
    CHECK_EQ(memory.pick(6, 0), restored.pick(6, 0));
  }
  for (std::size_t i = 0; i < memory.size(); ++i) CHECK(std::ranges::equal(memory.positives(i), restored.positives(i)));
}

}  // namespace
}  // namespace labelgrove::testing
