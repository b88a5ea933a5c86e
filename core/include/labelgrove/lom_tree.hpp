// LOMtree (Choromanska & Langford 2015): an online tree for very many classes. Every inner node has a linear regressor
// that sends an example left or right; every leaf counts the classes that ended there. Learning and prediction cost one
// regressor per level.
//
// A node's regressor is trained towards -1 or +1, whichever moves the mean score of the example's class, e(y), away
// from the mean of all examples, E. Classes thus stay together and the two sides stay balanced (Algorithm 1).
// docs/papers/lomtree.md explains our reading of what the paper leaves open.
//
// Threads: any number may predict at once while none changes the tree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/class_histogram.hpp"
#include "labelgrove/known_labels.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/regressor.hpp"
#include "labelgrove/routers.hpp"

namespace labelgrove {

struct LomTreeOptions {
  LearnerOptions learner;
  std::uint64_t max_nodes = 0;  // T, the maximum number of inner nodes; 0: grow with k, the number of classes seen,
  std::uint32_t nodes_per_class = 4;  // to T = nodes_per_class * k - 1
  std::uint64_t swap_resistance = 4;  // R_S; at least 1, so that no leaf recycles itself
  std::uint64_t max_bytes = 0;        // memory budget of the whole model; 0 is unbounded
  std::uint32_t leaves = 2;           // the number of most probable leaves used for prediction; the paper's is 1
  bool normalize = true;              // scale examples to unit length
};

class LomTree {
 public:
  static constexpr NodeId kRoot = 0;  // always: recycled nodes keep their numbers, and the root is never recycled

  struct Node {
    NodeId parent = kNone;
    NodeId left = kNone;  // kNone for a leaf, like `right`
    NodeId right = kNone;
    std::uint32_t swaps = 0;     // times that the node was recycled
    std::uint32_t height = 0;    // of the subtree below it; 0 for a leaf
    std::uint32_t most = 0;      // examples of the most frequent class
    std::uint64_t smallest = 0;  // C: the size of the smallest leaf at or below it
    std::uint64_t reached = 0;   // examples that have reached the node
    std::uint64_t trained = 0;   // examples from which the regressor has learnt
    double score = 0.0;          // the sum of their scores
    ClassHistogram classes;
    Side side;
    Regressor regressor;  // of an inner node

    bool is_leaf() const { return left == kNone; }
    // The total weight of the examples that have reached the node.
    double weight() const { return classes.weighted() ? classes.total_weight() : static_cast<double>(reached); }
    // E, the expected score.
    double mean() const { return trained > 0 ? score / static_cast<double>(trained) : 0.0; }
  };

  explicit LomTree(const LomTreeOptions& options);
  // Loads what save() wrote. Throws std::invalid_argument, naming the first invariant that does not hold. With
  // `for_prediction` regressors are loaded without optimiser state, and the model cannot learn. With `check_only`
  // everything is checked but no regressors are kept, and the model must not be used.
  LomTree(const LomTreeOptions& options, const ArrayReader& saved, bool for_prediction, bool check_only = false);

  LomTree(const LomTree&) = delete;
  LomTree& operator=(const LomTree&) = delete;

  void save(ArrayWriter& out, bool for_prediction) const;
  // The part of save() that describes the tree and its statistics.
  void save_nodes(ArrayWriter& out, bool for_prediction) const;

  // Learns from one example of a class (Algorithm 1). It counts `weight` times in the regressors' steps and in class
  // frequencies, but once in decisions about creating and recycling nodes. An example of weight 0 is counted as seen
  // and changes nothing else. REQUIRES: can_learn(); ids increase, values are finite; label < kNone / 2; weight is at
  // most kMostWeight. Throws BudgetExceeded, without learning anything of the example, if it does not fit. If it throws
  // anything else, such as std::bad_alloc, the model is broken: usable() is false, and no other method may be called.
  void learn(const Features& x, LabelId label, float weight = 1.0F);

  const KnownLabels& known() const { return known_; }
  // As KnownLabels::remove().
  void remove_labels(std::span<const LabelId> labels) { known_.remove(labels); }
  bool can_learn() const { return can_learn_; }
  bool usable() const { return usable_; }
  const LomTreeOptions& options() const { return options_; }
  std::uint64_t examples_seen() const { return nodes_[kRoot].reached + passed_over_; }
  std::span<const Node> nodes() const { return nodes_; }

  // The margin of an inner node: the example goes right if it is above 0. REQUIRES: x is scaled.
  float margin(NodeId v, const Features& x, Workspace& work) const { return nodes_[v].regressor.margin(x, work); }
  // The probability that an example with this margin goes right.
  double goes_right(NodeId v, float margin) const { return nodes_[v].side.probability(margin); }

  ModelSize size() const;

 private:
  std::uint64_t inner_nodes() const { return (nodes_.size() - 1) / 2; }  // t
  std::uint64_t max_nodes() const;
  bool make_children(NodeId v);
  NodeId recyclable_leaf() const;
  void detach(NodeId leaf);
  void start_over(NodeId v);
  void update_above(NodeId v);
  std::uint64_t count() const;
  auto regressors();
  NodeId train(Node& node, const Features& x, float weight, ClassCount& seen);
  void save_statistics(ArrayWriter& out, std::size_t entries) const;
  template <typename T, typename Get>
  Source<T> by_class(Get get) const;
  void find_heights();
  void load_classes(const ArrayReader& saved);
  void load_statistics(const ArrayReader& saved);
  void load_weights(const ArrayReader& saved);

  LomTreeOptions options_;
  std::vector<Node> nodes_;
  KnownLabels known_;
  std::uint64_t passed_over_ = 0;  // examples of weight 0
  RegressorBudget budget_;
  bool can_learn_ = true;
  bool usable_ = true;
  Workspace work_;
  std::vector<float> unit_;
};

}  // namespace labelgrove
