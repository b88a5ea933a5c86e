// One tree of a forest: inner nodes send an example to one or several of their children, leaves hold the shares of the
// labels of the examples that ended there. How a node is split is the forest's growth: LdSM's (Majzoubi & Choromanska
// 2020), into M children by as many regressors, or FastXML's (Prabhu & Varma 2014), into two by one hyperplane.
#pragma once

#include <cstdint>
#include <functional>
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

// Nodes at this depth are not split, and no file may hold deeper ones; useful trees stay far above it.
inline constexpr std::uint32_t kMostDepth = 1000;

// What a leaf's histogram is divided by.
enum class LeafShare : std::uint8_t {
  examples = 0,  // the examples that ended there: estimates of P(label | x)
  labels = 1,    // the sum of its entries, as in the paper
};

struct LdsmOptions {
  std::uint32_t epochs = 10;    // E
  std::uint32_t min_count = 2;  // a feature that fewer of the examples that train a node have does not count there
  ObjectiveWeights objective;
  LearnerOptions learner;
  bool shuffle = true;  // every epoch takes the examples in an order of its own
};

struct FastxmlOptions {
  double cost = 1.0;       // C_delta: of an example on the wrong side of the hyperplane
  double gain_cost = 1.0;  // C_r: of nDCG that is missed
  float bias = 1.0F;       // the value of the constant feature; 0 for none
  double tolerance = 0.01;
  std::uint32_t max_rounds = 1;  // how often a node's hyperplane is learnt, each time towards other sides
};

struct ForestOptions {
  std::uint32_t children = 4;  // of an inner node; M
  std::uint32_t trees = 50;
  std::uint32_t max_nodes = kNone;  // T_max
  std::uint32_t min_examples = 2;   // a node that fewer have reached is not split
  std::variant<LdsmOptions, FastxmlOptions> growth;
  LeafShare share = LeafShare::examples;
  double tail_weight = 0.0;  // of the label centroids in the scores; 0: none are kept
  double tail_gamma = 30.0;
  bool normalize = true;  // scale examples to unit length
  std::uint64_t seed = 0;

  const LdsmOptions* ldsm() const { return std::get_if<LdsmOptions>(&growth); }
  // Of an inner node.
  std::uint32_t hyperplanes() const { return ldsm() != nullptr ? children : 1; }
};

// What a forest learns from, as the core's caller holds it. Any number of threads may ask for examples.
struct ForestExamples {
  struct Example {
    Features x;
    std::span<const LabelId> labels;
  };
  std::size_t size = 0;
  std::function<Example(std::size_t)> example;
  std::span<const float> weights;  // how much each counts; empty: 1
  LabelId label_count = 0;         // all labels are below
  std::span<const double> gains;   // FastXML: what a label is worth in a ranking; empty: 1
  Progress* progress = nullptr;    // advances tree by tree, and may stop them all; null: nobody watches

  double weight(std::size_t i) const { return weights.empty() ? 1.0 : static_cast<double>(weights[i]); }
};

struct LabelCount {
  LabelId label;
  double count;
};
// Labels increase.
using LabelHistogram = std::vector<LabelCount>;

// How the split of an inner node came out.
struct SplitFigures {
  float objective =
      0.0F;  // LdSM: J of the examples as they were sent; FastXML: the mean nDCG of the sides they were on
  // LdSM alone:
  std::vector<float> course;  // J after every epoch
  float balance = 0.0F;       // beta, Definition 1
  float purity = 0.0F;        // alpha, Definition 2
};

struct ForestTree {
  struct Node {
    NodeId first_child = kNone;  // the others follow it; kNone of a leaf
    std::uint32_t depth = 0;
    std::uint32_t examples = 0;         // that reached it in training
    std::optional<Hyperplanes> planes;  // of an inner node
    std::size_t begin = 0;              // of a leaf's entries in labels and shares
    std::size_t end = 0;
    SplitFigures split;  // of an inner node

    bool is_leaf() const { return first_child == kNone; }
  };
  std::vector<Node> nodes;  // the root first, every node before its children
  std::vector<LabelId> labels;
  std::vector<float> shares;
};

// The children that an example with these margins goes to, a bit each: those above 0.5, or else the one with the
// highest (LdSM's Algorithm 4); where there is a single margin, the second child above 0, else the first. Branchless,
// since directions are unpredictable.
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

// What is worked out about the examples once, for all trees.
class ForestTrainingSet {
 public:
  ForestTrainingSet(const ForestExamples& examples, bool normalize);

  const ForestExamples& examples() const { return examples_; }
  // What the values of example i are multiplied by.
  double scale(std::size_t i) const { return scales_[i]; }
  // Numbers that keep the order of features, all below feature_numbers(). Of a feature that no example had: any.
  std::uint32_t number_of(FeatureId feature) const {
    const std::uint32_t number = direct_ ? feature : map_.find(feature);
    return number < feature_numbers_ ? number : 0;
  }
  FeatureId feature(std::uint32_t number) const { return direct_ ? number : map_.features()[number]; }
  std::uint32_t feature_numbers() const { return feature_numbers_; }

 private:
  ForestExamples examples_;
  std::vector<double> scales_;
  bool direct_ = true;  // features are their own numbers
  FeatureMap map_;      // if not
  std::uint32_t feature_numbers_ = 0;
};

// Tree number `tree` of the forest. The same for any number of threads.
ForestTree grow_tree(const ForestOptions& options, const ForestTrainingSet& data, std::uint32_t tree, unsigned threads);

}  // namespace labelgrove
