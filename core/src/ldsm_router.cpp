#include "labelgrove/ldsm_router.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "labelgrove/kernels.hpp"

namespace labelgrove {
namespace {

// Weights that a node does not have. Their products are added like all others: so a sum does not depend on how the
// weights were found.
constexpr std::array<float, kMostDirections> kNothing{};
// Features from here on are looked up one by one, so that the table of a thread stays small.
constexpr FeatureId kTableFeatures = 1U << 18;
// Spreading a node's rows over the table pays from about this many rows an example on.
constexpr std::size_t kRowsPerExample = 64;

}  // namespace

LdsmRouter::LdsmRouter(std::uint32_t arity) : arity_(arity), stride_((arity + 3) / 4 * 4) {}

void LdsmRouter::route(const LdsmTree& tree, std::span<const Features> examples, std::span<Ways> ways) {
  examples_ = examples;
  ways_ = ways;
  waiting_.resize(examples.size());
  sent_.resize(examples.size());
  std::iota(waiting_.begin(), waiting_.end(), 0U);
  visit(tree, 0, 0, examples.size());
}

// waiting_[begin, end) are the examples that have reached v; runs for its children are put behind them.
void LdsmRouter::visit(const LdsmTree& tree, NodeId v, std::size_t begin, std::size_t end) {
  const LdsmTree::Node& node = tree.nodes[v];
  if (node.is_leaf()) {
    for (std::size_t i = begin; i < end; ++i) {
      Ways& ways = ways_[waiting_[i]];
      ways.leaves.push_back({&tree, v});
      ways.depth = std::max(ways.depth, node.depth);
    }
    return;
  }
  evaluate(*node.regressors, begin, end);
  for (std::uint32_t m = 0; m < arity_; ++m) {
    for (std::size_t i = begin; i < end; ++i) {
      if ((sent_[i] >> m & 1U) != 0) waiting_.push_back(waiting_[i]);
    }
    sent_.resize(waiting_.size());
    if (waiting_.size() > end) visit(tree, node.first_child + m, end, waiting_.size());
    waiting_.resize(end);
    sent_.resize(end);
  }
}

void LdsmRouter::evaluate(const SiblingBlock& block, std::size_t begin, std::size_t end) {
  const bool is_spread = (end - begin) * kRowsPerExample >= block.rows() && spread(block);
  std::array<float, kMostDirections> margins_of{};
  for (std::size_t i = begin; i < end; ++i) {
    const Features& x = examples_[waiting_[i]];
    if (is_spread) {
      const auto known = static_cast<FeatureId>(table_.size() / stride_);
      const auto row = [&](FeatureId id) { return id < known ? &table_[std::size_t{id} * stride_] : kNothing.data(); };
      std::array<float, kMostDirections> bias{};
      std::copy_n(block.weights(0), arity_, bias.data());
      margins(x, bias.data(), stride_, row, margins_of.data());
    } else {
      const auto row = [&](FeatureId id) {
        const std::uint32_t found = block.features().find(id);
        return found != kNone ? block.weights(found + 1) : kNothing.data();
      };
      margins(x, block.weights(0), arity_, row, margins_of.data());
    }
    std::uint32_t directions = 0;
    for_each_direction(std::span(margins_of).first(arity_), [&](std::uint32_t m) { directions |= 1U << m; });
    sent_[i] = static_cast<std::uint8_t>(directions);
    ways_[waiting_[i]].classifiers += arity_;
  }
  if (is_spread) gather(block);
}

template <typename Row>
void LdsmRouter::margins(const Features& x, const float* bias, std::size_t columns, Row&& row, float* out) {
  rows_.resize(x.size + std::size_t{1});
  values_.resize(x.size + std::size_t{1});
  rows_[0] = bias;
  values_[0] = 1.0F;
  std::copy_n(x.values, x.size, values_.begin() + 1);
  for (std::uint32_t j = 0; j < x.size; ++j) rows_[j + 1] = row(x.ids[j]);
  kernels().margins(rows_.data(), values_.data(), rows_.size(), columns, out);
}

// Whether the table now holds the node's weights.
bool LdsmRouter::spread(const SiblingBlock& block) {
  const auto features = block.features().features();
  const FeatureId largest = features.empty() ? 0 : *std::ranges::max_element(features);
  if (largest >= kTableFeatures) return false;
  if (table_.size() < (largest + std::size_t{1}) * stride_) table_.resize((largest + std::size_t{1}) * stride_);
  for (std::uint32_t r = 0; r < features.size(); ++r)
    std::copy_n(block.weights(r + 1), arity_, &table_[std::size_t{features[r]} * stride_]);
  return true;
}

// Empties the table again.
void LdsmRouter::gather(const SiblingBlock& block) {
  for (const FeatureId feature : block.features().features())
    std::fill_n(&table_[std::size_t{feature} * stride_], arity_, 0.0F);
}

}  // namespace labelgrove
