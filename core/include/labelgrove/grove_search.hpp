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
#include <tuple>
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

// The search for one example, as a state machine: see Search.
class GroveSearch {
 public:
  GroveSearch(std::span<const TreeView> trees, const GroveScope& scope);

  void start(const Query& query);
  // The inner node to be opened next; none once all is found.
  Opening next();
  void take(const float* probabilities, std::uint64_t bytes);

  const std::vector<Scored>& found() const { return found_; }
  const SearchStats& stats() const { return stats_; }

 private:
  // A child of an open node. That it may be returned, and is wanted, is seen when it is taken: most never are.
  struct Item {
    float probability;
    std::uint32_t place;  // of its parent; kNone for the node above the root
    std::uint32_t slot;
    bool operator<(const Item& other) const {
      return probability != other.probability ? probability < other.probability
                                              : std::tie(place, slot) > std::tie(other.place, other.slot);
    }
  };
  // An open node. Its children wait here until the most probable of those left is taken into the queue: most never are.
  struct Open {
    NodeId node;
    const NodeId* children;
    std::uint32_t depth;              // of the children
    std::uint32_t begin;              // of the children's products
    std::uint32_t size;               // how many they are
    std::uint32_t taken;              // how many of them were
    bool done;                        // no child that is left is wanted
    std::vector<std::uint64_t> left;  // a heap once many were taken: a product's bits, and its place from behind
  };
  // What is known about one tree and the example at hand.
  struct Front {
    std::vector<Item> queue;  // a heap, the best on top
    FewPlaces places;         // of the open nodes
    std::vector<Open> open;   // of which so many count as have places
    // Of the probabilities along the path, by open node and child; negative of those that were taken.
    std::vector<float> products;
  };
  // What is known about a label in one tree: the product of the probabilities along the path, as far as it is open.
  struct Descent {
    std::vector<NodeId> left;  // of the path, the next one last; the leaf is the first
    float product = 1.0F;
  };

  const LabelTree& tree(std::size_t t) const { return trees_[t].tree(); }
  float product(std::size_t t, std::uint32_t place, NodeId child) const;
  // The mean that a label below the node must have to be wanted.
  float wanted(std::size_t t, NodeId v) const;
  // The sum of what all trees but t would hand out next.
  float bound_of_others(std::size_t t) const;
  // Whether a label is to come that may be wanted: none can be better than the mean of what every tree would hand out next.
  bool more() const;
  // Takes the best node of the tree that has most to give: an inner one is expanded, or to be opened; a leaf's label, if it
  // is new, is looked up.
  Opening advance();
  // Whether no label at or below the node, of that probability, can be wanted.
  bool unwanted(std::size_t t, float probability, NodeId v) const;
  // Queues the best child of an open node that is left, unless it is not wanted.
  void queue_next(std::size_t t, std::uint32_t place);
  // The most probable child that is left, of equals the first; its product is negative if there is none.
  static std::pair<float, std::uint32_t> take_best(Front& front, Open& from);
  Opening next_of_beams();
  // Unless that has been done.
  void look_up(LabelId label);
  // The next node to be opened for the label that is looked up; none once it is known, or known not to be wanted.
  Opening look_further();
  void keep(const Scored& label);

  std::span<const TreeView> trees_;
  const GroveScope* scope_;
  Query query_;
  SearchStats stats_;
  std::vector<Scored> found_;
  std::vector<float> best_;  // the k best means, as a heap with the worst on top
  std::vector<Front> fronts_;
  FewPlaces named_;  // labels that have been handed out
  LabelId looked_up_ = kNone;
  std::vector<Descent> descents_;  // by tree: of that label
  Opening opened_;
  std::vector<Search> beams_;     // by tree
  std::size_t beam_ = 0;          // the one under way
  std::vector<LabelId> reached_;  // by beams, and not looked up yet
};

using GroveSearcher = BasicSearcher<std::span<const TreeView>, GroveSearch, GroveScope>;

}  // namespace labelgrove
