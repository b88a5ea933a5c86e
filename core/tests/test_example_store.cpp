#include <algorithm>
#include <map>

#include "harness.hpp"
#include "labelgrove/example_store.hpp"
#include "labelgrove/parallel.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

void check_holds(const ExampleStore& store, ExampleId id, const Example& expected) {
  const Features found = store.view(id);
  REQUIRE(found.size == expected.ids.size());
  CHECK(std::equal(expected.ids.begin(), expected.ids.end(), found.ids));
  CHECK(std::equal(expected.values.begin(), expected.values.end(), found.values));
}

Example dense_example(std::uint32_t features) {
  Example example;
  for (FeatureId id = 0; id < features; ++id) {
    example.ids.push_back(id);
    example.values.push_back(static_cast<float>(id) + 0.5F);
  }
  return example;
}

TEST("example store: keeps a copy, scaled") {
  ExampleStore store;
  Example example{{2, 5, 2'000'000'000}, {1.0F, -2.0F, 4.0F}};
  const ExampleId id = store.add(example.view(), 0.25);
  example.values = {0.25F, -0.5F, 1.0F};
  const Example kept = example;
  example.ids = {0, 0, 0};
  check_holds(store, id, kept);
}

TEST("example store: the scale may be beyond the range of a float") {
  ExampleStore store;
  const Example tiny{{1}, {1e-44F}};
  const ExampleId id = store.add(tiny.view(), unit_scale(tiny.view()));
  CHECK_EQ(store.view(id).values[0], 1.0F);
}

TEST("example store: an example without features") {
  ExampleStore store;
  const ExampleId id = store.add(Features{}, 1.0);
  CHECK_EQ(store.view(id).size, 0U);
  store.release(id);
  const ExampleId other = store.add(Features{}, 1.0);
  CHECK_EQ(store.view(other).size, 0U);
}

TEST("example store: examples without gaps take no ids of their own") {
  const Example example = dense_example(1000);
  const Example longer = dense_example(1001);
  const Example gap{{0, 1, 3}, {1.0F, 2.0F, 3.0F}};
  ExampleStore store;
  const ExampleId first = store.add(example.view(), 1.0);
  const Features seen = store.view(first);
  const std::size_t before = store.bytes();
  const std::uint64_t counted = store.most_bytes();
  const ExampleId id = store.add(example.view(), 1.0);
  CHECK_EQ(store.bytes() - before, 1000 * sizeof(float));
  check_holds(store, id, example);
  check_holds(store, store.add(longer.view(), 1.0), longer);
  check_holds(store, store.add(gap.view(), 1.0), gap);
  check_holds(store, first, example);
  CHECK(std::equal(example.ids.begin(), example.ids.end(), seen.ids));  // the viewed example has not moved

  ExampleStore other;  // the count does not depend on the history
  other.add(longer.view(), 1.0);
  const std::uint64_t without = other.most_bytes();
  other.add(example.view(), 1.0);
  CHECK_EQ(other.most_bytes() - without, counted);
}

TEST("example store: any history of adding, retaining and releasing") {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Random random(seed);
    ExampleStore store;
    struct Held {
      Example example;
      int references = 1;
    };
    std::map<ExampleId, Held> held;
    std::size_t most = 0;
    const std::size_t limit = seed == 4 ? 6000 : 50;  // more than one chunk, in one case
    for (int i = 0; i < 15'000; ++i) {
      const double adding = held.size() < limit ? 0.6 : 0.2;
      if (held.empty() || random.chance(adding)) {
        const Example example = random_example(random, 5, 0.8);
        const ExampleId id = store.add(example.view(), 1.0);
        REQUIRE(held.try_emplace(id, Held{example}).second);
      } else {
        auto at = held.lower_bound(random.below(held.rbegin()->first + 1));
        check_holds(store, at->first, at->second.example);
        if (random.chance(0.3)) {
          store.retain(at->first);
          ++at->second.references;
        } else {
          store.release(at->first);
          if (--at->second.references == 0) held.erase(at);
        }
      }
      most = std::max(most, held.size());
    }
    for (const auto& [id, example] : held) check_holds(store, id, example.example);
    CHECK(held.empty() || held.rbegin()->first <= 3 * most + 10);  // slots are reused
    std::size_t payload = 0;
    for (const auto& [id, example] : held) payload += example.example.ids.size() * sizeof(float);
    CHECK(store.bytes() >= payload);
    const std::size_t before = store.bytes();
    for (auto& [id, example] : held) {
      while (example.references-- > 0) store.release(id);
    }
    CHECK(before - store.bytes() >= payload);
  }
}

TEST("example store: the count bounds the memory, whichever examples came and went") {
  const Example example{{1, 4, 9}, {0.5F, 1.0F, 2.0F}};
  ExampleStore store;
  std::vector<ExampleId> kept;
  for (int i = 0; i < 20'000; ++i) {
    kept.push_back(store.add(example.view(), 1.0));
    if (i % 3 == 0) {
      store.release(kept[kept.size() / 2]);
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(kept.size() / 2));
    }
    CHECK(store.most_bytes() + 1024 * 40 >= store.bytes());
  }
  CHECK(store.most_bytes() < 2 * store.bytes());
}

// One thread adds, others view what it passes to them and release it in the end; ThreadSanitizer checks them.
TEST("example store: one thread adds while others view, retain and release") {
  ExampleStore store;
  Random random(9);
  constexpr std::size_t kBatch = 300;
  std::vector<std::pair<ExampleId, Example>> handed;
  std::vector<int> wrong(kBatch);
  Crew crew(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::pair<ExampleId, Example>> next;
    for (std::size_t i = 0; i < kBatch; ++i) {
      const Example example = i % 3 == 0 ? dense_example(8) : random_example(random, 20, 0.4);
      next.emplace_back(store.add(example.view(), 1.0), example);
    }
    crew.finish();
    handed = std::move(next);
    crew.start(handed.size(), [&](std::size_t i) {
      const auto& [id, example] = handed[i];
      store.retain(id);
      const Features view = store.view(id);
      if (!std::equal(example.values.begin(), example.values.end(), view.values, view.values + view.size)) ++wrong[i];
      store.release(id);
      store.release(id);
    });
  }
  crew.finish();
  CHECK(std::ranges::all_of(wrong, [](int n) { return n == 0; }));
}

}  // namespace
}  // namespace labelgrove::testing
