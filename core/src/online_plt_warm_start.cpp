// Resuming from a batch model: OPLT-W with its tree and its weights (section 5.4).
#include <algorithm>
#include <vector>

#include "labelgrove/online_plt.hpp"

namespace labelgrove {
namespace {

// All that is known is the number of examples of each node. We assume that AROW learnt from this share of them, or that
// each left this squared gradient in AdaGrad's sums, and that each example's unit length was spread evenly over the
// features that the node knows.
constexpr double kMistakes = 0.25;
constexpr double kSquaredGradient = 1.0 / 16.0;

// The initial bias of an auxiliary classifier: all examples of its node are positive for it.
constexpr float kThetaMargin = 1.0F;

// An upper bound on the number of examples of each node.
std::vector<std::uint64_t> examples_of_nodes(const LabelTree& tree, const OnlinePlt::Past& past) {
  std::vector<std::uint64_t> examples(tree.size());
  for (NodeId leaf = kRoot; leaf < tree.size(); ++leaf) {
    const LabelId label = tree[leaf].label;
    if (!tree[leaf].is_leaf() || label >= past.of_labels.size()) continue;
    for (NodeId v = leaf; v != kAboveRoot; v = tree[v].parent) examples[v] += past.of_labels[label];
  }
  for (std::uint64_t& count : examples) count = std::min(count, past.examples);
  examples[kAboveRoot] = past.examples;
  return examples;
}

float state_after(const LearnerOptions& learner, double squares) {
  if (learner.kind == LearnerKind::arow) {
    return static_cast<float>(1.0 / (1.0 + kMistakes * squares / static_cast<double>(learner.r)));
  }
  return static_cast<float>(kSquaredGradient * squares);
}

}  // namespace

OnlinePlt::OnlinePlt(const OnlinePltOptions& options, const CompactTree& batch, const std::optional<Past>& past)
    : OnlinePlt(options, batch.tree()) {
  examples_seen_ = past ? past->examples : 0;
  if (options_.ofo) thresholds_.emplace(*options_.ofo, tree_, std::vector<OnlineThresholds::Counts>(), examples_seen_);
  const auto examples = past ? examples_of_nodes(tree_, *past) : std::vector<std::uint64_t>(tree_.size());
  const auto state_of = [&](double squares) {
    return past ? state_after(options_.learner, squares) : options_.learner.initial_state();
  };
  for (NodeId v = 0; v < tree_.size(); ++v) {
    if (!learners_.has(v)) continue;
    const CompactBlock* learnt = batch.block(v);
    const auto n = static_cast<double>(examples[v]);
    BlockView view;
    view.theta = learners_.has_theta(v);
    view.updates = examples[v];
    std::vector<float> bias;
    if (learnt != nullptr) {
      view.children = learnt->children();
      view.inherited = {learnt, v, state_of(n / std::max(1.0, static_cast<double>(learnt->feature_count())))};
      bias.assign(learnt->bias(), learnt->bias() + learnt->children());
    }
    if (view.theta) bias.push_back(past ? kThetaMargin : 0.0F);
    const std::vector<float> states(bias.size(), state_of(n));
    view.weights = bias.data();
    view.state = states.data();
    learners_.block(v) = SiblingBlock(options_.learner, view);
  }
}

void OnlinePlt::restore_inherited() {
  for (NodeId v = 0; v < tree_.size(); ++v) {
    if (learners_.has(v)) learners_.block(v).restore_inherited();
  }
}

}  // namespace labelgrove
