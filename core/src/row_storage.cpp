#include "labelgrove/row_storage.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace labelgrove {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kPage = 4096;
// Many small growing blocks leave as much unused space in the heap as their rows take, so storage gets pages of its own
// early. But a process may only have a limited number of mappings (65 530 on Linux), and needs some for other purposes.
constexpr std::size_t kMapFrom = kPage;
constexpr std::size_t kMostMapped = std::size_t{1} << 15;
#if defined(__linux__)
std::atomic<std::size_t> mapped_runs{0};

bool one_more_mapping() {
  if (mapped_runs++ < kMostMapped) return true;
  --mapped_runs;
  return false;
}
#endif

constexpr std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

RowStorage::RowStorage(RowStorage&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)),
      mapped_(std::exchange(other.mapped_, false)) {}

RowStorage& RowStorage::operator=(RowStorage&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

RowStorage::~RowStorage() { release(); }

void RowStorage::give_back(std::size_t floats) {
  const std::size_t wanted = std::max<std::size_t>(floats, 1) * sizeof(float);
#if defined(__linux__)
  if (mapped_ && wanted >= kMapFrom) {
    const std::size_t bytes = round_up(wanted, kPage);
    if (bytes < capacity_ * sizeof(float) && mremap(data_, capacity_ * sizeof(float), bytes, 0) == data_) {
      capacity_ = bytes / sizeof(float);
    }
    return;
  }
#endif
  const std::size_t bytes = round_up(wanted, kCacheLine);
  if (bytes >= capacity_ * sizeof(float)) return;
  RowStorage smaller;
  smaller.data_ = static_cast<float*>(::operator new(bytes, std::align_val_t{kCacheLine}));
  smaller.capacity_ = bytes / sizeof(float);
  std::memcpy(smaller.data_, data_, std::min(bytes, floats * sizeof(float)));
  *this = std::move(smaller);
}

std::size_t RowStorage::bytes(std::size_t used) const {
  return mapped_ ? round_up(used * sizeof(float), kPage) : capacity_ * sizeof(float);
}

// In heap memory; from kMapFrom on, it may also have pages of its own.
std::uint64_t RowStorage::most_bytes(std::uint64_t used) {
  if (used < kMapFrom) return round_up(used, kCacheLine);
  return std::max(round_up(used, kPage), round_up(used + used / 8, kCacheLine));
}

std::uint64_t RowStorage::most_growth(std::uint64_t more) { return more == 0 ? 0 : more + more / 8 + kPage; }

void RowStorage::release() noexcept {
  if (data_ == nullptr) return;
#if defined(__linux__)
  if (mapped_) {
    munmap(data_, capacity_ * sizeof(float));
    --mapped_runs;
    return;
  }
#endif
  ::operator delete(data_, std::align_val_t{kCacheLine});
}

void RowStorage::reserve(std::size_t floats) {
  if (floats <= capacity_) return;
  const std::size_t wanted = floats * sizeof(float);
#if defined(__linux__)
  if (mapped_ || (wanted >= kMapFrom && one_more_mapping())) {
    const std::size_t bytes = round_up(wanted + wanted / 2, kPage);
    void* grown = mapped_ ? mremap(data_, capacity_ * sizeof(float), bytes, MREMAP_MAYMOVE)
                          : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown != MAP_FAILED) {
      if (!mapped_ && data_ != nullptr) {
        std::memcpy(grown, data_, capacity_ * sizeof(float));
        release();
      }
      data_ = static_cast<float*>(grown);
      capacity_ = bytes / sizeof(float);
      mapped_ = true;
      return;
    }
    if (!mapped_) --mapped_runs;
  }
#endif
  const std::size_t bytes = round_up(wanted < kMapFrom ? wanted : wanted + wanted / 8, kCacheLine);
  auto* grown = static_cast<float*>(::operator new(bytes, std::align_val_t{kCacheLine}));
  if (data_ != nullptr) {
    std::memcpy(grown, data_, capacity_ * sizeof(float));
    release();
  }
  data_ = grown;
  capacity_ = bytes / sizeof(float);
  mapped_ = false;
}

}  // namespace labelgrove
