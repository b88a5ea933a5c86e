// Saving and loading: docs/format.md documents every array.
#include <algorithm>
#include <array>
#include <utility>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/node_archive.hpp"
#include "labelgrove/online_plt.hpp"

namespace labelgrove {
void OnlinePlt::save(ArrayWriter& out, bool for_prediction) const {
  save_tree(out, tree_, {examples_seen_, policy_.past().draws});
  const NodeId n = tree_.size();
  std::vector<NodeId> nodes;
  std::vector<const RowBlock*> blocks;
  for (NodeId v = 0; v < n; ++v) {
    if (block(v) == nullptr || (for_prediction && tree_[v].is_leaf())) continue;
    nodes.push_back(v);
    blocks.push_back(block(v));
  }
  save_blocks(out, nodes, blocks, options_.learner, for_prediction);
  if (for_prediction) return;
  if (options_.max_bytes > 0) {
    const NodeLearners::Budget budget = learners_.budget();
    std::ranges::copy(std::array{budget.counted, budget.replay_memory}, out.u64("budget", 2).begin());
  }
  if (options_.replay > 0) save_memories(out, nodes, learners_);
  if (gauge_) gauge_->save(out);
  if (options_.first_leaves > 0) {
    std::ranges::copy(std::array{policy_.past().examples, policy_.past().features}, out.u64("lengths", 2).begin());
  }
  if (thresholds_) save_thresholds(out);
}

OnlinePlt::OnlinePlt(const OnlinePltOptions& options, const ArrayReader& saved, bool borrow, bool check_only,
                     const CompactTree* batch)
    : OnlinePlt(options, saved, saved_outline(saved), borrow, check_only, batch) {}

OnlinePlt::OnlinePlt(const OnlinePltOptions& options, const ArrayReader& saved, const TreeOutline& outline, bool borrow,
                     bool check_only, const CompactTree* batch)
    : options_(seeded(options)),
      tree_(check_only ? LabelTree::of_labels_only(outline) : LabelTree(outline)),
      policy_(options, options.seed),
      learners_(options_.learner, options, options.seed),
      can_learn_(!borrow) {
  const TreeCounters counters = saved_counters(saved);
  examples_seen_ = counters.examples;
  TreePolicy::Past past{.draws = counters.draws};
  if (!borrow && options_.first_leaves > 0) {
    const auto lengths = saved.u64("lengths");
    require(lengths.size() == 2 && lengths[0] <= examples_seen_ && lengths[1] <= kMostExamples << 20,
            "array 'lengths' must hold the number of examples seen and the number of their features");
    past = {counters.draws, lengths[0], lengths[1]};
  }
  policy_.restore(past);
  stored_.resize(borrow && !check_only ? outline.size() : 0);
  stored_blocks_.resize(stored_.size());
  if (!borrow && !check_only) learners_.start(outline.size() - 1, 0, false);  // allocates all nodes at once

  const auto needs_theta = [&](NodeId v) { return policy_.needs_theta(outline, v); };
  const auto take = [&](NodeId v, const BlockView& view) -> std::uint32_t {
    if (check_only) return StoredBlock(options_.learner, view).features().size();
    if (borrow) {
      stored_[v] = std::make_unique<StoredBlock>(options_.learner, view);
      stored_blocks_[v] = stored_[v].get();
    } else {
      learners_.put(v, SiblingBlock(options_.learner, view));
    }
    return block(v)->features().size();
  };
  load_blocks(saved, outline, options_.learner, borrow, needs_theta, batch, take);
  const auto nodes = saved.u32("block.node");
  for (NodeId v = 0, next = 0; v < outline.size(); ++v) {
    const bool there = next < nodes.size() && nodes[next] == v;
    if (there) ++next;
    const bool needed = !outline.shape(v).is_leaf() || (!borrow && needs_theta(v));
    require(needed == there, "node ", v, ": its classifiers are missing or not needed");
  }
  if (!borrow && options_.max_bytes > 0) {
    const auto budget = saved.u64("budget");
    require(budget.size() == 2 && budget[0] <= options_.max_bytes,
            "array 'budget' must hold two numbers within max_bytes");
    const std::uint64_t before = options_.replay_memory;
    require(before == 0 || (budget[1] > 0 && budget[1] <= before),
            "array 'budget': more examples may be remembered than the options allow");
    learners_.restore({budget[0], budget[1]});
  }
  if (!borrow && options_.replay > 0) {
    load_memories(saved, nodes, outline, learners_.replay(), check_only ? nullptr : &learners_);
  }
  if (!borrow && options_.replay_most > options_.replay) {
    LabelGauge gauge(saved, tree_.label_count(), examples_seen_);
    if (!check_only) gauge_ = std::move(gauge);
  }
  if (!borrow && options_.ofo) load_thresholds(saved, check_only);
}

void OnlinePlt::save_thresholds(ArrayWriter& out) const {
  using Counts = OnlineThresholds::Counts;
  const auto counts = thresholds_->counts();
  std::ranges::transform(counts, out.u64("ofo.hits", counts.size()).begin(), &Counts::hits);
  std::ranges::transform(counts, out.u64("ofo.positives", counts.size()).begin(), &Counts::positives);
  std::ranges::transform(counts, out.u64("ofo.predicted", counts.size()).begin(), &Counts::predicted);
  if (thresholds_->examples() != examples_seen_) out.u64("ofo.examples", 1)[0] = thresholds_->examples();
}

void OnlinePlt::load_thresholds(const ArrayReader& saved, bool check_only) {
  const auto hits = saved.u64("ofo.hits");
  const auto positives = saved.u64("ofo.positives");
  const auto predicted = saved.u64("ofo.predicted");
  require(positives.size() == hits.size() && predicted.size() == hits.size() && hits.size() <= tree_.label_count(),
          "the arrays 'ofo.*' must have the same length, at most the number of labels");
  std::uint64_t examples = examples_seen_;  // except those of weight 0
  if (saved.has("ofo.examples")) {
    const auto counted = saved.u64("ofo.examples");
    require(counted.size() == 1 && counted[0] <= examples_seen_,
            "array 'ofo.examples' must hold one number, at most the number of examples seen");
    examples = counted[0];
  }
  std::vector<OnlineThresholds::Counts> counts(hits.size());
  for (std::size_t label = 0; label < counts.size(); ++label) {
    counts[label] = {hits[label], positives[label], predicted[label]};
    const auto most = std::max(positives[label], predicted[label]);
    require(most <= examples && hits[label] <= std::min(positives[label], predicted[label]) &&
                positives[label] + predicted[label] - hits[label] <= examples,
            "label ", label, ": the counts of its threshold are inconsistent");
  }
  const LabelTree none;
  thresholds_.emplace(*options_.ofo, check_only ? none : std::as_const(tree_), std::move(counts), examples);
}

}  // namespace labelgrove
