// Types for members that exist by the hundred thousand and are mostly empty: a vector in the size of one pointer, and
// an optional value likewise. Both copy deeply.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace labelgrove {

// A vector of fewer than 2^32 trivial values. It is a null pointer while it has no capacity, and grows by an eighth.
template <typename T>
class ThinVector {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 8);

 public:
  ThinVector() = default;
  ThinVector(const ThinVector& other) { assign(other); }
  ThinVector(ThinVector&& other) noexcept : begin_(std::exchange(other.begin_, nullptr)) {}
  ThinVector& operator=(const ThinVector& other) {
    if (this != &other) assign(other);
    return *this;
  }
  ThinVector& operator=(ThinVector&& other) noexcept {
    std::swap(begin_, other.begin_);
    return *this;
  }
  ~ThinVector() { release(); }

  std::size_t size() const { return begin_ != nullptr ? head().size : 0; }
  std::size_t capacity() const { return begin_ != nullptr ? head().capacity : 0; }
  bool empty() const { return size() == 0; }
  T* data() { return begin_; }
  const T* data() const { return begin_; }
  T* begin() { return begin_; }
  T* end() { return begin_ + size(); }
  const T* begin() const { return begin_; }
  const T* end() const { return begin_ + size(); }
  T& operator[](std::size_t i) { return begin_[i]; }
  const T& operator[](std::size_t i) const { return begin_[i]; }
  // Memory held, in bytes.
  std::size_t bytes() const { return begin_ != nullptr ? sizeof(Head) + capacity() * sizeof(T) : 0; }

  void push_back(T value) {
    const std::size_t n = size();
    if (n == capacity()) set_capacity(n + n / 8 + 4);
    begin_[n] = value;
    ++head().size;
  }
  void reserve(std::size_t n) {
    if (n > capacity()) set_capacity(n);
  }
  // New elements are copies of `value`.
  void resize(std::size_t n, T value = T()) {
    reserve(n);
    if (begin_ == nullptr) return;
    for (std::size_t i = size(); i < n; ++i) begin_[i] = value;
    head().size = static_cast<std::uint32_t>(n);
  }
  void shrink_to_fit() {
    if (empty()) release();
    else if (size() < capacity()) set_capacity(size());
  }
  // Frees all memory.
  void release() {
    if (begin_ != nullptr) std::free(&head());
    begin_ = nullptr;
  }

 private:
  struct alignas(8) Head {
    std::uint32_t size;
    std::uint32_t capacity;
  };
  Head& head() { return reinterpret_cast<Head*>(begin_)[-1]; }
  const Head& head() const { return reinterpret_cast<const Head*>(begin_)[-1]; }

  void assign(std::span<const T> values) {
    release();
    if (values.empty()) return;
    set_capacity(values.size());
    std::ranges::copy(values, begin_);
    head().size = static_cast<std::uint32_t>(values.size());
  }
  void set_capacity(std::size_t n) {
    if (n > UINT32_MAX) throw std::bad_alloc();
    auto* held = static_cast<Head*>(std::realloc(begin_ != nullptr ? &head() : nullptr, sizeof(Head) + n * sizeof(T)));
    if (held == nullptr) throw std::bad_alloc();
    if (begin_ == nullptr) held->size = 0;
    held->capacity = static_cast<std::uint32_t>(n);
    begin_ = reinterpret_cast<T*>(held + 1);
  }

  T* begin_ = nullptr;
};

template <typename T>
class Rare {
 public:
  Rare() = default;
  Rare(const Rare& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(Rare other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~Rare() = default;

  // Null if there is no value.
  T* get() { return value_.get(); }
  const T* get() const { return value_.get(); }
  T& make() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  void reset() { value_.reset(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace labelgrove
