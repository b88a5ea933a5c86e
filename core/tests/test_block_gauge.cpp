#include <stdexcept>
#include <tuple>
#include <vector>

#include "harness.hpp"
#include "labelgrove/block_gauge.hpp"
#include "memory_archive.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

// One of `labels` labels per example, each repeated `run` times in a row.
void live(BlockGauge& gauge, LabelId labels, std::size_t run, std::size_t examples, std::uint64_t seed = 1) {
  Random random(seed);
  LabelId label = 0;
  for (std::size_t i = 0; i < examples; ++i) {
    if (i % run == 0) label = random.below(labels);
    gauge.observe(std::vector{label});
  }
}

}  // namespace

TEST("block gauge: 0 for mixed labels, and 1 for one class after another") {
  for (const LabelId labels : {2U, 10U, 1000U}) {
    BlockGauge mixed;
    live(mixed, labels, 1, 2000);
    CHECK(mixed.blocks() < 0.35);
    BlockGauge sorted;
    live(sorted, labels, 100, 2000);
    CHECK(sorted.blocks() > 0.8);
  }
}

TEST("block gauge: follows a stream that changes from mixed to blocks") {
  BlockGauge gauge;
  live(gauge, 20, 50, 1000);
  CHECK(gauge.blocks() > 0.8);
  live(gauge, 20, 1, 400);
  CHECK(gauge.blocks() < 0.2);
  live(gauge, 20, 50, 300);
  CHECK(gauge.blocks() > 0.8);
}

TEST("block gauge: a label of all examples, or labels that never recur, are not blocks") {
  BlockGauge same;
  for (int i = 0; i < 500; ++i) same.observe(std::vector<LabelId>{3});
  CHECK_EQ(same.blocks(), 0.0);
  BlockGauge fresh;
  for (LabelId i = 0; i < 500; ++i) fresh.observe(std::vector{i});
  CHECK_EQ(fresh.blocks(), 0.0);
  BlockGauge none;
  for (int i = 0; i < 500; ++i) none.observe({});
  CHECK_EQ(none.blocks(), 0.0);
}

TEST("block gauge: in blocks an example counts the less, the more examples the labels have had") {
  BlockGauge gauge;
  CHECK_EQ(gauge.share({}), 1.0);
  live(gauge, 20, 1, 4000);
  CHECK_EQ(gauge.share({}), 1.0);  // mixed
  for (const auto& [run, least, most] : std::vector<std::tuple<std::size_t, double, double>>{
           {30, 0.999, 1.0}, {100, 0.3, 0.5}, {400, 0.07, 0.2}, {4000, 0.05, 0.06}}) {
    BlockGauge sorted;
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

TEST("block gauge: the mean number of labels includes examples without labels") {
  BlockGauge gauge;
  CHECK_EQ(gauge.labels_per_example(), 0.0);
  gauge.observe(std::vector<LabelId>{0, 1, 2});
  CHECK_EQ(gauge.labels_per_example(), 3.0);
  gauge.observe({});
  CHECK_EQ(gauge.labels_per_example(), 1.5);
  MemoryArchive saved;
  gauge.save(saved);
  CHECK_EQ(BlockGauge(saved, 3, 2).labels_per_example(), 1.5);
}

TEST("block gauge: resumes unchanged after loading, and refuses impossible states") {
  BlockGauge gauge;
  live(gauge, 5, 7, 100);
  MemoryArchive saved;
  gauge.save(saved);
  BlockGauge again(saved, 5, 100);
  live(gauge, 5, 3, 50, 2);
  live(again, 5, 3, 50, 2);
  CHECK_EQ(again.blocks(), gauge.blocks());
  CHECK_EQ(again.share({}), gauge.share({}));
  CHECK_THROWS(std::invalid_argument, BlockGauge(saved, 4, 100));
  CHECK_THROWS(std::invalid_argument, BlockGauge(saved, 5, 99));
}

TEST("block gauge: counts an example fully if a file says that no label was met, but many repeated") {
  BlockGauge gauge;
  for (int i = 0; i < 100; ++i) gauge.observe({});
  MemoryArchive saved;
  gauge.save(saved);
  saved.arrays().find("gauge.means")->second = std::vector{1.0, 1.0};
  BlockGauge forged(saved, 0, 100);
  CHECK_EQ(forged.blocks(), 1.0);
  CHECK_EQ(forged.share({}), 1.0);
}

}  // namespace labelgrove::testing
