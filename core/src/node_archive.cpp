#include "labelgrove/node_archive.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "labelgrove/archive_check.hpp"

namespace labelgrove {
namespace {

// The cells of a block that are checked before their pages may be dropped.
constexpr std::size_t kCellsAtOnce = std::size_t{1} << 20;

// The largest feature value of an example; learning from larger ones could overflow.
constexpr float kMostValue = 1e9F;

void require_places(const BlockView& block, const LearnerOptions& learner, const std::string& where) {
  const std::uint32_t rows = block.rows();
  require(rows >= 1 && rows < kSharedRow && (!block.places.empty() || block.shared_rows <= 1), where,
          ": the number of rows is out of range");
  require(
      std::ranges::all_of(block.places, [rows](std::uint32_t place) { return (place & ~kSharedRow) - 1 < rows - 1; }),
      where, ": a feature's row does not exist");
  require(learner.kind == LearnerKind::arow ||
              std::ranges::none_of(block.places, [](std::uint32_t place) { return (place & kSharedRow) != 0; }),
          where, ": features share a row, which only AROW lets them do");
  require(all_within(block.shares, 1.0F), where, ": a feature's share of a row is out of range");
}

// What blocks inherit from a batch model, read block by block.
class Inheritances {
 public:
  // Nothing is inherited without a batch model.
  Inheritances(const ArrayReader& saved, const CompactTree* batch, bool with_state)
      : batch_(batch),
        with_state_(with_state && batch != nullptr),
        nodes_(saved, "inherited.node", batch != nullptr),
        states_(saved, "inherited.state", with_state_),
        counts_(saved, "inherited.replaced", batch != nullptr),
        children_(saved, "inherited.child", batch != nullptr) {}

  Inherited next(std::uint32_t children, const LearnerOptions& learner, const std::string& where) {
    Inherited from;
    if (batch_ == nullptr) return from;
    const NodeId node = nodes_.one();
    if (with_state_) from.state = states_.one();
    const auto replaced = children_.take(counts_.one());
    if (node == kNone) return from;
    require(node < batch_->tree().size() && batch_->block(node) != nullptr, where,
            ": it inherits from a node that the batch model does not have");
    from.node = node;
    from.block = batch_->block(node);
    from.replaced.assign(replaced.begin(), replaced.end());
    require_learnable<float, float>(learner, {}, std::span(&from.state, 1), where);
    const std::uint32_t columns = from.block->children();
    require(increases_below(replaced, columns) &&
                static_cast<std::size_t>(replaced.end() - std::ranges::lower_bound(replaced, children)) ==
                    columns - std::min(columns, children),
            where, ": the children that inherit nothing do not match the batch model");
    return from;
  }

  void finish() const { finish_all(nodes_, states_, counts_, children_); }

 private:
  const CompactTree* batch_;
  bool with_state_;
  Pieces<std::uint32_t> nodes_;
  Pieces<float> states_;
  Pieces<std::uint32_t> counts_;
  Pieces<std::uint32_t> children_;
};

void save_inheritances(ArrayWriter& out, std::span<const RowBlock* const> blocks, bool with_state) {
  if (std::ranges::none_of(blocks, [](const RowBlock* block) { return block->inherited() != nullptr; })) return;
  auto nodes = out.u32("inherited.node", blocks.size());
  auto states = with_state ? out.f32("inherited.state", blocks.size()) : std::span<float>();
  auto counts = out.u32("inherited.replaced", blocks.size());
  std::vector<std::uint32_t> replaced;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Inherited from = blocks[i]->inherited() != nullptr ? *blocks[i]->inherited() : Inherited();
    nodes[i] = from.node;
    if (with_state) states[i] = from.state;
    counts[i] = static_cast<std::uint32_t>(from.replaced.size());
    replaced.insert(replaced.end(), from.replaced.begin(), from.replaced.end());
  }
  std::ranges::copy(replaced, out.u32("inherited.child", replaced.size()).begin());
}

template <typename T>
void append(std::vector<T>& to, std::span<const T> numbers) {
  to.insert(to.end(), numbers.begin(), numbers.end());
}

}  // namespace

// --- blocks ----------------------------------------------------------------------------------------------------------

void save_tree(ArrayWriter& out, const LabelTree& tree, const TreeCounters& counters) {
  const NodeId n = tree.size();
  const auto node = [&tree](std::size_t v) -> const TreeNode& { return tree[static_cast<NodeId>(v)]; };
  out.u32("tree.parent", n, one_by_one<NodeId>(n, [node](std::size_t v, auto& to) { to.push_back(node(v).parent); }));
  out.u32("tree.label", n, one_by_one<LabelId>(n, [node](std::size_t v, auto& to) { to.push_back(node(v).label); }));
  out.bytes("tree.silent", n,
            one_by_one<std::uint8_t>(n, [node](std::size_t v, auto& to) { to.push_back(node(v).silent ? 1 : 0); }));
  auto numbers = out.u64("counters", 3);
  numbers[0] = tree.label_count();
  numbers[1] = counters.examples;
  numbers[2] = counters.draws;
}

TreeOutline saved_outline(const ArrayReader& saved) {
  const auto numbers = saved.u64("counters");
  require(numbers.size() == 3 && numbers[0] < kNone - 1,
          "array 'counters' must hold 3 numbers, the first below 2^32 - 2");
  return {saved.u32("tree.parent"), saved.u32("tree.label"), saved.bytes("tree.silent"),
          static_cast<LabelId>(numbers[0])};
}

TreeCounters saved_counters(const ArrayReader& saved) {
  const auto numbers = saved.u64("counters");
  require(numbers[1] <= kMostExamples && numbers[2] <= kMostExamples << 20, "a counter is out of range");
  return {numbers[1], numbers[2]};
}

void save_blocks(ArrayWriter& out, std::span<const NodeId> nodes, std::span<const RowBlock* const> blocks,
                 const LearnerOptions& learner, bool for_prediction) {
  std::ranges::copy(nodes, out.u32("block.node", nodes.size()).begin());
  const auto all = std::make_shared<const std::vector<const RowBlock*>>(blocks.begin(), blocks.end());
  const auto one_each = [&all]<typename T>(T, auto number) {
    return by_item<T>(all, [number](const RowBlock* block, auto& to) { to.push_back(number(*block)); });
  };
  constexpr std::uint32_t kNumber = 0;
  out.u32("block.features", nodes.size(),
          one_each(kNumber, [](const RowBlock& block) { return block.features().size(); }));
  out.bytes("block.theta", nodes.size(), one_each(std::uint8_t{0}, [for_prediction](const RowBlock& block) {
              return static_cast<std::uint8_t>(block.has_theta() && !for_prediction ? 1 : 0);
            }));
  out.u64("block.updates", nodes.size(),
          one_each(std::uint64_t{0}, [](const RowBlock& block) { return block.updates(); }));
  const auto columns_of = [for_prediction](const RowBlock& block) {
    return for_prediction ? block.children() : block.columns();
  };
  const bool shared = std::ranges::any_of(blocks, [](const RowBlock* block) { return block->shares_rows(); });
  if (shared) {
    out.u32("block.rows", nodes.size(), one_each(kNumber, [](const RowBlock& block) { return block.rows(); }));
  }
  std::size_t features = 0;
  std::size_t cells = 0;
  for (const RowBlock* block : blocks) {
    features += block->features().size();
    cells += std::size_t{block->rows()} * columns_of(*block);
  }
  out.u32("weights.feature", features,
          by_item<FeatureId>(all, [](const RowBlock* block, auto& to) { append(to, block->features().features()); }));
  if (shared) {
    out.u32("weights.place", features, by_item<std::uint32_t>(all, [](const RowBlock* block, auto& to) {
              for (const FeatureId feature : block->features().features()) {
                const Place at = block->place(feature);
                to.push_back(at.row | (at.shared ? kSharedRow : 0));
              }
            }));
    out.f32("weights.share", features, by_item<float>(all, [](const RowBlock* block, auto& to) {
              for (const FeatureId feature : block->features().features()) to.push_back(block->place(feature).share);
            }));
  }
  // Writes the blocks row by row; numbers(block, row) points to a row's numbers.
  const auto by_row = [&](auto numbers) {
    return [all, columns_of, numbers, block = std::size_t{0}, row = std::uint32_t{0}](auto& to) mutable {
      if (block == all->size()) return false;
      const RowBlock& from = *(*all)[block];
      append(to, std::span(numbers(from, row), columns_of(from)));
      if (++row == from.rows()) ++block, row = 0;
      return true;
    };
  };
  const bool halves = std::ranges::any_of(blocks, [](const RowBlock* block) { return block->has_halves(); });
  const bool with_state = learner.has_state() && !for_prediction;
  save_inheritances(out, blocks, with_state);
  const auto weights = [&]<typename Number>(Number) {
    return by_row([](const RowBlock& block, std::uint32_t row) { return block.weights<Number>(row); });
  };
  if (halves) out.bf16("weights.value16", cells, weights(BFloat16()));
  else out.f32("weights.value", cells, weights(float()));
  if (!with_state) return;
  if (halves) {
    out.bytes("weights.state8", cells, by_row([](const RowBlock& block, std::uint32_t row) {
                return reinterpret_cast<const std::uint8_t*>(block.state<BFloat16>(row));
              }));
  } else {
    out.f32("weights.state", cells,
            by_row([](const RowBlock& block, std::uint32_t row) { return block.state<float>(row); }));
  }
}

namespace {

// Loads blocks whose rows consist of numbers of this type.
template <typename Number, typename State = StateOf<Number>>
void load_blocks_of(std::span<const Number> all_weights, std::span<const State> all_states, const ArrayReader& saved,
                    const TreeOutline& tree, const LearnerOptions& learner, bool for_prediction,
                    const std::function<bool(NodeId)>& has_theta, const CompactTree* batch, const TakeBlock& take) {
  const auto nodes = saved.u32("block.node");
  Pieces<std::uint32_t> sizes(saved, "block.features");
  Pieces<std::uint8_t> thetas(saved, "block.theta");
  Pieces<std::uint64_t> updates(saved, "block.updates");
  Pieces<std::uint32_t> features(saved, "weights.feature");
  const bool shared = saved.has("block.rows");  // old models have a row for each feature
  require(saved.has("weights.place") == shared && saved.has("weights.share") == shared,
          "arrays 'block.rows', 'weights.place' and 'weights.share' must all be present, or none of them");
  Pieces<std::uint32_t> rows(saved, "block.rows", shared);
  Pieces<std::uint32_t> places(saved, "weights.place", shared);
  Pieces<float> shares(saved, "weights.share", shared);
  constexpr bool kHalves = sizeof(Number) == sizeof(BFloat16);
  Pieces weights(kHalves ? "weights.value16" : "weights.value", all_weights);
  Pieces states(kHalves ? "weights.state8" : "weights.state", all_states);
  const bool with_state = learner.has_state() && !for_prediction;
  require(batch != nullptr || !saved.has("inherited.node"), "there is no batch model to inherit from");
  Inheritances inheritances(saved, batch, with_state);
  Reading reading(saved);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeId v = nodes[i];
    require(v < tree.size() && (i == 0 || nodes[i - 1] < v), "the blocks' nodes must exist and increase");
    BlockView view;
    view.children = tree.shape(v).children;
    view.theta = thetas.one() != 0;
    view.updates = updates.one();
    require(view.updates <= kMostExamples * 1001, "node ", v, ": the number of updates is out of range");
    view.inherited = inheritances.next(view.children, learner, node_name(v));
    view.features = features.take(sizes.one());
    const std::uint64_t columns = view.children + (view.theta ? 1U : 0U);
    const std::size_t size = view.features.size();
    view.shared_rows = shared ? rows.one() : 0;
    view.places = places.take(shared ? size : 0);
    view.shares = shares.take(shared ? size : 0);
    require_places(view, learner, node_name(v));
    const std::uint64_t cells = std::uint64_t{view.rows()} * columns;
    require(view.theta == (!for_prediction && has_theta(v)), "node ", v,
            ": the auxiliary classifier does not match the policy");
    require(columns > 0, "node ", v, ": the block has no classifiers");
    const auto block_weights = weights.take(cells);
    view.weights = block_weights.data();
    const auto block_state = states.take(with_state ? cells : 0);
    if (with_state) view.state = block_state.data();
    for (std::size_t at = 0; at < cells; at += kCellsAtOnce) {
      const std::size_t n = std::min(kCellsAtOnce, cells - at);
      require_learnable(learner, block_weights.subspan(at, n),
                        block_state.subspan(with_state ? at : 0, with_state ? n : 0), node_name(v));
      reading.went_over(n * (sizeof(Number) + (with_state ? sizeof(State) : 0)));
    }
    require(std::ranges::all_of(view.features, [](FeatureId id) { return id < kNone / 2; }), "node ", v,
            ": a feature id is out of range");
    require(take(v, view) == view.features.size(), "node ", v, ": a feature occurs twice");
    reading.went_over(view.features.size_bytes());
  }
  finish_all(sizes, thetas, updates, features, rows, places, shares, weights, states, inheritances);
}

}  // namespace

void load_blocks(const ArrayReader& saved, const TreeOutline& tree, const LearnerOptions& learner, bool for_prediction,
                 const std::function<bool(NodeId)>& has_theta, const CompactTree* batch, const TakeBlock& take) {
  const bool with_state = learner.has_state() && !for_prediction;
  if (saved.has("weights.value16")) {
    const auto codes = with_state ? saved.bytes("weights.state8") : std::span<const std::uint8_t>();
    const std::span states(reinterpret_cast<const Variance*>(codes.data()), codes.size());
    load_blocks_of(saved.bf16("weights.value16"), states, saved, tree, learner, for_prediction, has_theta, batch, take);
  } else {
    const auto states = with_state ? saved.f32("weights.state") : std::span<const float>();
    load_blocks_of(saved.f32("weights.value"), states, saved, tree, learner, for_prediction, has_theta, batch, take);
  }
}

// --- memories --------------------------------------------------------------------------------------------------------

namespace {

// Saves remembered examples in this order.
void save_examples(ArrayWriter& out, std::shared_ptr<const std::vector<ExampleId>> ids, const ExampleStore& examples) {
  out.u32("example.features", ids->size(),
          by_item<std::uint32_t>(ids, [&examples](ExampleId id, auto& to) { to.push_back(examples.view(id).size); }));
  out.bytes("example.dense", ids->size(), by_item<std::uint8_t>(ids, [&examples](ExampleId id, auto& to) {
              to.push_back(is_dense(examples.view(id)) ? 1 : 0);
            }));
  std::size_t features = 0;
  std::size_t values = 0;
  for (const ExampleId id : *ids) {
    const Features x = examples.view(id);
    values += x.size;
    features += is_dense(x) ? 0 : x.size;
  }
  out.u32("example.feature", features, by_item<FeatureId>(ids, [&examples](ExampleId id, auto& to) {
            const Features x = examples.view(id);
            if (!is_dense(x)) append(to, std::span(x.ids, x.size));
          }));
  out.f32("example.value", values, by_item<float>(ids, [&examples](ExampleId id, auto& to) {
            const Features x = examples.view(id);
            append(to, std::span(x.values, x.size));
          }));
  const auto weight_of = [&](ExampleId id) { return examples.weight(id); };
  if (std::ranges::all_of(*ids, [](float weight) { return weight == 1.0F; }, weight_of)) return;
  std::ranges::transform(*ids, out.f32("example.weight", ids->size()).begin(), weight_of);
}

// Calls `take` with each example and its weight, and returns their number.
std::size_t load_examples(const ArrayReader& saved, const std::function<void(const Features&, float)>& take) {
  Pieces<std::uint32_t> lengths(saved, "example.features");
  const auto dense = saved.bytes("example.dense");
  Pieces<std::uint32_t> features(saved, "example.feature");
  Pieces<float> values(saved, "example.value");
  const auto weights = saved.has("example.weight") ? saved.f32("example.weight") : std::span<const float>();
  require(weights.empty() || weights.size() == dense.size(),
          "array 'example.weight' must hold one number for each example");
  require(std::ranges::all_of(weights, [](float weight) { return weight > 0.0F && weight <= kMostWeight; }),
          "the weight of a remembered example is out of range");
  std::vector<FeatureId> counting;
  Reading reading(saved);
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const std::uint32_t length = lengths.one();
    const auto value = values.take(length);
    std::span<const FeatureId> feature;
    if (dense[i] != 0) {
      while (counting.size() < length) counting.push_back(static_cast<FeatureId>(counting.size()));
      feature = std::span(counting).first(length);
    } else {
      feature = features.take(length);
      require(increases_below(feature, kNone / 2),
              "a remembered example's features do not increase, or are out of range");
    }
    require(std::ranges::all_of(value, [](float x) { return std::abs(x) <= kMostValue; }),
            "a remembered example holds a number that is not finite, or is larger than any that can be learnt from");
    take({feature.data(), value.data(), length}, weights.empty() ? 1.0F : weights[i]);
    reading.went_over(value.size_bytes() + feature.size_bytes());
  }
  finish_all(lengths, features, values);
  return dense.size();
}

}  // namespace

void save_remembered(ArrayWriter& out, const std::string& prefix, const ReplayMemory& memory,
                     const ExampleStore& examples) {
  auto counts = out.u32(prefix + ".labels", memory.size());
  auto ids = std::make_shared<std::vector<ExampleId>>();
  std::size_t labels = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    counts[i] = static_cast<std::uint32_t>(memory.positives(i).size());
    labels += counts[i];
    ids->push_back(memory.example(i));
  }
  auto next = out.u32(prefix + ".label", labels).begin();
  for (std::size_t i = 0; i < memory.size(); ++i) next = std::ranges::copy(memory.positives(i), next).out;
  save_examples(out, std::move(ids), examples);
}

std::size_t load_remembered(const ArrayReader& saved, const std::string& prefix,
                            const std::function<void(const Features&, float, std::span<const LabelId>)>& take) {
  Pieces<std::uint32_t> counts(saved, prefix + ".labels");
  Pieces<std::uint32_t> labels(saved, prefix + ".label");
  const std::size_t known =
      load_examples(saved, [&](const Features& x, float weight) { take(x, weight, labels.take(counts.one())); });
  finish_all(counts, labels);
  return known;
}

void save_memories(ArrayWriter& out, std::span<const NodeId> nodes, const NodeLearners& learners) {
  std::size_t entries = 0;
  std::size_t positives = 0;
  std::vector<std::uint32_t> number;  // by example, in order of first mention, so that equal states give equal files
  auto mentioned = std::make_shared<std::vector<ExampleId>>();
  const auto all = std::make_shared<std::vector<const ReplayMemory*>>();
  for (const NodeId v : nodes) {
    const ReplayMemory& memory = learners.memory(v);
    all->push_back(&memory);
    entries += memory.size();
    for (std::size_t e = 0; e < memory.size(); ++e) {
      positives += memory.positives(e).size();
      const ExampleId example = memory.example(e);
      if (example >= number.size()) number.resize(example + std::size_t{1}, kNone);
      if (number[example] != kNone) continue;
      number[example] = static_cast<std::uint32_t>(mentioned->size());
      mentioned->push_back(example);
    }
  }
  const std::shared_ptr<const std::vector<const ReplayMemory*>> memories = all;
  out.u64("memory.reached", nodes.size(), by_item<std::uint64_t>(memories, [](const ReplayMemory* memory, auto& to) {
            to.push_back(memory->reached());
          }));
  out.u32("memory.size", nodes.size(), by_item<std::uint32_t>(memories, [](const ReplayMemory* memory, auto& to) {
            to.push_back(static_cast<std::uint32_t>(memory->size()));
          }));
  const auto for_each_entry = [&](auto part) {
    return by_item<std::uint32_t>(memories, [part](const ReplayMemory* memory, auto& to) {
      for (std::size_t e = 0; e < memory->size(); ++e) part(*memory, e, to);
    });
  };
  const auto numbers = std::make_shared<const std::vector<std::uint32_t>>(std::move(number));
  out.u32("memory.example", entries, for_each_entry([numbers](const ReplayMemory& memory, std::size_t e, auto& to) {
            to.push_back((*numbers)[memory.example(e)]);
          }));
  out.u32("memory.positives", entries, for_each_entry([](const ReplayMemory& memory, std::size_t e, auto& to) {
            to.push_back(static_cast<std::uint32_t>(memory.positives(e).size()));
          }));
  out.u32("memory.child", positives,
          for_each_entry([](const ReplayMemory& memory, std::size_t e, auto& to) { append(to, memory.positives(e)); }));
  save_examples(out, std::move(mentioned), learners.examples());
}

void load_memories(const ArrayReader& saved, std::span<const NodeId> nodes, const TreeOutline& tree,
                   const ReplayOptions& options, NodeLearners* learners) {
  std::vector<ExampleId> examples;  // we hold a reference to each
  const std::size_t known = load_examples(saved, [&](const Features& x, float weight) {
    if (learners == nullptr) return;
    examples.push_back(learners->examples().add(x, 1.0, weight));
  });
  Pieces<std::uint64_t> reached(saved, "memory.reached");
  Pieces<std::uint32_t> sizes(saved, "memory.size");
  Pieces<std::uint32_t> entries(saved, "memory.example");
  Pieces<std::uint32_t> counts(saved, "memory.positives");
  Pieces<std::uint32_t> children(saved, "memory.child");
  Reading reading(saved);
  for (const NodeId v : nodes) {
    const std::uint64_t total = reached.one();
    const std::uint32_t size = sizes.one();
    const std::uint64_t bound = options.replay_memory == 0 ? total : std::min(total, options.replay_memory);
    require(total <= kMostExamples && size == bound, "node ", v, ": the number of remembered examples is wrong");
    if (learners != nullptr) learners->memory(v).restore(total);
    for (std::uint32_t e = 0; e < size; ++e) {
      const std::uint32_t example = entries.one();
      const auto positives = children.take(counts.one());
      require(example < known && increases_below(positives, tree.shape(v).children), "node ", v,
              ": a remembered example or child does not exist");
      reading.went_over(positives.size_bytes() + 2 * sizeof(example));
      if (learners == nullptr) continue;
      learners->examples().retain(examples[example]);
      learners->memory(v).append(examples[example], positives);
    }
  }
  finish_all(reached, sizes, entries, counts, children);
  for (const ExampleId example : examples) learners->examples().release(example);
}

}  // namespace labelgrove
