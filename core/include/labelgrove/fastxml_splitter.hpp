// Splits a node as FastXML does (Prabhu & Varma 2014): examples are assigned to two sides so that the labels of each
// rank high in a single ranking for its side, and a sparse hyperplane learns to separate the sides. It alternates
// between
//
//   r+, r-:   labels by sum_i [on that side] I(y_i) y_i, where 1 / I(y) is the DCG of a ranking with y's labels first
//   delta_i:  1 or -1, to minimise  C_delta log(1 + exp(-delta_i w . x_i)) - C_r nDCG(r of that side, y_i)
//
// until no example changes sides, and then finds w to minimise
//
//   |w|_1 + sum_i C_delta / (share of the examples on the side delta_i) log(1 + exp(-delta_i w . x_i))
//
// Both sides have the same total cost. The paper does not say so, but the authors' program does it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "labelgrove/l1_logistic.hpp"
#include "labelgrove/node_splitter.hpp"

namespace labelgrove {

class FastxmlSplitter final : public NodeSplitter {
 public:
  FastxmlSplitter(const ForestOptions& options, const ForestTrainingSet& data);

 private:
  std::vector<float> learn(const NodeDraft& node, SplitFigures& figures) override;
  // learn() has already computed the figures.
  void measure(const NodeDraft& /*node*/, SplitFigures& /*figures*/) override {}
  void gather(const NodeDraft& node);
  bool settle(const NodeDraft& node, bool has_plane);
  void rank(const NodeDraft& node, std::size_t side);
  bool choose_sides(bool has_plane);
  std::vector<float> learn_plane(const NodeDraft& node);
  void weigh_examples();
  void find_columns();

  const FastxmlOptions& fastxml_;
  double cost_ = 0.0;              // C_delta, raised if the mean weight of examples is less than 1
  std::vector<double> discounts_;  // by position in a ranking, starting at 0: 1 / log2(2 + position)
  std::vector<double> ideal_;      // by number of labels: their DCG if they come first
  // The examples that train the node:
  std::vector<std::uint32_t> rows_;  // their numbers
  std::vector<std::size_t> ends_;    // of their labels
  std::vector<std::uint32_t> labels_;
  std::vector<double> costs_;       // of being on the wrong side of the hyperplane
  std::vector<double> shares_;      // I(y_i)
  std::vector<std::int8_t> sides_;  // delta_i
  double ndcg_ = 0.0;               // the mean nDCG of the examples on the sides assigned to them
  std::vector<std::size_t> feature_ends_;
  std::vector<std::uint32_t> features_;  // columns: the bias is 0, the feature at position p is p + 1
  std::vector<float> values_;
  // Its labels:
  std::vector<std::uint32_t> order_;          // a ranking
  std::vector<double> sums_;                  // the keys of the ranking
  std::array<std::vector<double>, 2> worth_;  // by side (- and +): their discounts times their gains
  // Its columns:
  // The largest forces that the examples can exert on its weight, down and up.
  std::vector<std::array<double, 2>> pulls_;
  std::vector<std::uint32_t> kept_;    // the columns that can have a weight
  std::vector<std::uint32_t> number_;  // by column: its index in kept_, or kNone
  SparseColumns columns_;
  L1Logistic solver_;
};

}  // namespace labelgrove
