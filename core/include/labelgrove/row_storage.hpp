// A growing array of floats, aligned to cache lines. On Linux, a large array grows by moving pages instead of copying
// data, and pages that were never written take no memory, so slack only costs address space.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labelgrove {

class RowStorage {
 public:
  RowStorage() = default;
  explicit RowStorage(std::size_t floats) { reserve(floats); }
  RowStorage(RowStorage&& other) noexcept;
  RowStorage& operator=(RowStorage&& other) noexcept;
  ~RowStorage();

  float* data() { return data_; }
  const float* data() const { return data_; }
  std::size_t capacity() const { return capacity_; }

  // Makes room for at least `floats` floats, keeping the contents; new ones are uninitialised.
  void reserve(std::size_t floats);
  // Releases what is not needed for the first `floats` floats.
  void give_back(std::size_t floats);
  // Memory held if only the first `used` floats have ever been written.
  std::size_t bytes(std::size_t used) const;
  // An upper bound on that, by the number of bytes used, for storage that grew by reserve() alone since it was last
  // given back; and on what this bound grows by when `more` bytes are used.
  static std::uint64_t most_bytes(std::uint64_t used);
  static std::uint64_t most_growth(std::uint64_t more);

 private:
  void release() noexcept;

  float* data_ = nullptr;
  std::size_t capacity_ = 0;  // in floats
  bool mapped_ = false;       // whether it has pages of its own, rather than heap memory
};

}  // namespace labelgrove
