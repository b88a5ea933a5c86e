// The examples from which one tree node learns in batch. Features are renumbered from 0, so that the weights of all
// siblings are close together in memory during training.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/feature_map.hpp"
#include "labelgrove/room.hpp"
#include "labelgrove/training_set.hpp"

namespace labelgrove {

class NodeProblem {
 public:
  // The examples are stored in `room`, if given.
  explicit NodeProblem(Room* room = nullptr) : ids_(RoomAllocator<FeatureId>(room)), values_(ids_.get_allocator()) {}

  // Replaces the contents by the given examples. `bias` is the value of the constant feature.
  void build(const TrainingSet& data, std::span<const std::uint32_t> examples, float bias);

  std::size_t size() const { return ends_.size() - 1; }
  // The i-th example: ids are rows of the node's own table, the bias (row 0) first.
  Features operator[](std::size_t i) const {
    const std::size_t begin = ends_[i];
    return {ids_.data() + begin, values_.data() + begin, static_cast<std::uint32_t>(ends_[i + 1] - begin)};
  }
  // Prefetches the beginning of an example; hardware prefetching does the rest.
  void prefetch(std::size_t i) const {
    __builtin_prefetch(ids_.data() + ends_[i]);
    __builtin_prefetch(values_.data() + ends_[i]);
  }
  // The squared length of the i-th example, bias included.
  float square(std::size_t i) const { return squares_[i]; }
  // The number of rows of the node's table: the bias, and one for every feature that occurs.
  std::uint32_t table_rows() const { return static_cast<std::uint32_t>(features_.size()) + 1; }
  // The features of rows 1, 2, …
  std::span<const FeatureId> features() const { return features_; }

 private:
  std::uint32_t row_of(FeatureId feature);

  std::vector<std::size_t> ends_{0};
  RoomVector<FeatureId> ids_;
  RoomVector<float> values_;
  std::vector<float> squares_;
  std::vector<FeatureId> features_;
  std::vector<std::uint32_t> number_;  // by feature: its index in features_, if that entry is this feature
  FeatureMap far_;                     // by feature beyond number_: its index
};

}  // namespace labelgrove
