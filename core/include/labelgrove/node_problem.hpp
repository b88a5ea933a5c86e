// The examples that one tree node learns from in batch, its features renumbered from 0 so that the weights of all
// siblings lie close together while they are learnt.
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
  // The examples lie in the given room.
  explicit NodeProblem(Room* room = nullptr) : ids_(RoomAllocator<FeatureId>(room)), values_(ids_.get_allocator()) {}

  // Takes in the given examples; what was there before is forgotten. `bias` is the value of the constant feature.
  void build(const TrainingSet& data, std::span<const std::uint32_t> examples, float bias);

  std::size_t size() const { return ends_.size() - 1; }
  // The i-th example: ids are rows of the node's own table, the bias (row 0) first.
  Features operator[](std::size_t i) const {
    const std::size_t begin = ends_[i];
    return {ids_.data() + begin, values_.data() + begin, static_cast<std::uint32_t>(ends_[i + 1] - begin)};
  }
  // Asks the CPU to fetch the beginning of an example, from where it goes on by itself.
  void prefetch(std::size_t i) const {
    __builtin_prefetch(ids_.data() + ends_[i]);
    __builtin_prefetch(values_.data() + ends_[i]);
  }
  // The squared length of the i-th example, bias included.
  float square(std::size_t i) const { return squares_[i]; }
  // How many rows the node's table has: the bias, and one for every feature that occurs.
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
  std::vector<std::uint32_t> number_;  // by feature: its place in features_, if that agrees
  FeatureMap far_;                     // for features beyond number_, their places there
  std::vector<std::uint32_t> far_places_;
};

}  // namespace labelgrove
