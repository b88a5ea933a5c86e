#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "labelgrove/thin_vector.hpp"

namespace labelgrove::testing {
namespace {

TEST("thin vector: works like a vector, in one pointer") {
  CHECK_EQ(sizeof(ThinVector<std::uint64_t>), sizeof(void*));
  ThinVector<std::uint64_t> thin;
  std::vector<std::uint64_t> plain;
  CHECK(thin.empty() && thin.bytes() == 0);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    thin.push_back(i * i);
    plain.push_back(i * i);
    REQUIRE(std::ranges::equal(thin, plain));
    CHECK(thin.capacity() <= plain.size() + plain.size() / 8 + 4);
  }
  thin.resize(10);
  thin.resize(12, 7);
  plain.resize(10);
  plain.resize(12, 7);
  REQUIRE(std::ranges::equal(thin, plain));
  thin.shrink_to_fit();
  CHECK_EQ(thin.capacity(), 12U);
  CHECK_EQ(thin.bytes(), 8 + 12 * sizeof(std::uint64_t));
  REQUIRE(std::ranges::equal(thin, plain));
  thin.resize(0);
  thin.shrink_to_fit();
  CHECK_EQ(thin.bytes(), 0U);
}

TEST("thin vector: copies are independent, and moved-from vectors are empty") {
  ThinVector<std::uint32_t> first;
  first.resize(3, 5);
  ThinVector<std::uint32_t> copy = first;
  copy[0] = 6;
  copy.push_back(8);
  CHECK(first.size() == 3 && first[0] == 5);
  ThinVector<std::uint32_t> moved = std::move(copy);
  CHECK(moved.size() == 4 && moved[0] == 6);
  first = moved;
  CHECK(std::ranges::equal(first, moved) && first.data() != moved.data());
  const auto& itself = first;
  first = itself;
  CHECK(std::ranges::equal(first, moved));
  moved.resize(0);
  first = moved;
  CHECK_EQ(first.bytes(), 0U);
}

TEST("thin vector: a Rare value is copied deeply") {
  Rare<std::string> one;
  CHECK(one.get() == nullptr);
  one.make() = "here";
  Rare<std::string> other = one;
  other.make() += " too";
  CHECK(*one.get() == "here" && *other.get() == "here too");
  one = other;
  other.reset();
  CHECK(*one.get() == "here too" && other.get() == nullptr);
}

}  // namespace
}  // namespace labelgrove::testing
