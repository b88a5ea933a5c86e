// Contextual memory tree (Sun, Beygelzimer, Daume, Langford & Mineiro 2019): an online tree whose leaves remember
// examples. Every inner node has a linear regressor, its router, that sends an example left or right. The examples
// nearest to another one, by a learnt similarity, are looked up at the leaf that it reaches. Learning and prediction
// cost one router per level and a scan of one leaf's examples.
//
// Routers learn to balance and to agree with their own predictions (Insert), and which side holds the better answer for
// an example (Update). Remembered examples are learnt from again and routed anew (Reroute). docs/papers/memory-tree.md
// explains our reading of what the paper leaves open.
//
// Threads: any number may predict at once while none changes the tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/example_store.hpp"
#include "labelgrove/known_labels.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/regressor.hpp"
#include "labelgrove/replay_memory.hpp"
#include "labelgrove/routers.hpp"

namespace labelgrove {

struct MemoryTreeOptions {
  LearnerOptions learner;             // of routers, the similarity and the labels' classifiers
  float alpha = 0.1F;                 // weight of a router's own prediction, or of the reward, against balance
  std::uint32_t leaf_multiplier = 4;  // c: a leaf holds up to c times the bit width of the number of nodes
  std::uint32_t reroutes = 1;         // d: remembered examples learnt from again and routed anew after each new one
  std::uint64_t max_examples = 0;     // maximum number of remembered examples; 0: unbounded
  std::uint64_t max_bytes = 0;        // memory budget of the whole model; 0 is unbounded
  std::uint32_t leaves = 8;           // the number of most probable leaves used for prediction; the paper's is 1
  bool classifiers = true;            // one against some: labels have classifiers
  bool normalize = true;              // scale examples to unit length
  std::uint64_t seed = 0;
};

// The similarity of remembered examples z to an example x: f(x, z) = cos(x, z) + sum_j w_j x_j z_j + bias, with both of
// unit length.
class Nearness {
 public:
  // Sets x, which must outlive the queries. `similarity` must not learn meanwhile.
  void ask(const Regressor& similarity, const Features& x);
  float of(const Features& z) const;
  // The features that x and z have in common, with the products of their values.
  Features common(const Features& z);

 private:
  struct Slot {
    FeatureId feature = kNone;
    std::uint32_t place = 0;
  };
  std::uint32_t place(FeatureId feature) const;

  Features x_;
  double scale_ = 1.0;  // scales x to unit length
  float bias_ = 0.0F;
  std::vector<float> weights_;  // (1 + w_j) x_j
  std::vector<Slot> slots_;     // a hash table whose size is a power of two
  std::uint32_t shift_ = 31;
  bool crowded_out_ = false;  // a feature has no slot within reach of its home (docs/decisions/hashing.md)
  std::vector<FeatureId> ids_;
  std::vector<float> products_;
};

class MemoryTree {
 public:
  static constexpr NodeId kRoot = 0;

  struct Node {
    NodeId parent = kNone;
    NodeId left = kNone;  // kNone for a leaf, like `right`
    NodeId right = kNone;
    std::uint32_t remembered = 0;        // examples at or below it
    std::vector<std::uint32_t> entries;  // of a leaf: the entries that it remembers
    Side side;
    Regressor regressor;  // the router of an inner node

    bool is_leaf() const { return left == kNone; }
  };

  explicit MemoryTree(const MemoryTreeOptions& options);
  // Loads what save() wrote. Throws std::invalid_argument, naming the first invariant that does not hold. With
  // `for_prediction` regressors are loaded without optimiser state, and the model cannot learn. With `check_only`
  // everything is checked but neither examples nor regressors are kept, and the model must not be used.
  MemoryTree(const MemoryTreeOptions& options, const ArrayReader& saved, bool for_prediction, bool check_only = false);

  MemoryTree(const MemoryTree&) = delete;
  MemoryTree& operator=(const MemoryTree&) = delete;

  void save(ArrayWriter& out, bool for_prediction) const;

  // Learns from one example with its labels, which counts `weight` times. An example of weight 0 is counted as seen and
  // changes nothing else. REQUIRES: can_learn(); ids increase, values are finite; labels are distinct and below kNone /
  // 2; weight is at most kMostWeight. Throws BudgetExceeded, without learning anything of the example, if it does not
  // fit. If it throws anything else, such as std::bad_alloc, the model is broken: usable() is false, and no other
  // method may be called.
  void learn(const Features& x, std::span<const LabelId> labels, float weight = 1.0F);

  const KnownLabels& known() const { return known_; }
  // As KnownLabels::remove(). Remembered examples keep the labels.
  void remove_labels(std::span<const LabelId> labels);

  bool can_learn() const { return can_learn_; }
  bool usable() const { return usable_; }
  const MemoryTreeOptions& options() const { return options_; }
  std::uint64_t examples_seen() const { return remembered_.reached() + passed_over_; }
  std::span<const Node> nodes() const { return nodes_; }

  // The margin of an inner node: the example goes right if it is above 0. REQUIRES: x is scaled.
  float margin(NodeId v, const Features& x, Workspace& work) const { return nodes_[v].regressor.margin(x, work); }
  // The probability that what is near the example is on the right; 0 or 1 if one side remembers nothing.
  double goes_right(NodeId v, float margin) const;

  // The entries of a leaf that a search scans: all, or the last ones if the leaf could not be split.
  std::span<const std::uint32_t> looked_at(NodeId leaf) const;
  Features example(std::uint32_t entry) const { return examples_.view(remembered_.example(entry)); }
  float weight(std::uint32_t entry) const { return examples_.weight(remembered_.example(entry)); }
  std::span<const LabelId> labels(std::uint32_t entry) const { return remembered_.positives(entry); }
  const Regressor& similarity() const { return similarity_; }
  // The classifier of a label that was seen; kUnlikely is added to its margin. REQUIRES: labels have classifiers.
  const Regressor& classifier(LabelId label) const { return classifiers_[label]; }
  // The margin of an untrained classifier. It is negative because a classifier meets few examples without its label,
  // and must not predict the label for everything it has not met.
  static constexpr float kUnlikely = -1.0F;
  // The total weight of the examples learnt that had the label, and of all examples learnt.
  double seen(LabelId label) const { return seen_[label]; }
  double all_seen() const { return all_seen_; }
  // The labels seen and not removed, most frequent first: their total weight, negated, and the label.
  const std::set<std::pair<double, LabelId>>& by_frequency() const { return by_frequency_; }

  ModelSize size() const;

 private:
  struct Place {
    NodeId leaf = kNone;
    std::uint32_t at = 0;  // index among its entries
  };

  std::uint64_t count_memory() const;
  std::uint64_t count() const;
  // Makes room for an example and its new labels, and returns the bytes that the example takes of it. Throws
  // BudgetExceeded if there is not enough.
  std::uint64_t make_room_for(const Features& x, std::span<const LabelId> labels);
  void forget_examples(std::uint64_t most);
  auto regressors();
  Regressor::Margins teach(Regressor& regressor, const Features& x, float target, float weight, float offset = 0.0F);

  std::size_t capacity() const;
  double balance(const Node& node) const;
  NodeId child(NodeId v, const Features& x);
  void update(const Features& x, std::span<const LabelId> labels, float weight, std::uint64_t turn);
  double reward(NodeId v, const Features& x, std::span<const LabelId> labels, float weight, bool is_new);
  void learn_similarity(std::uint32_t entry, double reward, float weight);
  void learn_classifiers(NodeId leaf, const Features& x, std::span<const LabelId> labels, float weight);
  void insert(std::uint32_t entry);
  NodeId go_down(std::uint32_t entry, NodeId v);
  void put(std::uint32_t entry, NodeId leaf);
  void split(NodeId v);
  void take_out(std::uint32_t entry);
  void load_seen(const ArrayReader& saved, std::uint64_t examples);
  void load_leaves(const ArrayReader& saved, std::uint64_t reached, bool check_only);
  // Visits the routers in the order of their nodes, the similarity, and the classifiers in the order of their labels.
  // The second argument of `visit` returns the regressor's name.
  template <typename Tree, typename Visit>
  static void for_each_regressor(Tree& tree, Visit&& visit) {
    for (NodeId v = 0; v < tree.nodes_.size(); ++v) {
      if (!tree.nodes_[v].is_leaf()) visit(tree.nodes_[v].regressor, [v] { return "node " + std::to_string(v); });
    }
    visit(tree.similarity_, [] { return std::string("the similarity"); });
    for (std::size_t label = 0; label < tree.classifiers_.size(); ++label) {
      visit(tree.classifiers_[label], [label] { return "label " + std::to_string(label); });
    }
  }

  MemoryTreeOptions options_;
  std::vector<Node> nodes_;
  ExampleStore examples_;
  ReplayMemory remembered_;         // each with its labels
  std::uint64_t max_examples_ = 0;  // as in the options, or reduced to fit the budget
  RegressorBudget budget_;
  std::vector<Place> places_;  // by entry
  Regressor similarity_;
  std::vector<Regressor> classifiers_;  // by label
  KnownLabels known_;
  std::vector<double> seen_;  // by label
  std::set<std::pair<double, LabelId>> by_frequency_;
  double all_seen_ = 0.0;
  std::uint64_t passed_over_ = 0;  // examples of weight 0
  bool can_learn_ = true;
  bool usable_ = true;
  Workspace work_;
  Nearness nearness_;
  std::vector<NodeId> path_;
  std::vector<LabelId> candidates_;
};

// Calls visit(i, j) for every feature that is the i-th of x and the j-th of z.
template <typename Visit>
void for_each_common(const Features& x, const Features& z, Visit&& visit) {
  for (std::uint32_t i = 0, j = 0; i < x.size && j < z.size;) {
    if (x.ids[i] == z.ids[j]) visit(i, j);
    const FeatureId least = std::min(x.ids[i], z.ids[j]);
    if (x.ids[i] == least) ++i;
    if (z.ids[j] == least) ++j;
  }
}

// The similarity of two sets of labels: F1, or 1 if both are empty.
double f1_of(std::span<const LabelId> a, std::span<const LabelId> b);

}  // namespace labelgrove
