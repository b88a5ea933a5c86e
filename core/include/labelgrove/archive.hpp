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
#include <variant>
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

// The typed methods are what models call; an archive implements the virtual ones, for all types at once.
class ArrayWriter {
 public:
  using Space = std::variant<std::span<std::uint8_t>, std::span<std::uint32_t>, std::span<std::uint64_t>,
                             std::span<float>, std::span<double>>;
  using AnySource = std::variant<Source<std::uint8_t>, Source<std::uint32_t>, Source<std::uint64_t>, Source<float>,
                                 Source<double>, Source<BFloat16>>;
  using Lent = std::variant<std::span<const std::uint8_t>, std::span<const std::uint32_t>, std::span<const float>>;

  virtual ~ArrayWriter() = default;
  // Sets `space` to room for `size` numbers of its type.
  virtual void make(std::string_view name, std::size_t size, Space& space) = 0;
  // The source may be called later and any number of times, but only while the model does not change.
  virtual void stream(std::string_view name, std::size_t size, AnySource source) = 0;
  // For arrays that live as long as the model and need no copy.
  virtual void lend(std::string_view name, Lent array) {
    const auto copy = [&]<typename T>(std::span<const T> numbers) {
      std::ranges::copy(numbers, made<T>(name, numbers.size()).begin());
    };
    std::visit(copy, array);
  }

  // Each returns space for `size` numbers, to be filled in. It stays valid as long as the writer.
  std::span<std::uint8_t> bytes(std::string_view name, std::size_t size) { return made<std::uint8_t>(name, size); }
  std::span<std::uint32_t> u32(std::string_view name, std::size_t size) { return made<std::uint32_t>(name, size); }
  std::span<std::uint64_t> u64(std::string_view name, std::size_t size) { return made<std::uint64_t>(name, size); }
  std::span<float> f32(std::string_view name, std::size_t size) { return made<float>(name, size); }
  std::span<double> f64(std::string_view name, std::size_t size) { return made<double>(name, size); }
  // For arrays that grow with the model; see stream().
  void bytes(std::string_view name, std::size_t size, Source<std::uint8_t> from) {
    stream(name, size, std::move(from));
  }
  void u32(std::string_view name, std::size_t size, Source<std::uint32_t> from) { stream(name, size, std::move(from)); }
  void u64(std::string_view name, std::size_t size, Source<std::uint64_t> from) { stream(name, size, std::move(from)); }
  void f32(std::string_view name, std::size_t size, Source<float> from) { stream(name, size, std::move(from)); }
  void f64(std::string_view name, std::size_t size, Source<double> from) { stream(name, size, std::move(from)); }
  void bf16(std::string_view name, std::size_t size, Source<BFloat16> from) { stream(name, size, std::move(from)); }

 private:
  template <typename T>
  std::span<T> made(std::string_view name, std::size_t size) {
    Space space = std::span<T>();
    make(name, size, space);
    return std::get<std::span<T>>(space);
  }
};

class ArrayReader {
 public:
  using Array =
      std::variant<std::span<const std::uint8_t>, std::span<const std::uint32_t>, std::span<const std::uint64_t>,
                   std::span<const float>, std::span<const double>, std::span<const BFloat16>>;

  virtual ~ArrayReader() = default;
  virtual bool has(std::string_view name) const = 0;
  // Sets `array` to the one of its type. Throws std::invalid_argument if there is no array of that name and type.
  virtual void find(std::string_view name, Array& array) const = 0;
  // A hint that what has been read so far will hardly be read again, so that pages of a mapped file may be dropped.
  virtual void let_go() const {}

  template <typename T>
  std::span<const T> array(std::string_view name) const {
    Array array = std::span<const T>();
    find(name, array);
    return std::get<std::span<const T>>(array);
  }
  std::span<const std::uint8_t> bytes(std::string_view name) const { return array<std::uint8_t>(name); }
  std::span<const std::uint32_t> u32(std::string_view name) const { return array<std::uint32_t>(name); }
  std::span<const std::uint64_t> u64(std::string_view name) const { return array<std::uint64_t>(name); }
  std::span<const float> f32(std::string_view name) const { return array<float>(name); }
  std::span<const double> f64(std::string_view name) const { return array<double>(name); }
  std::span<const BFloat16> bf16(std::string_view name) const { return array<BFloat16>(name); }
};

}  // namespace labelgrove
