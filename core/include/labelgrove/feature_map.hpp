// Which row of a block belongs to a feature. Features are numbered in order of arrival, and so are their rows unless the
// caller says otherwise.
//
// An open-addressing hash table with Robin Hood displacement (Celis et al. 1985), as the OPLT paper uses it, or,
// whenever that is smaller, a plain array over all features up to the largest. So the blocks near the root, which know
// most features, and the blocks of dense examples look a feature up without hashing it.
//
// The hash is fixed and public, so collisions can be chosen. They cost little: no probe goes farther than
// kFarthestProbe, and features that find no slot within reach are kept in a balanced tree (docs/decisions/hashing.md).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/hash.hpp"

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

  // From here on this is the row of `feature`, which may be new. REQUIRES: row != kNone.
  void put(FeatureId feature, std::uint32_t row) {
    std::uint32_t* place = entry(*this, feature);
    if (place != nullptr && *place != kNone) *place = row;
    else insert(feature, row);
  }

  // Asks the CPU to fetch what find(feature) will read.
  void prefetch(FeatureId feature) const {
    if (direct_) {
      if (feature < rows_.size()) __builtin_prefetch(&rows_[feature]);
    } else if (!slots_.empty()) {
      __builtin_prefetch(&slots_[home(feature)]);
    }
  }

  void reserve(std::size_t features) { features_.reserve(features); }

  std::uint32_t size() const { return static_cast<std::uint32_t>(features_.size()); }
  std::span<const FeatureId> features() const { return features_; }  // in order of arrival
  // Those that found no slot within reach of their home.
  std::size_t crowded_out() const { return crowded_out_.size(); }
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
    if (map.direct_) return feature < map.rows_.size() ? &map.rows_[feature] : nullptr;
    if (map.slots_.empty()) return nullptr;
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
    const auto found = map.crowded_out_.find(feature);
    return found != map.crowded_out_.end() ? &found->second : nullptr;
  }
  void insert(FeatureId feature, std::uint32_t row);
  void index_directly();
  void hash_into(std::size_t slots);
  void place(Slot slot);
  // visit(slot) for every feature that has a row.
  template <typename Visit>
  void each(Visit&& visit) const;

  std::vector<FeatureId> features_;
  FeatureId largest_ = 0;
  bool direct_ = false;
  std::vector<std::uint32_t> rows_;  // by feature, if direct_
  std::vector<Slot> slots_;          // a power of two of them, if not
  std::map<FeatureId, std::uint32_t> crowded_out_;
  std::uint32_t mask_ = 0;
  std::uint32_t shift_ = 31;
};

}  // namespace labelgrove
