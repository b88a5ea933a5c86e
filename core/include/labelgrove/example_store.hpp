// The examples that somebody still needs: those of the run being learnt, and those that nodes remember for replay. Each
// is held once, however many nodes refer to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "labelgrove/base.hpp"

namespace labelgrove {

using ExampleId = std::uint32_t;

class ExampleStore {
 public:
  // Copies the example, its values times `scale`, and holds one reference to it for the caller.
  ExampleId add(const Features& x, double scale);
  // Valid until the last reference is released or the next add().
  Features view(ExampleId id) const;

  // May run in several threads at once; add() may not run beside them.
  void retain(ExampleId id) { slots_[id].references.fetch_add(1, std::memory_order_relaxed); }
  void release(ExampleId id);

  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed) + slots_.size() * sizeof(Slot); }

 private:
  struct Slot {
    std::unique_ptr<FeatureId[]> ids;  // null where the ids are 0, 1, 2, …
    std::unique_ptr<float[]> values;
    std::uint32_t size = 0;
    std::atomic<std::uint32_t> references{0};
  };
  static std::size_t payload(const Slot& slot);
  void collect();

  std::deque<Slot> slots_;
  std::vector<ExampleId> free_;
  std::vector<FeatureId> counting_;  // 0, 1, 2, … for dense examples
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> released_{0};  // slots without references that are not in free_ yet
};

}  // namespace labelgrove
