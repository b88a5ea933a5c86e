// Prediction with several label trees over the same labels, whose probabilities are averaged (as Parabel does),
// exactly: by the threshold algorithm (Fagin et al. 2003). Every tree hands out labels by falling probability; a label
// that one of them names is looked up in all others, no further than is needed to see that it is not wanted; and no label
// that is still to come can be better than the mean of what the trees would hand out next, nor one below a node better
// than the mean of that node and what the other trees would hand out next.
//
// Order of results as with one tree: higher probability first, among equals the label that arrived first.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/search.hpp"

namespace labelgrove {

// The places of a few ids, 0, 1, … as they come; forgets all of them at once.
class FewPlaces {
 public:
  void clear();
  // kNone if the id has no place.
  std::uint32_t find(std::uint32_t id) const;
  // The next place is the id's. REQUIRES: it has none.
  std::uint32_t add(std::uint32_t id);

 private:
  struct Slot {
    std::uint32_t id = 0;
    std::uint32_t place = 0;
    std::uint64_t round = 0;  // another one than round_: vacant
  };

  std::size_t slot_of(std::uint32_t id) const;  // where it is, or where it belongs

  std::vector<Slot> slots_ = std::vector<Slot>(std::size_t{1} << kLeastBits);
  std::uint32_t bits_ = kLeastBits;
  std::uint32_t size_ = 0;
  std::uint64_t round_ = 1;

  static constexpr std::uint32_t kLeastBits = 6;
};

// For every tree, which labels can be returned from below each node.
class GroveScope {
 public:
  // All labels of the trees.
  explicit GroveScope(std::span<const TreeView> trees);
  // Only the labels given.
  GroveScope(std::span<const TreeView> trees, std::span<const LabelId> allowed);
  // One threshold for all labels, or one for each. REQUIRES: there is one.
  void set_thresholds(std::span<const float> by_label);

  const Scope& of_tree(std::size_t t) const { return scopes_[t]; }
  float threshold(LabelId label) const { return thresholds_.size() == 1 ? thresholds_[0] : thresholds_[label]; }
  float lowest_threshold() const { return lowest_; }
  std::span<const float> thresholds() const { return thresholds_; }
  // Whether this is those trees', which have not grown since.
  bool fits(std::span<const TreeView> trees) const;

 private:
  std::vector<Scope> scopes_;
  std::vector<float> thresholds_;
  float lowest_ = 0.0F;
};

// Finds labels for one example after another. Not thread-safe: each thread has its own.
class GroveSearcher {
 public:
  GroveSearcher(std::span<const TreeView> trees, const GroveScope& scope);

  // By top_k, above_threshold or beam, as the query says.
  void find(const Query& query, const Features& x, std::vector<Scored>& found);
  // The k most probable labels. Exact.
  void top_k(const Features& x, std::size_t k, std::vector<Scored>& found);
  // All labels whose probability is at least their threshold. Exact. REQUIRES: scope has thresholds.
  void above_threshold(const Features& x, std::vector<Scored>& found);
  // The k best of all labels that a beam reaches in one of the trees.
  void beam(const Features& x, std::size_t k, std::size_t width, std::vector<Scored>& found);

  const SearchStats& stats() const { return stats_; }

 private:
  struct Item {
    float probability;
    NodeId node;
    std::uint32_t depth;
    std::uint32_t siblings;  // the place of those that are still to come
    bool operator<(const Item& other) const {
      return probability != other.probability ? probability < other.probability : node > other.node;
    }
  };
  // The children of an open node that have not been in the queue yet. One at a time is: most never will be.
  class Siblings {
   public:
    void start(NodeId parent, std::uint32_t depth, float probability, std::span<const float> of_children);
    bool empty() const { return left_.empty(); }
    void clear() { left_.clear(); }
    // The most probable one, which is taken out; of equals the one that comes first.
    std::pair<float, std::uint32_t> take();
    NodeId parent() const { return parent_; }
    std::uint32_t depth() const { return depth_; }

   private:
    NodeId parent_ = kNone;
    std::uint32_t depth_ = 0;
    std::uint32_t taken_ = 0;
    std::vector<std::uint64_t> left_;  // a probability's bits, then its place from behind; a heap once many were taken
  };
  // What is known about one tree and the example at hand.
  struct Front {
    std::vector<Item> queue;         // a heap, the best on top
    std::vector<Siblings> siblings;  // of which the first `n_open` count
    std::uint32_t n_open = 0;
    FewPlaces opened;                               // of nodes
    std::vector<std::vector<float>> probabilities;  // by place: of the node's children
  };

  // What is known about a label in one tree: the product of the probabilities along the path, as far as it is open.
  struct Descent {
    std::vector<NodeId> left;  // of the path, the next one last
    float product = 1.0F;
  };

  void start(const Query& query, const Features& x);
  // The mean that a label below the node must have to be wanted.
  float wanted(std::size_t t, NodeId v) const;
  // The sum of what all trees but t would hand out next.
  float bound_of_others(std::size_t t) const;
  // The mean of what every tree would hand out next, above which no label to come can be; -1 if none is to come.
  float bound() const;
  // Goes one step on in the tree that has most to give; the label it hands out, with its mean probability, if there is
  // one that is new.
  bool advance(Scored& next);
  void expand(std::size_t t, const Item& item);
  // Queues the best of the siblings that is wanted.
  void queue_next(std::size_t t, std::uint32_t siblings);
  // -1 if it is less than what is wanted of the label.
  float mean(LabelId label);
  float mean_so_far() const;
  // Goes on as far as nodes are open, the next one being opened if `further`.
  void descend(std::size_t t, bool further);
  const std::vector<float>& open(std::size_t t, NodeId v);

  std::span<const TreeView> trees_;
  const GroveScope& scope_;
  SearchStats stats_;
  Workspace work_;
  Features x_;
  std::vector<Front> fronts_;
  FewPlaces named_;                // of labels that have been handed out
  std::vector<Descent> descents_;  // by tree: of the label that is looked up
  Query query_;
  std::vector<float> best_;  // the k best means, as a heap with the worst on top
};

}  // namespace labelgrove
