#include "labelgrove/online_plt.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "labelgrove/hash.hpp"
#include "labelgrove/search.hpp"

namespace labelgrove {
namespace {

// The limits of a window, in examples. It is long enough for a node to find its rows still in the cache, and short
// enough to be held in memory. Idle threads cut it short, but not below the lower limit.
constexpr std::size_t kLongestWindow = 4096;
constexpr std::size_t kShortestWindow = 256;
// In a mixed stream with fewer labels per example than kSingle, variances also follow the loss; with more labels,
// weights fade (docs/decisions/arow.md). A stream is mixed while its gauge is below kMixed.
constexpr double kSingle = 1.5;
constexpr double kMixed = 0.5;

// Releases a reference to an example at the end of the scope.
class Held {
 public:
  Held(ExampleStore& store, ExampleId example) : store_(store), example_(example) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { store_.release(example_); }

 private:
  ExampleStore& store_;
  ExampleId example_;
};

}  // namespace

OnlinePlt::OnlinePlt(const OnlinePltOptions& options) : OnlinePlt(options, LabelTree()) {}

OnlinePltOptions OnlinePlt::seeded(OnlinePltOptions options) {
  options.learner.seed = options.seed;
  return options;
}

// NEWCLASSIFIER for every node (Algorithm 1, line 2), and auxiliary ones where the policy may need them (Algorithm 2).
OnlinePlt::OnlinePlt(const OnlinePltOptions& options, LabelTree tree)
    : options_(seeded(options)),
      tree_(std::move(tree)),
      policy_(options, options.seed),
      learners_(options_.learner, options, options.seed) {
  if (options.replay_most > options.replay) gauge_.emplace();
  for (NodeId v = 0; v < tree_.size(); ++v) {
    learners_.start(v, tree_[v].children.size(), policy_.needs_theta(tree_, v));
  }
  if (options_.ofo) thresholds_.emplace(*options_.ofo, tree_);
}

const RowBlock* OnlinePlt::block(NodeId v) const {
  if (!can_learn_) return stored_[v].get();
  return learners_.has(v) ? &learners_.block(v) : nullptr;
}

// --- learning: OPLT.TRAIN (Algorithm 3) -----------------------------------------------------------------------------

void OnlinePlt::learn(const LabelledExamples& examples, std::size_t begin, std::size_t end, unsigned threads,
                      const Questions& questions) {
  usable_ = false;  // until all is done
  std::exception_ptr refused;
  std::size_t asked = 0;
  const auto asks_about = [&](std::size_t i, std::size_t example) {
    return i < questions.examples.size() && questions.examples[i] == example;
  };
  bool settled = false;
  const auto take_in_window = [&](const NodeLearners::Idle& idle) {
    const std::size_t first = begin;
    const std::size_t shortest = std::min(end, begin + kShortestWindow);
    const std::size_t longest = std::min(end, begin + kLongestWindow);
    if (begin == end) return false;
    try {
      for (; begin < shortest || (begin < longest && !idle()); ++begin) {
        const bool question = asks_about(asked, begin);
        const bool begins =
            question && asks_about(asked + 1, begin + 1) && !(asked > 0 && asks_about(asked - 1, begin - 1));
        if (begins && !settled) {
          // Consecutive questions need most nodes at once. Before them all threads drain the queues: those filled by
          // earlier calls when this one returns, those filled by this one when the next one does.
          settled = begin == first;
          return true;
        }
        settled = false;
        take_in(examples(begin), questions, question ? std::optional(asked++) : std::nullopt);
      }
    } catch (const BudgetExceeded&) {
      refused = std::current_exception();
      end = begin;  // what was taken in before is still learnt
    }
    return true;
  };
  learners_.run(take_in_window, threads);
  usable_ = true;
  if (refused) std::rethrow_exception(refused);
}

void OnlinePlt::take_in(const LabelledExample& given, const Questions& questions, std::optional<std::size_t> question) {
  const ExampleId example = hold(given);
  if (example == kNone) return;
  if (question) {
    const Scope scope(tree_);
    Search search({tree_, blocks()}, scope);
    search.start({Query::Kind::top_k, questions.k});
    begin_search();
    for (NodeId v = search.next().node; v != kNone; v = search.next().node) {
      opened_[v].first = search_;
      search.take(probabilities(learners_.examples().view(example), v).data(), 0);
    }
    questions.answer(*question, search.found());
  }
  if (!asks()) return teach(example, given.labels, std::nullopt);
  candidates(example, predicted_);
  teach(example, given.labels, predicted_);
}

void OnlinePlt::begin_search() {
  ++search_;
  searched_ = examples_seen_ + 1;
  opened_.resize(tree_.size());
}

bool OnlinePlt::asks() const {
  return thresholds_ && draw(options_.seed, Draw::asking, examples_seen_) % options_.ofo->every == 0;
}

ExampleId OnlinePlt::hold(const LabelledExample& given) {
  const auto& [x, labels, weight] = given;
  if (options_.policy == Policy::fixed &&
      std::ranges::any_of(labels, [this](LabelId label) { return tree_.leaf_of(label) == kNone; })) {
    throw std::invalid_argument("a label is not in the tree, and the tree does not grow");
  }
  if (weight == 0.0F) {
    ++examples_seen_;
    return kNone;
  }
  learners_.make_room(ExampleStore::most_bytes(x.size));
  return learners_.examples().add(x, options_.normalize ? unit_scale(x) : 1.0, weight);
}

void OnlinePlt::teach(ExampleId example, std::span<const LabelId> labels,
                      const std::optional<std::span<const LabelId>>& predicted) {
  ExampleStore& store = learners_.examples();
  const Held held(store, example);
  const std::uint32_t features = store.view(example).size;
  policy_.observe(features);
  try {
    const auto is_new = [this](LabelId label) { return tree_.leaf_of(label) == kNone; };
    learners_.check_fits(static_cast<std::size_t>(std::ranges::count_if(labels, is_new)), features, tree_);
    NodeId selected = kNone;  // Algorithm 8 runs once per example; later labels continue from the node it selected
    for (const LabelId label : labels) {
      if (is_new(label)) grow(store.view(example), label, selected);
    }
    assign(example, labels);
  } catch (const BudgetExceeded&) {
    policy_.take_back(features);
    throw;
  }
  if (predicted) thresholds_->count(tree_, labels, *predicted);
  ++examples_seen_;
}

void OnlinePlt::settle() {
  bool once = true;
  learners_.run([&](const NodeLearners::Idle&) { return std::exchange(once, false); }, 1);
}

// eta of v's children, after everything learnt so far.
std::span<const float> OnlinePlt::probabilities(const Features& x, NodeId v) {
  learners_.bring_up_to_date(v);
  probabilities_.resize(tree_[v].children.size());
  learners_.blocks()[v]->predict(x, work_, probabilities_.data());
  return probabilities_;
}

// UPDATETREE (Algorithm 4) for one new label.
void OnlinePlt::grow(const Features& x, LabelId label, NodeId& selected) {
  if (tree_[kRoot].is_leaf() && tree_[kRoot].label == kNone) {
    tree_.give_label(kRoot, label);
    if (thresholds_) thresholds_->renew(tree_, kRoot);
    return;
  }
  selected = policy_.select(tree_, selected, [&](NodeId node) { return probabilities(x, node); });
  const NodeId v = selected;
  if (tree_[v].silent_children > 0) return take_place(v, label);
  const bool insert = policy_.must_insert(tree_, v);
  learners_.make_room_for_leaf(v, insert);  // all of it before the tree changes, since it may throw
  if (insert) {
    const NodeId below = tree_.insert_node(v);
    if (thresholds_) thresholds_->inserted(v, below);
    learners_.insert_above(v, below);
  }
  learners_.add_leaf(v);
  const NodeId leaf = tree_.add_leaf(v, label);
  if (thresholds_) thresholds_->renew(tree_, leaf);
  learners_.start(leaf, 0, policy_.needs_theta(tree_, leaf));
  settle_theta(v);
  if (tree_[v].children.size() <= 2) {
    for (const NodeId child : tree_[v].children) settle_theta(child);
  }
}

// Gives the label the leaf of a removed label.
void OnlinePlt::take_place(NodeId v, LabelId label) {
  const auto& children = tree_[v].children;
  const NodeId leaf = *std::ranges::find_if(children, [this](NodeId child) { return tree_[child].silent; });
  learners_.reset_child(v, tree_[leaf].slot);
  tree_.give_label(leaf, label);
  if (thresholds_) thresholds_->renew(tree_, leaf);
  if (!learners_.has(leaf)) return;
  learners_.discard(leaf);
  learners_.start(leaf, 0, true);
}

// Drops v's auxiliary classifier once the policy no longer needs it.
void OnlinePlt::settle_theta(NodeId v) {
  if (!learners_.has(v) || !learners_.has_theta(v) || policy_.needs_theta(tree_, v)) return;
  if (tree_[v].is_leaf()) learners_.discard(v);
  else learners_.drop_theta(v);
}

// ASSIGNTONODES (Algorithm 9): queues the example, with its positive children, at every positive node.
void OnlinePlt::assign(ExampleId example, std::span<const LabelId> labels) {
  ++visit_;
  visited_.resize(tree_.size());
  path_.assign(1, kAboveRoot);
  reached_.clear();
  for (const LabelId label : labels) {
    for (NodeId v = tree_.leaf_of(label); v != kNone && v != kAboveRoot && visited_[v] != visit_; v = tree_[v].parent) {
      visited_[v] = visit_;
      reached_.emplace_back(tree_[v].parent, tree_[v].slot);
      path_.push_back(v);
    }
  }
  std::ranges::sort(reached_);
  learners_.make_room_for_learning(path_, tree_, learners_.examples().view(example).size, labels.size());
  Lesson lesson = lesson_of(labels);
  late_.clear();
  for (const LabelId label : labels) {
    if (!gauge_ || !gauge_->is_late(label)) continue;
    for (NodeId v = tree_.leaf_of(label); v != kNone; v = tree_[v].parent) late_.push_back(v);
  }
  for (const NodeId v : path_) {
    if (!learners_.has(v)) continue;
    lesson.twice = std::ranges::find(late_, v) != late_.end();
    slots_.clear();
    auto child = std::ranges::lower_bound(reached_, std::pair(v, std::uint32_t{0}));
    for (; child != reached_.end() && child->first == v; ++child) slots_.push_back(child->second);
    learners_.learn(v, example, slots_, tree_[v].children.size(), lesson);
    // A search has just opened the node to predict this example, so its rows are still in the cache.
    const bool searched = searched_ == examples_seen_ + 1;
    if (searched && v < opened_.size() && opened_[v].first == search_) learners_.bring_up_to_date(v);
  }
}

// How an example with these labels is learnt. The more labels come in blocks, the more replays follow: their number is
// quadratic, because they do not pay in streams whose topics merely drift, where some labels repeat.
Lesson OnlinePlt::lesson_of(std::span<const LabelId> labels) {
  if (!gauge_) return {.replays = options_.replay};
  gauge_->observe(labels);
  const double blocks = gauge_->blocks();
  const double more = (options_.replay_most - options_.replay) * (blocks * blocks);
  const bool single = gauge_->labels_per_example() < kSingle;
  return {.replays = options_.replay + static_cast<std::uint32_t>(more),
          .evidence = single && blocks < kMixed ? Evidence::by_loss : Evidence::full,
          .several = !single,
          .share = static_cast<float>(gauge_->share(labels))};
}

void OnlinePlt::remove_labels(std::span<const LabelId> labels) {
  for (const LabelId label : labels) {
    const NodeId leaf = tree_.leaf_of(label);
    tree_.remove_label(label);
    if (thresholds_) thresholds_->renew(tree_, leaf);
  }
}

ModelSize OnlinePlt::size() const {
  ModelSize size;
  size.model_bytes = learners_.block_bytes() + tree_.bytes();
  for (NodeId v = 0; v < tree_.size(); ++v) {
    const RowBlock* own = block(v);
    if (own == nullptr) continue;
    size.weights += std::uint64_t{own->rows()} * own->columns();
    if (!can_learn_) size.model_bytes += sizeof(own) + own->bytes();
  }
  size.memory_bytes = learners_.memory_bytes();
  return size;
}

}  // namespace labelgrove
