#include "labelgrove/embedding.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/compact_embedding.hpp"
#include "labelgrove/node_archive.hpp"
#include "labelgrove/vector_block.hpp"
#include "labelgrove/vector_kernels.hpp"

namespace labelgrove {

Embedding::Embedding(std::uint32_t dimension, LabelTree tree)
    : dimension_(dimension),
      stride_(padded(dimension + std::size_t{1})),
      tree_(std::move(tree)),
      views_(tree_.size()),
      vector_bytes_(stride_ * sizeof(float)),
      coordinates_(dimension) {
  std::iota(coordinates_.begin(), coordinates_.end(), 0U);
}

void Embedding::remove_labels(std::span<const LabelId> labels) {
  for (const LabelId label : tree_.removable(labels)) tree_.remove_label(label);
}

void Embedding::take_features(std::span<const FeatureId> ids) {
  require(std::ranges::all_of(ids, [](FeatureId id) { return id < kNone / 2; }), "a feature id is out of range");
  features_.reserve(ids.size());
  for (const FeatureId id : ids) features_.find_or_insert(id);
  require(features_.size() == ids.size(), "array 'feature.id': a feature occurs twice");
}

void Embedding::append_shares(const Features& x, std::vector<float>& shares) {
  double sum = 0.0;
  for (std::uint32_t j = 0; j < x.size; ++j) sum += std::abs(static_cast<double>(x.values[j]));
  const double scale = sum > 0.0 ? 1.0 / sum : 0.0;
  for (std::uint32_t j = 0; j < x.size; ++j) shares.push_back(scaled(x.values[j], scale));
}

Features Embedding::embed(const Features& x, Workspace& work, std::vector<float>& hidden) const {
  work.found.clear();
  std::vector<float> known;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t row = features_.find(x.ids[j]);
    if (row == kNone) continue;
    work.found.push_back(row);
    known.push_back(x.values[j]);
  }
  work.values.clear();
  append_shares({nullptr, known.data(), static_cast<std::uint32_t>(known.size())}, work.values);
  work.bytes += known.size() * vector_bytes_;
  hidden.resize(stride_);
  mean({work.found, work.values}, hidden.data());
  return {coordinates_.data(), hidden.data(), dimension_};
}

LabelPath Embedding::explain(const Features& x, LabelId label) const {
  Workspace work;
  std::vector<float> hidden;
  LabelPath path = explain_label(tree_, views_, embed(x, work, hidden), label);
  path.contributions.assign(path.nodes.size() * x.size, 0.0F);
  std::vector<float> vector;
  std::vector<float> products(dimension_);
  for (std::uint32_t j = 0, known = 0; j < x.size; ++j) {
    const std::uint32_t row = features_.find(x.ids[j]);
    if (row == kNone) continue;
    copy(row, vector);
    const float share = work.values[known++];
    for (std::size_t i = 0; i < path.nodes.size(); ++i) {
      const TreeNode& node = tree_[path.nodes[i]];
      views_[node.parent]->contributions({nullptr, vector.data(), dimension_}, node.slot, products.data());
      path.contributions[i * x.size + j] = share * std::accumulate(products.begin(), products.end(), 0.0F);
    }
  }
  return path;
}

// --- compact copies --------------------------------------------------------------------------------------------------

void Embedding::copy(std::uint32_t row, std::vector<float>& vector) const {
  const float one = 1.0F;
  vector.resize(stride_);
  mean({{&row, 1}, {&one, 1}}, vector.data());
  vector.resize(dimension_);
}

std::vector<float> Embedding::lengths() const {
  std::vector<float> found;
  std::vector<float> vector;
  for (std::uint32_t row = 0; row < features_.size(); ++row) {
    copy(row, vector);
    vector.resize(stride_);
    found.push_back(std::sqrt(vector_kernels().dot(vector.data(), vector.data(), stride_)));
  }
  return found;
}

void Embedding::write_compact(const Compaction& how, ArrayWriter& out) const {
  save_tree(out, tree_, {examples_seen_, 0});
  out.bytes("vector.type", 1)[0] = static_cast<std::uint8_t>(how.type);
  std::vector<std::uint32_t> kept;
  if (how.threshold > 0.0F) {
    const std::vector<float> found = lengths();
    for (std::uint32_t row = 0; row < found.size(); ++row) {
      if (found[row] >= how.threshold) kept.push_back(row);
    }
  } else {
    kept.resize(features_.size());
    std::iota(kept.begin(), kept.end(), 0U);
  }
  auto ids = out.u32("feature.id", kept.size());
  std::ranges::transform(kept, ids.begin(), [this](std::uint32_t row) { return features_.features()[row]; });
  VectorPacker of_features(out, "feature", kept.size(), dimension_, how.type);
  std::vector<float> vector;
  for (const std::uint32_t row : kept) {
    copy(row, vector);
    of_features.append(vector);
  }
  std::vector<const NodeVectors*> nodes;
  std::size_t n = 0;
  for (const NodeBlock* view : views_) {
    if (view == nullptr) continue;
    nodes.push_back(static_cast<const NodeVectors*>(view));
    n += nodes.back()->vectors();
  }
  VectorPacker of_nodes(out, "node", n, dimension_, how.type);
  auto biases = out.f32("node.bias", n).begin();
  vector.resize(dimension_ + std::size_t{1});
  for (const NodeVectors* node : nodes) {
    for (std::uint32_t i = 0; i < node->vectors(); ++i) {
      node->copy(i, vector.data());
      *biases++ = vector[dimension_];
      of_nodes.append(std::span(vector).first(dimension_));
    }
  }
}

float Embedding::threshold_for(WeightType type, std::uint64_t most_bytes) const {
  const std::uint64_t most = most_bytes / (sizeof(FeatureId) + packed_bytes(dimension_, type));
  if (features_.size() <= most) return 0.0F;
  std::vector<float> found = lengths();
  const auto first_out = found.begin() + static_cast<std::ptrdiff_t>(most);
  std::ranges::nth_element(found, first_out, std::greater());
  return std::nextafter(*first_out, std::numeric_limits<float>::infinity());
}

}  // namespace labelgrove
