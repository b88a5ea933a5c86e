// One tree of a forest. Inner nodes send an example to one or several of their children; leaves hold the label
// frequencies of the examples that ended there. The forest's growth options decide how nodes are split: LdSM (Majzoubi
// & Choromanska 2020) into M children with as many regressors, or FastXML (Prabhu & Varma 2014) into two with one
// hyperplane.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/feature_map.hpp"
#include "labelgrove/hyperplanes.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/progress.hpp"
#include "labelgrove/split_objective.hpp"

namespace labelgrove {

// Nodes at this depth are not split, and files with deeper ones are rejected. Useful trees are far shallower.
inline constexpr std::uint32_t kMostDepth = 1000;

// The divisor of a leaf's histogram.
enum class LeafShare : std::uint8_t {
  examples = 0,  // the number of examples that ended there: estimates of P(label | x)
  labels = 1,    // the sum of its entries, as in the paper
};

struct LdsmOptions {
  std::uint32_t epochs = 10;    // E
  std::uint32_t min_count = 2;  // at each node, features in fewer of its training examples are ignored
  ObjectiveWeights objective;
  LearnerOptions learner;
  bool shuffle = true;  // each epoch has an order of its own
};

struct FastxmlOptions {
  double cost = 1.0;       // C_delta: of an example on the wrong side of the hyperplane
  double gain_cost = 1.0;  // C_r: of missed nDCG
  float bias = 1.0F;       // value of the constant feature; 0 for none
  double tolerance = 0.01;
  std::uint32_t max_rounds = 1;  // times that a node's hyperplane is learnt, each time for new sides
};

struct ForestOptions {
  std::uint32_t children = 4;  // of an inner node; M
  std::uint32_t trees = 50;
  std::uint32_t max_nodes = kNone;  // T_max
  std::uint32_t min_examples = 2;   // a node reached by fewer is not split
  std::variant<LdsmOptions, FastxmlOptions> growth;
  LeafShare share = LeafShare::examples;
  double tail_weight = 0.0;  // of the label centroids in the scores; 0: no centroids
  double tail_gamma = 30.0;
  bool normalize = true;  // scale examples to unit length
  std::uint64_t seed = 0;

  const LdsmOptions* ldsm() const { return std::get_if<LdsmOptions>(&growth); }
  // Per inner node.
  std::uint32_t hyperplanes() const { return ldsm() != nullptr ? children : 1; }
};

// The training data of a forest. Does not own anything. `example` may be called by any number of threads.
struct ForestExamples {
  std::size_t size = 0;
  LabelledExamples example;
  std::span<const float> weights;  // of examples; empty: all 1
  LabelId label_count = 0;         // all labels are below it
  std::span<const double> gains;   // FastXML: gain of each label in a ranking; empty: all 1
  Progress* progress = nullptr;    // advances tree by tree and may stop the growth; null: none

  double weight(std::size_t i) const { return weights.empty() ? 1.0 : static_cast<double>(weights[i]); }
};

struct LabelCount {
  LabelId label;
  double count;
};
// In ascending order of labels.
using LabelHistogram = std::vector<LabelCount>;

// Statistics of an inner node's split.
struct SplitFigures {
  // LdSM: J of the examples as they were sent; FastXML: the mean nDCG of the examples on their sides.
  float objective = 0.0F;
  // LdSM only:
  std::vector<float> course;  // J after every epoch
  float balance = 0.0F;       // beta, Definition 1
  float purity = 0.0F;        // alpha, Definition 2
};

struct ForestTree {
  struct Node {
    NodeId first_child = kNone;  // the others follow it; kNone for a leaf
    std::uint32_t depth = 0;
    std::uint32_t examples = 0;         // training examples that reached it
    std::optional<Hyperplanes> planes;  // of an inner node
    std::size_t begin = 0;              // of a leaf: its entries in labels and shares
    std::size_t end = 0;
    SplitFigures split;  // of an inner node

    bool is_leaf() const { return first_child == kNone; }
  };
  std::vector<Node> nodes;  // the root first, every node before its children
  std::vector<LabelId> labels;
  std::vector<float> shares;
};

// The children that an example with these margins goes to, one bit each: those above 0.5, or else the one with the
// highest margin (LdSM's Algorithm 4). With a single margin: the second child if it is above 0, else the first.
// Branchless, since directions are unpredictable.
inline std::uint32_t directions_of(std::span<const float> margins) {
  if (margins.size() == 1) return margins[0] > 0.0F ? 2U : 1U;
  std::uint32_t above = 0;
  std::uint32_t best = 0;
  for (std::uint32_t m = 0; m < margins.size(); ++m) {
    above |= static_cast<std::uint32_t>(margins[m] > 0.5F) << m;
    best = margins[m] > margins[best] ? m : best;
  }
  return above != 0 ? above : 1U << best;
}

// Facts about the examples that are computed once for all trees. Thread-safe.
class ForestTrainingSet {
 public:
  ForestTrainingSet(const ForestExamples& examples, bool normalize);

  const ForestExamples& examples() const { return examples_; }
  // The factor of the values of example i.
  double scale(std::size_t i) const { return scales_[i]; }
  // Numbers below feature_numbers() in the same order as features. Arbitrary for a feature that no example had.
  std::uint32_t number_of(FeatureId feature) const {
    const std::uint32_t number = direct_ ? feature : map_.find(feature);
    return number < feature_numbers_ ? number : 0;
  }
  FeatureId feature(std::uint32_t number) const { return direct_ ? number : map_.features()[number]; }
  std::uint32_t feature_numbers() const { return feature_numbers_; }

 private:
  ForestExamples examples_;
  std::vector<double> scales_;
  bool direct_ = true;  // features are their own numbers; otherwise see map_
  FeatureMap map_;
  std::uint32_t feature_numbers_ = 0;
};

// Grows tree number `tree` of the forest. The result does not depend on the number of threads.
ForestTree grow_tree(const ForestOptions& options, const ForestTrainingSet& data, std::uint32_t tree, unsigned threads);

}  // namespace labelgrove
