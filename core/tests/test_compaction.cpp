#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "harness.hpp"
#include "labelgrove/archive_check.hpp"
#include "labelgrove/compact_block.hpp"
#include "labelgrove/compaction.hpp"
#include "labelgrove/feature_map.hpp"
#include "labelgrove/kernels.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

// A block and the arrays that it reads.
struct Held {
  CompactedBlock arrays;
  CompactRows rows;

  Held(const LinearBlock& block, const Compaction& how) : arrays(compacted(sparse(block), how)) {
    arrays.rows.resize(arrays.rows.size() + kBytesBehind, 0xFF);  // the bytes behind do not matter
    rows = {block.children,
            how.type,
            arrays.multiplier,
            static_cast<std::uint32_t>(arrays.index.size()),
            arrays.index.data(),
            arrays.offsets.data(),
            arrays.rows.data(),
            arrays.bias.data(),
            arrays.scale.empty() ? nullptr : arrays.scale.data()};
  }
  std::uint64_t bytes() const { return arrays.rows.size() - kBytesBehind; }
  std::uint64_t check() const { return check_compact_rows(rows, arrays.features, bytes(), "here"); }
  CompactBlock block(const LinearBlock& from) const { return {from.link, from.scale, rows, arrays.features, check()}; }
};

// Features below `width`. Each row has its own density of weights, so that all forms of rows occur.
LinearBlock random_block(Random& random, std::uint32_t children, std::uint32_t features, std::uint32_t width) {
  LinearBlock block;
  block.link = static_cast<Link>(random.below(3));
  block.scale = random.chance(0.5) ? 1.0F : 3.0F;
  block.children = children;
  block.features = random_subset(random, width, static_cast<double>(features) / width);
  random.shuffle(block.features);
  for (std::uint32_t c = 0; c < children; ++c) block.weights.push_back(random.between(-2.0F, 2.0F));
  for (std::size_t i = 0; i < block.features.size(); ++i) {
    const double density = random.uniform();
    for (std::uint32_t c = 0; c < children; ++c)
      block.weights.push_back(random.chance(density) ? random.between(-2.0F, 2.0F) : 0.0F);
  }
  return block;
}

// The predictions from dense rows, computed as in other blocks.
std::vector<float> expected(const LinearBlock& block, const Features& x) {
  std::vector<const float*> rows{block.weights.data()};
  std::vector<float> values{1.0F};
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const auto found = std::ranges::find(block.features, x.ids[j]);
    if (found == block.features.end()) continue;
    const auto row = static_cast<std::size_t>(found - block.features.begin()) + 1;
    rows.push_back(block.weights.data() + row * block.children);
    values.push_back(x.values[j]);
  }
  std::vector<float> margins(block.children);
  kernels().margins(rows.data(), values.data(), rows.size(), block.children, margins.data());
  std::vector<float> out(block.children);
  apply_link(block.link, margins.data(), block.children, out.data());
  return out;
}

std::vector<float> predicted(const NodeBlock& block, const Features& x) {
  Workspace work;
  std::vector<float> out(block.children());
  block.predict(x, work, out.data());
  return out;
}

constexpr std::uint32_t kWidths[] = {1, 2, 5, 16, 17, 33, 64, 100, 253, 254, 300};

TEST("compact rows: floats give the same predictions to the last bit, for all forms of index and row") {
  for (std::uint64_t seed = 0; seed < 66; ++seed) {
    Random random(seed);
    const std::uint32_t width = seed % 2 == 0 ? 60 : 100'000;  // a bitmap, a table
    LinearBlock linear = random_block(random, kWidths[seed % 11], 30, width);
    linear.scale = 1.0F;
    const Held held(linear, {});
    CHECK_EQ(held.arrays.multiplier == 0, width == 60 || held.arrays.features == 0);
    const CompactBlock compact = held.block(linear);
    for (int i = 0; i < 4; ++i) {
      Example x = random_example(random, 70, 0.5);
      for (const FeatureId feature : linear.features) {
        if (feature > x.ids.back() && random.chance(0.5)) {
          std::vector<FeatureId> rest{feature};
          x.ids.push_back(feature);
          x.values.push_back(random.between(-1.0F, 1.0F));
        }
      }
      CHECK(same_bits(predicted(compact, x.view()), expected(linear, x.view())));
    }
    CHECK(same_bits(predicted(compact, Features{}), expected(linear, Features{})));
  }
}

TEST("compact rows: reads back what was written") {
  for (const WeightType type : {WeightType::float32, WeightType::float16, WeightType::int8}) {
    for (std::uint64_t seed = 0; seed < 22; ++seed) {
      Random random(seed);
      const LinearBlock linear = random_block(random, kWidths[seed % 11], 25, seed % 2 == 0 ? 50 : 70'000);
      const float threshold = seed % 3 == 0 ? 0.0F : 0.7F;
      const Held held(linear, {type, threshold});
      const CompactBlock compact = held.block(linear);
      const LinearBlock back = compact.linear();
      CHECK_EQ(back.scale, linear.scale);
      std::uint64_t stored = linear.children;
      for (std::size_t i = 0; i < back.features.size(); ++i) {
        const auto at =
            static_cast<std::size_t>(std::ranges::find(linear.features, back.features[i]) - linear.features.begin());
        REQUIRE(at < linear.features.size());
        for (std::uint32_t c = 0; c < linear.children; ++c) {
          const float was = linear.weights[(at + 1) * linear.children + c];
          const float is = back.weights[(i + 1) * linear.children + c];
          const bool kept = was != 0.0F && std::fabs(was * linear.scale) >= threshold;
          const float most = type == WeightType::float32 ? 0.0F : type == WeightType::float16 ? 0.001F : 0.009F;
          CHECK_NEAR(is, kept ? was : 0.0F, most);
          stored += kept ? 1 : 0;
          Example one{{back.features[i]}, {0.5F}};
          float added = 0.0F;
          if (i % 8 == 0 && c % 5 == 0) {
            CHECK(same_bits(compact.contributions(one.view(), c, &added), linear.scale * linear.weights[c]));
            CHECK(same_bits(added, is * 0.5F * linear.scale));
          }
        }
      }
      if (type == WeightType::float32) CHECK(compact.weights() >= stored);  // a dense row also holds zeros
      for (std::size_t i = 0; i < linear.features.size(); ++i) {
        if (std::ranges::find(back.features, linear.features[i]) != back.features.end()) continue;
        for (std::uint32_t c = 0; c < linear.children; ++c)
          CHECK(std::fabs(linear.weights[(i + 1) * linear.children + c] * linear.scale) < std::max(threshold, 0.02F));
      }
    }
  }
}

TEST("compaction: the predicted number of bytes is exact, and falls as the threshold rises") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    const LinearBlock linear = random_block(random, kWidths[seed % 11], 40, seed % 2 == 0 ? 90 : 1'000'000);
    const auto type = static_cast<WeightType>(seed % 3);
    std::uint64_t before = std::numeric_limits<std::uint64_t>::max();
    for (const float threshold : {0.0F, 0.1F, 0.5F, 1.0F, 1.9F, std::numeric_limits<float>::infinity()}) {
      const Compaction how{type, threshold};
      const CompactedBlock block = compacted(sparse(linear), how);
      const std::uint64_t bytes = block.rows.size() + sizeof(std::uint32_t) * block.offsets.size() +
                                  sizeof(CompactRows::Pair) * block.index.size();
      CHECK_EQ(compacted_bytes(sparse(linear), how), bytes);
      CHECK(bytes <= before);
      before = bytes;
    }
    CHECK_EQ(before, 0U);
  }
}

TEST("compaction: rounds to the nearest half") {
  const float exact[] = {0.0F, 1.0F, -1.0F, 0.5F, 65504.0F, 0x1p-14F, 0x1p-24F, -0x1p-24F, 1.0009765625F, 0x1.ff8p-15F};
  const std::uint16_t bits[] = {0, 0x3C00, 0xBC00, 0x3800, 0x7BFF, 0x0400, 1, 0x8001, 0x3C01, 0x03FF};
  for (std::size_t i = 0; i < std::size(bits); ++i) CHECK_EQ(to_half(exact[i]), bits[i]);
  CHECK_EQ(to_half(1.00048828125F), 0x3C00);  // half way: to even
  CHECK_EQ(to_half(1.00146484375F), 0x3C02);  // half way, upwards
  CHECK_EQ(to_half(1e30F), 0x7BFF);
  CHECK_EQ(to_half(-std::numeric_limits<float>::infinity()), 0xFBFF);
  CHECK_EQ(to_half(std::numeric_limits<float>::quiet_NaN()), 0);
  CHECK_EQ(to_half(0x1p-26F), 0);
  CHECK_EQ(to_half(2047.9F), 0x6800);  // rounding up into the next power of two
}

TEST("compaction: a number in 8 bits is within the range, and NaN and infinities become 0") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto bits = [](float number, float factor) { return stored_bits(number, WeightType::int8, factor); };
  CHECK_EQ(bits(-1.5F, 10.0F), 0xF1U);
  CHECK_EQ(bits(1e-44F, infinity), 0x7FU);  // as if the scale had been too small to divide by
  CHECK_EQ(bits(0.0F, infinity), 0U);
  CHECK_EQ(bits(-infinity, 1.0F), 0U);
  CHECK_EQ(bits(std::numeric_limits<float>::quiet_NaN(), 1.0F), 0U);
}

TEST("compact rows: rounding drops weights that become zero") {
  LinearBlock linear;
  linear.children = 2;
  linear.features = {4, 7, 9};
  linear.weights = {0.5F, 0.0F, 1.0F, 0.0F, -1e-9F, 0.0F, 0.0F, 1e-44F};  // the last one's scale would be 0
  for (const WeightType type : {WeightType::float16, WeightType::int8}) {
    CHECK_EQ(compacted(sparse(linear), {type, 0.0F}).features, 1U);
  }
}

TEST("compact rows: weights below the threshold are dropped, and only those") {
  LinearBlock linear;
  linear.scale = 2.0F;
  linear.children = 1;
  linear.features = {4, 7, 9};
  linear.weights = {0.1F, 0.25F, -0.25F, 0.2499F};
  const CompactedBlock block = compacted(sparse(linear), {WeightType::float32, 0.5F});
  CHECK_EQ(block.features, 2U);
  CHECK_EQ(block.bias.front(), 0.1F);
}

TEST("compact rows: of equally small forms, a row has the one that is faster to read") {
  LinearBlock linear;
  linear.children = 8;
  linear.features = {0};
  const auto form = [&](std::uint32_t weights) {
    linear.weights.assign(16, 0.0F);
    std::fill_n(linear.weights.begin() + 8, weights, 1.0F);
    return compacted(sparse(linear), {WeightType::int8, 0.0F}).rows.front();
  };
  CHECK(form(1) == masked_row<std::uint8_t>());  // as small as a sparse one
  CHECK(form(7) == dense_row<std::uint8_t>());   // as small as a masked one
}

TEST("compact rows: rounding drops weights that are not finite") {
  LinearBlock linear;
  linear.children = 3;
  linear.features = {4};
  linear.weights = {0.0F, 0.0F, 0.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                    1.0F};
  for (const WeightType type : {WeightType::float16, WeightType::int8}) {
    const Held held(linear, {type, 0.0F});
    for (const float weight : held.block(linear).linear().weights) CHECK(std::isfinite(weight));
  }
}

TEST("compact rows: hostile files are refused") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const LinearBlock linear = random_block(random, kWidths[seed % 11], 12, seed % 2 == 0 ? 40 : 50'000);
    Held held(linear, {static_cast<WeightType>(seed % 3), 0.0F});
    CHECK(held.check() > 0);
    const std::uint32_t features = held.arrays.features;
    const std::uint64_t bytes = held.bytes();
    CHECK_THROWS(std::invalid_argument, check_compact_rows(held.rows, features - 1, bytes, ""));
    CHECK_THROWS(std::invalid_argument, check_compact_rows(held.rows, features + 1, bytes, ""));
    CHECK_THROWS(std::invalid_argument, check_compact_rows(held.rows, features, bytes - 1, ""));
    CHECK_THROWS(std::invalid_argument, check_compact_rows(held.rows, features, bytes + 1, ""));
    switch (random.below(3)) {
      case 0:
        held.arrays.index[random.below(held.arrays.index.size())].second += 1 + random.below(3);
        break;
      case 1:
        held.arrays.index[random.below(held.arrays.index.size())].first ^= 1U << random.below(32);
        break;
      default:  // anywhere in the rows: refused, or accepted as other valid values or columns
        held.arrays.rows[random.below(bytes)] ^= static_cast<std::uint8_t>(1U << random.below(8));
    }
    try {
      const std::uint64_t weights = check_compact_rows(held.rows, features, bytes, "node 7");
      const CompactBlock block(linear.link, linear.scale, held.rows, features, weights);
      const Example x = random_example(random, 60, 0.9);
      CHECK_EQ(predicted(block, x.view()).size(), linear.children);
    } catch (const std::invalid_argument& refused) {
      CHECK(std::string(refused.what()).starts_with("node 7: "));
    }
  }
}

// Checks an index that has these features, each with a row of its own; a table has at least 4 homes.
std::uint64_t checked_index(std::uint32_t multiplier, std::vector<FeatureId> slots, std::uint32_t uncounted = 0) {
  if (multiplier != kSortedList) slots.resize(std::max<std::size_t>(slots.size(), 4 + kPlacesBehind), kNone);
  std::vector<CompactRows::Pair> index;
  std::vector<std::uint8_t> rows;
  for (const FeatureId feature : slots) {
    index.push_back({feature, static_cast<std::uint32_t>(rows.size())});
    if (feature != kNone) rows.insert(rows.end(), {dense_row<std::uint8_t>(), 1});
  }
  CompactRows block;
  block.columns = 1;
  block.type = WeightType::int8;
  block.multiplier = multiplier;
  block.pairs = static_cast<std::uint32_t>(index.size());
  block.index = index.data();
  block.rows = rows.data();
  const auto features = static_cast<std::uint32_t>(rows.size() / 2);
  return check_compact_rows(block, features - uncounted, rows.size(), "here");
}

TEST("compact rows: a table in which a search would not find every feature, or would not end, is refused") {
  const FeatureId of_second = 1U << 30;  // its home is the second of 4 if the multiplier is 1
  const FeatureId last = 0x55555555;     // its hash is the largest if the multiplier is 3
  CHECK_EQ(checked_index(1, {1, 2, of_second}), 3U);
  CHECK_EQ(checked_index(3, {kNone, kNone, kNone, last}), 1U);
  CHECK_THROWS(std::invalid_argument, checked_index(4, {1, 2}));  // an even multiplier
  CHECK_THROWS(std::invalid_argument, checked_index(1, {2, 1}));
  CHECK_THROWS(std::invalid_argument, checked_index(1, {1, 1}));
  CHECK_THROWS(std::invalid_argument, checked_index(3, {kNone, kNone, kNone, last, last}));
  CHECK_THROWS(std::invalid_argument, checked_index(1, {kNone, 1}));
  CHECK_THROWS(std::invalid_argument, checked_index(1, {of_second}));
  CHECK_THROWS(std::invalid_argument, checked_index(1, {kNone, kNone / 2}));
  std::vector<FeatureId> run(4 + kPlacesBehind);
  std::iota(run.begin(), run.end(), 0U);
  CHECK_THROWS(std::invalid_argument, checked_index(1, run));  // no vacant slot at the end
  run.resize(131, kNone);
  std::iota(run.begin(), run.begin() + 129, 0U);
  CHECK_EQ(checked_index(1, run), 129U);
  run[129] = 129;
  CHECK_THROWS(std::invalid_argument, checked_index(1, run));  // too far from its home
  const std::vector<CompactRows::Pair> homeless(kPlacesBehind, {kNone, 0});
  CompactRows block;
  block.multiplier = 1;
  block.pairs = kPlacesBehind;
  block.index = homeless.data();
  CHECK_THROWS(std::invalid_argument, check_compact_rows(block, 0, 0, "here"));
}

TEST("compact rows: a list that does not increase, or not below the end of features, is refused") {
  CHECK_EQ(checked_index(kSortedList, {}), 0U);
  CHECK_EQ(checked_index(kSortedList, {1, kNone / 2 - 1}), 2U);
  CHECK_THROWS(std::invalid_argument, checked_index(kSortedList, {2, 1}));
  CHECK_THROWS(std::invalid_argument, checked_index(kSortedList, {1, 1}));
  CHECK_THROWS(std::invalid_argument, checked_index(kSortedList, {1, kNone / 2}));
  CHECK_THROWS(std::invalid_argument, checked_index(kSortedList, {1, 2}, 1));
}

// Checks a row of 8-bit weights in a block of 3 columns.
std::uint64_t checked_row(const std::vector<std::uint8_t>& bytes) {
  const CompactRows::Pair index{0, 0};
  CompactRows block;
  block.columns = 3;
  block.type = WeightType::int8;
  block.multiplier = kSortedList;
  block.pairs = 1;
  block.index = &index;
  block.rows = bytes.data();
  return check_compact_rows(block, 1, bytes.size(), "here");
}

TEST("compact rows: a row with columns that do not exist or occur twice, or that is cut short, is refused") {
  const std::uint8_t masked = masked_row<std::uint8_t>();
  const std::vector<std::uint8_t> rows[] = {
      {2, 0, 2, 7, 7}, {masked, 0b101, 7, 7}, {dense_row<std::uint8_t>(), 7, 7, 7}};
  const std::uint64_t weights[] = {2, 2, 3};
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    CHECK_EQ(checked_row(rows[i]), weights[i]);
    for (auto end = rows[i].begin(); end != rows[i].end(); ++end) {
      CHECK_THROWS(std::invalid_argument, checked_row({rows[i].begin(), end}));
    }
  }
  CHECK_THROWS(std::invalid_argument, checked_row({2, 0, 3, 7, 7}));
  CHECK_THROWS(std::invalid_argument, checked_row({2, 2, 2, 7, 7}));
  CHECK_THROWS(std::invalid_argument, checked_row({4, 0, 1, 2, 3, 7, 7, 7, 7}));
  CHECK_THROWS(std::invalid_argument, checked_row({masked, 0b1001, 7, 7}));
}

// For each of the first multipliers that a table may have, so many features whose hashes end at `last_hash` and hardly
// differ, so that it sends them to the same home.
LinearBlock colliding_block(std::uint64_t multipliers, std::uint32_t last_hash, std::uint32_t of_each) {
  LinearBlock block;
  block.children = 2;
  std::vector<FeatureId> features;
  for (std::uint64_t i = 0; i < multipliers; ++i) {
    const std::uint32_t multiplier = static_cast<std::uint32_t>(mix(i)) | 1U;
    std::uint32_t inverse = multiplier;
    for (int round = 0; round < 5; ++round) inverse *= 2 - multiplier * inverse;
    std::uint32_t found = 0;
    for (std::uint32_t hash = last_hash; found < of_each; --hash) {
      const FeatureId feature = hash * inverse;
      if (feature >= kNone / 2) continue;
      features.push_back(feature);
      ++found;
    }
  }
  std::ranges::sort(features);
  features.erase(std::unique(features.begin(), features.end()), features.end());
  block.features = features;
  Random random(last_hash);
  for (std::size_t i = 0; i < 2 * (features.size() + 1); ++i) block.weights.push_back(random.between(-1.0F, 1.0F));
  return block;
}

TEST("compact rows: a home takes as many features as a search may pass, or as there are slots behind the last home") {
  const std::uint32_t first_multiplier = static_cast<std::uint32_t>(mix(0)) | 1U;
  for (const auto& [last_hash, most] : {std::pair{0x0fffffffU, 129U}, {0xffffffffU, 17U}}) {
    for (const std::uint32_t features : {most, most + 1}) {
      const LinearBlock linear = colliding_block(1, last_hash, features);
      const Held held(linear, {});
      CHECK_EQ(held.rows.multiplier == first_multiplier, features == most);
      CHECK_EQ(held.block(linear).linear().features.size(), std::size_t{features});
    }
  }
}

TEST("compact rows: features that collide under every multiplier are kept in a sorted list") {
  for (const std::uint32_t last_hash : {0xffffffffU, 0x80000000U}) {
    const LinearBlock linear = colliding_block(64, last_hash, 200);
    for (const WeightType type : {WeightType::float32, WeightType::int8}) {
      Held held(linear, {type, 0.0F});
      CHECK_EQ(held.rows.multiplier, kSortedList);
      CHECK(held.bytes() + 8 * held.arrays.index.size() <= compacted_bytes(sparse(linear), {type, 0.0F}));
      const CompactBlock block = held.block(linear);
      CHECK_EQ(block.linear().features.size(), linear.features.size());
      if (type != WeightType::float32) continue;
      Random random(1);
      for (int round = 0; round < 20; ++round) {
        Example x;
        for (const FeatureId feature : linear.features) {
          if (random.chance(0.7)) x.ids.push_back(feature + (random.chance(0.2) ? 1 : 0));
        }
        x.ids.erase(std::unique(x.ids.begin(), x.ids.end()), x.ids.end());
        for (std::size_t j = 0; j < x.ids.size(); ++j) x.values.push_back(random.between(-1.0F, 1.0F));
        CHECK(predicted(block, x.view()) == expected(linear, x.view()));
      }
      std::swap(held.arrays.index[3], held.arrays.index[4]);
      CHECK_THROWS(std::invalid_argument, held.check());
    }
  }
}

TEST("compact rows: weights that are not finite or cannot be learnt are refused") {
  LinearBlock linear;
  linear.children = 3;
  linear.features = {7, 900'000};
  linear.weights.assign(9, 1.0F);
  for (const WeightType type : {WeightType::float32, WeightType::float16}) {
    Held held(linear, {type, 0.0F});
    held.check();
    const std::size_t last = held.bytes() - value_bytes(type);
    const std::uint32_t infinite = type == WeightType::float32 ? 0x7f800000U : 0x7c00U;
    std::memcpy(held.arrays.rows.data() + last, &infinite, value_bytes(type));
    CHECK_THROWS(std::invalid_argument, held.check());
    if (type != WeightType::float32) continue;
    const float beyond = 1.01F * kLargestWeight;
    std::memcpy(held.arrays.rows.data() + last, &beyond, sizeof beyond);
    CHECK_THROWS(std::invalid_argument, held.check());
  }
}

}  // namespace
}  // namespace labelgrove::testing
