// Where a computation's largest arrays are stored: in memory, or in space that the caller provides, such as a file.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace labelgrove {

class Room {
 public:
  virtual ~Room() = default;
  // Returns `bytes` bytes, aligned to a cache line. Thread-safe.
  virtual void* take(std::size_t bytes) = 0;
  virtual void give_back(void* begin, std::size_t bytes) noexcept = 0;
};

// Leaves default-initialised numbers uninitialised, so that space in a file is written only once.
template <typename T>
class RoomAllocator {
 public:
  using value_type = T;

  // Without a room, allocates memory.
  explicit RoomAllocator(Room* room = nullptr) : room_(room) {}
  template <typename Other>
  RoomAllocator(const RoomAllocator<Other>& other) : room_(other.room()) {}

  Room* room() const { return room_; }
  T* allocate(std::size_t n) {
    return static_cast<T*>(room_ == nullptr ? ::operator new(n * sizeof(T)) : room_->take(n * sizeof(T)));
  }
  void deallocate(T* begin, std::size_t n) noexcept {
    if (room_ == nullptr) ::operator delete(begin);
    else room_->give_back(begin, n * sizeof(T));
  }
  template <typename U, typename... Values>
  void construct(U* at, Values&&... values) {
    if constexpr (sizeof...(Values) == 0) ::new (static_cast<void*>(at)) U;
    else ::new (static_cast<void*>(at)) U(std::forward<Values>(values)...);
  }
  bool operator==(const RoomAllocator& other) const { return room_ == other.room_; }

 private:
  Room* room_;
};

template <typename T>
using RoomVector = std::vector<T, RoomAllocator<T>>;

}  // namespace labelgrove
