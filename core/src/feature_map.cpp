#include "labelgrove/feature_map.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace labelgrove {
namespace {

// This many are searched linearly; they fit into one cache line.
constexpr std::size_t kFew = 8;
constexpr std::size_t kBytesOfTreeNode = 48;

// Robin Hood keeps probes short up to a high load.
std::size_t slots_for(std::size_t features) { return std::bit_ceil(features + features / 7 + 1); }

}  // namespace

void FeatureMap::insert(FeatureId feature, std::uint32_t row) {
  const FeatureId largest = std::max(largest_, feature);
  const std::size_t n = features_.size() + 1;
  if (n > kFew && (form_ == Form::direct ? feature >= rows_.size() : slots_for(n) > slots_.size())) {
    const bool direct_is_smaller = (std::size_t{largest} + 1) * sizeof(rows_[0]) <= slots_for(n) * sizeof(Slot);
    if (direct_is_smaller) index_directly(largest);
    else hash_into(slots_for(n));
  }
  features_.push_back(feature);
  largest_ = largest;
  if (form_ == Form::direct) rows_[feature] = row;
  else if (form_ == Form::few) rows_.push_back(row);
  else place({feature, row});
}

std::size_t FeatureMap::bytes() const {
  return features_.bytes() + rows_.bytes() + slots_.bytes() + crowded_out() * kBytesOfTreeNode;
}

template <typename Visit>
void FeatureMap::each(Visit&& visit) const {
  for (std::uint32_t i = 0; form_ == Form::few && i < size(); ++i) visit(Slot{features_[i], rows_[i]});
  for (FeatureId feature = 0; form_ == Form::direct && feature < rows_.size(); ++feature) {
    if (rows_[feature] != kNone) visit(Slot{feature, rows_[feature]});
  }
  for (const Slot slot : slots_) {
    if (slot.row != kNone) visit(slot);
  }
  if (crowded_out() == 0) return;
  for (const auto& [feature, row] : *crowded_out_.get()) visit(Slot{feature, row});
}

void FeatureMap::index_directly(FeatureId largest) {
  // A quarter to spare, for features that arrive in order.
  ThinVector<std::uint32_t> rows;
  rows.resize(std::size_t{largest} + largest / 4 + 1, kNone);
  each([&](Slot slot) { rows[slot.feature] = slot.row; });
  form_ = Form::direct;
  rows_ = std::move(rows);
  slots_.release();
  crowded_out_.reset();
}

void FeatureMap::hash_into(std::size_t slots) {
  FeatureMap hashed;
  hashed.form_ = Form::hashed;
  hashed.slots_.resize(slots);
  hashed.mask_ = static_cast<std::uint32_t>(slots - 1);
  hashed.shift_ = static_cast<std::uint8_t>(32 - std::countr_zero(slots));
  each([&](Slot slot) { hashed.place(slot); });
  hashed.features_ = std::move(features_);
  *this = std::move(hashed);
}

// Each step adds one to the sum of all entries' distances from their homes, and no distance exceeds kFarthestProbe.
// Whatever the features, n insertions therefore take O(kFarthestProbe n) steps.
void FeatureMap::place(Slot slot) {
  std::uint32_t at = home(slot.feature);
  for (std::uint32_t distance = 0;; ++distance, at = (at + 1) & mask_) {
    if (distance > kFarthestProbe) {
      crowded_out_.make().emplace(slot.feature, slot.row);
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
