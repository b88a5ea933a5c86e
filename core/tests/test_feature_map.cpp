#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "harness.hpp"
#include "labelgrove/feature_map.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

constexpr FeatureId kLargest = 0x7ffffffeU;

// A simple model of it: rows in order of arrival.
class Reference {
 public:
  std::uint32_t find(FeatureId feature) const {
    const auto found = rows_.find(feature);
    return found == rows_.end() ? kNone : found->second;
  }
  std::uint32_t find_or_insert(FeatureId feature) {
    const auto [at, is_new] = rows_.try_emplace(feature, static_cast<std::uint32_t>(order_.size()));
    if (is_new) order_.push_back(feature);
    return at->second;
  }
  void put(FeatureId feature, std::uint32_t row) {
    find_or_insert(feature);
    rows_[feature] = row;
  }
  const std::vector<FeatureId>& order() const { return order_; }

 private:
  std::unordered_map<FeatureId, std::uint32_t> rows_;
  std::vector<FeatureId> order_;
};

void check_same(const FeatureMap& map, const Reference& reference) {
  CHECK_EQ(map.size(), reference.order().size());
  REQUIRE(std::ranges::equal(map.features(), reference.order()));
  std::size_t wrong = 0;
  for (const FeatureId feature : reference.order()) {
    wrong += map.find(feature) != reference.find(feature) ? 1 : 0;
    // Neighbours, which a direct index might confuse; mostly absent.
    for (const FeatureId other : {feature - 1, feature + 1, feature ^ 0x40000000U}) {
      map.prefetch(other);
      wrong += map.find(other) != reference.find(other) ? 1 : 0;
    }
  }
  CHECK_EQ(wrong, 0U);
}

FeatureMap check_inserting(const std::vector<FeatureId>& features) {
  FeatureMap map;
  Reference reference;
  std::size_t checked = 1;
  for (const FeatureId feature : features) {
    REQUIRE(map.find(feature) == reference.find(feature));
    REQUIRE(map.find_or_insert(feature) == reference.find_or_insert(feature));
    if (reference.order().size() < checked) continue;
    check_same(map, reference);
    checked = checked < 40 ? checked + 1 : checked * 3 / 2;
  }
  check_same(map, reference);
  return map;
}

std::vector<FeatureId> counting(std::size_t n) {
  std::vector<FeatureId> features(n);
  std::iota(features.begin(), features.end(), 0U);
  return features;
}

TEST("feature map: an empty one knows no feature") {
  const FeatureMap map;
  CHECK_EQ(map.size(), 0U);
  CHECK(map.features().empty());
  for (const FeatureId feature : {0U, 1U, 16U, kLargest, kNone}) {
    map.prefetch(feature);
    CHECK_EQ(map.find(feature), kNone);
  }
}

TEST("feature map: any ids, few of them, in many ways") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const std::uint32_t range = 1U << (1 + random.below(31));
    std::vector<FeatureId> features(random.below(80));
    for (FeatureId& feature : features) feature = random.below(random.chance(0.1) ? kLargest : range);
    check_inserting(features);
  }
}

TEST("feature map: many ids from the whole range") {
  Random random(1);
  std::vector<FeatureId> features(20'000);
  for (FeatureId& feature : features) feature = random.below(kLargest);
  const FeatureMap map = check_inserting(features);
  CHECK(map.bytes() < 20'000 * (2 * 16 + 5));  // at least half full, and each key stored once
  CHECK(map.bytes() >= 20'000 * (4 + 8));
}

TEST("feature map: strides that are powers of two") {
  for (std::uint32_t shift = 0; shift < 21; shift += 4) {
    std::vector<FeatureId> features = counting(1500);
    for (FeatureId& feature : features) feature <<= shift;
    check_inserting(features);
  }
}

TEST("feature map: a dense prefix in any order is indexed directly") {
  for (const int order : {0, 1, 2}) {
    std::vector<FeatureId> features = counting(5000);
    if (order == 1) std::ranges::reverse(features);
    if (order == 2) Random(2).shuffle(features);
    const FeatureMap map = check_inserting(features);
    CHECK(map.bytes() < 5000 * (4 + 5 + 1));  // hashing takes 8 more bytes per slot
    CHECK(map.bytes() >= 5000 * (4 + 4));
  }
}

TEST("feature map: features that arrive in order seldom move a direct index") {
  FeatureMap map;
  std::set<std::size_t> sizes;
  for (FeatureId feature = 0; feature < 5000; ++feature) {
    map.find_or_insert(feature);
    sizes.insert(map.bytes());
  }
  CHECK(sizes.size() < 150);
}

TEST("feature map: one large id makes a direct index hash again, instead of taking gigabytes") {
  std::vector<FeatureId> features = counting(5000);
  features.push_back(kLargest);
  for (FeatureId feature = 5000; feature < 6000; ++feature) features.push_back(feature);
  const FeatureMap map = check_inserting(features);
  CHECK(map.bytes() < 6000 * (5 + 2 * 16));
}

TEST("feature map: changes between hashing and direct indexing, again and again, as gaps fill up") {
  std::vector<FeatureId> features;
  FeatureId next = 0;
  for (FeatureId far = 1000; far < 60'000; far *= 3) {
    features.push_back(far);                                    // far beyond the others: hashed
    for (; next < far - 100; ++next) features.push_back(next);  // dense up to it: direct
  }
  const FeatureMap map = check_inserting(features);
  CHECK(map.bytes() < features.size() * (4 + 6 + 1));
}

TEST("feature map: ids that the hash sends to the same slot") {
  for (const std::uint32_t first : {0U, 0xfffff000U}) {  // the first slot, and the last
    std::vector<FeatureId> features = counting(1200);
    for (FeatureId& feature : features) feature = (first + feature) * kColliding;
    check_inserting(features);
  }
}

TEST("feature map: a direct index takes over the features that a table had no slot for") {
  std::vector<FeatureId> features{4095};  // too far for a direct index
  for (FeatureId feature = 0; feature < 4095; ++feature) {
    if (scattered(feature) < 0xFFFFFFFFU / 5) features.push_back(feature);  // at home in a fifth of the slots
  }
  CHECK(check_inserting(features).crowded_out() > 0);
  for (FeatureId feature = 0; feature < 1000; ++feature) features.push_back(feature);
  CHECK_EQ(check_inserting(features).crowded_out(), 0U);
}

// With unbounded probes this takes 5 * 10^9 steps.
TEST("feature map: however many features collide, each is looked up in a bounded number of steps") {
  FeatureMap map;
  constexpr std::uint32_t n = 100'000;
  for (std::uint32_t i = 0; i < n; ++i) REQUIRE(map.find_or_insert(i * kColliding) == i);
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < n; ++i) wrong += map.find(i * kColliding) != i ? 1 : 0;
  CHECK_EQ(wrong, 0U);
  CHECK(map.crowded_out() > n / 2);
  CHECK(map.bytes() > map.crowded_out() * 48);  // the tree alone has as much per feature
  CHECK_EQ(map.find(n * kColliding), kNone);
  FeatureMap copy = map;
  CHECK_EQ(copy.find((n - 1) * kColliding), n - 1);
}

TEST("feature map: features that were not chosen to collide all find a slot") {
  Random random(9);
  for (const std::uint32_t range : {kLargest, 8'000'000U}) {
    FeatureMap map;
    for (int i = 0; i < 900'000; ++i) map.find_or_insert(random.below(range));  // 86 % of 2^20 slots
    CHECK_EQ(map.crowded_out(), 0U);
    CHECK(map.bytes() < (1U << 20) * (8 + 5));
  }
}

TEST("feature map: colliding ids among others") {
  Random random(3);
  std::vector<FeatureId> features;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    features.push_back(i * kColliding);
    features.push_back(random.below(kLargest));
    features.push_back((i << 20) * kColliding);
  }
  random.shuffle(features);
  check_inserting(features);
}

TEST("feature map: reserving room changes nothing") {
  Random random(4);
  FeatureMap plain;
  FeatureMap reserved;
  reserved.reserve(3000);
  for (int i = 0; i < 3000; ++i) {
    const FeatureId feature = random.below(10'000);
    CHECK_EQ(plain.find_or_insert(feature), reserved.find_or_insert(feature));
  }
  CHECK(std::ranges::equal(plain.features(), reserved.features()));
}

// Consecutive ids are indexed directly; larger ones turn the index into a table, in which some find no slot.
TEST("feature map: keeps the rows chosen by the caller when it grows") {
  Random random(5);
  std::vector<FeatureId> features = counting(500);
  for (std::uint32_t i = 0; i < 500; ++i) features.push_back(i * kColliding);
  for (std::uint32_t i = 0; i < 500; ++i) features.push_back(random.below(kLargest));
  FeatureMap map;
  Reference reference;
  for (std::size_t known = 0; known < features.size(); ++known) {
    for (const FeatureId feature : {features[known], features[random.below(static_cast<std::uint32_t>(known + 1))]}) {
      const std::uint32_t row = random.below(0xFFFFFFFEU);
      map.put(feature, row);
      reference.put(feature, row);
    }
    if (known % 50 == 0) check_same(map, reference);
  }
  check_same(map, reference);
  CHECK(map.crowded_out() > 0);
}

TEST("feature map: a copy is independent") {
  FeatureMap map;
  for (FeatureId feature = 0; feature < 100; ++feature) map.find_or_insert(feature * 7);
  FeatureMap copy = map;
  CHECK_EQ(copy.find_or_insert(5), 100U);
  CHECK_EQ(map.find(5), kNone);
  CHECK_EQ(map.find_or_insert(6), 100U);
  CHECK_EQ(copy.find(6), kNone);
  for (FeatureId feature = 0; feature < 100; ++feature) CHECK_EQ(copy.find(feature * 7), feature);
}

}  // namespace
}  // namespace labelgrove::testing
