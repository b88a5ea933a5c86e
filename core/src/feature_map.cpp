#include "labelgrove/feature_map.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace labelgrove {
namespace {

constexpr std::size_t kFewestSlots = 8;
constexpr std::size_t kBytesOfTreeNode = 48;

// Robin Hood keeps probes short up to a high load.
std::size_t slots_for(std::size_t features) {
  return std::max(kFewestSlots, std::bit_ceil(features + features / 7 + 1));
}

}  // namespace

void FeatureMap::insert(FeatureId feature, std::uint32_t row) {
  grow_a_little(features_);
  features_.push_back(feature);
  largest_ = std::max(largest_, feature);
  const std::size_t slots = slots_for(features_.size());
  if (direct_ ? feature >= rows_.size() : slots > slots_.size()) {
    const bool direct_is_smaller = (std::size_t{largest_} + 1) * sizeof(rows_[0]) <= slots * sizeof(Slot);
    if (direct_is_smaller) index_directly();
    else hash_into(slots);
  }
  if (direct_) rows_[feature] = row;
  else place({feature, row});
}

std::size_t FeatureMap::bytes() const {
  return features_.capacity() * sizeof(FeatureId) + rows_.capacity() * sizeof(rows_[0]) +
         slots_.capacity() * sizeof(Slot) + crowded_out_.size() * kBytesOfTreeNode;
}

template <typename Visit>
void FeatureMap::each(Visit&& visit) const {
  for (FeatureId feature = 0; feature < rows_.size(); ++feature) {
    if (rows_[feature] != kNone) visit(Slot{feature, rows_[feature]});
  }
  for (const Slot slot : slots_) {
    if (slot.row != kNone) visit(slot);
  }
  for (const auto& [feature, row] : crowded_out_) visit(Slot{feature, row});
}

void FeatureMap::index_directly() {
  // A quarter to spare, for features that arrive in order.
  std::vector<std::uint32_t> rows(std::size_t{largest_} + largest_ / 4 + 1, kNone);
  each([&](Slot slot) { rows[slot.feature] = slot.row; });
  direct_ = true;
  rows_ = std::move(rows);
  slots_ = std::vector<Slot>();  // = {} would keep the memory
  crowded_out_.clear();
}

void FeatureMap::hash_into(std::size_t slots) {
  FeatureMap hashed;
  hashed.slots_.resize(slots);
  hashed.mask_ = static_cast<std::uint32_t>(slots - 1);
  hashed.shift_ = static_cast<std::uint32_t>(32 - std::countr_zero(slots));
  each([&](Slot slot) { hashed.place(slot); });
  hashed.features_ = std::move(features_);
  hashed.largest_ = largest_;
  *this = std::move(hashed);
}

// Each step adds one to the sum of all entries' distances from home, and no distance passes kFarthestProbe. So,
// whatever the features, n insertions take O(kFarthestProbe n) steps.
void FeatureMap::place(Slot slot) {
  std::uint32_t at = home(slot.feature);
  for (std::uint32_t distance = 0;; ++distance, at = (at + 1) & mask_) {
    if (distance > kFarthestProbe) {
      crowded_out_.emplace(slot.feature, slot.row);
      return;
    }
    Slot& resident = slots_[at];
    if (resident.row == kNone) {
      resident = slot;
      return;
    }
    const std::uint32_t resident_distance = (at - home(resident.feature)) & mask_;
    if (resident_distance < distance) {
      std::swap(slot, resident);
      distance = resident_distance;
    }
  }
}

}  // namespace labelgrove
