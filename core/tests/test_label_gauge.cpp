#include <stdexcept>
#include <tuple>
#include <vector>

#include "harness.hpp"
#include "labelgrove/label_gauge.hpp"
#include "memory_archive.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

// One of `labels` labels per example, each repeated `run` times in a row.
void live(LabelGauge& gauge, LabelId labels, std::size_t run, std::size_t examples, std::uint64_t seed = 1) {
  Random random(seed);
  LabelId label = 0;
  for (std::size_t i = 0; i < examples; ++i) {
    if (i % run == 0) label = random.below(labels);
    gauge.observe(std::vector{label});
  }
}

}  // namespace

TEST("label gauge: 0 for mixed labels, and 1 for one class after another") {
  for (const LabelId labels : {2U, 10U, 1000U}) {
    LabelGauge mixed;
    live(mixed, labels, 1, 2000);
    CHECK(mixed.blocks() < 0.35);
    LabelGauge sorted;
    live(sorted, labels, 100, 2000);
    CHECK(sorted.blocks() > 0.8);
  }
}

TEST("label gauge: follows a stream that changes from mixed to blocks") {
  LabelGauge gauge;
  live(gauge, 20, 50, 1000);
  CHECK(gauge.blocks() > 0.8);
  live(gauge, 20, 1, 400);
  CHECK(gauge.blocks() < 0.2);
  live(gauge, 20, 50, 300);
  CHECK(gauge.blocks() > 0.8);
}

TEST("label gauge: a label of all examples, or labels that never recur, are not blocks") {
  LabelGauge same;
  for (int i = 0; i < 500; ++i) same.observe(std::vector<LabelId>{3});
  CHECK_EQ(same.blocks(), 0.0);
  LabelGauge fresh;
  for (LabelId i = 0; i < 500; ++i) fresh.observe(std::vector{i});
  CHECK_EQ(fresh.blocks(), 0.0);
  LabelGauge none;
  for (int i = 0; i < 500; ++i) none.observe({});
  CHECK_EQ(none.blocks(), 0.0);
}

TEST("label gauge: in blocks an example counts the less, the more examples the labels have had") {
  LabelGauge gauge;
  CHECK_EQ(gauge.share({}), 1.0);
  live(gauge, 20, 1, 4000);
  CHECK_EQ(gauge.share({}), 1.0);  // mixed
  for (const auto& [run, least, most] : std::vector<std::tuple<std::size_t, double, double>>{
           {30, 0.999, 1.0}, {100, 0.3, 0.5}, {400, 0.07, 0.2}, {4000, 0.05, 0.06}}) {
    LabelGauge sorted;
    for (LabelId label = 0; label < 20; ++label) {
      for (std::size_t i = 0; i < run; ++i) sorted.observe(std::vector{label});
    }
    CHECK(sorted.share({}) >= least);
    CHECK(sorted.share({}) <= most);
    for (std::size_t i = 0; i < 16; ++i) {
      sorted.observe(std::vector<LabelId>{20});
      CHECK_EQ(sorted.share(std::vector<LabelId>{20}), 1.0);  // the first examples of a label
    }
    sorted.observe(std::vector<LabelId>{20});
    CHECK_EQ(sorted.share(std::vector<LabelId>{20}), sorted.share({}));
  }
}

TEST("label gauge: a label is late once that is no chance, until its sixteenth example, if the stream is mixed") {
  for (const auto& [before, first] : std::vector<std::pair<std::size_t, std::size_t>>{{100, 7}, {2000, 3}}) {
    LabelGauge gauge;
    live(gauge, 20, 1, before);
    std::vector<std::size_t> late;
    for (std::size_t n = 1; n <= 20; ++n) {
      live(gauge, 20, 1, 3, n);
      gauge.observe(std::vector<LabelId>{20});
      if (gauge.is_late(20)) late.push_back(n);
    }
    CHECK_EQ(late.size(), 17 - first);
    CHECK_EQ(late.front(), first);
    CHECK_EQ(late.back(), 16U);
  }
  LabelGauge mixed;
  Random random(3);
  std::size_t by_chance = 0;
  for (std::size_t i = 0; i < 3000; ++i) {
    const LabelId label = random.below(300);
    mixed.observe(std::vector{label});
    by_chance += mixed.is_late(label);
  }
  CHECK(by_chance <= 3);
  LabelGauge sorted;
  for (LabelId label = 0; label < 20; ++label) {
    for (std::size_t i = 0; i < 100; ++i) {
      sorted.observe(std::vector{label});
      if (label > 1) CHECK(!sorted.is_late(label));
    }
  }
}

TEST("label gauge: the mean number of labels includes examples without labels") {
  LabelGauge gauge;
  CHECK_EQ(gauge.labels_per_example(), 0.0);
  gauge.observe(std::vector<LabelId>{0, 1, 2});
  CHECK_EQ(gauge.labels_per_example(), 3.0);
  gauge.observe({});
  CHECK_EQ(gauge.labels_per_example(), 1.5);
  MemoryArchive saved;
  gauge.save(saved);
  CHECK_EQ(LabelGauge(saved, 3, 2).labels_per_example(), 1.5);
}

TEST("label gauge: resumes unchanged after loading, and refuses impossible states") {
  LabelGauge gauge;
  live(gauge, 5, 7, 100);
  MemoryArchive saved;
  gauge.save(saved);
  LabelGauge again(saved, 5, 100);
  live(gauge, 5, 3, 50, 2);
  live(again, 5, 3, 50, 2);
  CHECK_EQ(again.blocks(), gauge.blocks());
  CHECK_EQ(again.share({}), gauge.share({}));
  CHECK_THROWS(std::invalid_argument, LabelGauge(saved, 4, 100));
  CHECK_THROWS(std::invalid_argument, LabelGauge(saved, 5, 99));
  auto& before = std::get<std::vector<std::uint64_t>>(saved.arrays().find("gauge.before")->second);
  const std::vector<std::uint64_t> right = before;
  before[2] += 100;
  CHECK_THROWS(std::invalid_argument, LabelGauge(saved, 5, 100));
  before = {0, 0};
  CHECK_THROWS(std::invalid_argument, LabelGauge(saved, 5, 100));
  before = right;
  CHECK_EQ(LabelGauge(saved, 5, 100).labels_per_example(), 1.0);
}

TEST("label gauge: resumes unchanged where labels turn up late, and knows of none in an early file") {
  LabelGauge gauge;
  live(gauge, 20, 1, 500);
  for (int n = 0; n < 8; ++n) {
    live(gauge, 20, 1, 3, 5);
    gauge.observe(std::vector<LabelId>{20});
  }
  MemoryArchive saved;
  gauge.save(saved);
  CHECK(gauge.is_late(20));
  CHECK(LabelGauge(saved, 21, 600).is_late(20));
  saved.arrays().erase("gauge.before");
  CHECK(!LabelGauge(saved, 21, 600).is_late(20));
}

TEST("label gauge: counts an example fully if a file says that no label was met, but many repeated") {
  LabelGauge gauge;
  for (int i = 0; i < 100; ++i) gauge.observe({});
  MemoryArchive saved;
  gauge.save(saved);
  saved.arrays().find("gauge.means")->second = std::vector{1.0, 1.0};
  LabelGauge forged(saved, 0, 100);
  CHECK_EQ(forged.blocks(), 1.0);
  CHECK_EQ(forged.share({}), 1.0);
}

}  // namespace labelgrove::testing
