#include "labelgrove/example_store.hpp"

#include <algorithm>
#include <numeric>

namespace labelgrove {

std::size_t ExampleStore::payload(const Slot& slot) {
  return slot.size * (sizeof(float) + (slot.ids ? sizeof(FeatureId) : 0));
}

ExampleId ExampleStore::add(const Features& x, double scale) {
  if (free_.empty() && released_.load(std::memory_order_relaxed) * 2 > slots_.size()) collect();
  ExampleId id;
  if (free_.empty()) {
    id = static_cast<ExampleId>(slots_.size());
    slots_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[id];
  slot.size = x.size;
  slot.values = std::make_unique<float[]>(x.size);
  std::transform(x.values, x.values + x.size, slot.values.get(), [scale](float value) { return scaled(value, scale); });
  if (is_dense(x)) {
    const std::size_t known = counting_.size();
    if (known < x.size) {
      counting_.resize(x.size);
      std::iota(counting_.begin() + static_cast<std::ptrdiff_t>(known), counting_.end(), static_cast<FeatureId>(known));
    }
  } else {
    slot.ids = std::make_unique<FeatureId[]>(x.size);
    std::copy_n(x.ids, x.size, slot.ids.get());
  }
  slot.references.store(1, std::memory_order_relaxed);
  bytes_.fetch_add(payload(slot), std::memory_order_relaxed);
  return id;
}

Features ExampleStore::view(ExampleId id) const {
  const Slot& slot = slots_[id];
  return {slot.ids ? slot.ids.get() : counting_.data(), slot.values.get(), slot.size};
}

void ExampleStore::release(ExampleId id) {
  Slot& slot = slots_[id];
  if (slot.references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  bytes_.fetch_sub(payload(slot), std::memory_order_relaxed);
  slot.ids.reset();
  slot.values.reset();
  released_.fetch_add(1, std::memory_order_relaxed);
}

void ExampleStore::collect() {
  for (ExampleId id = static_cast<ExampleId>(slots_.size()); id-- > 0;) {
    if (slots_[id].references.load(std::memory_order_relaxed) == 0) free_.push_back(id);
  }
  released_.store(0, std::memory_order_relaxed);
}

}  // namespace labelgrove
