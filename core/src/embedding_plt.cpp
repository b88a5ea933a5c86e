#include "labelgrove/embedding_plt.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/elementary.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/kernels.hpp"
#include "labelgrove/node_archive.hpp"
#include "labelgrove/vector_kernels.hpp"

namespace labelgrove {

// --- the model -------------------------------------------------------------------------------------------------------

EmbeddingPlt::EmbeddingPlt(const EmbeddingOptions& options, LabelTree tree, bool with_blocks)
    : Embedding(options.dimension, std::move(tree)),
      options_(options),
      policy_(options, options.seed),
      reached_(tree_.size()) {
  for (NodeId v = 0; with_blocks && v < tree_.size(); ++v) start_block(v);
}

void EmbeddingPlt::start_block(NodeId v) {
  const auto children = static_cast<std::uint32_t>(tree_[v].children.size());
  std::unique_ptr<VectorBlock> block;
  if (children > 0) block = std::make_unique<VectorBlock>(children, options_.dimension, options_.softmax);
  set_block(v, std::move(block));
}

void EmbeddingPlt::set_block(NodeId v, std::unique_ptr<VectorBlock> block) {
  blocks_.resize(std::max<std::size_t>(blocks_.size(), v + std::size_t{1}));
  views_.resize(blocks_.size());
  views_[v] = block.get();
  blocks_[v] = std::move(block);
}

void EmbeddingPlt::start_with(std::span<const FeatureId> features, std::span<const float> vectors) {
  for (std::size_t i = 0; i < features.size(); ++i) {
    std::copy_n(vectors.data() + i * options_.dimension, options_.dimension, vector(row_of(features[i])));
  }
}

// A new feature's vector is drawn from its id, so that it does not depend on when the feature appears. Each coordinate
// is in [-1/sqrt(d), 1/sqrt(d)].
std::uint32_t EmbeddingPlt::row_of(FeatureId feature) {
  const std::uint32_t row = features_.find_or_insert(feature);
  if (row < squares_.size()) return row;
  squares_.push_back(0.0F);
  vectors_.resize(squares_.size() * stride_);
  const float spread = 2.0F / std::sqrt(static_cast<float>(options_.dimension));
  for (std::uint32_t k = 0; k < options_.dimension; k += 2) {
    const std::uint64_t bits = draw(options_.seed, Draw::weights, feature, k);
    for (std::uint32_t i = k; i < std::min(k + 2, options_.dimension); ++i) {
      const auto drawn = static_cast<float>((bits >> (32 * (i - k))) & 0xFFFFFF) * 0x1p-24F;
      vector(row)[i] = spread * (drawn - 0.5F);
    }
  }
  return row;
}

void EmbeddingPlt::mean(const Parts& parts, float* hidden) const {
  vector_kernels().combine(vectors_.data(), parts.rows.data(), parts.shares.data(), parts.rows.size(), hidden, stride_);
  hidden[options_.dimension] = 1.0F;  // is multiplied by the bias
}

float EmbeddingPlt::mean_square(const float* vector) const {
  return vector_kernels().dot(vector, vector, stride_) / static_cast<float>(options_.dimension);
}

ModelSize EmbeddingPlt::size() const {
  ModelSize size;
  size.weights = std::uint64_t{features_.size()} * options_.dimension;
  size.model_bytes = examples_.bytes() + memory_.bytes() + features_.bytes() + tree_.bytes() +
                     (vectors_.capacity() + squares_.capacity()) * sizeof(float);
  for (const auto& block : blocks_) {
    if (block == nullptr) continue;
    size.weights += std::uint64_t{block->vectors()} * (options_.dimension + 1);
    size.model_bytes += block->bytes();
  }
  return size;
}

// --- learning --------------------------------------------------------------------------------------------------------

// A node inserted between v and what is below it has had one positive child in all examples that have reached it.
void EmbeddingPlt::grow(const float* hidden, LabelId label, NodeId& selected) {
  if (tree_[kRoot].is_leaf() && tree_[kRoot].label == kNone) return tree_.give_label(kRoot, label);
  std::vector<float> shares;
  Workspace work;
  const Features x{nullptr, hidden, options_.dimension};
  selected = policy_.select(tree_, selected, [&](NodeId node) {
    shares.resize(blocks_[node]->children());
    blocks_[node]->predict(x, work, shares.data());
    return std::span<const float>(shares);
  });
  const NodeId v = selected;
  if (tree_[v].silent_children > 0) {
    const auto& children = tree_[v].children;
    const NodeId leaf = *std::ranges::find_if(children, [this](NodeId child) { return tree_[child].silent; });
    blocks_[v]->reset_child(tree_[leaf].slot, hidden, reached_[v]);
    reached_[leaf] = 0;
    return tree_.give_label(leaf, label);
  }
  if (policy_.must_insert(tree_, v)) {
    const NodeId below = tree_.insert_node(v);
    set_block(below, std::move(blocks_[v]));
    reached_.push_back(reached_[v]);
    auto above = std::make_unique<VectorBlock>(1, options_.dimension, options_.softmax);
    if (!options_.softmax)
      above->row(0)[options_.dimension] = static_cast<float>(fixed_log(static_cast<double>(reached_[v]) + 1.0));
    set_block(v, std::move(above));
  }
  const NodeId leaf = tree_.add_leaf(v, label);
  set_block(leaf, nullptr);
  reached_.push_back(0);
  blocks_[v]->add_child(hidden, reached_[v]);
}

// Of competing labels one is learnt, drawn anew in each pass (as in fastText).
std::span<const LabelId> EmbeddingPlt::drawn(std::span<const LabelId> labels, std::uint64_t pass,
                                             std::uint64_t example) const {
  if (!options_.softmax || labels.size() <= 1) return labels;
  return labels.subspan(draw(options_.seed, Draw::label, pass, example) % labels.size(), 1);
}

// All nodes above the labels, with their positive children. The nodes of a single label are those of its path, from the
// leaf up.
void EmbeddingPlt::visit(std::span<const LabelId> labels, Visits& visits) const {
  auto& reached = visits.reached;
  reached.clear();
  for (const LabelId label : labels) {
    for (NodeId v = tree_.leaf_of(label); v != kAboveRoot;) {
      const NodeId parent = tree_[v].parent;
      reached.push_back(std::uint64_t{parent} << 32 | tree_[v].slot);
      v = parent;
    }
  }
  visits.take(labels.size());
}

// Converts `reached`, for an example with this number of labels, to visits and slots.
void EmbeddingPlt::Visits::take(std::size_t labels) {
  auto slot = static_cast<std::uint32_t>(slots.size());
  if (labels == 0) all.push_back({kAboveRoot, slot, slot});
  if (labels > 1) {
    std::ranges::sort(reached);
    reached.erase(std::unique(reached.begin(), reached.end()), reached.end());
  }
  NodeId last = kNone;
  for (const std::uint64_t one : reached) {
    const auto node = static_cast<NodeId>(one >> 32);
    slots.push_back(static_cast<std::uint32_t>(one));
    if (node == last) ++all.back().end;
    else all.push_back({node, slot, slot + 1});
    last = node;
    ++slot;
  }
}

void EmbeddingPlt::count(const Visits& visits) {
  ++examples_seen_;
  if (!visits.all.empty()) ++reached_[kAboveRoot];
  for (const Visit& one : visits.all) {
    for (std::uint32_t i = one.first; i < one.end; ++i) ++reached_[tree_[one.node].children[visits.slots[i]]];
  }
}

void EmbeddingPlt::learn_at(const Visit& visit, const Visits& visits, const float* hidden, float square, float weight,
                            const VectorStep& step, std::vector<float>& scores, float* gradient) {
  const auto positives = std::span(visits.slots).subspan(visit.first, visit.end - visit.first);
  blocks_[visit.node]->learn(hidden, square, positives, weight, step, scores, gradient);
}

void EmbeddingPlt::move(std::uint32_t row, float share, const float* gradient, float square, const VectorStep& step) {
  const float size = step.size(share * share * square, squares_[row]);
  vector_kernels().move(size * share, gradient, vector(row), stride_);
}

void EmbeddingPlt::learn(const LabelledExamples& examples, std::size_t begin, std::size_t end) {
  usable_ = false;  // until all is done
  Scratch work;
  for (; begin < end; ++begin) {
    const LabelledExample one = examples(begin);
    if (one.weight == 0.0F) {
      ++examples_seen_;
      continue;
    }
    meet(one, work);
    learn_one(one, kNone, work);
    replay(work);
    remember(one);
  }
  usable_ = true;
}

// Adds leaves for new labels, and counts the nodes that the example reaches.
void EmbeddingPlt::meet(const LabelledExample& example, Scratch& work) {
  NodeId selected = kNone;  // as in OPLT: an example's new labels are placed together
  bool embedded = false;
  for (const LabelId label : example.labels) {
    if (tree_.leaf_of(label) != kNone) continue;
    if (!std::exchange(embedded, true)) embed_all(example.x, work);
    grow(work.hidden.data(), label, selected);
  }
  work.visits.clear();
  visit(example.labels, work.visits);
  count(work.visits);
}

// Makes sure that all features have vectors, and stores their mean in `hidden`.
void EmbeddingPlt::embed_all(const Features& x, Scratch& work) {
  work.rows.clear();
  work.shares.clear();
  for (std::uint32_t j = 0; j < x.size; ++j) work.rows.push_back(row_of(x.ids[j]));
  append_shares(x, work.shares);
  work.hidden.resize(stride_);
  mean({work.rows, work.shares}, work.hidden.data());
}

void EmbeddingPlt::learn_one(const LabelledExample& example, std::uint64_t pass, Scratch& work) {
  embed_all(example.x, work);
  work.visits.clear();
  visit(drawn(example.labels, pass, examples_seen_), work.visits);
  work.gradient.assign(stride_, 0.0F);
  work.apart.resize(stride_);
  const VectorStep step{&options_.learner, options_.learner.rate};
  const float square = mean_square(work.hidden.data());
  for (const Visit& one : work.visits.all) {
    std::ranges::fill(work.apart, 0.0F);
    learn_at(one, work.visits, work.hidden.data(), square, example.weight, step, work.scores, work.apart.data());
    vector_kernels().add(1.0F, work.apart.data(), work.gradient.data(), stride_);
  }
  work.gradient[options_.dimension] = 0.0F;  // the bias belongs to no feature
  const float gradient_square = mean_square(work.gradient.data());
  for (std::size_t j = 0; j < work.rows.size(); ++j) {
    move(work.rows[j], work.shares[j], work.gradient.data(), gradient_square, step);
  }
}

// --- earlier examples ------------------------------------------------------------------------------------------------

// Learns again from earlier examples, without labels removed since; examples that have lost all labels are skipped.
void EmbeddingPlt::replay(Scratch& work) {
  for (std::uint32_t r = 0; r < options_.replay && memory_.size() > 0; ++r) {
    const std::size_t i = memory_.pick(options_.seed, r);
    const ExampleId id = memory_.example(i);
    work.labels.clear();
    for (const LabelId label : memory_.positives(i)) {
      if (tree_.leaf_of(label) != kNone) work.labels.push_back(label);
    }
    if (work.labels.empty() && !memory_.positives(i).empty()) continue;
    learn_one({examples_.view(id), work.labels, examples_.weight(id)}, kNone + std::uint64_t{1} + r, work);
  }
}

void EmbeddingPlt::remember(const LabelledExample& example) {
  if (options_.replay == 0) return;
  const bool kept = memory_.next_place(options_.seed, options_.replay_memory) != kNone;
  const ExampleId id = kept ? examples_.add(example.x, 1.0, example.weight) : kNone;
  const ExampleId evicted = memory_.offer(options_.seed, options_.replay_memory, id, example.labels);
  if (evicted != kNone) examples_.release(evicted);
}

void EmbeddingPlt::load_memory(const ArrayReader& saved, bool check_only) {
  if (options_.replay == 0) return;
  const auto reached = saved.u64("memory.reached");
  require(reached.size() == 1 && reached[0] <= kMostExamples, "array 'memory.reached' must hold a count");
  const auto take = [&](const Features& x, float weight, std::span<const LabelId> labels) {
    require(std::ranges::all_of(labels, [this](LabelId label) { return label < tree_.label_count(); }),
            "array 'memory.label': a label does not exist");
    if (!check_only) memory_.append(examples_.add(x, 1.0, weight), labels);
  };
  const std::size_t known = load_remembered(saved, "memory", take);
  const std::uint64_t most = options_.replay_memory == 0 ? reached[0] : options_.replay_memory;
  require(known == std::min(reached[0], most), "the number of remembered examples is wrong");
  memory_.restore(reached[0]);
}

// --- saving and loading: docs/format.md documents every array --------------------------------------------------------

void EmbeddingPlt::save(ArrayWriter& out, bool for_prediction) const {
  save_tree(out, tree_, {examples_seen_, policy_.past().draws});
  std::ranges::copy(features_.features(), out.u32("feature.id", features_.size()).begin());
  const auto one_vector = [this](std::size_t row, std::vector<float>& to) {
    const float* from = vectors_.data() + row * stride_;
    to.insert(to.end(), from, from + options_.dimension);
  };
  out.f32("feature.vector", features_.size() * std::size_t{options_.dimension},
          one_by_one<float>(features_.size(), one_vector));
  std::size_t vectors = 0;
  for (const auto& block : blocks_) vectors += block == nullptr ? 0 : block->vectors();
  const auto by_block = [this](auto append) {
    return one_by_one<float>(blocks_.size(), [this, append](std::size_t v, std::vector<float>& to) {
      if (blocks_[v] != nullptr) append(std::as_const(*blocks_[v]), to);
    });
  };
  out.f32("node.vector", vectors * (options_.dimension + std::size_t{1}),
          by_block([size = options_.dimension + 1](const VectorBlock& block, std::vector<float>& to) {
            for (std::uint32_t i = 0; i < block.vectors(); ++i) to.insert(to.end(), block.row(i), block.row(i) + size);
          }));
  if (for_prediction) return;
  std::ranges::copy(reached_, out.u64("node.reached", tree_.size()).begin());
  out.lend("feature.square", squares_);
  out.f32("node.square", vectors, by_block([](const VectorBlock& block, std::vector<float>& to) {
            to.insert(to.end(), block.squares().begin(), block.squares().end());
          }));
  if (options_.replay == 0) return;
  out.u64("memory.reached", 1)[0] = memory_.reached();
  save_remembered(out, "memory", memory_, examples_);
}

namespace {

std::span<const float> squares_in(const ArrayReader& saved, const std::string& name) {
  const auto squares = saved.f32(name);
  require(std::ranges::all_of(squares, [](float square) { return square >= 0.0F && square <= kLargestSquareSum; }),
          "array '" + name + "': a sum of squares is out of range");
  return squares;
}

}  // namespace

EmbeddingPlt::EmbeddingPlt(const EmbeddingOptions& options, const ArrayReader& saved, bool for_prediction,
                           bool check_only)
    : EmbeddingPlt(options, saved_tree(saved), false) {
  can_learn_ = !for_prediction;
  const TreeCounters counters = saved_counters(saved);
  examples_seen_ = counters.examples;
  policy_.restore({.draws = counters.draws});
  const auto ids = saved.u32("feature.id");
  const auto of_features = saved.f32("feature.vector");
  const auto of_nodes = saved.f32("node.vector");
  require(of_features.size() == ids.size() * options.dimension, "there must be a vector for every feature");
  take_features(ids);
  squares_.resize(ids.size());
  if (!check_only) vectors_.resize(ids.size() * stride_);
  Reading reading(saved);
  const auto take = [&](std::span<const float> from, float* to) {
    require(all_within(from, kLargestCoordinate),
            "a vector holds a number that is not finite, or is larger than any that can be learnt");
    if (!check_only) std::ranges::copy(from, to);
    reading.went_over(from.size_bytes());
  };
  for (std::uint32_t row = 0; row < ids.size(); ++row) {
    take(of_features.subspan(row * std::size_t{options.dimension}, options.dimension),
         check_only ? nullptr : vector(row));
  }
  Pieces vectors("node.vector", of_nodes);
  for (NodeId v = 0; v < tree_.size(); ++v) {
    const std::size_t size = options.dimension + std::size_t{1};
    const auto own = vectors.take(vectors_of(v) * size);  // before space is made for as many
    if (!check_only) start_block(v);
    for (std::uint32_t i = 0; i < vectors_of(v); ++i) {
      take(own.subspan(i * size, size), check_only ? nullptr : blocks_[v]->row(i));
    }
  }
  vectors.finish();
  if (for_prediction) return;
  const auto reached = saved.u64("node.reached");
  require(reached.size() == tree_.size() &&
              std::ranges::all_of(reached, [](std::uint64_t count) { return count <= kMostExamples; }),
          "array 'node.reached' must hold a count for every node");
  std::ranges::copy(reached, reached_.begin());
  const auto squares = squares_in(saved, "feature.square");
  require(squares.size() == ids.size(), "there must be a sum of squares for every feature");
  std::ranges::copy(squares, squares_.begin());
  Pieces sums("node.square", squares_in(saved, "node.square"));
  for (NodeId v = 0; v < tree_.size(); ++v) {
    const auto of_node = sums.take(vectors_of(v));
    if (!check_only && !of_node.empty()) std::ranges::copy(of_node, blocks_[v]->squares().begin());
  }
  sums.finish();
  load_memory(saved, check_only);
}

}  // namespace labelgrove
