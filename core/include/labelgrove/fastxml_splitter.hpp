// Splits a node as FastXML does (Prabhu & Varma 2014): examples are dealt to two sides so that the labels of each stand
// high in one ranking for all of its side, and a sparse hyperplane learns to tell the sides apart. Alternately,
//
//   r+, r-:   labels by sum_i [on that side] I(y_i) y_i, where 1 / I(y) is the DCG of a ranking with y's labels first
//   delta_i:  1 or -1, as  C_delta log(1 + exp(-delta_i w . x_i)) - C_r nDCG(r of that side, y_i)  is least
//
// until no example changes its side, and then
//
//   w:        |w|_1 + sum_i C_delta / (share of the examples on the side delta_i) log(1 + exp(-delta_i w . x_i))
//
// is least. So both sides cost the same in all: as in the authors' program, which the paper does not tell.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/l1_logistic.hpp"
#include "labelgrove/node_splitter.hpp"

namespace labelgrove {

class FastxmlSplitter final : public NodeSplitter {
 public:
  FastxmlSplitter(const ForestOptions& options, const ForestTrainingSet& data);

 private:
  std::vector<float> learn(const NodeDraft& node, SplitFigures& figures) override;
  // The figure stands since then.
  void measure(const NodeDraft& /*node*/, SplitFigures& /*figures*/) override {}
  void gather(const NodeDraft& node);
  bool settle(const NodeDraft& node, bool has_plane);
  void rank(const NodeDraft& node, std::size_t side);
  bool choose_sides(bool has_plane);
  std::vector<float> learn_plane(const NodeDraft& node);
  void weigh_examples();
  void find_columns();

  const FastxmlOptions& fastxml_;
  double cost_ = 0.0;              // C_delta, raised where the examples weigh less than 1 on average
  std::vector<double> discounts_;  // by place in a ranking, from 0 on: 1 / log2(2 + place)
  std::vector<double> ideal_;      // by number of labels: their DCG where they come first
  // Of the examples that train the node:
  std::vector<std::uint32_t> rows_;  // their numbers
  std::vector<std::size_t> ends_;    // of their labels
  std::vector<std::uint32_t> labels_;
  std::vector<double> costs_;       // of being on the wrong side of the hyperplane
  std::vector<double> shares_;      // I(y_i)
  std::vector<std::int8_t> sides_;  // delta_i
  double ndcg_ = 0.0;               // their mean, as they were dealt
  std::vector<std::size_t> feature_ends_;
  std::vector<std::uint32_t> features_;  // columns: the bias is 0, the feature at place p is p + 1
  std::vector<float> values_;
  // Of its labels:
  std::vector<std::uint32_t> order_;          // a ranking
  std::vector<double> sums_;                  // what ranks them
  std::array<std::vector<double>, 2> worth_;  // on the sides - and +: their discounts, times what they are worth
  // Of its columns:
  std::vector<std::array<double, 2>> pulls_;  // how much the examples can pull its weight down and up at most
  std::vector<std::uint32_t> kept_;           // those that can have a weight
  std::vector<std::uint32_t> number_;         // by column: its place among these, or kNone
  SparseColumns columns_;
  L1Logistic solver_;
};

}  // namespace labelgrove
