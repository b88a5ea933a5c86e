#include "labelgrove/embedding_plt.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/kernels.hpp"
#include "labelgrove/link.hpp"
#include "labelgrove/node_archive.hpp"
#include "labelgrove/parallel.hpp"
#include "labelgrove/vector_kernels.hpp"

namespace labelgrove {
namespace {

// A batch of fit() ends with the first of these: few enough for the vectors that it reads to be in the cache when they
// are changed, and enough for threads to have something to do.
constexpr std::size_t kBatchExamples = 64;
constexpr std::size_t kBatchFeatures = 2048;

constexpr float kLargestScore = 30.0F;  // beyond, probabilities are 0 or 1 to a float

// exp(x) for |x| <= 2 kLargestScore, by operations that every processor rounds alike: (exp(x / 256))^256.
double fixed_exp(double x) {
  const double t = x / 256.0;
  double y = 1.0 + t * (1.0 + t * (1.0 / 2 + t * (1.0 / 6 + t * (1.0 / 24 + t * (1.0 / 120)))));
  for (int i = 0; i < 8; ++i) y *= y;
  return y;
}

float bounded_score(float score) { return std::clamp(score, -kLargestScore, kLargestScore); }

float fixed_sigmoid(float score) {
  return static_cast<float>(1.0 / (1.0 + fixed_exp(-static_cast<double>(bounded_score(score)))));
}

// As link.hpp has it, for learning.
void fixed_softmax(std::span<float> scores) {
  const float most = std::ranges::max(scores);
  double sum = 0.0;
  for (float& score : scores) {
    score = static_cast<float>(fixed_exp(static_cast<double>(bounded_score(score - most))));
    sum += static_cast<double>(score);
  }
  for (float& score : scores) score = static_cast<float>(static_cast<double>(score) / sum);
}

}  // namespace

float VectorStep::size(float mean_square, float& sum) const {
  if (learner->kind == LearnerKind::sgd) return rate;
  sum = std::min(sum + mean_square, kLargestSquareSum);
  return rate / std::sqrt(learner->epsilon + sum);
}

// --- nodes -----------------------------------------------------------------------------------------------------------

VectorBlock::VectorBlock(std::uint32_t children, std::uint32_t dimension, bool softmax)
    : children_(children),
      dimension_(dimension),
      first_(softmax ? 1 : 0),
      stride_(padded(dimension + std::size_t{1})),
      values_(vectors() * stride_),
      squares_(vectors()) {}

std::size_t VectorBlock::bytes() const {
  return sizeof(VectorBlock) + (values_.capacity() + squares_.capacity()) * sizeof(float);
}

void VectorBlock::score(const float* hidden, float* scores) const {
  const VectorKernels& kernels = vector_kernels();
  if (first_ == 1) scores[0] = 0.0F;
  for (std::uint32_t i = 0; i < vectors(); ++i) scores[first_ + i] = kernels.dot(row(i), hidden, stride_);
}

void VectorBlock::predict(const Features& hidden, Workspace& work, float* probabilities) const {
  work.margins.resize(children_);
  score(hidden.values, work.margins.data());
  work.bytes += values_.size() * sizeof(float);
  const bool competing = first_ == 1 && children_ != 2;
  if (first_ == 1 && children_ == 2) work.margins[0] = -work.margins[1];  // two that compete: one sigmoid
  apply_link(competing ? Link::softmax : Link::logistic, work.margins.data(), children_, probabilities);
}

float VectorBlock::contributions(const Features& hidden, std::uint32_t child, float* added) const {
  const float* w = vector(child);
  for (std::uint32_t k = 0; k < dimension_; ++k) added[k] = w == nullptr ? 0.0F : w[k] * hidden.values[k];
  return w == nullptr ? 0.0F : w[dimension_];
}

LinearBlock VectorBlock::linear() const {
  LinearBlock block{first_ == 1 ? Link::softmax : Link::logistic, 1.0F, children_, {}, {}};
  block.features.resize(dimension_);
  std::iota(block.features.begin(), block.features.end(), 0U);
  block.weights.resize((dimension_ + std::size_t{1}) * children_);
  for (std::uint32_t i = 0; i < vectors(); ++i) {
    const std::uint32_t c = first_ + i;
    block.weights[c] = row(i)[dimension_];
    for (std::uint32_t k = 0; k < dimension_; ++k) block.weights[(k + 1) * children_ + c] = row(i)[k];
  }
  return block;
}

void VectorBlock::learn(const float* hidden, float mean_square, std::span<const std::uint32_t> positives, float weight,
                        const VectorStep& step, std::vector<float>& scores, float* gradient) {
  scores.resize(children_);
  score(hidden, scores.data());
  if (first_ == 1) fixed_softmax(scores);
  else std::ranges::transform(scores, scores.begin(), fixed_sigmoid);
  for (float& share : scores) share = -share;
  for (const std::uint32_t child : positives) scores[child] += 1.0F;
  const VectorKernels& kernels = vector_kernels();
  for (std::uint32_t i = 0; i < vectors(); ++i) {
    const float slope = weight * scores[first_ + i];
    const float size = step.size(slope * slope * mean_square, squares_[i]);
    kernels.add_then_move(slope, gradient, size * slope, hidden, row(i), stride_);
  }
}

void VectorBlock::add_child(const float* hidden, std::uint64_t reached) {
  ++children_;
  values_.resize(vectors() * stride_);
  squares_.resize(vectors());
  reset_child(children_ - 1, hidden, reached);
}

void VectorBlock::reset_child(std::uint32_t child, const float* hidden, std::uint64_t reached) {
  if (child < first_) return;  // its score goes by that of its siblings
  float* own = row(child - first_);
  std::fill_n(own, stride_, 0.0F);
  squares_[child - first_] = 0.0F;
  double bias = -std::log(static_cast<double>(reached) + 1.0);
  if (first_ == 1) {
    std::vector<float> scores(children_);
    score(hidden, scores.data());
    double siblings = 0.0;
    for (std::uint32_t c = 0; c < children_; ++c) {
      if (c != child) siblings += fixed_exp(static_cast<double>(bounded_score(scores[c])));
    }
    bias += std::log(siblings);
  }
  own[dimension_] = static_cast<float>(bias);
}

// --- the model -------------------------------------------------------------------------------------------------------

EmbeddingPlt::EmbeddingPlt(const EmbeddingOptions& options, LabelTree tree)
    : options_(options),
      stride_(padded(options.dimension + std::size_t{1})),
      dimensions_(options.dimension),
      tree_(std::move(tree)),
      policy_(options, options.seed),
      reached_(tree_.size()) {
  std::iota(dimensions_.begin(), dimensions_.end(), 0U);
  for (NodeId v = 0; v < tree_.size(); ++v) {
    const auto children = static_cast<std::uint32_t>(tree_[v].children.size());
    set_block(v, children == 0 ? nullptr : std::make_unique<VectorBlock>(children, options.dimension, options.softmax));
  }
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

// A new feature's vector is drawn from its number, so that it is the same whenever it comes; each coordinate lies
// between -1/sqrt(d) and 1/sqrt(d).
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

namespace {

// How much of the mean each feature is: its value over the sum of their sizes.
void append_shares(const Features& x, std::vector<float>& shares) {
  double sum = 0.0;
  for (std::uint32_t j = 0; j < x.size; ++j) sum += std::abs(static_cast<double>(x.values[j]));
  const double scale = sum > 0.0 ? 1.0 / sum : 0.0;
  for (std::uint32_t j = 0; j < x.size; ++j) shares.push_back(scaled(x.values[j], scale));
}

}  // namespace

void EmbeddingPlt::mean(const Parts& parts, float* hidden) const {
  vector_kernels().combine(vectors_.data(), parts.rows.data(), parts.shares.data(), parts.rows.size(), hidden, stride_);
  hidden[options_.dimension] = 1.0F;  // meets the bias
}

float EmbeddingPlt::mean_square(const float* vector) const {
  return vector_kernels().dot(vector, vector, stride_) / static_cast<float>(options_.dimension);
}

Features EmbeddingPlt::embed(const Features& x, Workspace& work, std::vector<float>& hidden) const {
  work.found.clear();
  std::vector<float> known;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t row = features_.find(x.ids[j]);
    if (row == kNone) continue;
    work.found.push_back(row);
    known.push_back(x.values[j]);
  }
  work.values.clear();
  append_shares({nullptr, known.data(), static_cast<std::uint32_t>(known.size())}, work.values);
  work.bytes += known.size() * stride_ * sizeof(float);
  hidden.resize(stride_);
  mean({work.found, work.values}, hidden.data());
  return {dimensions_.data(), hidden.data(), options_.dimension};
}

LabelPath EmbeddingPlt::explain(const Features& x, LabelId label) const {
  Workspace work;
  std::vector<float> hidden;
  LabelPath path = explain_label(tree_, views_, embed(x, work, hidden), label);
  path.contributions.assign(path.nodes.size() * x.size, 0.0F);
  for (std::size_t i = 0; i < path.nodes.size(); ++i) {
    const TreeNode& node = tree_[path.nodes[i]];
    const float* w = blocks_[node.parent]->vector(node.slot);
    if (w == nullptr) continue;
    for (std::uint32_t j = 0, known = 0; j < x.size; ++j) {
      const std::uint32_t row = features_.find(x.ids[j]);
      if (row == kNone) continue;
      path.contributions[i * x.size + j] = work.values[known++] * vector_kernels().dot(w, vector(row), stride_);
    }
  }
  return path;
}

EmbeddingPlt::Size EmbeddingPlt::size() const {
  Size size;
  size.weights = std::uint64_t{features_.size()} * options_.dimension;
  size.model_bytes = features_.bytes() + (vectors_.capacity() + squares_.capacity()) * sizeof(float);
  for (NodeId v = 0; v < tree_.size(); ++v) {
    size.model_bytes += sizeof(TreeNode) + tree_[v].children.capacity() * sizeof(NodeId);
    if (blocks_[v] == nullptr) continue;
    size.weights += std::uint64_t{blocks_[v]->vectors()} * (options_.dimension + 1);
    size.model_bytes += blocks_[v]->bytes();
  }
  return size;
}

void EmbeddingPlt::remove_labels(std::span<const LabelId> labels) {
  for (const LabelId label : tree_.removable(labels)) tree_.remove_label(label);
}

// --- learning --------------------------------------------------------------------------------------------------------

// A node that is new between v and what is below it has had one positive child in all examples that have reached it.
void EmbeddingPlt::grow(const float* hidden, LabelId label, NodeId& selected) {
  if (tree_[kRoot].is_leaf() && tree_[kRoot].label == kNone) return tree_.give_label(kRoot, label);
  std::vector<float> shares;
  Workspace work;
  const Features x{dimensions_.data(), hidden, options_.dimension};
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
    if (!options_.softmax) above->row(0)[options_.dimension] = std::log(static_cast<float>(reached_[v]) + 1.0F);
    set_block(v, std::move(above));
  }
  const NodeId leaf = tree_.add_leaf(v, label);
  set_block(leaf, nullptr);
  reached_.push_back(0);
  blocks_[v]->add_child(hidden, reached_[v]);
}

// Of labels that compete one is learnt, in each pass of its own draw (as in fastText).
std::span<const LabelId> EmbeddingPlt::drawn(std::span<const LabelId> labels, std::uint64_t pass,
                                             std::uint64_t example) const {
  if (!options_.softmax || labels.size() <= 1) return labels;
  return labels.subspan(draw(options_.seed, Draw::label, pass, example) % labels.size(), 1);
}

// Every node above a label, with its positive children. One label's nodes are those on its path, from the leaf upwards.
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

// From what an example has reached: the places of so many labels' nodes among their siblings.
void EmbeddingPlt::Visits::take(std::size_t labels) {
  auto slot = static_cast<std::uint32_t>(slots.size());
  if (labels == 0) all.push_back({kAboveRoot, slot, slot});
  if (labels > 1) {
    std::ranges::sort(reached);
    reached.erase(std::ranges::unique(reached).begin(), reached.end());
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

// What fit() knows of its examples and of the batch at hand.
class EmbeddingPlt::Batches {
 public:
  Batches(EmbeddingPlt& model, const Examples& examples, std::size_t n, unsigned threads)
      : model_(model), examples_(examples), threads_(threads), crew_(threads - 1), lanes_(threads) {
    ends_.reserve(n + 1);
    ends_.push_back(0);
    for (std::size_t i = 0; i < n; ++i) {
      const Features x = examples(i).x;
      for (std::uint32_t j = 0; j < x.size; ++j) rows_.push_back(model.row_of(x.ids[j]));
      append_shares(x, shares_);
      ends_.push_back(rows_.size());
    }
    const LabelTree& tree = model.tree_;
    path_ends_.push_back(0);
    for (LabelId label = 0; label < tree.label_count(); ++label) {
      for (NodeId v = tree.leaf_of(label); v != kNone && v != kAboveRoot; v = tree[v].parent) {
        paths_.push_back(std::uint64_t{tree[v].parent} << 32 | tree[v].slot);
      }
      path_ends_.push_back(paths_.size());
    }
    share_nodes_out(n);
  }

  // The first examples of `order`, as many as make a batch, at these parts of the rate; returns how many.
  std::size_t learn(std::span<const std::uint32_t> order, double rate, double fall);
  void begin(std::uint32_t epoch) { epoch_ = epoch; }

 private:
  struct Place {
    Parts parts;
    float weight;
    VectorStep step;
    float square;  // of the example's mean, then of its gradient
    std::size_t first_visit;
    std::size_t end_visit;
  };
  struct Lane {
    std::vector<float> scores;
    std::vector<float> apart;
  };

  Parts parts(std::size_t example) const {
    const std::size_t begin = ends_[example];
    const std::size_t size = ends_[example + 1] - begin;
    return {std::span(rows_).subspan(begin, size), std::span(shares_).subspan(begin, size)};
  }
  float* hidden(std::size_t i) { return hidden_.data() + i * model_.stride_; }
  float* gradient(std::size_t i) { return gradients_.data() + i * model_.stride_; }
  unsigned owner_of_row(std::uint32_t row) const {
    return static_cast<unsigned>((std::uint64_t{scattered(row)} * threads_) >> 32);
  }
  template <typename Task>
  void in_all_threads(Task&& task) {
    if (threads_ == 1) return task(0U);
    crew_.start(threads_, [&](std::size_t t) { task(static_cast<unsigned>(t)); });
    crew_.finish();
  }
  // As EmbeddingPlt::visit().
  void visit(std::span<const LabelId> labels) {
    visits_.reached.clear();
    for (const LabelId label : labels) {
      const auto path = std::span(paths_).subspan(path_ends_[label], path_ends_[label + 1] - path_ends_[label]);
      visits_.reached.insert(visits_.reached.end(), path.begin(), path.end());
    }
    visits_.take(labels.size());
  }
  void share_nodes_out(std::size_t n);
  void take(std::span<const std::uint32_t> order, double rate, double fall);
  void embed(unsigned thread);
  void teach(unsigned thread);
  void fetch(std::size_t k) const;
  void sum_up(unsigned thread);
  void move(unsigned thread);

  EmbeddingPlt& model_;
  const Examples& examples_;
  unsigned threads_;
  Crew crew_;
  std::vector<Lane> lanes_;
  std::vector<std::size_t> ends_;  // of each example's features
  std::vector<std::uint32_t> rows_;
  std::vector<float> shares_;
  std::vector<std::uint64_t> paths_;  // by label, from the leaf upwards: as visits are made of them
  std::vector<std::size_t> path_ends_;
  std::vector<std::uint32_t> owners_;  // by node

  std::uint32_t epoch_ = 0;
  std::vector<Place> places_;
  Visits visits_;
  std::vector<float> hidden_;     // by place
  std::vector<float> gradients_;  // by place
  std::vector<float> partial_;    // by visit: its part of the example's gradient, where threads share the nodes
};

// The dearest nodes first, each to the thread that has least to do.
void EmbeddingPlt::Batches::share_nodes_out(std::size_t n) {
  owners_.assign(model_.tree_.size(), 0);
  if (threads_ == 1) return;
  std::vector<std::uint64_t> cost(model_.tree_.size());
  for (std::size_t i = 0; i < n; ++i) {
    visits_.all.clear();
    visits_.slots.clear();
    visit(model_.drawn(examples_(i).labels, 0, i));
    for (const Visit& one : visits_.all) cost[one.node] += model_.blocks_[one.node]->vectors();
  }
  std::vector<NodeId> nodes(model_.tree_.size());
  std::iota(nodes.begin(), nodes.end(), 0U);
  std::ranges::stable_sort(nodes, [&](NodeId a, NodeId b) { return cost[a] > cost[b]; });
  std::vector<std::uint64_t> work(threads_);
  for (const NodeId v : nodes) {
    const auto least = std::ranges::min_element(work);
    owners_[v] = static_cast<std::uint32_t>(least - work.begin());
    *least += cost[v];
  }
}

void EmbeddingPlt::Batches::take(std::span<const std::uint32_t> order, double rate, double fall) {
  places_.clear();
  visits_.all.clear();
  visits_.slots.clear();
  std::size_t features = 0;
  for (const std::uint32_t example : order) {
    const Parts own = parts(example);
    if (places_.size() == kBatchExamples || (features > 0 && features + own.rows.size() > kBatchFeatures)) break;
    features += own.rows.size();
    const Example given = examples_(example);
    const auto part = static_cast<float>(rate - fall * static_cast<double>(places_.size()));
    const std::size_t first = visits_.all.size();
    if (given.weight > 0.0F) visit(model_.drawn(given.labels, epoch_, example));
    const LearnerOptions& learner = model_.options_.learner;
    places_.push_back({own, given.weight, {&learner, learner.rate * part}, 0.0F, first, visits_.all.size()});
  }
  hidden_.resize(places_.size() * model_.stride_);
  gradients_.resize(hidden_.size());
  if (threads_ > 1) partial_.resize(visits_.all.size() * model_.stride_);
}

void EmbeddingPlt::Batches::embed(unsigned thread) {
  for (std::size_t i = thread; i < places_.size(); i += threads_) {
    model_.mean(places_[i].parts, hidden(i));
    places_[i].square = model_.mean_square(hidden(i));
  }
}

// In one thread a node's part is added to the gradient at once: it is the same sum, as a block of several vectors sums
// its own part up first.
void EmbeddingPlt::Batches::teach(unsigned thread) {
  Lane& lane = lanes_[thread];
  lane.apart.resize(model_.stride_);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (threads_ == 1) std::fill_n(gradient(i), model_.stride_, 0.0F);
    for (std::size_t k = place.first_visit; k < place.end_visit; ++k) {
      const Visit& visit = visits_.all[k];
      fetch(k);
      if (owners_[visit.node] != thread) continue;
      const bool at_once = threads_ == 1 && model_.blocks_[visit.node]->vectors() <= 1;
      float* part = threads_ > 1 ? partial_.data() + k * model_.stride_ : at_once ? gradient(i) : lane.apart.data();
      if (!at_once) std::fill_n(part, model_.stride_, 0.0F);
      model_.learn_at(visit, visits_, hidden(i), place.square, place.weight, place.step, lane.scores, part);
      if (threads_ == 1 && !at_once) vector_kernels().add(1.0F, part, gradient(i), model_.stride_);
    }
  }
}

// Nodes that come soon are asked for: first where their vectors are, then these.
void EmbeddingPlt::Batches::fetch(std::size_t k) const {
  const auto& all = visits_.all;
  if (k + 6 < all.size()) __builtin_prefetch(model_.blocks_[all[k + 6].node].get());
  if (k + 2 < all.size()) prefetch_vector(std::as_const(*model_.blocks_[all[k + 2].node]).row(0), model_.stride_);
}

void EmbeddingPlt::Batches::sum_up(unsigned thread) {
  for (std::size_t i = thread; i < places_.size(); i += threads_) {
    Place& place = places_[i];
    if (threads_ > 1) {
      std::fill_n(gradient(i), model_.stride_, 0.0F);
      for (std::size_t k = place.first_visit; k < place.end_visit; ++k) {
        vector_kernels().add(1.0F, partial_.data() + k * model_.stride_, gradient(i), model_.stride_);
      }
    }
    gradient(i)[model_.options_.dimension] = 0.0F;  // the bias is no feature's
    place.square = model_.mean_square(gradient(i));
  }
}

void EmbeddingPlt::Batches::move(unsigned thread) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (place.first_visit == place.end_visit) continue;
    for (std::size_t j = 0; j < place.parts.rows.size(); ++j) {
      const std::uint32_t row = place.parts.rows[j];
      if (j + kAhead < place.parts.rows.size()) {
        prefetch_vector(model_.vector(place.parts.rows[j + kAhead]), model_.stride_);
      }
      if (threads_ > 1 && owner_of_row(row) != thread) continue;
      model_.move(row, place.parts.shares[j], gradient(i), place.square, place.step);
    }
  }
}

std::size_t EmbeddingPlt::Batches::learn(std::span<const std::uint32_t> order, double rate, double fall) {
  take(order, rate, fall);
  in_all_threads([this](unsigned t) { embed(t); });
  in_all_threads([this](unsigned t) { teach(t); });
  in_all_threads([this](unsigned t) { sum_up(t); });
  in_all_threads([this](unsigned t) { move(t); });
  return places_.size();
}

void EmbeddingPlt::fit(const Examples& examples, std::size_t n, std::uint32_t epochs, unsigned threads,
                       Progress& progress) {
  usable_ = false;  // until all is done
  Batches batches(*this, examples, n, std::max(threads, 1U));
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  const double total = static_cast<double>(n) * epochs;
  progress.expect(n * epochs);
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    batches.begin(epoch);
    for (std::size_t i = n; i > 1; --i) {
      std::swap(order[i - 1], order[draw(options_.seed, Draw::shuffle, epoch, i) % i]);
    }
    for (std::size_t i = 0; i < n;) {
      progress.check();
      const double left = 1.0 - (static_cast<double>(epoch) * static_cast<double>(n) + static_cast<double>(i)) / total;
      const std::size_t learnt = batches.learn(std::span(order).subspan(i), left, 1.0 / total);
      progress.advance(learnt);
      i += learnt;
    }
  }
  Visits visits;
  for (std::size_t i = 0; i < n; ++i) {
    const Example one = examples(i);
    visits.all.clear();
    visits.slots.clear();
    if (one.weight > 0.0F) visit(one.labels, visits);
    count(visits);
  }
  usable_ = true;
}

void EmbeddingPlt::learn(const Examples& examples, std::size_t begin, std::size_t end) {
  usable_ = false;  // until all is done
  std::vector<std::uint32_t> rows;
  std::vector<float> shares;
  std::vector<float> hidden(stride_);
  std::vector<float> gradient(stride_);
  std::vector<float> apart(stride_);
  std::vector<float> scores;
  Visits visits;
  const VectorStep step{&options_.learner, options_.learner.rate};
  for (; begin < end; ++begin) {
    const auto [x, labels, weight] = examples(begin);
    visits.all.clear();
    visits.slots.clear();
    if (weight == 0.0F) {
      ++examples_seen_;
      continue;
    }
    rows.clear();
    shares.clear();
    for (std::uint32_t j = 0; j < x.size; ++j) rows.push_back(row_of(x.ids[j]));
    append_shares(x, shares);
    mean({rows, shares}, hidden.data());
    NodeId selected = kNone;  // as in OPLT: new labels of one example go to one place
    for (const LabelId label : labels) {
      if (tree_.leaf_of(label) == kNone) grow(hidden.data(), label, selected);
    }
    visit(labels, visits);
    count(visits);
    if (options_.softmax && labels.size() > 1) {
      visits.all.clear();
      visits.slots.clear();
      visit(drawn(labels, kNone, examples_seen_), visits);
    }
    std::ranges::fill(gradient, 0.0F);
    const float square = mean_square(hidden.data());
    for (const Visit& one : visits.all) {
      std::ranges::fill(apart, 0.0F);
      learn_at(one, visits, hidden.data(), square, weight, step, scores, apart.data());
      vector_kernels().add(1.0F, apart.data(), gradient.data(), stride_);
    }
    gradient[options_.dimension] = 0.0F;  // the bias is no feature's
    const float gradient_square = mean_square(gradient.data());
    for (std::size_t j = 0; j < rows.size(); ++j) move(rows[j], shares[j], gradient.data(), gradient_square, step);
  }
  usable_ = true;
}

// --- saving and loading: docs/format.md names every array ------------------------------------------------------------

void EmbeddingPlt::save(ArrayWriter& out, bool for_prediction) const {
  save_tree(out, tree_, {examples_seen_, policy_.draws()});
  std::ranges::copy(features_.features(), out.u32("feature.id", features_.size()).begin());
  float* next = out.f32("feature.vector", features_.size() * std::size_t{options_.dimension}).data();
  for (std::uint32_t row = 0; row < features_.size(); ++row) {
    next = std::copy_n(vector(row), options_.dimension, next);
  }
  std::size_t vectors = 0;
  for (const auto& block : blocks_) vectors += block == nullptr ? 0 : block->vectors();
  next = out.f32("node.vector", vectors * (options_.dimension + std::size_t{1})).data();
  for (const auto& block : blocks_) {
    for (std::uint32_t i = 0; block != nullptr && i < block->vectors(); ++i) {
      next = std::copy_n(block->row(i), options_.dimension + 1, next);
    }
  }
  if (for_prediction) return;
  std::ranges::copy(reached_, out.u64("node.reached", tree_.size()).begin());
  std::ranges::copy(squares_, out.f32("feature.square", squares_.size()).begin());
  next = out.f32("node.square", vectors).data();
  for (const auto& block : blocks_) {
    if (block != nullptr) next = std::ranges::copy(std::as_const(*block).squares(), next).out;
  }
}

namespace {

std::span<const float> squares_in(const ArrayReader& saved, const std::string& name) {
  const auto squares = saved.f32(name);
  require(std::ranges::all_of(squares, [](float square) { return square >= 0.0F && square <= kLargestSquareSum; }),
          "array '" + name + "': a sum of squares is out of range");
  return squares;
}

}  // namespace

EmbeddingPlt::EmbeddingPlt(const EmbeddingOptions& options, const ArrayReader& saved, bool for_prediction)
    : EmbeddingPlt(options, saved_tree(saved)) {
  can_learn_ = !for_prediction;
  const TreeCounters counters = saved_counters(saved);
  examples_seen_ = counters.examples;
  policy_.restore(counters.draws);
  const auto ids = saved.u32("feature.id");
  const auto of_features = saved.f32("feature.vector");
  const auto of_nodes = saved.f32("node.vector");
  require(of_features.size() == ids.size() * options.dimension, "there must be a vector for every feature");
  require(all_within(of_features, kLargestCoordinate) && all_within(of_nodes, kLargestCoordinate),
          "a vector holds a number that is not finite, or larger than any that can be learnt");
  require(std::ranges::all_of(ids, [](FeatureId id) { return id < kNone / 2; }), "a feature id is out of range");
  features_.reserve(ids.size());
  for (const FeatureId id : ids) features_.find_or_insert(id);
  require(features_.size() == ids.size(), "array 'feature.id': a feature occurs twice");
  squares_.resize(ids.size());
  vectors_.resize(ids.size() * stride_);
  for (std::uint32_t row = 0; row < ids.size(); ++row) {
    std::copy_n(of_features.data() + row * std::size_t{options.dimension}, options.dimension, vector(row));
  }
  Pieces vectors("node.vector", of_nodes);
  for (auto& block : blocks_) {
    for (std::uint32_t i = 0; block != nullptr && i < block->vectors(); ++i) {
      std::ranges::copy(vectors.take(options.dimension + std::uint64_t{1}), block->row(i));
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
  for (auto& block : blocks_) {
    if (block != nullptr) std::ranges::copy(sums.take(block->vectors()), block->squares().begin());
  }
  sums.finish();
}

}  // namespace labelgrove
