// The examples that a node remembers to learn from again, each with the children that it was positive for.
//
// A bounded memory is a reservoir (Vitter 1985, Algorithm R) over all examples that ever reached the node: early
// examples are as likely to be remembered as late ones. All choices are functions of the seed and of the number of
// examples that have reached the node. Nodes reached by the same examples therefore remember the same ones; INSERTNODE
// relies on this to give the new node the memory that it would have, had it been there from the start.
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

  // Where offer() will put the next example: at the end, in the place of another, or nowhere (kNone).
  std::uint32_t next_place(std::uint64_t seed, std::uint64_t capacity) const;
  // One more example has reached the node. Takes over the caller's reference to it, and returns the example whose
  // reference the caller must release (the new one itself if it is not kept), or kNone. A capacity of 0 is unbounded.
  ExampleId offer(std::uint64_t seed, std::uint64_t capacity, ExampleId example,
                  std::span<const std::uint32_t> positives);
  // The entry to learn again as the r-th replay after the last offer. REQUIRES: size() > 0.
  std::size_t pick(std::uint64_t seed, std::uint64_t r) const {
    return static_cast<std::size_t>(draw(seed, Draw::replay, reached_, r) % entries_.size());
  }

  // Reduces the memory to `capacity` entries, at least 1, by keeping a random sample. Returns the dropped examples,
  // whose references the caller must release. Nodes reached by the same examples keep the same ones.
  std::vector<ExampleId> shrink(std::uint64_t seed, std::uint64_t capacity);

  // Removes `child` from the positives of all entries.
  void forget_child(std::uint32_t child);
  // The memory of a node inserted above this one: the same examples, all positive for its only child. The caller must
  // retain every example once more.
  ReplayMemory parent_memory() const;

  std::size_t bytes() const { return entries_.bytes() + pool_.bytes(); }

  // An upper bound on the memory held for these entries, whatever their history: vectors have an eighth to spare, and
  // an eighth of the pool may be waste.
  std::uint64_t most_bytes() const { return kLeastBytes + growth(entries_.size(), pool_.size() - pool_waste_); }
  // The same for additional entries.
  static std::uint64_t growth(std::uint64_t entries, std::uint64_t positives) {
    return (sizeof(Entry) + 2) * entries + (sizeof(std::uint32_t) + 2) * positives;
  }

  // For loading: sets the counter, and appends an entry as it was saved.
  void restore(std::uint64_t reached) { reached_ = reached; }
  void append(ExampleId example, std::span<const std::uint32_t> positives);

 private:
  struct Entry {
    ExampleId example;
    std::uint32_t count;
    std::uint32_t place;  // the child itself if there is one, else the index in pool_ of the first
  };
  // Spare room for four entries and their children, and the overhead of two vectors.
  static constexpr std::uint64_t kLeastBytes = 4 * (sizeof(Entry) + sizeof(std::uint32_t)) + 32;

  Entry make_entry(ExampleId example, std::span<const std::uint32_t> positives);
  void compact();

  std::uint64_t reached_ = 0;
  ThinVector<Entry> entries_;
  ThinVector<std::uint32_t> pool_;
  std::uint32_t pool_waste_ = 0;
};

}  // namespace labelgrove
