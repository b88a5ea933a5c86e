// Contextual memory tree (Sun, Beygelzimer, Daume, Langford & Mineiro 2019): an online tree whose leaves remember
// examples. Every inner node holds a linear regressor, its router, that sends an example left or right; what is near to
// an example, by a similarity that is learnt, is looked for at the leaf that it reaches. Learning and predicting cost
// one router a level and a look at one leaf's examples.
//
// Routers learn to balance and to agree with themselves (Insert), and which side holds what answers an example rightly
// (Update); examples that are remembered go down anew now and then (Reroute). How we read what the paper leaves open
// stands in docs/papers/memory-tree.md.
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
  LearnerOptions learner;             // of routers, of the similarity, and of the labels' classifiers
  float alpha = 0.1F;                 // what a router's own prediction, or the reward, weighs against balance
  std::uint32_t leaf_multiplier = 4;  // c: a leaf holds up to c times the bits of the number of nodes
  std::uint32_t reroutes = 1;         // d: remembered examples that go down anew with every new one
  std::uint64_t max_examples = 0;     // the most that are remembered; 0: all
  std::uint64_t max_bytes = 0;        // that all of it may take; 0 is no bound
  std::uint32_t leaves = 8;           // the most probable leaves that prediction goes by; 1 is the paper's
  bool classifiers = true;            // one against some: whether labels have classifiers
  bool normalize = true;              // scale examples to unit length
  std::uint64_t seed = 0;
};

// How near remembered examples are to one: f(x, z) = cos(x, z) + sum_j w_j x_j z_j + bias, both of unit length.
class Nearness {
 public:
  // What is asked of from here on; x stays where it is. `similarity` learns no more meanwhile.
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
  double scale_ = 1.0;  // to unit length
  float bias_ = 0.0F;
  std::vector<float> weights_;  // (1 + w_j) x_j
  std::vector<Slot> slots_;     // a power of two of them
  std::uint32_t shift_ = 31;
  std::vector<FeatureId> ids_;
  std::vector<float> products_;
};

class MemoryTree {
 public:
  static constexpr NodeId kRoot = 0;

  struct Node {
    NodeId parent = kNone;
    NodeId left = kNone;  // kNone, like `right`, of a leaf
    NodeId right = kNone;
    std::uint32_t remembered = 0;        // examples at or below it
    std::vector<std::uint32_t> entries;  // of a leaf: those that it remembers
    Side side;
    Regressor regressor;  // the router of an inner node

    bool is_leaf() const { return left == kNone; }
  };

  explicit MemoryTree(const MemoryTreeOptions& options);
  // What save() wrote. Throws std::invalid_argument, naming what does not hold, unless every invariant does. With
  // `for_prediction` there are weights alone, and the model cannot learn. `check_only` goes through all of it and keeps
  // neither examples nor regressors: nothing may be asked of such a model.
  MemoryTree(const MemoryTreeOptions& options, const ArrayReader& saved, bool for_prediction, bool check_only = false);

  MemoryTree(const MemoryTree&) = delete;
  MemoryTree& operator=(const MemoryTree&) = delete;

  void save(ArrayWriter& out, bool for_prediction) const;

  // Learns from one example with its labels, which counts `weight` times. One of weight 0 counts as seen, and changes
  // nothing else.
  // REQUIRES: can_learn(); ids increase, values are finite; labels are distinct and below kNone / 2; weight is at most
  // kMostWeight. Should memory run out, the model is broken, usable() says so, and nothing else may be asked of it.
  // Throws BudgetExceeded, and has learnt nothing of the example, if it cannot fit.
  void learn(const Features& x, std::span<const LabelId> labels, float weight = 1.0F);

  const KnownLabels& known() const { return known_; }
  KnownLabels& known() { return known_; }

  bool can_learn() const { return can_learn_; }
  bool usable() const { return usable_; }
  const MemoryTreeOptions& options() const { return options_; }
  std::uint64_t examples_seen() const { return remembered_.reached() + passed_over_; }
  std::span<const Node> nodes() const { return nodes_; }

  // The margin of an inner node: the example goes right where it is above 0. REQUIRES: x is scaled.
  float margin(NodeId v, const Features& x, Workspace& work) const { return nodes_[v].regressor.margin(x, work); }
  // How likely what is near to it stands on the right: certainly not where nothing does.
  double goes_right(NodeId v, float margin) const;

  // What a leaf remembers and a search looks at: all, unless the leaf could not be split.
  std::span<const std::uint32_t> looked_at(NodeId leaf) const;
  Features example(std::uint32_t entry) const { return examples_.view(remembered_.example(entry)); }
  float weight(std::uint32_t entry) const { return examples_.weight(remembered_.example(entry)); }
  std::span<const LabelId> labels(std::uint32_t entry) const { return remembered_.positives(entry); }
  const Regressor& similarity() const { return similarity_; }
  // Of a label that was seen, if labels have classifiers; kUnlikely is added to its margin.
  const Regressor& classifier(LabelId label) const { return classifiers_[label]; }
  // What a classifier says that has not learnt: it meets few examples without its label, and must not shout for all
  // that it has not met.
  static constexpr float kUnlikely = -1.0F;
  // What the examples weigh that had the label, of those learnt from; and all examples.
  double seen(LabelId label) const { return seen_[label]; }
  double all_seen() const { return all_seen_; }
  // Labels that were seen, the most frequent first: what their examples weigh, negated, and the label.
  const std::set<std::pair<double, LabelId>>& by_frequency() const { return by_frequency_; }

  struct Size {
    std::uint64_t weights = 0;
    std::uint64_t model_bytes = 0;   // weights, state and the tree
    std::uint64_t memory_bytes = 0;  // remembered examples
  };
  Size size() const;

 private:
  struct Place {
    NodeId leaf = kNone;
    std::uint32_t at = 0;  // in its entries
  };

  std::uint64_t count_memory() const;
  std::uint64_t count() const;
  // For an example and for labels that are new; what the example takes of it. Throws BudgetExceeded if there is none.
  std::uint64_t make_room_for(const Features& x, std::span<const LabelId> labels);
  void forget_examples(std::uint64_t most);
  auto regressors();
  Regressor::Margins teach(Regressor& regressor, const Features& x, float target, float weight, float offset = 0.0F);

  std::size_t capacity() const;
  double balance(const Node& node) const;
  NodeId child(NodeId v, const Features& x);
  void update(const Features& x, std::span<const LabelId> labels, float weight);
  double reward(NodeId v, const Features& x, std::span<const LabelId> labels, float weight);
  void learn_similarity(std::uint32_t entry, double reward, float weight);
  void learn_classifiers(NodeId leaf, const Features& x, std::span<const LabelId> labels, float weight);
  void insert(std::uint32_t entry, NodeId v);
  NodeId go_down(std::uint32_t entry, NodeId v);
  void split(NodeId v);
  void take_out(std::uint32_t entry);
  void save_leaves(ArrayWriter& out) const;
  void load_seen(const ArrayReader& saved, std::uint64_t examples);
  void load_leaves(const ArrayReader& saved, std::uint64_t reached, bool check_only);
  // Routers, in the order of their nodes; the similarity; and the classifiers, in the order of their labels. Each with
  // what gives its name.
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
  std::uint64_t max_examples_ = 0;  // as in the options, or fewer by now
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

// visit(i, j) for every feature that is the i-th of x and the j-th of z.
template <typename Visit>
void for_each_common(const Features& x, const Features& z, Visit&& visit) {
  for (std::uint32_t i = 0, j = 0; i < x.size && j < z.size;) {
    if (x.ids[i] == z.ids[j]) visit(i, j);
    const FeatureId least = std::min(x.ids[i], z.ids[j]);
    if (x.ids[i] == least) ++i;
    if (z.ids[j] == least) ++j;
  }
}

// How alike two sets of labels are: F1, and 1 for two empty ones.
double f1_of(std::span<const LabelId> a, std::span<const LabelId> b);

}  // namespace labelgrove
