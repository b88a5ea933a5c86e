// Which row of a block belongs to a feature. Features are numbered in order of arrival, and so are their rows unless the
// caller says otherwise.
//
// An open-addressing hash table with Robin Hood displacement (Celis et al. 1985), as the OPLT paper uses it, or,
// whenever that is smaller, a plain array over all features up to the largest. So the blocks near the root, which know
// most features, and the blocks of dense examples look a feature up without hashing it. A few features are looked
// through.
//
// The hash is fixed and public, so collisions can be chosen. They cost little: no probe goes farther than
// kFarthestProbe, and features that find no slot within reach are kept in a balanced tree (docs/decisions/hashing.md).
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

  // The row of `feature`, which is size() if the feature is new.
  std::uint32_t find_or_insert(FeatureId feature) {
    const std::uint32_t found = find(feature);
    if (found == kNone) insert(feature, size());
    return found != kNone ? found : size() - 1;
  }

  // Sets the row of `feature`, which may be new. REQUIRES: row != kNone.
  void put(FeatureId feature, std::uint32_t row) {
    std::uint32_t* place = entry(*this, feature);
    if (place != nullptr && *place != kNone) *place = row;
    else insert(feature, row);
  }

  // Asks the CPU to fetch what find(feature) will read.
  void prefetch(FeatureId feature) const {
    if (form_ == Form::hashed) __builtin_prefetch(&slots_[home(feature)]);
    else if (form_ == Form::few) __builtin_prefetch(features_.data());
    else if (feature <= largest_) __builtin_prefetch(&rows_[feature]);
  }

  void reserve(std::size_t features) { features_.reserve(features); }

  std::uint32_t size() const { return static_cast<std::uint32_t>(features_.size()); }
  std::span<const FeatureId> features() const { return features_; }  // in order of arrival
  // Those that found no slot within reach of their home.
  std::size_t crowded_out() const { return crowded_out_.get() != nullptr ? crowded_out_.get()->size() : 0; }
  std::size_t bytes() const;

 private:
  struct Slot {
    FeatureId feature = 0;
    std::uint32_t row = kNone;
  };

  std::uint32_t home(FeatureId feature) const { return scattered(feature) >> shift_; }
  // Where `map`, const or not, keeps the row of `feature`, or null.
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
  // visit(slot) for every feature that has a row.
  template <typename Visit>
  void each(Visit&& visit) const;

  enum class Form : std::uint8_t { few, direct, hashed };

  ThinVector<FeatureId> features_;
  ThinVector<std::uint32_t> rows_;  // of few, in order of arrival; if direct, by feature
  ThinVector<Slot> slots_;          // if hashed, a power of two of them
  Rare<std::map<FeatureId, std::uint32_t>> crowded_out_;
  FeatureId largest_ = 0;
  std::uint32_t mask_ = 0;
  std::uint8_t shift_ = 31;
  Form form_ = Form::few;
};

}  // namespace labelgrove
