// Exact prediction with the mean of several label trees over the same labels (as in Parabel), by the threshold
// algorithm (Fagin et al. 2003). Every tree yields labels by descending probability. A label yielded by one tree is
// looked up in all others, but only until it can no longer be a result. No label still to come can exceed the mean of
// the trees' next probabilities, and no label below a node can exceed the mean of that node's probability and the other
// trees' next ones.
//
// Results are ordered as for one tree: by descending probability, then by ascending label id.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/search.hpp"

namespace labelgrove {

// Maps a few ids to places 0, 1, …, in order of insertion; clear() takes constant time.
class FewPlaces {
 public:
  void clear();
  // kNone if the id has no place.
  std::uint32_t find(std::uint32_t id) const;
  // Gives the id the next place. REQUIRES: it has none.
  std::uint32_t add(std::uint32_t id);

 private:
  struct Slot {
    std::uint32_t id = 0;
    std::uint32_t place = 0;
    std::uint64_t round = 0;  // vacant unless it equals round_
  };

  std::size_t slot_of(std::uint32_t id) const;  // of the id, or of the slot where it belongs

  std::vector<Slot> slots_ = std::vector<Slot>(std::size_t{1} << kLeastBits);
  std::uint32_t bits_ = kLeastBits;
  std::uint32_t size_ = 0;
  std::uint64_t round_ = 1;

  static constexpr std::uint32_t kLeastBits = 6;
};

// For every tree, which labels below each node may be returned.
class GroveScope {
 public:
  // All labels of the trees.
  explicit GroveScope(std::span<const TreeView> trees);
  // Only the labels given.
  GroveScope(std::span<const TreeView> trees, std::span<const LabelId> allowed);
  // Sets thresholds, one for all labels or one by label. REQUIRES: there is at least one.
  void set_thresholds(std::span<const float> by_label);

  const Scope& of_tree(std::size_t t) const { return scopes_[t]; }
  float lowest_threshold() const { return lowest_; }
  // Whether the scope was made for these trees, and they have not grown since.
  bool fits(std::span<const TreeView> trees) const;

 private:
  std::vector<Scope> scopes_;
  float lowest_ = 0.0F;
};

// The search for one example, as a state machine: see Search.
class GroveSearch {
 public:
  GroveSearch(std::span<const TreeView> trees, const GroveScope& scope);

  void start(const Query& query);
  // The inner node to open next; kNone once the search has finished.
  Opening next();
  void take(const float* probabilities, std::uint64_t bytes);

  const std::vector<Scored>& found() const { return found_; }
  const SearchStats& stats() const { return stats_; }

 private:
  // A child of an open node. Whether it may be returned and can be a result is checked when it is taken: most never
  // are.
  struct Item {
    float probability;
    std::uint32_t place;  // of its parent; kNone for the node above the root
    std::uint32_t slot;
    bool operator<(const Item& other) const {
      return probability != other.probability ? probability < other.probability
                                              : std::tie(place, slot) > std::tie(other.place, other.slot);
    }
  };
  // An open node. Its children wait here until the best remaining one is moved to the queue: most never are.
  struct Open {
    NodeId node;
    const NodeId* children;
    std::uint32_t depth;              // of the children
    std::uint32_t begin;              // index of the children's products
    std::uint32_t size;               // number of children
    std::uint32_t taken;              // number of children already taken
    bool done;                        // none of the remaining children can be a result
    std::vector<std::uint64_t> left;  // a heap, once many were taken: a product's bits, and its index in reverse order
  };
  // The state of the search in one tree.
  struct Front {
    std::vector<Item> queue;  // a heap, best on top
    FewPlaces places;         // of open nodes
    std::vector<Open> open;   // only the first entries, as many as there are places, are valid
    // Products of probabilities along the path, by open node and child; negative once taken.
    std::vector<float> products;
  };
  // The state of a label's look-up in one tree: the product of probabilities along the part of its path that is open.
  struct Descent {
    std::vector<NodeId> left;  // the rest of the path, from the leaf up; the next node is the last
    float product = 1.0F;
  };

  const LabelTree& tree(std::size_t t) const { return trees_[t].tree(); }
  float product(std::size_t t, std::uint32_t place, NodeId child) const;
  // The mean that a label below the node needs to be a result.
  float wanted(std::size_t t, NodeId v) const;
  // The sum of the next probabilities of all trees but t.
  float bound_of_others(std::size_t t) const;
  // Whether a label still to come can be a result: none can exceed the mean of the trees' next probabilities.
  bool more() const;
  // Takes the best node of the tree with the highest next probability. An inner node is expanded, or opened first; a
  // leaf's label is looked up if it is new.
  Opening advance();
  // Whether no label at or below the node, which has this probability, can be a result.
  bool unwanted(std::size_t t, float probability, NodeId v) const;
  // Queues the best remaining child of an open node, unless it cannot be a result.
  void queue_next(std::size_t t, std::uint32_t place);
  // The most probable remaining child, the first among equals; its product is negative if there is none.
  static std::pair<float, std::uint32_t> take_best(Front& front, Open& from);
  Opening next_of_beams();
  // Starts looking up the label, unless that has been done.
  void look_up(LabelId label);
  // The next node to open for the label being looked up; kNone once its mean is known, or known to be too low.
  Opening look_further();
  void keep(const Scored& label);

  std::span<const TreeView> trees_;
  const GroveScope* scope_;
  Query query_;
  SearchStats stats_;
  std::vector<Scored> found_;
  std::vector<float> best_;  // the k best means, as a heap with the worst on top
  LeastByPlace least_;
  std::vector<Front> fronts_;
  FewPlaces named_;  // labels yielded so far
  LabelId looked_up_ = kNone;
  std::vector<Descent> descents_;  // by tree: of looked_up_
  Opening opened_;
  std::vector<Search> beams_;     // by tree
  std::size_t beam_ = 0;          // the current one
  std::vector<LabelId> reached_;  // by beams, and not yet looked up
};

using GroveSearcher = BasicSearcher<std::span<const TreeView>, GroveSearch, GroveScope>;

}  // namespace labelgrove
