// How a model's state leaves the core and comes back: named one-dimensional arrays of fixed-width numbers. Where they
// are kept is the caller's business.
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

// An array that is made while it is written: each call appends some more of its numbers; false, once there are none
// left. A copy goes on from where the original is, so that copies of one that was never called begin at the beginning.
template <typename T>
using Source = std::function<bool(std::vector<T>&)>;

// What part(i, numbers) appends to them for one i after the other, all below n.
template <typename T, typename Part>
Source<T> one_by_one(std::size_t n, Part part) {
  return [n, part = std::move(part), next = std::size_t{0}](std::vector<T>& numbers) mutable {
    if (next == n) return false;
    part(next++, numbers);
    return true;
  };
}

// As above, with part(item, numbers).
template <typename T, typename Item, typename Part>
Source<T> by_item(std::shared_ptr<const std::vector<Item>> items, Part part) {
  const std::size_t n = items->size();
  return one_by_one<T>(n, [items = std::move(items), part = std::move(part)](
                              std::size_t i, std::vector<T>& numbers) mutable { part((*items)[i], numbers); });
}

class ArrayWriter {
 public:
  virtual ~ArrayWriter() = default;
  // Each gives room for `size` numbers to be filled in, which stays where it is as long as the writer lives.
  virtual std::span<std::uint8_t> bytes(std::string_view name, std::size_t size) = 0;
  virtual std::span<std::uint32_t> u32(std::string_view name, std::size_t size) = 0;
  virtual std::span<std::uint64_t> u64(std::string_view name, std::size_t size) = 0;
  virtual std::span<float> f32(std::string_view name, std::size_t size) = 0;
  virtual std::span<double> f64(std::string_view name, std::size_t size) = 0;
  // For arrays that grow with the model. The source is called, then or later and any number of times, while nothing
  // changes what is saved.
  virtual void bytes(std::string_view name, std::size_t size, Source<std::uint8_t> source) = 0;
  virtual void u32(std::string_view name, std::size_t size, Source<std::uint32_t> source) = 0;
  virtual void u64(std::string_view name, std::size_t size, Source<std::uint64_t> source) = 0;
  virtual void f32(std::string_view name, std::size_t size, Source<float> source) = 0;
  virtual void f64(std::string_view name, std::size_t size, Source<double> source) = 0;
  virtual void bf16(std::string_view name, std::size_t size, Source<BFloat16> source) = 0;
  // Arrays that lie somewhere as long as what is saved does, and need no copy.
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
  // Each throws std::invalid_argument if there is no such array of that type.
  virtual std::span<const std::uint8_t> bytes(std::string_view name) const = 0;
  virtual std::span<const std::uint32_t> u32(std::string_view name) const = 0;
  virtual std::span<const std::uint64_t> u64(std::string_view name) const = 0;
  virtual std::span<const float> f32(std::string_view name) const = 0;
  virtual std::span<const double> f64(std::string_view name) const = 0;
  virtual std::span<const BFloat16> bf16(std::string_view name) const = 0;
  // What has been read so far is hardly read again: pages of a mapped file may go.
  virtual void let_go() const {}
};

}  // namespace labelgrove
