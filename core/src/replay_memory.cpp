#include "labelgrove/replay_memory.hpp"

#include <algorithm>
#include <utility>

namespace labelgrove {

ReplayMemory::Entry ReplayMemory::make_entry(ExampleId example, std::span<const std::uint32_t> positives) {
  const auto count = static_cast<std::uint32_t>(positives.size());
  if (count == 1) return {example, 1, positives[0]};
  const auto place = static_cast<std::uint32_t>(pool_.size());
  for (const std::uint32_t positive : positives) pool_.push_back(positive);
  return {example, count, place};
}

void ReplayMemory::append(ExampleId example, std::span<const std::uint32_t> positives) {
  entries_.push_back(make_entry(example, positives));
}

std::uint32_t ReplayMemory::next_place(std::uint64_t seed, std::uint64_t capacity) const {
  if (capacity == 0 || entries_.size() < capacity) return static_cast<std::uint32_t>(entries_.size());
  const std::uint64_t slot = draw(seed, Draw::reservoir, reached_ + 1) % (reached_ + 1);
  return slot < capacity ? static_cast<std::uint32_t>(slot) : kNone;
}

ExampleId ReplayMemory::offer(std::uint64_t seed, std::uint64_t capacity, ExampleId example,
                              std::span<const std::uint32_t> positives) {
  const std::uint32_t place = next_place(seed, capacity);
  ++reached_;
  if (place == kNone) return example;
  if (place == entries_.size()) {
    append(example, positives);
    return kNone;
  }
  Entry& entry = entries_[place];
  if (entry.count > 1) pool_waste_ += entry.count;
  const ExampleId evicted = std::exchange(entry, make_entry(example, positives)).example;
  if (pool_waste_ > pool_.size() / 8) compact();
  return evicted;
}

std::vector<ExampleId> ReplayMemory::shrink(std::uint64_t seed, std::uint64_t capacity) {
  std::vector<ExampleId> dropped;
  if (entries_.size() <= capacity) return dropped;
  const auto kept = static_cast<std::size_t>(capacity);
  for (std::size_t i = 0; i < kept; ++i) {  // Fisher-Yates shuffle
    const std::uint64_t other = i + draw(seed, Draw::reservoir, reached_, i + 1) % (entries_.size() - i);
    std::swap(entries_[i], entries_[static_cast<std::size_t>(other)]);
  }
  for (std::size_t i = kept; i < entries_.size(); ++i) dropped.push_back(entries_[i].example);
  entries_.resize(kept);
  entries_.shrink_to_fit();
  compact();
  return dropped;
}

void ReplayMemory::forget_child(std::uint32_t child) {
  for (Entry& entry : entries_) {
    if (entry.count == 1) {
      if (entry.place == child) entry = {entry.example, 0, 0};
      continue;
    }
    std::uint32_t* const begin = pool_.begin() + entry.place;
    std::uint32_t* const end = begin + entry.count;
    if (std::remove(begin, end, child) == end) continue;
    ++pool_waste_;
    --entry.count;
    if (entry.count == 1) {
      ++pool_waste_;
      entry.place = *begin;
    }
  }
  if (pool_waste_ > pool_.size() / 8) compact();
}

ReplayMemory ReplayMemory::parent_memory() const {
  ReplayMemory parent;
  parent.reached_ = reached_;
  parent.entries_.reserve(entries_.size());
  for (const Entry& entry : entries_) parent.entries_.push_back({entry.example, 1, 0});
  return parent;
}

void ReplayMemory::compact() {
  std::size_t needed = 0;
  for (const Entry& entry : entries_) needed += entry.count == 1 ? 0 : entry.count;
  ThinVector<std::uint32_t> pool;
  pool.reserve(needed);
  for (Entry& entry : entries_) {
    if (entry.count == 1) continue;
    const auto place = static_cast<std::uint32_t>(pool.size());
    for (std::uint32_t i = 0; i < entry.count; ++i) pool.push_back(pool_[entry.place + i]);
    entry.place = place;
  }
  pool_ = std::move(pool);
  pool_waste_ = 0;
}

}  // namespace labelgrove
