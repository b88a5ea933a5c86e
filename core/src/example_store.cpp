#include "labelgrove/example_store.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace labelgrove {

void ExampleStore::count_to(std::uint32_t features) {
  if (features <= counted_) return;
  // Doubling keeps the number of lists small.
  const std::uint32_t many = std::max(features, counted_ < kNone / 2 ? 2 * counted_ : kNone);
  auto& numbers = counting_all_.emplace_back(std::make_unique<FeatureId[]>(many));
  std::iota(numbers.get(), numbers.get() + many, FeatureId{0});
  counting_.store(numbers.get(), std::memory_order_release);
  counted_ = many;
  counting_bytes_ += many * sizeof(FeatureId);
}

ExampleId ExampleStore::add(const Features& x, double scale, float weight) {
  const ExampleId id = vacant_slot();
  Slot& slot = this->slot(id);
  slot.size = x.size;
  slot.weight = weight;
  slot.has_ids = !is_dense(x);
  slot.values = std::make_unique<float[]>(x.size * std::size_t{slot.has_ids ? 2U : 1U});
  float* ids = std::transform(x.values, x.values + x.size, slot.values.get(),
                              [scale](float value) { return scaled(value, scale); });
  if (slot.has_ids) std::copy_n(x.ids, x.size, reinterpret_cast<FeatureId*>(ids));
  else count_to(x.size);
  slot.vacant.store(false, std::memory_order_relaxed);
  slot.references.store(1, std::memory_order_relaxed);
  bytes_.fetch_add(payload(slot), std::memory_order_relaxed);
  live_.fetch_add(1, std::memory_order_relaxed);
  return id;
}

ExampleId ExampleStore::vacant_slot() {
  if (free_.empty() && released_.load(std::memory_order_relaxed) * 8 > size_) {
    for (ExampleId id = static_cast<ExampleId>(size_); id-- > 0;) {
      if (slot(id).vacant.exchange(false, std::memory_order_acquire)) {
        free_.push_back(id);
        released_.fetch_sub(1, std::memory_order_relaxed);
      }
    }
  }
  if (!free_.empty()) {
    const ExampleId id = free_.back();
    free_.pop_back();
    return id;
  }
  if (size_ >= kNone) throw std::length_error("too many examples are remembered; at most 2^32 - 1 are possible");
  const auto id = static_cast<ExampleId>(size_);
  const Position at = position(id);
  auto& chunk = chunks_[at.chunk];
  if (!chunk) {
    chunk = std::make_unique<Slot[]>(at.slots);
    slots_ += at.slots;
  }
  ++size_;
  return id;
}

Features ExampleStore::view(ExampleId id) const {
  const Slot& slot = this->slot(id);
  const float* values = slot.values.get();
  const auto* ids =
      slot.has_ids ? reinterpret_cast<const FeatureId*>(values + slot.size) : counting_.load(std::memory_order_acquire);
  return {ids, values, slot.size};
}

void ExampleStore::release(ExampleId id) {
  Slot& slot = this->slot(id);
  if (slot.references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  bytes_.fetch_sub(payload(slot), std::memory_order_relaxed);
  live_.fetch_sub(1, std::memory_order_relaxed);
  slot.values.reset();
  released_.fetch_add(1, std::memory_order_relaxed);
  slot.vacant.store(true, std::memory_order_release);
}

}  // namespace labelgrove
