// Prediction with a probabilistic label tree: eta_v(x) is the product of the classifiers on the path to v (Eq. 2).
//
// Order of results, everywhere: higher probability first, and among equal probabilities the label that arrived first.
// Silent leaves, and with an allow-list all labels that are not on it, are never returned, and subtrees without any
// label that could be are never entered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

struct Scored {
  LabelId label;
  float probability;
};

// The order of answers: the more probable first, and of two that are equally probable the one with the smaller id.
inline bool better(const Scored& a, const Scored& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.label < b.label;
}

struct SearchStats {
  std::uint32_t classifiers = 0;  // evaluated
  std::uint32_t depth = 0;        // of the deepest node entered; the root has depth 0
  std::uint32_t blocks = 0;       // opened: nodes whose children were evaluated
  std::uint64_t bytes = 0;        // of weights read
};

// What can be returned from where: for each node how much hope there is below it.
class Scope {
 public:
  // All labels of the tree.
  explicit Scope(const LabelTree& tree) : tree_(tree) {}
  // Only the labels given.
  Scope(const LabelTree& tree, std::span<const LabelId> allowed);
  // Also prepares thresholds: by label, pushed up the tree as the minimum below each node.
  void set_thresholds(std::span<const float> by_label);

  bool open(NodeId v) const { return restricted_ ? open_[v] != 0 : tree_[v].live > 0; }
  float threshold(NodeId v) const { return thresholds_.size() == 1 ? thresholds_[0] : thresholds_[v]; }
  // Whether this is that tree's, which has not grown since.
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

// A label tree and, by node, the classifiers of the children. Whoever owns them outlives it.
class TreeView {
 public:
  TreeView(const LabelTree& tree, std::span<const NodeBlock* const> blocks) : tree_(&tree), blocks_(blocks) {}
  const LabelTree& tree() const { return *tree_; }
  std::span<const NodeBlock* const> blocks() const { return blocks_; }

 private:
  const LabelTree* tree_;
  std::span<const NodeBlock* const> blocks_;
};

// Of a model of one tree, or of several.
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

// What is asked for.
struct Query {
  enum class Kind : std::uint8_t {
    top_k,            // the k most probable labels: uniform-cost search (Algorithm 10). Exact.
    above_threshold,  // all labels whose probability reaches their threshold. Exact.
    beam,             // the k best of all leaves that a beam reaches: level by level, the `width` most probable inner
                      // nodes are opened, among equals the older node. Leaves take no place in the beam.
  };
  Kind kind = Kind::top_k;
  std::size_t k = 0;
  std::size_t width = 0;
};

// A node that is to be opened; kNone where there is none.
struct Opening {
  std::uint32_t tree = 0;
  NodeId node = kNone;
};

// The search for one example, as a state machine: it says which node to open next and is given what the node's classifiers
// return. So the rules are the same, to the last bit, whether examples are searched one by one or many together.
class Search {
 public:
  // REQUIRES: the scope has thresholds if they are asked for.
  Search(const TreeView& one, const Scope& scope) : tree_(&one.tree()), scope_(&scope) {}

  void start(const Query& query);
  // The inner node to be opened next; none once all is found.
  Opening next();
  // What the classifiers of the children of that node say, and how many bytes of weights it took.
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
  std::vector<Scored> found_;  // above thresholds: all; otherwise the k best so far, until the end a heap, worst on top
  std::vector<Inner> queue_;  // best first: a heap; above thresholds: a stack; beam: the level being opened, best first
  std::vector<Inner> next_;   // beam: the level below
  std::size_t at_ = 0;        // beam: how much of the level has been opened
};

// Opens the nodes that searches ask for. Not thread-safe: each thread has its own.
class Traversal {
 public:
  // Takes searches, which have been started, through the trees at the same time: those that want a node meet there, and
  // while one is evaluated, memory fetches what the next two will read. What is found, and what it costs, is the same as
  // one by one. REQUIRES: at most kMostTogether examples, and as many trees.
  template <typename Search>
  void finish(std::span<const TreeView> trees, std::span<Search> searches, std::span<const Features> examples) {
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

  static constexpr std::size_t kMostTogether = std::size_t{1} << 16;

 private:
  template <typename Search>
  void open(const NodeBlock& block, Search& search, const Features& x, Workspace& work) {
    probabilities_.resize(std::max<std::size_t>(probabilities_.size(), block.children()));
    const std::uint64_t before = work.bytes;
    block.predict_located(x, work, probabilities_.data());
    search.take(probabilities_.data(), work.bytes - before);
  }

  std::vector<std::uint64_t> wanted_;  // tree, node, example
  std::vector<std::uint64_t> wanted_next_;
  Workspace works_[2];
  std::vector<float> probabilities_;
};

// Finds labels for examples, one after another or many together, by searches of one kind. Not thread-safe: each thread
// has its own.
template <typename Trees, typename OneSearch, typename OneScope>
class BasicSearcher {
 public:
  BasicSearcher(Trees trees, const OneScope& scope) : trees_(trees), scope_(scope) {}

  void find(const Query& query, const Features& x, std::vector<Scored>& found) {
    found = find_together(query, {&x, 1}).front().found();
  }
  // Exactly the k most probable.
  void top_k(const Features& x, std::size_t k, std::vector<Scored>& found) { find({Query::Kind::top_k, k}, x, found); }
  // All that reach their thresholds. REQUIRES: the scope has thresholds.
  void above_threshold(const Features& x, std::vector<Scored>& found) {
    find({Query::Kind::above_threshold}, x, found);
  }
  // The k most probable of those that a beam of that width reaches in any of the trees.
  void beam(const Features& x, std::size_t k, std::size_t width, std::vector<Scored>& found) {
    find({Query::Kind::beam, k, width}, x, found);
  }
  // Of the last find(). REQUIRES: there was one.
  const SearchStats& stats() const { return searches_.front().stats(); }

  // See Traversal. Returns the search of every example, to be read before the next call.
  std::span<const OneSearch> find_together(const Query& query, std::span<const Features> examples) {
    while (searches_.size() < examples.size()) searches_.emplace_back(trees_, scope_);
    const std::span<OneSearch> searches = std::span(searches_).first(examples.size());
    for (OneSearch& search : searches) search.start(query);
    traversal_.finish(all(trees_), searches, examples);
    return searches;
  }

 private:
  static std::span<const TreeView> all(const TreeView& one) { return {&one, 1}; }
  static std::span<const TreeView> all(std::span<const TreeView> trees) { return trees; }

  Trees trees_;
  const OneScope& scope_;
  std::vector<OneSearch> searches_;
  Traversal traversal_;
};

using Searcher = BasicSearcher<TreeView, Search, Scope>;

}  // namespace labelgrove
