// One growing run of floats, aligned to cache lines. Growth moves no data where the operating system can move pages
// instead (Linux), and there pages that were never written take no memory: slack costs address space only.
#pragma once

#include <cstddef>

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

  // Makes room for at least `floats`; what was there stays, what is new is undefined.
  void reserve(std::size_t floats);
  // All beyond the first `floats` is not needed any more.
  void give_back(std::size_t floats);
  // Memory held when the first `used` floats have been written.
  std::size_t bytes(std::size_t used) const;

 private:
  void release() noexcept;

  float* data_ = nullptr;
  std::size_t capacity_ = 0;  // in floats
  bool mapped_ = false;       // pages of its own, or the heap's
};

}  // namespace labelgrove
