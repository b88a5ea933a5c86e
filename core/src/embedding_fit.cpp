// The implementation of fit(): learns in small batches, whose nodes and features are divided among threads.
#include <algorithm>
#include <numeric>
#include <utility>

#include "labelgrove/embedding_plt.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/parallel.hpp"
#include "labelgrove/vector_kernels.hpp"

namespace labelgrove {
namespace {

// A batch ends at the first of these limits: few enough for the vectors read to still be in the cache when they are
// updated, and enough to keep all threads busy.
constexpr std::size_t kBatchExamples = 64;
constexpr std::size_t kBatchFeatures = 2048;

}  // namespace

// The examples of fit(), and the state of the current batch.
class EmbeddingPlt::Batches {
 public:
  Batches(EmbeddingPlt& model, const LabelledExamples& examples, std::size_t n, unsigned threads)
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

  // Learns a batch from the beginning of `order`, at a rate that starts at `rate` and falls by `fall` per example, both
  // relative to the learner's; returns its number of examples.
  std::size_t learn(std::span<const std::uint32_t> order, double rate, double fall);
  void begin(std::uint32_t epoch) { epoch_ = epoch; }

 private:
  struct Place {
    Parts parts;
    float weight;
    VectorStep step;
    float square;  // mean square of the example's mean, then of its gradient
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
  // Like EmbeddingPlt::visit().
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
  const LabelledExamples& examples_;
  unsigned threads_;
  Crew crew_;
  std::vector<Lane> lanes_;
  std::vector<std::size_t> ends_;  // of each example's features
  std::vector<std::uint32_t> rows_;
  std::vector<float> shares_;
  std::vector<std::uint64_t> paths_;  // by label, from the leaf up, in the form of Visits::reached
  std::vector<std::size_t> path_ends_;
  std::vector<std::uint32_t> owners_;  // by node

  std::uint32_t epoch_ = 0;
  std::vector<Place> places_;
  Visits visits_;
  std::vector<float> hidden_;     // by place
  std::vector<float> gradients_;  // by place
  std::vector<float> partial_;    // by visit: its part of the example's gradient, if threads share the nodes
};

// Distributes nodes, most expensive first, each to the thread with the least work.
void EmbeddingPlt::Batches::share_nodes_out(std::size_t n) {
  owners_.assign(model_.tree_.size(), 0);
  if (threads_ == 1) return;
  std::vector<std::uint64_t> cost(model_.tree_.size());
  for (std::size_t i = 0; i < n; ++i) {
    visits_.clear();
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
  visits_.clear();
  std::size_t features = 0;
  for (const std::uint32_t example : order) {
    const Parts own = parts(example);
    if (places_.size() == kBatchExamples || (features > 0 && features + own.rows.size() > kBatchFeatures)) break;
    features += own.rows.size();
    const LabelledExample given = examples_(example);
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

// With one thread, the part of a node with a single vector is added directly to the gradient. The sum is the same;
// blocks of several vectors sum their own parts first.
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

// Prefetches the nodes that come next: first their blocks, then the vectors.
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
    gradient(i)[model_.options_.dimension] = 0.0F;  // the bias belongs to no feature
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

void EmbeddingPlt::fit(const LabelledExamples& examples, std::size_t n, std::uint32_t epochs, unsigned threads,
                       Progress& progress) {
  usable_ = false;  // until all is done
  Batches batches(*this, examples, n, std::max(threads, 1U));
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  const double total = static_cast<double>(n) * epochs;
  progress.expect(n * epochs);
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    batches.begin(epoch);
    shuffle(order, [&](std::size_t left) { return draw(options_.seed, Draw::shuffle, epoch, left); });
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
    const LabelledExample one = examples(i);
    visits.clear();
    if (one.weight > 0.0F) {
      visit(one.labels, visits);
      remember(one);
    }
    count(visits);
  }
  usable_ = true;
}

}  // namespace labelgrove
