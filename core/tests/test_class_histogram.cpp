#include <map>
#include <vector>

#include "harness.hpp"
#include "labelgrove/class_histogram.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

TEST("a class histogram counts what a map counts, in order of arrival") {
  for (const std::uint32_t classes : {1U, 8U, 9U, 700U}) {
    Random random(classes);
    ClassHistogram histogram;
    std::map<LabelId, std::uint32_t> expected;
    std::vector<LabelId> arrived;
    CHECK_EQ(histogram.bytes(), std::size_t{0});
    for (std::size_t i = 0; i < 3000; ++i) {
      const LabelId label = static_cast<LabelId>(random.below(classes)) * 1024;
      if (expected.count(label) == 0) {
        CHECK(histogram.find(label) == nullptr);
        arrived.push_back(label);
      }
      ++histogram.at(label).reached;
      ++expected[label];
    }
    REQUIRE(histogram.size() == expected.size());
    for (std::size_t i = 0; i < arrived.size(); ++i) {
      CHECK_EQ(histogram.all()[i].label, arrived[i]);
      CHECK_EQ(histogram.find(arrived[i])->reached, expected[arrived[i]]);
    }
    CHECK(histogram.find(1) == nullptr);
  }
}

// With unbounded probes this takes 10^10 steps.
TEST("a class histogram finds labels that the hash sends to the same slot") {
  ClassHistogram histogram;
  constexpr std::uint32_t n = 50'000;
  for (std::uint32_t i = 0; i < n; ++i) histogram.at(i * kColliding).reached = i;
  REQUIRE(histogram.size() == n);
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < n; ++i) wrong += histogram.find(i * kColliding)->reached != i ? 1 : 0;
  CHECK_EQ(wrong, 0U);
}

TEST("a class histogram of a leaf takes no more than its one class") {
  ClassHistogram histogram;
  histogram.at(5).reached = 1;
  CHECK_EQ(histogram.bytes(), sizeof(ClassCount));
}

}  // namespace
}  // namespace labelgrove::testing
