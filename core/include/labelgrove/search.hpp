// Prediction with a probabilistic label tree: eta_v(x) is the product of the classifiers on the path to v (Eq. 2).
//
// Results are always ordered by descending probability, and by ascending label id (order of arrival) among equals.
// Silent leaves are never returned, nor are labels missing from an allow-list, and subtrees without any label that may
// be returned are never entered.
//
// Probabilities are products of floats in the order of the path, so results are the same to the last bit however many
// examples are searched at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/scored.hpp"

namespace labelgrove {

// The labels that may be returned, and for each node whether any of them is below it. REQUIRES: outlived by the tree,
// which must not grow while the scope is used (see fits()).
class Scope {
 public:
  // All labels of the tree.
  explicit Scope(const LabelTree& tree) : tree_(tree) {}
  // Only the labels given.
  Scope(const LabelTree& tree, std::span<const LabelId> allowed);
  // Sets thresholds, one for all labels or one by label. A node's threshold is the minimum of those below it.
  void set_thresholds(std::span<const float> by_label);

  bool open(NodeId v) const { return restricted_ ? open_[v] != 0 : tree_[v].live > 0; }
  float threshold(NodeId v) const { return thresholds_.size() == 1 ? thresholds_[0] : thresholds_[v]; }
  // Whether the scope was made for this tree, and the tree has not grown since.
  bool fits(const LabelTree& tree) const {
    return &tree == &tree_ && (!restricted_ || open_.size() == tree.size()) &&
           (thresholds_.size() <= 1 || thresholds_.size() == tree.size());
  }

 private:
  const LabelTree& tree_;
  bool restricted_ = false;
  std::vector<std::uint8_t> open_;
  std::vector<float> thresholds_;
};

// A label tree and, by node, the classifiers of its children. Does not own them; they must outlive the view.
class TreeView {
 public:
  TreeView(const LabelTree& tree, std::span<const NodeBlock* const> blocks) : tree_(&tree), blocks_(blocks) {}
  const LabelTree& tree() const { return *tree_; }
  std::span<const NodeBlock* const> blocks() const { return blocks_; }

 private:
  const LabelTree* tree_;
  std::span<const NodeBlock* const> blocks_;
};

// The trees of a model of one tree, or of several.
template <typename Engine>
std::vector<TreeView> views_of(const Engine& engine) {
  std::vector<TreeView> views;
  if constexpr (requires { engine.trees(); }) {
    for (const auto& one : engine.trees()) views.emplace_back(one.tree(), one.blocks());
  } else {
    views.emplace_back(engine.tree(), engine.blocks());
  }
  return views;
}

// The kind of search.
struct Query {
  enum class Kind : std::uint8_t {
    top_k,            // the k most probable labels, exactly: uniform-cost search (Algorithm 10)
    above_threshold,  // all labels whose probability reaches their threshold, exactly
    beam,             // the k best leaves that a beam reaches: on each level it opens the `width` most probable inner
                      // nodes, older nodes first among equals. Leaves take no place in the beam.
  };
  Kind kind = Kind::top_k;
  std::size_t k = 0;
  std::size_t width = 0;
  // top_k: by place, rising, the last one for all later places, too; labels less probable than that of their place may
  // be left out. Empty: none.
  std::span<const float> least = {};
};

// The smallest probability with which a label may not be left out of a top_k query, given those found so far.
class LeastByPlace {
 public:
  void start(std::span<const float> by_place);
  void add(float probability);
  float value() const { return value_; }

 private:
  std::span<const float> by_place_;
  std::vector<float> found_;  // the best, descending: as many as there are places but the last
  float value_ = 0.0F;
};

// The next node to open; kNone if there is none.
struct Opening {
  std::uint32_t tree = 0;
  NodeId node = kNone;
};

// The search for one example, as a state machine: next() names the node to open, take() receives what its classifiers
// return. The same rules therefore hold, to the last bit, for one example at a time and for many together.
class Search {
 public:
  // REQUIRES: the scope has thresholds if the query is above_threshold.
  Search(const TreeView& one, const Scope& scope) : tree_(&one.tree()), scope_(&scope) {}

  void start(const Query& query);
  // The inner node to open next; kNone once the search has finished.
  Opening next();
  // Takes the probabilities of that node's children, and the bytes of weights read for them.
  void take(const float* probabilities, std::uint64_t bytes);

  const std::vector<Scored>& found() const { return found_; }
  const SearchStats& stats() const { return stats_; }

 private:
  struct Inner {  // a node whose children have not been evaluated
    float probability;
    NodeId node;
    std::uint32_t depth;
  };
  static bool after(const Inner& a, const Inner& b);
  void take(const Inner& child);
  void keep(const Scored& leaf);
  bool hopeless(float probability) const;
  bool next_level();
  Opening open(const Inner& inner);
  Opening next_best();
  Opening next_above();
  Opening next_in_beam();

  const LabelTree* tree_;
  const Scope* scope_;
  Query query_;
  SearchStats stats_;
  Inner opened_{};
  LeastByPlace least_;
  // above_threshold: all; else the k best so far, as a heap with the worst on top until the end.
  std::vector<Scored> found_;
  // top_k: a heap, best first; above_threshold: a stack; beam: the level being opened, best first.
  std::vector<Inner> queue_;
  std::vector<Inner> next_;  // beam: the next level
  std::size_t at_ = 0;       // beam: nodes of the level opened so far
};

// Finds labels for examples, singly or together. Not thread-safe: use one for each thread.
template <typename Trees, typename OneSearch, typename OneScope>
class BasicSearcher {
 public:
  BasicSearcher(Trees trees, const OneScope& scope) : trees_(trees), scope_(scope) {}

  void find(const Query& query, const Features& x, std::vector<Scored>& found) {
    found = find_together([&](std::size_t) { return query; }, {&x, 1}).front().found();
  }
  // The k most probable labels, exactly.
  void top_k(const Features& x, std::size_t k, std::vector<Scored>& found) { find({Query::Kind::top_k, k}, x, found); }
  // Of the last find(). REQUIRES: there was one.
  const SearchStats& stats() const { return searches_.front().stats(); }

  // Searches at most 2^16 examples together, in as many trees: those that need the same node are evaluated one after
  // the other, and while one is evaluated, the weights of the next two are prefetched. Results and costs are the same
  // as one by one. `query_of(i)` is the query for the i-th example. Returns one search per example, valid until the
  // next call.
  template <typename QueryOf>
  std::span<const OneSearch> find_together(QueryOf&& query_of, std::span<const Features> examples) {
    while (searches_.size() < examples.size()) searches_.emplace_back(trees_, scope_);
    const std::span<OneSearch> searches = std::span(searches_).first(examples.size());
    for (std::size_t i = 0; i < searches.size(); ++i) searches[i].start(query_of(i));
    finish(all(trees_), searches, examples);
    return searches;
  }

 private:
  static std::span<const TreeView> all(const TreeView& one) { return {&one, 1}; }
  static std::span<const TreeView> all(std::span<const TreeView> trees) { return trees; }

  // Opens the nodes that started searches ask for.
  void finish(std::span<const TreeView> trees, std::span<OneSearch> searches, std::span<const Features> examples) {
    const auto want = [&](std::size_t example) {
      const auto [tree, node] = searches[example].next();
      if (node != kNone) wanted_next_.push_back(std::uint64_t{tree} << 48 | std::uint64_t{node} << 16 | example);
    };
    const auto example = [&](std::size_t i) { return static_cast<std::uint16_t>(wanted_[i]); };
    const auto block = [&](std::size_t i) -> const NodeBlock& {
      return *trees[wanted_[i] >> 48].blocks()[static_cast<NodeId>(wanted_[i] >> 16)];
    };
    for (std::size_t i = 0; i < searches.size(); ++i) want(i);
    while (!wanted_next_.empty()) {
      wanted_.swap(wanted_next_);
      wanted_next_.clear();
      std::ranges::sort(wanted_);
      for (std::size_t i = 0; i < wanted_.size() + 2; ++i) {
        if (i < wanted_.size()) block(i).prefetch(examples[example(i)]);
        if (i >= 1 && i <= wanted_.size()) block(i - 1).locate(examples[example(i - 1)], works_[(i - 1) % 2]);
        if (i < 2) continue;
        const std::size_t at = example(i - 2);
        open(block(i - 2), searches[at], examples[at], works_[i % 2]);
        want(at);
      }
    }
  }

  void open(const NodeBlock& block, OneSearch& search, const Features& x, Workspace& work) {
    probabilities_.resize(std::max<std::size_t>(probabilities_.size(), block.children()));
    const std::uint64_t before = work.bytes;
    block.predict_located(x, work, probabilities_.data());
    search.take(probabilities_.data(), work.bytes - before);
  }

  Trees trees_;
  const OneScope& scope_;
  std::vector<OneSearch> searches_;
  std::vector<std::uint64_t> wanted_;  // tree, node and example, packed so that they sort in this order
  std::vector<std::uint64_t> wanted_next_;
  Workspace works_[2];
  std::vector<float> probabilities_;
};

using Searcher = BasicSearcher<TreeView, Search, Scope>;

}  // namespace labelgrove
