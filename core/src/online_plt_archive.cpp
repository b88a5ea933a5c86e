// Saving and loading: docs/format.md names every array.
#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/online_plt.hpp"

namespace labelgrove {
namespace {

// Likewise of examples, see archive_check.hpp.
constexpr float kMostValue = 1e9F;

LabelId saved_label_count(const ArrayReader& saved) {
  const auto counters = saved.u64("counters");
  require(counters.size() == 3 && counters[0] < kNone - 1,
          "array 'counters' must hold 3 numbers, the first below 2^32 - 2");
  return static_cast<LabelId>(counters[0]);
}

}  // namespace

void OnlinePlt::save(ArrayWriter& out, bool for_prediction) const {
  const NodeId n = tree_.size();
  auto parents = out.u32("tree.parent", n);
  auto labels = out.u32("tree.label", n);
  auto silent = out.bytes("tree.silent", n);
  tree_.store(parents, labels, silent);
  std::vector<NodeId> kept;
  for (NodeId v = 0; v < n; ++v) {
    if (nodes_[v] && !(for_prediction && tree_[v].is_leaf())) kept.push_back(v);
  }
  auto counters = out.u64("counters", 3);
  counters[0] = tree_.label_count();
  counters[1] = examples_seen_;
  counters[2] = policy_draws_;

  auto nodes = out.u32("block.node", kept.size());
  auto sizes = out.u32("block.features", kept.size());
  auto thetas = out.bytes("block.theta", kept.size());
  auto updates = out.u64("block.updates", kept.size());
  std::size_t features = 0;
  std::size_t weights = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const SiblingBlock& block = nodes_[kept[i]]->block;
    nodes[i] = kept[i];
    sizes[i] = block.features().size();
    thetas[i] = block.has_theta() && !for_prediction ? 1 : 0;
    updates[i] = block.updates();
    const std::size_t saved = block.children() + std::size_t{thetas[i]};
    features += block.features().size();
    weights += std::size_t{block.rows()} * saved;
  }
  const bool with_state = options_.learner.has_state() && !for_prediction;
  FeatureId* next_feature = out.u32("weights.feature", features).data();
  float* next_weight = out.f32("weights.value", weights).data();
  float* next_state = with_state ? out.f32("weights.state", weights).data() : nullptr;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const SiblingBlock& block = nodes_[kept[i]]->block;
    const std::uint32_t saved = block.children() + thetas[i];
    next_feature = std::ranges::copy(block.features().features(), next_feature).out;
    block.copy_weights(saved, next_weight);
    next_weight += std::size_t{block.rows()} * saved;
    if (with_state) {
      block.copy_state(saved, next_state);
      next_state += std::size_t{block.rows()} * saved;
    }
  }
  if (!for_prediction && options_.replay > 0) save_memory(out, kept);
  if (!for_prediction && thresholds_) save_thresholds(out);
}

void OnlinePlt::save_memory(ArrayWriter& out, std::span<const NodeId> kept) const {
  auto reached = out.u64("memory.reached", kept.size());
  auto sizes = out.u32("memory.size", kept.size());
  std::size_t entries = 0;
  std::size_t positives = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const ReplayMemory& memory = nodes_[kept[i]]->memory;
    reached[i] = memory.reached();
    sizes[i] = static_cast<std::uint32_t>(memory.size());
    entries += memory.size();
    for (std::size_t e = 0; e < memory.size(); ++e) positives += memory.positives(e).size();
  }
  auto examples = out.u32("memory.example", entries);
  auto counts = out.u32("memory.positives", entries);
  auto children = out.u32("memory.child", positives);
  std::unordered_map<ExampleId, std::uint32_t> number;  // in order of first mention: the same for the same state
  std::vector<ExampleId> mentioned;
  std::size_t entry = 0;
  auto next_child = children.begin();
  for (const NodeId v : kept) {
    const ReplayMemory& memory = nodes_[v]->memory;
    for (std::size_t e = 0; e < memory.size(); ++e, ++entry) {
      const auto [found, is_new] = number.try_emplace(memory.example(e), static_cast<std::uint32_t>(mentioned.size()));
      if (is_new) mentioned.push_back(memory.example(e));
      examples[entry] = found->second;
      counts[entry] = static_cast<std::uint32_t>(memory.positives(e).size());
      next_child = std::ranges::copy(memory.positives(e), next_child).out;
    }
  }
  auto lengths = out.u32("example.features", mentioned.size());
  auto dense = out.bytes("example.dense", mentioned.size());
  std::size_t ids = 0;
  std::size_t values = 0;
  for (std::size_t i = 0; i < mentioned.size(); ++i) {
    const Features x = store_.view(mentioned[i]);
    lengths[i] = x.size;
    dense[i] = is_dense(x) ? 1 : 0;
    values += x.size;
    ids += dense[i] != 0 ? 0 : x.size;
  }
  FeatureId* next_id = out.u32("example.feature", ids).data();
  float* next_value = out.f32("example.value", values).data();
  for (std::size_t i = 0; i < mentioned.size(); ++i) {
    const Features x = store_.view(mentioned[i]);
    if (dense[i] == 0) next_id = std::copy_n(x.ids, x.size, next_id);
    next_value = std::copy_n(x.values, x.size, next_value);
  }
  if (std::ranges::all_of(mentioned, [this](ExampleId example) { return store_.weight(example) == 1.0F; })) return;
  std::ranges::transform(mentioned, out.f32("example.weight", mentioned.size()).begin(),
                         [this](ExampleId example) { return store_.weight(example); });
}

OnlinePlt::OnlinePlt(const OnlinePltOptions& options, const ArrayReader& saved, bool borrow)
    : options_(options),
      tree_(saved.u32("tree.parent"), saved.u32("tree.label"), saved.bytes("tree.silent"), saved_label_count(saved)),
      can_learn_(!borrow) {
  const auto counters = saved.u64("counters");
  require(counters[1] <= kMostExamples && counters[2] <= kMostExamples << 20, "a counter of the past is out of range");
  examples_seen_ = counters[1];
  policy_draws_ = counters[2];
  set_node(tree_.size() - 1, nullptr);

  const auto nodes = saved.u32("block.node");
  const std::size_t n = nodes.size();
  Pieces sizes("block.features", saved.u32("block.features"));
  Pieces thetas("block.theta", saved.bytes("block.theta"));
  Pieces updates("block.updates", saved.u64("block.updates"));
  Pieces features("weights.feature", saved.u32("weights.feature"));
  Pieces weights("weights.value", saved.f32("weights.value"));
  const bool with_state = options_.learner.has_state() && !borrow;
  Pieces states("weights.state", with_state ? saved.f32("weights.state") : std::span<const float>());
  for (std::size_t i = 0; i < n; ++i) {
    const NodeId v = nodes[i];
    require(v < tree_.size() && (i == 0 || nodes[i - 1] < v), "the blocks' nodes must exist and increase");
    BlockView view;
    view.children = static_cast<std::uint32_t>(tree_[v].children.size());
    view.theta = thetas.one() != 0;
    view.updates = updates.one();
    require(view.updates <= kMostExamples * 1001,
            "node " + std::to_string(v) + ": the number of updates is out of range");
    view.features = features.take(sizes.one());
    const std::uint64_t columns = view.children + (view.theta ? 1U : 0U);
    const std::uint64_t cells = (view.features.size() + std::uint64_t{1}) * columns;
    require(view.theta == (!borrow && needs_theta(v)),
            "node " + std::to_string(v) + ": the auxiliary classifier does not fit the policy");
    require(columns > 0, "node " + std::to_string(v) + ": a block without classifiers");
    const auto block_weights = weights.take(cells);
    view.weights = block_weights.data();
    const auto block_state = states.take(with_state ? cells : 0);
    if (with_state) view.state = block_state.data();
    if (!borrow) require_learnable(options_.learner, block_weights, block_state, "node " + std::to_string(v));
    require(std::ranges::all_of(view.features, [](FeatureId id) { return id < kNone / 2; }),
            "node " + std::to_string(v) + ": a feature id is out of range");
    set_node(v, std::make_unique<Node>(SiblingBlock(options_.learner, view, borrow)));
    require(nodes_[v]->block.features().size() == view.features.size(),
            "node " + std::to_string(v) + ": a feature occurs twice");
  }
  sizes.finish();
  thetas.finish();
  updates.finish();
  features.finish();
  weights.finish();
  states.finish();
  for (NodeId v = 0; v < tree_.size(); ++v) {
    const bool needed = !tree_[v].is_leaf() || (!borrow && needs_theta(v));
    require(needed == (blocks_[v] != nullptr),
            "node " + std::to_string(v) + ": its classifiers are missing or not needed");
  }
  if (!borrow && options_.replay > 0) load_memory(saved, nodes);
  if (!borrow && options_.ofo) load_thresholds(saved);
}

void OnlinePlt::load_memory(const ArrayReader& saved, std::span<const NodeId> nodes) {
  Pieces lengths("example.features", saved.u32("example.features"));
  const auto dense = saved.bytes("example.dense");
  Pieces ids("example.feature", saved.u32("example.feature"));
  Pieces values("example.value", saved.f32("example.value"));
  const auto weights = saved.has("example.weight") ? saved.f32("example.weight") : std::span<const float>();
  require(weights.empty() || weights.size() == dense.size(), "array 'example.weight' must hold one number an example");
  require(std::ranges::all_of(weights, [](float weight) { return weight > 0.0F && weight <= kMostWeight; }),
          "the weight of a remembered example is out of range");
  std::vector<ExampleId> examples;
  std::vector<FeatureId> counting;
  for (const std::uint8_t is_dense_example : dense) {
    const std::uint32_t length = lengths.one();
    const auto value = values.take(length);
    if (is_dense_example != 0) store_.expect_dense(length);
    std::span<const FeatureId> id;
    if (is_dense_example != 0) {
      while (counting.size() < length) counting.push_back(static_cast<FeatureId>(counting.size()));
      id = std::span(counting).first(length);
    } else {
      id = ids.take(length);
      require(
          std::ranges::adjacent_find(id, std::greater_equal<>()) == id.end() && (id.empty() || id.back() < kNone / 2),
          "a remembered example's features do not increase, or are out of range");
    }
    require(std::ranges::all_of(value, [](float x) { return std::abs(x) <= kMostValue; }),
            "a remembered example holds a number that is not finite, or larger than any that can be learnt from");
    const float weight = weights.empty() ? 1.0F : weights[examples.size()];
    examples.push_back(store_.add({id.data(), value.data(), length}, 1.0, weight));
  }
  lengths.finish();
  ids.finish();
  values.finish();

  Pieces reached("memory.reached", saved.u64("memory.reached"));
  Pieces sizes("memory.size", saved.u32("memory.size"));
  Pieces entries("memory.example", saved.u32("memory.example"));
  Pieces counts("memory.positives", saved.u32("memory.positives"));
  Pieces children("memory.child", saved.u32("memory.child"));
  for (const NodeId v : nodes) {
    ReplayMemory& memory = nodes_[v]->memory;
    const std::uint64_t total = reached.one();
    const std::uint32_t size = sizes.one();
    const std::uint64_t bound = options_.replay_memory == 0 ? total : std::min(total, options_.replay_memory);
    require(total <= kMostExamples && size == bound,
            "node " + std::to_string(v) + ": the number of remembered examples is wrong");
    memory.restore(total);
    for (std::uint32_t e = 0; e < size; ++e) {
      const std::uint32_t example = entries.one();
      const auto positives = children.take(counts.one());
      require(example < examples.size() &&
                  std::ranges::adjacent_find(positives, std::greater_equal<>()) == positives.end() &&
                  (positives.empty() || positives.back() < tree_[v].children.size()),
              "node " + std::to_string(v) + ": a remembered example or child does not exist");
      store_.retain(examples[example]);
      memory.append(examples[example], positives);
    }
  }
  reached.finish();
  sizes.finish();
  entries.finish();
  counts.finish();
  children.finish();
  for (const ExampleId example : examples) store_.release(example);
}

}  // namespace labelgrove
