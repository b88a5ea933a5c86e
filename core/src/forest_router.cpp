#include "labelgrove/forest_router.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "labelgrove/kernels.hpp"

namespace labelgrove {
namespace {

// The weights of a feature that a node does not know. Their products are added like any others, so that a sum does not
// depend on how the weights were found.
constexpr std::array<float, kMostDirections> kNoWeights{};
// Larger features are looked up one by one, so that a thread's table stays small.
constexpr FeatureId kTableFeatures = 1U << 18;
// Copying a node's rows into the table pays up to about this many rows per example: the copy reads memory sequentially,
// while every single look-up waits for a cache miss.
constexpr std::size_t kRowsPerExample = 256;

// Copies whole table rows; nothing uses the margins of the lanes beyond the node's hyperplanes.
template <std::size_t Stride>
void copy_rows(const Hyperplanes& node, float* table) {
  const auto features = node.features();
  if (features.empty()) return;
  const std::size_t last = features.size() - 1;
  for (std::size_t r = 0; r < last; ++r)  // reading beyond a row reads the next one
    std::memcpy(table + features[r] * Stride, node.row(r), Stride * sizeof(float));
  std::copy_n(node.row(last), node.count(), table + features[last] * Stride);
}

template <std::size_t Stride>
void clear_rows(const Hyperplanes& node, float* table) {
  for (const FeatureId feature : node.features()) std::memset(table + feature * Stride, 0, Stride * sizeof(float));
}

}  // namespace

ForestRouter::ForestRouter(const ForestOptions& options)
    : children_(options.children), planes_(options.hyperplanes()), stride_(planes_ == 1 ? 1 : (planes_ + 3) / 4 * 4) {}

void ForestRouter::start(std::span<const Features> examples) {
  examples_ = examples;
  ways_.assign(examples.size(), {});
  classifiers_.assign(examples.size(), 0);
}

void ForestRouter::route(const ForestTree& tree) {
  waiting_.resize(examples_.size());
  std::iota(waiting_.begin(), waiting_.end(), 0U);
  visits_.clear();
  if (!waiting_.empty()) visits_.push_back({0, 0});
  while (!visits_.empty()) {
    const auto [v, begin] = visits_.back();
    visits_.pop_back();
    run_.assign(waiting_.begin() + static_cast<std::ptrdiff_t>(begin), waiting_.end());
    waiting_.resize(begin);
    const ForestTree::Node& node = tree.nodes[v];
    if (node.is_leaf()) {
      arrive(tree, v);
      continue;
    }
    evaluate(*node.planes);
    for (std::uint32_t m = children_; m-- > 0;) send(node.first_child + m, m);
  }
}

void ForestRouter::arrive(const ForestTree& tree, NodeId leaf) {
  const ForestTree::Node& node = tree.nodes[leaf];
  for (const std::uint32_t i : run_) {
    Ways& ways = ways_[i];
    ways.leaves.push_back({&tree, leaf, static_cast<std::uint32_t>(node.end - node.begin), node.begin});
    ways.depth = std::max(ways.depth, node.depth);
  }
}

// Queues the examples of the run that take direction m at the child.
void ForestRouter::send(NodeId child, std::uint32_t m) {
  const std::size_t begin = waiting_.size();
  waiting_.resize(begin + run_.size());
  std::size_t last = begin;
  for (std::size_t i = 0; i < run_.size(); ++i) {  // branchless: directions are unpredictable
    waiting_[last] = run_[i];
    last += sent_[i] >> m & 1U;
  }
  waiting_.resize(last);
  if (last > begin) visits_.push_back({child, begin});
}

// Computes sent_ for the run.
void ForestRouter::evaluate(const Hyperplanes& node) {
  sent_.resize(run_.size());
  const bool is_in_table = run_.size() * kRowsPerExample >= node.features().size() && fill_table(node);
  const float* bias = node.bias();
  std::array<float, kMostDirections> margins{};
  for (std::size_t i = 0; i < run_.size(); ++i) {
    const Features& x = examples_[run_[i]];
    if (is_in_table) margins_from_table(x, margins.data());
    else margins_one_by_one(x, node, margins.data());
    for (std::uint32_t m = 0; m < planes_; ++m) margins[m] += bias[m];
    sent_[i] = static_cast<std::uint8_t>(directions_of(std::span(margins).first(planes_)));
    classifiers_[run_[i]] += planes_;
  }
  if (is_in_table) clear_table(node);
}

void ForestRouter::margins_from_table(const Features& x, float* out) {
  const auto known = static_cast<FeatureId>(table_.size() / stride_);
  const auto n = static_cast<std::size_t>(std::lower_bound(x.ids, x.ids + x.size, known) - x.ids);
  kernels().table_margins(table_.data(), stride_, x.ids, x.values, n, stride_, out);
}

void ForestRouter::margins_one_by_one(const Features& x, const Hyperplanes& node, float* out) {
  rows_.resize(x.size);
  node.for_each_row(x, [&](std::uint32_t j, const float* row) { rows_[j] = row != nullptr ? row : kNoWeights.data(); });
  kernels().margins(rows_.data(), x.values, x.size, planes_, out);
}

// Copies the node's weights to the table if they fit; returns whether it did.
bool ForestRouter::fill_table(const Hyperplanes& node) {
  const FeatureId largest = node.features().empty() ? 0 : node.features().back();
  if (largest >= kTableFeatures) return false;
  if (table_.size() < (largest + std::size_t{1}) * stride_) table_.resize((largest + std::size_t{1}) * stride_);
  if (stride_ == 1) copy_rows<1>(node, table_.data());
  else if (stride_ == 4) copy_rows<4>(node, table_.data());
  else copy_rows<8>(node, table_.data());
  return true;
}

// Clears what fill_table() wrote.
void ForestRouter::clear_table(const Hyperplanes& node) {
  if (stride_ == 1) clear_rows<1>(node, table_.data());
  else if (stride_ == 4) clear_rows<4>(node, table_.data());
  else clear_rows<8>(node, table_.data());
}

}  // namespace labelgrove
