#include "labelgrove/compact_embedding.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/node_archive.hpp"

namespace labelgrove {

// --- vectors ---------------------------------------------------------------------------------------------------------

VectorPacker::VectorPacker(ArrayWriter& out, const std::string& name, std::size_t n, std::uint32_t dimension,
                           WeightType type)
    : type_(type),
      stride_(packed_numbers(dimension, type)),
      next_(out.bytes(name + ".vector", n * stride_).data()),
      next_scale_(out.f32(name + ".scale", type == WeightType::int8 ? n : 0).data()) {}

void VectorPacker::append(std::span<const float> vector) {
  float inverse = 0.0F;
  if (type_ == WeightType::int8) {
    const float most = std::abs(*std::ranges::max_element(vector, {}, [](float x) { return std::abs(x); }));
    *next_scale_++ = most / kMostInt8;
    inverse = most > 0.0F ? kMostInt8 / most : 0.0F;
  }
  std::fill_n(next_, stride_, std::uint8_t{0});
  const std::size_t size = value_bytes(type_);
  for (std::size_t k = 0; k < vector.size(); ++k) {
    const std::uint32_t bits = stored_bits(vector[k], type_, inverse);
    std::memcpy(next_ + k * size, &bits, size);
  }
  next_ += stride_;
}

float PackedVectors::dot(std::size_t row, const float* hidden) const {
  const VectorKernels::Stored& kernels = vector_kernels().stored[static_cast<std::size_t>(type)];
  const float sum = kernels.dot(numbers.data() + row * packed_numbers(dimension, type), hidden, padded(dimension));
  return scale.empty() ? sum : sum * scale[row];
}

void PackedVectors::combine(std::span<const std::uint32_t> rows, const float* shares, float* out) const {
  const VectorKernels::Stored& kernels = vector_kernels().stored[static_cast<std::size_t>(type)];
  kernels.combine(numbers.data(), rows.data(), shares, scale.empty() ? nullptr : scale.data(), rows.size(), out,
                  padded(dimension));
}

std::size_t PackedBlock::score(const float* hidden, float* scores) const {
  for (std::uint32_t i = 0; i < vectors(); ++i) scores[i] = bias_[i] + vectors_->dot(begin_ + i, hidden);
  return vectors() * (packed_bytes(dimension_, vectors_->type) + sizeof(float));
}

void PackedBlock::copy(std::uint32_t i, float* vector) const {
  const float one = 1.0F;
  const auto row = static_cast<std::uint32_t>(begin_ + i);
  std::vector<float> whole(padded(dimension_));
  vectors_->combine({&row, 1}, &one, whole.data());
  std::copy_n(whole.begin(), dimension_, vector);
  vector[dimension_] = bias_[i];
}

// --- the model: docs/format.md documents every array -----------------------------------------------------------------

namespace {

PackedVectors packed_in(const ArrayReader& saved, const std::string& name, WeightType type, std::uint32_t dimension,
                        std::uint64_t n) {
  PackedVectors found{type, dimension, saved.bytes(name + ".vector"), saved.f32(name + ".scale")};
  require(found.numbers.size() == n * packed_numbers(dimension, type),
          "array '" + name + ".vector' must hold one vector for each feature or child");
  require(found.scale.size() == (type == WeightType::int8 ? n : 0),
          "array '" + name + ".scale' must hold one number for each int8 vector, and none for other types");
  bool holds = all_within(found.scale, kLargestCoordinate);
  if (type == WeightType::float32) {
    float number = 0.0F;
    for (std::size_t i = 0; i < found.numbers.size(); i += sizeof number) {
      std::memcpy(&number, found.numbers.data() + i, sizeof number);
      holds = holds && std::abs(number) <= kLargestCoordinate;
    }
  }
  require(holds, "arrays '" + name +
                     "': a vector holds a number that is not finite, or is larger than any that can be learnt");
  return found;
}

}  // namespace

CompactEmbedding::CompactEmbedding(const Options& options, const ArrayReader& saved)
    : Embedding(options.dimension, saved_tree(saved)), options_(options) {
  require(std::endian::native == std::endian::little, "compact models need a little-endian machine");
  examples_seen_ = saved_counters(saved).examples;
  const auto types = saved.bytes("vector.type");
  require(types.size() == 1 && types[0] <= 2, "array 'vector.type' must hold one number, from 0 to 2");
  const auto type = static_cast<WeightType>(types[0]);
  vector_bytes_ = packed_bytes(dimension_, type);
  take_features(saved.u32("feature.id"));
  of_features_ = packed_in(saved, "feature", type, dimension_, features_.size());
  biases_ = saved.f32("node.bias");
  require(all_within(biases_, kLargestCoordinate), "array 'node.bias' holds a number that is not finite");
  of_nodes_ = packed_in(saved, "node", type, dimension_, biases_.size());
  std::size_t begin = 0;
  owned_.resize(tree_.size());
  for (NodeId v = 0; v < tree_.size(); ++v) {
    const auto children = static_cast<std::uint32_t>(tree_[v].children.size());
    if (children == 0) continue;
    owned_[v] = std::make_unique<PackedBlock>(children, options.softmax, of_nodes_, begin, biases_.data() + begin);
    views_[v] = owned_[v].get();
    begin += owned_[v]->vectors();
  }
  require(begin == biases_.size(), "array 'node.bias' must hold one number for every vector of a node");
}

void CompactEmbedding::save(ArrayWriter& out) const {
  save_tree(out, tree_, {examples_seen_, 0});
  out.bytes("vector.type", 1)[0] = static_cast<std::uint8_t>(of_nodes_.type);
  out.lend("feature.id", features_.features());
  out.lend("feature.vector", of_features_.numbers);
  out.lend("feature.scale", of_features_.scale);
  out.lend("node.vector", of_nodes_.numbers);
  out.lend("node.scale", of_nodes_.scale);
  out.lend("node.bias", biases_);
}

void CompactEmbedding::mean(const Parts& parts, float* hidden) const {
  of_features_.combine(parts.rows, parts.shares.data(), hidden);
  std::fill(hidden + dimension_, hidden + stride_, 0.0F);
}

ModelSize CompactEmbedding::size() const {
  ModelSize size;
  size.weights = (of_features_.size() + of_nodes_.size()) * std::uint64_t{dimension_} + biases_.size();
  size.model_bytes = features_.bytes() + of_features_.numbers.size() + of_nodes_.numbers.size() +
                     (of_features_.scale.size() + of_nodes_.scale.size() + biases_.size()) * sizeof(float);
  size.model_bytes += tree_.bytes() + 2 * sizeof(void*) * owned_.size();
  for (const auto& block : owned_) size.model_bytes += block == nullptr ? 0 : sizeof(PackedBlock);
  return size;
}

}  // namespace labelgrove
