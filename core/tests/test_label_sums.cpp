#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "harness.hpp"
#include "labelgrove/archive_check.hpp"
#include "labelgrove/label_sums.hpp"
#include "memory_archive.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

const Example kOne{{1, 4}, {0.6F, 0.8F}};
const Example kOther{{0, 4, 9}, {0.48F, 0.6F, 0.64F}};

TEST("label sums: the cosine is that between the example and the sum of the label's examples") {
  LabelSums sums(8);
  const std::vector<LabelId> both{0, 3};
  const std::vector<LabelId> second{3};
  sums.add(kOne.view(), both, 1.0F);
  sums.add(kOther.view(), second, 2.0F);
  sums.add(kOther.view(), {}, 1.0F);
  CHECK_EQ(sums.examples(), 3U);
  CHECK_EQ(sums.count(3), 2U);
  CHECK_EQ(sums.count(1), 0U);
  CHECK_EQ(sums.count(77), 0U);
  CHECK(std::abs(sums.cosine(kOne.view(), 0) - 1.0F) < 1e-6F);
  // (0.96, 0.6, 2, 1.28) at 0, 1, 4, 9.
  const float length = std::sqrt(0.96F * 0.96F + 0.36F + 4.0F + 1.28F * 1.28F);
  CHECK(std::abs(sums.cosine(kOne.view(), 3) - (0.36F + 1.6F) / length) < 1e-6F);
  CHECK_EQ(sums.cosine(kOne.view(), 1), 0.0F);
  CHECK_EQ(sums.cosine(kOne.view(), 77), 0.0F);
  sums.forget(3);
  CHECK_EQ(sums.count(3), 0U);
  CHECK_EQ(sums.cosine(kOne.view(), 3), 0.0F);
}

TEST("label sums: beyond twice the budget the largest parts are kept, with lower ids first among equals") {
  LabelSums sums(2);
  const std::vector<LabelId> label{0};
  const Example wide{{0, 1, 2, 3}, {0.5F, -0.5F, 0.5F, 0.5F}};
  const Example fifth{{7}, {1.0F}};
  sums.add(wide.view(), label, 1.0F);
  const auto ids = [&] {
    const MemoryArchive archive = saved(sums);
    const auto found = archive.array<FeatureId>("sum.feature");
    return std::vector<FeatureId>(found.begin(), found.end());
  };
  CHECK_EQ(ids().size(), 4U);
  sums.add(fifth.view(), label, 1.0F);
  CHECK(ids() == std::vector<FeatureId>({0, 7}));
}

TEST("label sums: within a budget of bytes, the widest sums are cut, and narrow ones stay as they are") {
  constexpr std::uint64_t kMostBytes = 4000;
  LabelSums sums(100, kMostBytes);
  LabelSums unbounded(100);
  const auto add = [&](const Example& x, LabelId label) {
    for (LabelSums* one : {&sums, &unbounded}) one->add(x.view(), std::vector<LabelId>{label}, 1.0F);
  };
  add(kOne, 0);
  Random random(2);
  for (LabelId label = 1; label < 9; ++label) {
    Example wide = random_example(random, 100, 0.8);
    wide.values.front() = 10.0F;
    add(wide, label);
    CHECK(sums.bytes() <= kMostBytes);
    CHECK(LabelSums(saved(sums), kMostBytes).bytes() <= sums.bytes());
  }
  CHECK(unbounded.bytes() > kMostBytes);
  CHECK(sums.bytes() > kMostBytes / 2);
  CHECK_EQ(sums.cosine(kOne.view(), 0), unbounded.cosine(kOne.view(), 0));
  const LabelSums again(saved(sums), kMostBytes);
  for (LabelId label = 1; label < 9; ++label) {
    CHECK_EQ(sums.cosine(kOne.view(), label), again.cosine(kOne.view(), label));
  }
}

TEST("label sums: a smaller budget of bytes applies as soon as they are loaded, and to what is added then") {
  LabelSums sums(100);
  Random random(3);
  for (LabelId label = 0; label < 8; ++label) {
    sums.add(random_example(random, 100, 0.8).view(), std::vector<LabelId>{label}, 1.0F);
  }
  const std::uint64_t most = sums.bytes() / 2;
  LabelSums loaded(saved(sums), most);
  CHECK(loaded.bytes() <= most);
  for (LabelId label = 0; label < 40; ++label) {
    loaded.add(random_example(random, 100, 0.8).view(), std::vector<LabelId>{label % 10}, 1.0F);
    CHECK(loaded.bytes() <= most);
  }
}

TEST("label sums: resumes unchanged after loading") {
  LabelSums sums(4);
  const std::vector<LabelId> label{2};
  sums.add(kOne.view(), label, 1.5F);
  LabelSums again(saved(sums));
  for (LabelSums* one : {&sums, &again}) one->add(kOther.view(), label, 1.0F);
  CHECK(saved(sums) == saved(again));
  CHECK_EQ(sums.cosine(kOne.view(), 2), again.cosine(kOne.view(), 2));
}

TEST("label sums: impossible archives are refused") {
  LabelSums sums(4);
  const std::vector<LabelId> label{0};
  sums.add(kOne.view(), label, 1.0F);
  const auto refuses = [&](auto&& damage) {
    MemoryArchive archive = saved(sums);
    damage(archive);
    CHECK_THROWS(std::invalid_argument, LabelSums{archive});
  };
  const auto set = [&](const char* name, std::size_t at, auto value) {
    refuses([&](MemoryArchive& archive) {
      std::get<std::vector<decltype(value)>>(archive.arrays().find(name)->second)[at] = value;
    });
  };
  set("sum.counters", 0, std::uint64_t{0});      // no budget
  set("sum.counters", 0, std::uint64_t{kNone});  // too large
  set("sum.counters", 1, kMostExamples + 1);     // likewise
  set("sum.count", 0, std::uint64_t{2});         // more than were added
  set("sum.features", 0, std::uint32_t{3});      // too short
  set("sum.features", 0, std::uint32_t{1});      // too long
  set("sum.feature", 0, std::uint32_t{7});       // not increasing
  set("sum.feature", 1, kNone);                  // out of range
  set("sum.feature", 1, kNone / 2);
  set("sum.value", 0, std::numeric_limits<float>::quiet_NaN());
  set("sum.value", 0, -2.0F * kLargestWeight);
  refuses([](MemoryArchive& archive) { archive.arrays().erase("sum.count"); });
  const auto one_more = [](auto& numbers) { numbers.push_back(1); };
  for (const char* name : {"sum.counters", "sum.count", "sum.features", "sum.feature", "sum.value"}) {
    refuses([&](MemoryArchive& archive) { archive = changed(archive, name, one_more); });
  }
  // As many features as the budget allows are loaded, and no more.
  LabelSums wide(1);
  wide.add(kOne.view(), label, 1.0F);
  CHECK_EQ(LabelSums(saved(wide)).count(0), 1U);
  const MemoryArchive wider = changed(saved(sums), "sum.counters", set_first(1));
  CHECK_EQ(LabelSums(wider).count(0), 1U);
  LabelSums widest(4);
  widest.add(kOther.view(), label, 1.0F);
  const MemoryArchive too_wide = changed(saved(widest), "sum.counters", set_first(1));
  CHECK_THROWS(std::invalid_argument, LabelSums{too_wide});
}

}  // namespace
}  // namespace labelgrove::testing
