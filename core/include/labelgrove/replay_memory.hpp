// The examples that a node remembers to learn from again, each with the children that it was positive for.
//
// Bounded memory is a reservoir (Vitter 1985, Algorithm R) over all examples that ever reached the node, so what came
// early in the stream stays as likely to be remembered as what came late. All choices are functions of the seed and of
// how many examples have reached the node: nodes that were reached by the same examples remember the same ones, which
// is what INSERTNODE needs to give the node above a memory as if it had been there from the start.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/example_store.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/thin_vector.hpp"

namespace labelgrove {

class ReplayMemory {
 public:
  std::uint64_t reached() const { return reached_; }
  std::size_t size() const { return entries_.size(); }
  ExampleId example(std::size_t i) const { return entries_[i].example; }
  std::span<const std::uint32_t> positives(std::size_t i) const {
    const Entry& entry = entries_[i];
    return entry.count == 1 ? std::span(&entry.place, 1) : std::span(pool_.data() + entry.place, entry.count);
  }

  // Where offer() will put the next example: behind all others, in the place of one, or nowhere (kNone).
  std::uint32_t next_place(std::uint64_t seed, std::uint64_t capacity) const;
  // One more example has reached the node. Takes over the caller's reference to it, and gives back the example whose
  // reference the caller must release (the new one itself if it is not kept), or kNone. capacity 0 means unbounded.
  ExampleId offer(std::uint64_t seed, std::uint64_t capacity, ExampleId example,
                  std::span<const std::uint32_t> positives);
  // Which entry to learn again, as the r-th repetition after the last offer. REQUIRES: size() > 0.
  std::size_t pick(std::uint64_t seed, std::uint64_t r) const {
    return static_cast<std::size_t>(draw(seed, Draw::replay, reached_, r) % entries_.size());
  }

  // From here on the capacity is this, at least 1: a fair sample of what is remembered stays, and the references to all
  // else are for the caller to release. Nodes that were reached by the same examples keep the same ones.
  std::vector<ExampleId> shrink(std::uint64_t seed, std::uint64_t capacity);

  // No remembered example is positive for `child` any more.
  void forget_child(std::uint32_t child);
  // The memory of a node inserted above: the same examples, all positive for its only child. The caller must retain
  // every example once more.
  ReplayMemory parent_memory() const;

  std::size_t bytes() const { return entries_.bytes() + pool_.bytes(); }

  // At most what is held for these entries, however they came: vectors have an eighth to spare, and an eighth of the pool
  // may be waste.
  std::uint64_t most_bytes() const { return kLeastBytes + growth(entries_.size(), pool_.size() - pool_waste_); }
  // And for so many more.
  static std::uint64_t growth(std::uint64_t entries, std::uint64_t positives) {
    return (sizeof(Entry) + 2) * entries + (sizeof(std::uint32_t) + 2) * positives;
  }

  // For loading: appends an entry as it was saved.
  void restore(std::uint64_t reached) { reached_ = reached; }
  void append(ExampleId example, std::span<const std::uint32_t> positives);

 private:
  struct Entry {
    ExampleId example;
    std::uint32_t count;
    std::uint32_t place;  // the child itself if there is one, else where in pool_ they begin
  };
  // Four entries and places to spare, and what two vectors take beside.
  static constexpr std::uint64_t kLeastBytes = 4 * (sizeof(Entry) + sizeof(std::uint32_t)) + 64;

  Entry make_entry(ExampleId example, std::span<const std::uint32_t> positives);
  void compact();

  std::uint64_t reached_ = 0;
  ThinVector<Entry> entries_;
  ThinVector<std::uint32_t> pool_;
  std::uint32_t pool_waste_ = 0;
};

}  // namespace labelgrove
