// Reference-counted examples: those being learnt, and those that nodes remember for replay. Each is stored once,
// however many nodes refer to it.
//
// Threads: one thread may add while others view, retain and release. Stored examples never move.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "labelgrove/base.hpp"

namespace labelgrove {

using ExampleId = std::uint32_t;

class ExampleStore {
 public:
  // Stores a copy of the example with its values times `scale`, and one reference for the caller. The example counts
  // `weight` times. Ids 0, 1, 2, … without gaps are not stored; this depends on the example alone, so that its size
  // does, too.
  ExampleId add(const Features& x, double scale, float weight = 1.0F);
  // Valid until the last reference is released.
  Features view(ExampleId id) const;
  float weight(ExampleId id) const { return slot(id).weight; }
  void retain(ExampleId id) { slot(id).references.fetch_add(1, std::memory_order_relaxed); }
  void release(ExampleId id);

  // An upper bound on the memory held, as a sum over the referenced examples that does not depend on the history.
  std::uint64_t most_bytes() const {
    return bytes_.load(std::memory_order_relaxed) + kBytesOfSlot * live_.load(std::memory_order_relaxed);
  }
  static std::uint64_t most_bytes(std::size_t features) {
    return kBytesOfSlot + features * (sizeof(float) + sizeof(FeatureId));
  }

  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed) + slots_ * sizeof(Slot) + counting_bytes_; }

 private:
  struct Slot {
    std::unique_ptr<float[]> values;  // followed by the ids, unless these are 0, 1, 2, …
    std::uint32_t size = 0;
    float weight = 1.0F;
    std::atomic<std::uint32_t> references{0};
    bool has_ids = false;
    std::atomic<bool> vacant{false};
  };
  // The last chunk may be empty but for one slot, an eighth of the slots in use may be vacant, and an array has a
  // header.
  static constexpr std::uint64_t kBytesOfSlot = sizeof(Slot) * 3 / 2 + 16;
  // The slots from 2^(kFirstBits + k) - 2^kFirstBits on are in four chunks of 2^(kFirstBits + k - 2) each.
  static constexpr unsigned kFirstBits = 10;

  static std::size_t payload(const Slot& slot) {
    return std::size_t{slot.size} * (sizeof(float) + (slot.has_ids ? sizeof(FeatureId) : 0));
  }
  struct Position {
    std::size_t chunk;
    std::size_t place;
    std::size_t slots;  // in the chunk
  };
  static Position position(ExampleId id) {
    const std::uint64_t shifted = id + (std::uint64_t{1} << kFirstBits);
    const auto quarter = static_cast<unsigned>(std::bit_width(shifted)) - 3;  // bits of an index within the chunk
    const std::uint64_t chunk = 4 * (quarter + 2 - kFirstBits) + (shifted >> quarter) % 4;
    const std::uint64_t slots = std::uint64_t{1} << quarter;
    return {chunk, shifted % slots, slots};
  }
  Slot& slot(ExampleId id) const {
    const Position at = position(id);
    return chunks_[at.chunk][at.place];
  }
  ExampleId vacant_slot();
  // Extends the shared list of ids to at least this length.
  void count_to(std::uint32_t features);

  std::array<std::unique_ptr<Slot[]>, 4 * (33 - kFirstBits)> chunks_;
  std::size_t size_ = 0;   // slots that were ever used
  std::size_t slots_ = 0;  // slots in chunks
  std::vector<ExampleId> free_;
  std::atomic<const FeatureId*> counting_{nullptr};  // 0, 1, 2, …: the ids of examples without gaps
  // The same list and shorter ones, which other threads may still read.
  std::vector<std::unique_ptr<FeatureId[]>> counting_all_;
  std::uint32_t counted_ = 0;  // length of counting_
  std::size_t counting_bytes_ = 0;
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> live_{0};      // examples with references
  std::atomic<std::size_t> released_{0};  // vacant slots that are not yet in free_
};

}  // namespace labelgrove
