#include "labelgrove/class_histogram.hpp"

namespace labelgrove {
namespace {

// Looking through this many is as fast as hashing, and takes no table.
constexpr std::size_t kFew = 8;

}  // namespace

std::uint32_t ClassHistogram::place(LabelId label) const {
  if (places_) return places_->find(label);
  for (std::uint32_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i].label == label) return i;
  }
  return kNone;
}

ClassCount& ClassHistogram::at(LabelId label) {
  const std::uint32_t found = place(label);
  if (found != kNone) return counts_[found];
  append({.label = label});
  return counts_.back();
}

const ClassCount* ClassHistogram::find(LabelId label) const {
  const std::uint32_t found = place(label);
  return found != kNone ? &counts_[found] : nullptr;
}

void ClassHistogram::append(const ClassCount& count) {
  counts_.push_back(count);
  if (places_) {
    places_->find_or_insert(count.label);
  } else if (counts_.size() > kFew) {
    places_ = std::make_unique<FeatureMap>();
    for (const ClassCount& known : counts_) places_->find_or_insert(known.label);
  }
}

std::size_t ClassHistogram::bytes() const {
  return counts_.capacity() * sizeof(ClassCount) + (places_ ? sizeof(FeatureMap) + places_->bytes() : 0);
}

}  // namespace labelgrove
