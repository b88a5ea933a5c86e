// How a model's state leaves the core and comes back: named one-dimensional arrays of fixed-width numbers. Where they
// are kept is the caller's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace labelgrove {

class ArrayWriter {
 public:
  virtual ~ArrayWriter() = default;
  // Each gives room for `size` numbers to be filled in, which stays where it is as long as the writer lives.
  virtual std::span<std::uint8_t> bytes(std::string_view name, std::size_t size) = 0;
  virtual std::span<std::uint32_t> u32(std::string_view name, std::size_t size) = 0;
  virtual std::span<std::uint64_t> u64(std::string_view name, std::size_t size) = 0;
  virtual std::span<float> f32(std::string_view name, std::size_t size) = 0;
  virtual std::span<double> f64(std::string_view name, std::size_t size) = 0;
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
};

}  // namespace labelgrove
