// How a model's state leaves the core and comes back: as named one-dimensional arrays of fixed-width numbers. The
// caller decides where they are kept. The names and contents of the arrays are the model file format (docs/format.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "labelgrove/bfloat16.hpp"

namespace labelgrove {

// Produces an array while it is written: each call appends some more of its numbers and returns true, or returns false
// at the end. A copy continues from the position of the original, so copies of an unused source start at the beginning.
template <typename T>
using Source = std::function<bool(std::vector<T>&)>;

// A source that calls part(i, numbers) for each i below n, to append to `numbers`.
template <typename T, typename Part>
Source<T> one_by_one(std::size_t n, Part part) {
  return [n, part = std::move(part), next = std::size_t{0}](std::vector<T>& numbers) mutable {
    if (next == n) return false;
    part(next++, numbers);
    return true;
  };
}

// The same with part(item, numbers) for each item.
template <typename T, typename Item, typename Part>
Source<T> by_item(std::shared_ptr<const std::vector<Item>> items, Part part) {
  const std::size_t n = items->size();
  return one_by_one<T>(n, [items = std::move(items), part = std::move(part)](
                              std::size_t i, std::vector<T>& numbers) mutable { part((*items)[i], numbers); });
}

class ArrayWriter {
 public:
  virtual ~ArrayWriter() = default;
  // Each returns space for `size` numbers, to be filled in. It stays valid as long as the writer.
  virtual std::span<std::uint8_t> bytes(std::string_view name, std::size_t size) = 0;
  virtual std::span<std::uint32_t> u32(std::string_view name, std::size_t size) = 0;
  virtual std::span<std::uint64_t> u64(std::string_view name, std::size_t size) = 0;
  virtual std::span<float> f32(std::string_view name, std::size_t size) = 0;
  virtual std::span<double> f64(std::string_view name, std::size_t size) = 0;
  // For arrays that grow with the model. The source may be called later and any number of times, but only while the
  // model does not change.
  virtual void bytes(std::string_view name, std::size_t size, Source<std::uint8_t> source) = 0;
  virtual void u32(std::string_view name, std::size_t size, Source<std::uint32_t> source) = 0;
  virtual void u64(std::string_view name, std::size_t size, Source<std::uint64_t> source) = 0;
  virtual void f32(std::string_view name, std::size_t size, Source<float> source) = 0;
  virtual void f64(std::string_view name, std::size_t size, Source<double> source) = 0;
  virtual void bf16(std::string_view name, std::size_t size, Source<BFloat16> source) = 0;
  // For arrays that live as long as the model and need no copy.
  virtual void lend(std::string_view name, std::span<const std::uint8_t> array) {
    std::ranges::copy(array, bytes(name, array.size()).begin());
  }
  virtual void lend(std::string_view name, std::span<const std::uint32_t> array) {
    std::ranges::copy(array, u32(name, array.size()).begin());
  }
  virtual void lend(std::string_view name, std::span<const float> array) {
    std::ranges::copy(array, f32(name, array.size()).begin());
  }
};

class ArrayReader {
 public:
  virtual ~ArrayReader() = default;
  virtual bool has(std::string_view name) const = 0;
  // Each throws std::invalid_argument if there is no array of that name and type.
  virtual std::span<const std::uint8_t> bytes(std::string_view name) const = 0;
  virtual std::span<const std::uint32_t> u32(std::string_view name) const = 0;
  virtual std::span<const std::uint64_t> u64(std::string_view name) const = 0;
  virtual std::span<const float> f32(std::string_view name) const = 0;
  virtual std::span<const double> f64(std::string_view name) const = 0;
  virtual std::span<const BFloat16> bf16(std::string_view name) const = 0;
  // A hint that what has been read so far will hardly be read again, so that pages of a mapped file may be dropped.
  virtual void let_go() const {}
};

}  // namespace labelgrove
