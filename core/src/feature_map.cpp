#include "labelgrove/feature_map.hpp"

#include <bit>
#include <utility>

namespace labelgrove {
namespace {

constexpr std::size_t kFirstSlots = 16;

// Robin Hood keeps probes short up to a high load; 7/8 leaves at most one slot in eight empty after a doubling is due.
constexpr bool too_full(std::size_t used, std::size_t slots) { return used * 8 > slots * 7; }

}  // namespace

std::uint32_t FeatureMap::find_or_insert(FeatureId feature) {
  const std::uint32_t found = find(feature);
  if (found != kNone) return found;
  const std::uint32_t row = size();
  if (features_.size() == features_.capacity()) features_.reserve(features_.size() + features_.size() / 4 + 16);
  features_.push_back(feature);
  if (feature == row && identical_ == row) {
    ++identical_;
    return row;
  }
  const std::size_t hashed = features_.size() - identical_;
  if (too_full(hashed, table_.size())) rehash(table_.empty() ? kFirstSlots : table_.size() * 2);
  place({feature, row});
  return row;
}

void FeatureMap::reserve(std::size_t features) {
  std::size_t slots = table_.empty() ? kFirstSlots : table_.size();
  while (too_full(features, slots)) slots *= 2;
  features_.reserve(features);
  if (slots > table_.size()) rehash(slots);
}

std::size_t FeatureMap::bytes() const {
  return features_.capacity() * sizeof(FeatureId) + table_.capacity() * sizeof(Slot);
}

void FeatureMap::rehash(std::size_t slots) {
  const std::vector<Slot> old = std::exchange(table_, std::vector<Slot>(slots));
  mask_ = static_cast<std::uint32_t>(slots - 1);
  shift_ = static_cast<std::uint32_t>(32 - std::countr_zero(slots));
  for (const Slot slot : old) {
    if (slot.row != kNone) place(slot);
  }
}

void FeatureMap::place(Slot slot) {
  std::uint32_t at = home(slot.feature);
  for (std::uint32_t distance = 0;; ++distance, at = (at + 1) & mask_) {
    Slot& resident = table_[at];
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
