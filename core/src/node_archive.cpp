#include "labelgrove/node_archive.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "labelgrove/archive_check.hpp"

namespace labelgrove {
namespace {

// The largest feature value of an example; learning from larger ones could overflow.
constexpr float kMostValue = 1e9F;

void require_places(const BlockView& block, const std::string& where) {
  const std::uint32_t rows = block.rows();
  require(rows >= 1 && rows < kSharedRow && (!block.places.empty() || block.shared_rows <= 1),
          where + ": the number of rows is out of range");
  require(
      std::ranges::all_of(block.places, [rows](std::uint32_t place) { return (place & ~kSharedRow) - 1 < rows - 1; }),
      where + ": a feature's row does not exist");
  require(all_within(block.shares, 1.0F), where + ": a feature's share of a row is out of range");
}

}  // namespace

// --- blocks ----------------------------------------------------------------------------------------------------------

void save_blocks(ArrayWriter& out, std::span<const NodeId> nodes, std::span<const RowBlock* const> blocks,
                 const LearnerOptions& learner, bool for_prediction) {
  std::ranges::copy(nodes, out.u32("block.node", nodes.size()).begin());
  auto sizes = out.u32("block.features", nodes.size());
  auto thetas = out.bytes("block.theta", nodes.size());
  auto updates = out.u64("block.updates", nodes.size());
  const auto columns_of = [&](std::size_t i) { return for_prediction ? blocks[i]->children() : blocks[i]->columns(); };
  const bool shared = std::ranges::any_of(blocks, [](const RowBlock* block) { return !block->places().empty(); });
  auto rows = shared ? out.u32("block.rows", nodes.size()) : std::span<std::uint32_t>();
  std::size_t features = 0;
  std::size_t cells = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    sizes[i] = blocks[i]->features().size();
    thetas[i] = blocks[i]->has_theta() && !for_prediction ? 1 : 0;
    updates[i] = blocks[i]->updates();
    features += sizes[i];
    if (shared) rows[i] = blocks[i]->rows();
    cells += std::size_t{blocks[i]->rows()} * columns_of(i);
  }
  const bool with_state = learner.has_state() && !for_prediction;
  FeatureId* next_feature = out.u32("weights.feature", features).data();
  std::uint32_t* next_place = shared ? out.u32("weights.place", features).data() : nullptr;
  float* next_share = shared ? out.f32("weights.share", features).data() : nullptr;
  float* next_weight = out.f32("weights.value", cells).data();
  float* next_state = with_state ? out.f32("weights.state", cells).data() : nullptr;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const RowBlock& block = *blocks[i];
    const std::size_t of_block = std::size_t{block.rows()} * columns_of(i);
    next_feature = std::ranges::copy(block.features().features(), next_feature).out;
    if (shared) {
      next_place = std::ranges::copy(block.places(), next_place).out;
      next_share = std::ranges::copy(block.shares(), next_share).out;
    }
    block.copy_weights(columns_of(i), next_weight);
    next_weight += of_block;
    if (!with_state) continue;
    block.copy_state(columns_of(i), next_state);
    next_state += of_block;
  }
}

void load_blocks(const ArrayReader& saved, const LabelTree& tree, const LearnerOptions& learner, bool for_prediction,
                 const std::function<bool(NodeId)>& has_theta, const TakeBlock& take) {
  const auto nodes = saved.u32("block.node");
  Pieces sizes("block.features", saved.u32("block.features"));
  Pieces thetas("block.theta", saved.bytes("block.theta"));
  Pieces updates("block.updates", saved.u64("block.updates"));
  Pieces features("weights.feature", saved.u32("weights.feature"));
  const bool shared = saved.has("block.rows");  // models of old have a row for each feature
  require(saved.has("weights.place") == shared && saved.has("weights.share") == shared,
          "there are places of features, shares or numbers of rows without the others");
  Pieces rows("block.rows", shared ? saved.u32("block.rows") : std::span<const std::uint32_t>());
  Pieces places("weights.place", shared ? saved.u32("weights.place") : std::span<const std::uint32_t>());
  Pieces shares("weights.share", shared ? saved.f32("weights.share") : std::span<const float>());
  Pieces weights("weights.value", saved.f32("weights.value"));
  const bool with_state = learner.has_state() && !for_prediction;
  Pieces states("weights.state", with_state ? saved.f32("weights.state") : std::span<const float>());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeId v = nodes[i];
    require(v < tree.size() && (i == 0 || nodes[i - 1] < v), "the blocks' nodes must exist and increase");
    BlockView view;
    view.children = static_cast<std::uint32_t>(tree[v].children.size());
    view.theta = thetas.one() != 0;
    view.updates = updates.one();
    require(view.updates <= kMostExamples * 1001, node_name(v) + ": the number of updates is out of range");
    view.features = features.take(sizes.one());
    const std::uint64_t columns = view.children + (view.theta ? 1U : 0U);
    const std::size_t size = view.features.size();
    view.shared_rows = shared ? rows.one() : 0;
    view.places = places.take(shared ? size : 0);
    view.shares = shares.take(shared ? size : 0);
    require_places(view, node_name(v));
    const std::uint64_t cells = std::uint64_t{view.rows()} * columns;
    require(view.theta == (!for_prediction && has_theta(v)),
            node_name(v) + ": the auxiliary classifier does not fit the policy");
    require(columns > 0, node_name(v) + ": a block without classifiers");
    const auto block_weights = weights.take(cells);
    view.weights = block_weights.data();
    const auto block_state = states.take(with_state ? cells : 0);
    if (with_state) view.state = block_state.data();
    require_learnable(learner, block_weights, block_state, node_name(v));
    require(std::ranges::all_of(view.features, [](FeatureId id) { return id < kNone / 2; }),
            node_name(v) + ": a feature id is out of range");
    require(take(v, view) == view.features.size(), node_name(v) + ": a feature occurs twice");
  }
  sizes.finish();
  thetas.finish();
  updates.finish();
  features.finish();
  rows.finish();
  places.finish();
  shares.finish();
  weights.finish();
  states.finish();
}

// --- memories --------------------------------------------------------------------------------------------------------

namespace {

// Of these, in this order.
void save_examples(ArrayWriter& out, std::span<const ExampleId> ids, const ExampleStore& examples) {
  auto lengths = out.u32("example.features", ids.size());
  auto dense = out.bytes("example.dense", ids.size());
  std::size_t features = 0;
  std::size_t values = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Features x = examples.view(ids[i]);
    lengths[i] = x.size;
    dense[i] = is_dense(x) ? 1 : 0;
    values += x.size;
    features += dense[i] != 0 ? 0 : x.size;
  }
  FeatureId* next_feature = out.u32("example.feature", features).data();
  float* next_value = out.f32("example.value", values).data();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Features x = examples.view(ids[i]);
    if (dense[i] == 0) next_feature = std::copy_n(x.ids, x.size, next_feature);
    next_value = std::copy_n(x.values, x.size, next_value);
  }
  const auto weight_of = [&](ExampleId id) { return examples.weight(id); };
  if (std::ranges::all_of(ids, [](float weight) { return weight == 1.0F; }, weight_of)) return;
  std::ranges::transform(ids, out.f32("example.weight", ids.size()).begin(), weight_of);
}

// Their ids, each with a reference for the caller.
std::vector<ExampleId> load_examples(const ArrayReader& saved, ExampleStore& examples) {
  Pieces lengths("example.features", saved.u32("example.features"));
  const auto dense = saved.bytes("example.dense");
  Pieces features("example.feature", saved.u32("example.feature"));
  Pieces values("example.value", saved.f32("example.value"));
  const auto weights = saved.has("example.weight") ? saved.f32("example.weight") : std::span<const float>();
  require(weights.empty() || weights.size() == dense.size(), "array 'example.weight' must hold one number an example");
  require(std::ranges::all_of(weights, [](float weight) { return weight > 0.0F && weight <= kMostWeight; }),
          "the weight of a remembered example is out of range");
  std::vector<ExampleId> ids;
  std::vector<FeatureId> counting;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const std::uint32_t length = lengths.one();
    const auto value = values.take(length);
    std::span<const FeatureId> feature;
    if (dense[i] != 0) {
      examples.expect_dense(length);
      while (counting.size() < length) counting.push_back(static_cast<FeatureId>(counting.size()));
      feature = std::span(counting).first(length);
    } else {
      feature = features.take(length);
      require(std::ranges::adjacent_find(feature, std::greater_equal<>()) == feature.end() &&
                  (feature.empty() || feature.back() < kNone / 2),
              "a remembered example's features do not increase, or are out of range");
    }
    require(std::ranges::all_of(value, [](float x) { return std::abs(x) <= kMostValue; }),
            "a remembered example holds a number that is not finite, or larger than any that can be learnt from");
    ids.push_back(examples.add({feature.data(), value.data(), length}, 1.0, weights.empty() ? 1.0F : weights[i]));
  }
  lengths.finish();
  features.finish();
  values.finish();
  return ids;
}

}  // namespace

void save_memories(ArrayWriter& out, std::span<const NodeId> nodes, const NodeLearners& learners) {
  auto reached = out.u64("memory.reached", nodes.size());
  auto sizes = out.u32("memory.size", nodes.size());
  std::size_t entries = 0;
  std::size_t positives = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ReplayMemory& memory = learners.memory(nodes[i]);
    reached[i] = memory.reached();
    sizes[i] = static_cast<std::uint32_t>(memory.size());
    entries += memory.size();
    for (std::size_t e = 0; e < memory.size(); ++e) positives += memory.positives(e).size();
  }
  auto examples = out.u32("memory.example", entries);
  auto counts = out.u32("memory.positives", entries);
  auto next_child = out.u32("memory.child", positives).begin();
  std::unordered_map<ExampleId, std::uint32_t> number;  // in order of first mention: the same for the same state
  std::vector<ExampleId> mentioned;
  std::size_t entry = 0;
  for (const NodeId v : nodes) {
    const ReplayMemory& memory = learners.memory(v);
    for (std::size_t e = 0; e < memory.size(); ++e, ++entry) {
      const auto [found, is_new] = number.try_emplace(memory.example(e), static_cast<std::uint32_t>(mentioned.size()));
      if (is_new) mentioned.push_back(memory.example(e));
      examples[entry] = found->second;
      counts[entry] = static_cast<std::uint32_t>(memory.positives(e).size());
      next_child = std::ranges::copy(memory.positives(e), next_child).out;
    }
  }
  save_examples(out, mentioned, learners.examples());
}

void load_memories(const ArrayReader& saved, std::span<const NodeId> nodes, const LabelTree& tree,
                   const ReplayOptions& options, NodeLearners& learners) {
  const std::vector<ExampleId> examples = load_examples(saved, learners.examples());
  Pieces reached("memory.reached", saved.u64("memory.reached"));
  Pieces sizes("memory.size", saved.u32("memory.size"));
  Pieces entries("memory.example", saved.u32("memory.example"));
  Pieces counts("memory.positives", saved.u32("memory.positives"));
  Pieces children("memory.child", saved.u32("memory.child"));
  for (const NodeId v : nodes) {
    ReplayMemory& memory = learners.memory(v);
    const std::uint64_t total = reached.one();
    const std::uint32_t size = sizes.one();
    const std::uint64_t bound = options.replay_memory == 0 ? total : std::min(total, options.replay_memory);
    require(total <= kMostExamples && size == bound, node_name(v) + ": the number of remembered examples is wrong");
    memory.restore(total);
    for (std::uint32_t e = 0; e < size; ++e) {
      const std::uint32_t example = entries.one();
      const auto positives = children.take(counts.one());
      require(example < examples.size() &&
                  std::ranges::adjacent_find(positives, std::greater_equal<>()) == positives.end() &&
                  (positives.empty() || positives.back() < tree[v].children.size()),
              node_name(v) + ": a remembered example or child does not exist");
      learners.examples().retain(examples[example]);
      memory.append(examples[example], positives);
    }
  }
  reached.finish();
  sizes.finish();
  entries.finish();
  counts.finish();
  children.finish();
  for (const ExampleId example : examples) learners.examples().release(example);
}

}  // namespace labelgrove
