#include "labelgrove/class_histogram.hpp"

#include <algorithm>
#include <utility>

namespace labelgrove {
namespace {

// Searching this many linearly is as fast as hashing, and needs no table.
constexpr std::uint32_t kFew = 8;

}  // namespace

std::uint32_t ClassHistogram::place(LabelId label) const {
  if (places_) return places_->find(label);
  for (std::uint32_t i = 0; i < size_; ++i) {
    if (counts_[i].label == label) return i;
  }
  return kNone;
}

ClassCount& ClassHistogram::at(LabelId label) {
  const std::uint32_t found = place(label);
  if (found != kNone) return counts_[found];
  append({.label = label});
  return counts_[size_ - 1];
}

const ClassCount* ClassHistogram::find(LabelId label) const {
  const std::uint32_t found = place(label);
  return found != kNone ? &counts_[found] : nullptr;
}

void ClassHistogram::append(const ClassCount& count) {
  if (size_ == room_) make_room();
  counts_[size_] = count;
  if (weights_) weights_[size_] = 0.0;
  if (places_) places_->find_or_insert(count.label);
  ++size_;
}

// Grows by one class at a time while there are few: most leaves know a single class.
void ClassHistogram::make_room() {
  room_ += room_ / 4 + 1;
  auto counts = std::make_unique<ClassCount[]>(room_);
  std::copy_n(counts_.get(), size_, counts.get());
  counts_ = std::move(counts);
  if (weights_) {
    auto weights = std::make_unique<double[]>(room_);
    std::copy_n(weights_.get(), size_, weights.get());
    weights_ = std::move(weights);
  }
  if (room_ <= kFew || places_) return;
  places_ = std::make_unique<FeatureMap>();
  for (std::uint32_t i = 0; i < size_; ++i) places_->find_or_insert(counts_[i].label);
}

void ClassHistogram::weigh(const ClassCount& count, float weight) {
  if (!weights_) {
    if (weight == 1.0F) return;
    weights_ = std::make_unique<double[]>(room_);
    for (std::uint32_t i = 0; i < size_; ++i) total_weight_ += weights_[i] = static_cast<double>(counts_[i].reached);
  }
  weights_[place_of(count)] += static_cast<double>(weight);
  total_weight_ += static_cast<double>(weight);
}

void ClassHistogram::restore_weights(std::span<const double> weights, double total) {
  weights_ = std::make_unique<double[]>(room_);
  std::ranges::copy(weights, weights_.get());
  total_weight_ = total;
}

std::size_t ClassHistogram::bytes() const {
  return room_ * (sizeof(ClassCount) + (weights_ ? sizeof(double) : 0)) +
         (places_ ? sizeof(FeatureMap) + places_->bytes() : 0);
}

// Room is at most a quarter larger than needed. A table is made above kFew classes; its cost is counted gradually
// before that.
std::uint64_t ClassHistogram::most_bytes() const {
  constexpr std::uint64_t kBytesOfClass = (sizeof(ClassCount) + sizeof(double)) * 5 / 4;
  constexpr std::uint64_t kBytesInTable = 28;
  constexpr std::uint64_t kBytesOfTable = 128;
  constexpr std::uint64_t kSteeply = kMostGrowth - kBytesOfClass;
  const std::uint64_t above = size_ > kFew / 2 ? size_ - kFew / 2 : 0;
  return kBytesOfClass * size_ + std::min(kSteeply * above, kBytesOfTable + kBytesInTable * size_);
}

}  // namespace labelgrove
