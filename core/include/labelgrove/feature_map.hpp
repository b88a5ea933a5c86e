// Maps features to rows of a block. Features are numbered in order of arrival, and so are their rows unless the caller
// chooses them.
//
// The map is a hash table with open addressing and Robin Hood displacement (Celis et al. 1985), as in the OPLT paper;
// or, whenever that is smaller, a plain array over all features up to the largest. Blocks near the root, which know
// most features, and blocks of dense examples therefore find features without hashing. A few features are searched
// linearly.
//
// The hash function is fixed and public, so an attacker can choose colliding features. They cost little: no probe goes
// farther than kFarthestProbe, and features without a slot within reach are kept in a balanced tree
// (docs/decisions/hashing.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>

#include "labelgrove/base.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/thin_vector.hpp"

namespace labelgrove {

class FeatureMap {
 public:
  // The row of `feature`, or kNone.
  std::uint32_t find(FeatureId feature) const {
    const std::uint32_t* row = entry(*this, feature);
    return row != nullptr ? *row : kNone;
  }

  // The row of `feature`; a new feature gets row size().
  std::uint32_t find_or_insert(FeatureId feature) {
    const std::uint32_t found = find(feature);
    if (found == kNone) insert(feature, size());
    return found != kNone ? found : size() - 1;
  }

  // Sets the row of a new or known feature. REQUIRES: row != kNone.
  void put(FeatureId feature, std::uint32_t row) {
    std::uint32_t* place = entry(*this, feature);
    if (place != nullptr && *place != kNone) *place = row;
    else insert(feature, row);
  }

  // Prefetches what find(feature) will read.
  void prefetch(FeatureId feature) const {
    if (form_ == Form::hashed) __builtin_prefetch(&slots_[home(feature)]);
    else if (form_ == Form::few) __builtin_prefetch(features_.data());
    else if (feature <= largest_) __builtin_prefetch(&rows_[feature]);
  }

  void reserve(std::size_t features) { features_.reserve(features); }

  std::uint32_t size() const { return static_cast<std::uint32_t>(features_.size()); }
  std::span<const FeatureId> features() const { return features_; }  // in order of arrival
  // The number of features without a slot within reach of their home.
  std::size_t crowded_out() const { return crowded_out_.get() != nullptr ? crowded_out_.get()->size() : 0; }
  std::size_t bytes() const;

 private:
  struct Slot {
    FeatureId feature = 0;
    std::uint32_t row = kNone;
  };

  std::uint32_t home(FeatureId feature) const { return scattered(feature) >> shift_; }
  // A pointer to the row of `feature` in `map`, const or not; null if it has none.
  template <typename Map>
  static auto entry(Map& map, FeatureId feature) -> decltype(map.rows_.data()) {
    if (map.form_ == Form::direct) return feature <= map.largest_ ? &map.rows_[feature] : nullptr;
    if (map.form_ == Form::few) {
      const auto& few = map.features_;
      const auto at = static_cast<std::size_t>(std::find(few.begin(), few.end(), feature) - few.begin());
      return at < few.size() ? &map.rows_[at] : nullptr;
    }
    std::uint32_t at = map.home(feature);
    for (std::uint32_t distance = 0; distance <= kFarthestProbe; ++distance, at = (at + 1) & map.mask_) {
      auto& slot = map.slots_[at];
      if (slot.row == kNone) return nullptr;
      if (slot.feature == feature) return &slot.row;
      if (((at - map.home(slot.feature)) & map.mask_) < distance) return nullptr;
    }
    return entry_crowded_out(map, feature);
  }
  template <typename Map>
  [[gnu::noinline]] static auto entry_crowded_out(Map& map, FeatureId feature) -> decltype(map.rows_.data()) {
    auto* crowded_out = map.crowded_out_.get();
    if (crowded_out == nullptr) return nullptr;
    const auto found = crowded_out->find(feature);
    return found != crowded_out->end() ? &found->second : nullptr;
  }
  void insert(FeatureId feature, std::uint32_t row);
  void index_directly(FeatureId largest);
  void hash_into(std::size_t slots);
  void place(Slot slot);
  // Calls visit(slot) for every feature that has a row.
  template <typename Visit>
  void each(Visit&& visit) const;

  enum class Form : std::uint8_t { few, direct, hashed };

  ThinVector<FeatureId> features_;
  ThinVector<std::uint32_t> rows_;  // few: in order of arrival; direct: by feature
  ThinVector<Slot> slots_;          // hashed: a power of two of them
  Rare<std::map<FeatureId, std::uint32_t>> crowded_out_;
  FeatureId largest_ = 0;
  std::uint32_t mask_ = 0;
  std::uint8_t shift_ = 31;
  Form form_ = Form::few;
};

}  // namespace labelgrove
