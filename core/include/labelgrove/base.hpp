// Views and small types shared by the whole core.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace labelgrove {

using FeatureId = std::uint32_t;
using LabelId = std::uint32_t;
using NodeId = std::uint32_t;

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// One example's features, with strictly increasing ids. Does not own its arrays. The constant bias feature is not
// included: it is row 0 of every sibling block.
struct Features {
  const FeatureId* ids = nullptr;
  const float* values = nullptr;
  std::uint32_t size = 0;
};

// An example to learn from, which counts `weight` times. Does not own its arrays. Learners in batch have the weights of
// all examples elsewhere.
struct LabelledExample {
  Features x;
  std::span<const LabelId> labels;
  float weight = 1.0F;
};
// The i-th example of a data set or a stream.
using LabelledExamples = std::function<LabelledExample(std::size_t i)>;

// What a model holds.
struct ModelSize {
  std::uint64_t weights = 0;       // including biases and auxiliary classifiers
  std::uint64_t model_bytes = 0;   // of weights, the optimiser's state, statistics and the structure
  std::uint64_t memory_bytes = 0;  // of remembered examples
};

inline float scaled(float value, double scale) { return static_cast<float>(static_cast<double>(value) * scale); }

// Whether the ids are 0, 1, 2, … without gaps.
inline bool is_dense(const Features& x) { return x.size > 0 && x.ids[x.size - 1] == x.size - 1; }

inline double squared_length(const float* values, std::size_t n) {
  double square = 0.0;
  for (std::size_t j = 0; j < n; ++j) square += static_cast<double>(values[j]) * static_cast<double>(values[j]);
  return square;
}

// The factor that scales the example to unit length; 1 if all values are 0. A double, since it may exceed a float's
// range for tiny values.
inline double unit_scale(const Features& x) {
  const double square = squared_length(x.values, x.size);
  return square > 0.0 ? 1.0 / std::sqrt(square) : 1.0;
}

// The example with its values multiplied by `scale`, which are written to `values`.
inline Features with_scale(Features x, double scale, std::vector<float>& values) {
  values.resize(x.size);
  for (std::uint32_t j = 0; j < x.size; ++j) values[j] = scaled(x.values[j], scale);
  x.values = values.data();
  return x;
}

inline Features of_unit_length(const Features& x, std::vector<float>& values) {
  return with_scale(x, unit_scale(x), values);
}

}  // namespace labelgrove
