// Which row of a sibling block belongs to a feature: an open-addressing hash table with Robin Hood displacement
// (Celis et al. 1985), as the OPLT paper uses it.
//
// Rows are numbered in order of arrival. As long as features arrive as 0, 1, 2, … (dense rows do), row and feature are
// the same number and the table stays empty: such features are never hashed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"

namespace labelgrove {

class FeatureMap {
 public:
  // The row of `feature`, or kNone.
  std::uint32_t find(FeatureId feature) const {
    if (feature < identical_) return feature;
    if (table_.empty()) return kNone;
    std::uint32_t at = home(feature);
    for (std::uint32_t distance = 0;; ++distance, at = (at + 1) & mask_) {
      const Slot slot = table_[at];
      if (slot.feature == feature && slot.row != kNone) return slot.row;
      if (slot.row == kNone || ((at - home(slot.feature)) & mask_) < distance) return kNone;
    }
  }

  // The row of `feature`, which is size() if the feature is new.
  std::uint32_t find_or_insert(FeatureId feature);

  // Asks the CPU to fetch what find(feature) will read.
  void prefetch(FeatureId feature) const {
    if (!table_.empty()) __builtin_prefetch(&table_[home(feature)]);
  }

  void reserve(std::size_t features);

  std::uint32_t size() const { return static_cast<std::uint32_t>(features_.size()); }
  std::span<const FeatureId> features() const { return features_; }  // in order of rows
  std::size_t bytes() const;

 private:
  struct Slot {
    FeatureId feature = 0;
    std::uint32_t row = kNone;
  };

  std::uint32_t home(FeatureId feature) const { return (feature * 0x9e3779b1U) >> shift_; }
  void rehash(std::size_t slots);
  void place(Slot slot);

  std::vector<FeatureId> features_;
  std::vector<Slot> table_;
  std::uint32_t identical_ = 0;
  std::uint32_t mask_ = 0;
  std::uint32_t shift_ = 31;
};

}  // namespace labelgrove
