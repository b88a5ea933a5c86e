#include <algorithm>
#include <cmath>
#include <limits>

#include "harness.hpp"
#include "labelgrove/online_plt.hpp"
#include "labelgrove/online_thresholds.hpp"
#include "stream.hpp"

namespace labelgrove::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double tau(const OnlineThresholds& thresholds, LabelId label, OfoOptions start) {
  const auto counts = thresholds.counts();
  const auto own = label < counts.size() ? counts[label] : OnlineThresholds::Counts{};
  return (start.a + static_cast<double>(own.hits)) / (start.b + static_cast<double>(own.positives + own.predicted));
}

double least_below(const OnlineThresholds& thresholds, const LabelTree& tree, NodeId v, OfoOptions start) {
  const TreeNode& node = tree[v];
  if (node.is_leaf()) return node.silent || node.label == kNone ? kInfinity : tau(thresholds, node.label, start);
  double least = kInfinity;
  for (const NodeId child : node.children) least = std::min(least, least_below(thresholds, tree, child, start));
  return least;
}

TEST("online thresholds: the minimum below every node is exact while labels are added, removed and counted") {
  for (const Policy policy : kGrowing) {
    Random random(static_cast<std::uint64_t>(policy));
    Stream stream = random_stream(random, 200, 40);
    const std::vector<LabelId> gone{0, 3};
    for (std::size_t i = 121; i < stream.size(); ++i) {
      std::erase_if(stream.labels[i], [&](LabelId label) { return std::ranges::find(gone, label) != gone.end(); });
    }
    OnlinePltOptions options = small_options(policy, LearnerKind::arow, 1, 5);
    options.arity = 3;
    options.ofo = OfoOptions{2.0, 9.0};
    OnlinePlt model(options);
    for (std::size_t i = 0; i < stream.size(); ++i) {
      learn(model, stream, i, i + 1);
      if (i == 120) model.remove_labels(gone);
      REQUIRE(model.thresholds() != nullptr);
      CHECK_EQ(model.thresholds()->examples(), i + 1);
      for (NodeId v = 0; v < model.tree().size(); ++v) {
        CHECK_EQ(model.thresholds()->least_below(v), least_below(*model.thresholds(), model.tree(), v, *options.ofo));
      }
    }
  }
}

TEST("online thresholds: the same for any number of threads") {
  Random random(9);
  const Stream stream = random_stream(random, 6000, 60);
  OnlinePltOptions options = small_options(Policy::best_greedy, LearnerKind::arow, 1, 5);
  options.ofo = OfoOptions{};
  OnlinePlt alone(options);
  OnlinePlt shared(options);
  learn(alone, stream);
  learn(shared, stream, 0, stream.size(), 3);
  CHECK(saved(alone) == saved(shared));
}

TEST("online thresholds: half of the F-measure so far, above nu and at most 1/2") {
  LabelTree tree;
  tree.give_label(kRoot, 0);
  const OfoOptions start{1.0, 4.0};
  OnlineThresholds thresholds(start, tree);
  CHECK_EQ(thresholds.threshold(0), 0.25);
  CHECK_EQ(thresholds.threshold(7), 0.25);
  const std::vector<LabelId> label{0};
  const std::vector<LabelId> none;
  thresholds.count(tree, none, label);  // a wrong prediction
  CHECK_EQ(thresholds.threshold(0), 1.0 / 5.0);
  for (int i = 0; i < 7; ++i) thresholds.count(tree, none, none);
  thresholds.count(tree, label, label);  // a right one
  CHECK_EQ(thresholds.threshold(0), 2.0 / 7.0);
  thresholds.count(tree, label, none);  // a label missed
  CHECK_EQ(thresholds.threshold(0), 2.0 / 8.0);
  CHECK_EQ(thresholds.least_below(kRoot), 2.0 / 8.0);
  for (int i = 0; i < 30; ++i) thresholds.count(tree, label, none);
  CHECK_EQ(thresholds.threshold(0), std::nextafter(32.0 / (32.0 + 40.0), 1.0));  // nu
  CHECK_EQ(thresholds.least_below(kRoot), 2.0 / 38.0);
  OnlineThresholds high({3.0, 4.0}, tree);
  CHECK_EQ(high.threshold(0), 0.5);
  CHECK_EQ(high.least_below(kAboveRoot), 0.5);
}

}  // namespace
}  // namespace labelgrove::testing
