// Learnt vectors for prediction only, in as few bytes as possible. All vectors stay where they are, for example in a
// mapped file shared by many processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/compact_rows.hpp"
#include "labelgrove/embedding.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/vector_block.hpp"
#include "labelgrove/vector_kernels.hpp"

namespace labelgrove {

// The bytes of a packed vector's numbers, and of everything that belongs to it.
constexpr std::size_t packed_numbers(std::uint32_t dimension, WeightType type) {
  return padded(dimension) * value_bytes(type);
}
constexpr std::size_t packed_bytes(std::uint32_t dimension, WeightType type) {
  return packed_numbers(dimension, type) + (type == WeightType::int8 ? sizeof(float) : 0);
}

// Writes vectors, one after another, as the arrays `<name>.vector` and `<name>.scale`.
class VectorPacker {
 public:
  VectorPacker(ArrayWriter& out, const std::string& name, std::size_t n, std::uint32_t dimension, WeightType type);
  // REQUIRES: `vector` has `dimension` numbers; at most n calls.
  void append(std::span<const float> vector);

 private:
  WeightType type_;
  std::size_t stride_;
  std::uint8_t* next_;
  float* next_scale_;
};

// Packed vectors: rows of padded(dimension) numbers.
struct PackedVectors {
  WeightType type = WeightType::float32;
  std::uint32_t dimension = 0;
  std::span<const std::uint8_t> numbers;
  std::span<const float> scale;  // by vector: the factor of its numbers; empty unless they are int8

  std::size_t size() const { return numbers.size() / packed_numbers(dimension, type); }
  // The dot product of a row and `hidden`, which has padded(dimension) numbers.
  float dot(std::size_t row, const float* hidden) const;
  // out = sum_j shares[j] * row rows[j]; padded(dimension) numbers.
  void combine(std::span<const std::uint32_t> rows, const float* shares, float* out) const;
};

// A node's children, whose packed vectors start at `begin`.
class PackedBlock final : public NodeVectors {
 public:
  PackedBlock(std::uint32_t children, bool softmax, const PackedVectors& vectors, std::size_t begin, const float* bias)
      : NodeVectors(children, vectors.dimension, softmax), vectors_(&vectors), begin_(begin), bias_(bias) {}

  void copy(std::uint32_t i, float* vector) const override;

 private:
  std::size_t score(const float* hidden, float* scores) const override;

  const PackedVectors* vectors_;
  std::size_t begin_;
  const float* bias_;
};

class CompactEmbedding final : public Embedding {
 public:
  struct Options {
    std::uint32_t dimension;
    bool softmax;
    bool normalize = false;  // no effect: the weighted mean does not depend on an example's length
  };

  // Loads what write_compact() or save() wrote. The arrays stay where they are and must outlive the model. Throws
  // std::invalid_argument, naming the first invariant that does not hold.
  CompactEmbedding(const Options& options, const ArrayReader& saved);

  void save(ArrayWriter& out) const;
  const Options& options() const { return options_; }
  bool can_learn() const { return false; }
  bool usable() const { return true; }

  ModelSize size() const;

 private:
  void mean(const Parts& parts, float* hidden) const override;

  Options options_;
  PackedVectors of_features_;
  PackedVectors of_nodes_;
  std::span<const float> biases_;
  std::vector<std::unique_ptr<PackedBlock>> owned_;
};

}  // namespace labelgrove
