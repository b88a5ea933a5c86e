// A model's state as a Python dict of NumPy arrays, or of objects that produce them piece by piece.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "arrays.hpp"
#include "labelgrove/archive.hpp"
#include "streamed_array.hpp"

namespace labelgrove::bindings {

class DictWriter final : public ArrayWriter {
 public:
  // With an engine, large arrays are `StreamedArray`s or views of its memory; both keep the engine alive.
  explicit DictWriter(nb::dict& out, nb::object streamed_engine = nb::none())
      : out_(out), streamed_engine_(std::move(streamed_engine)) {}
  std::span<std::uint8_t> bytes(std::string_view name, std::size_t size) override {
    return make<std::uint8_t>(name, size);
  }
  std::span<std::uint32_t> u32(std::string_view name, std::size_t size) override {
    return make<std::uint32_t>(name, size);
  }
  std::span<std::uint64_t> u64(std::string_view name, std::size_t size) override {
    return make<std::uint64_t>(name, size);
  }
  std::span<float> f32(std::string_view name, std::size_t size) override { return make<float>(name, size); }
  std::span<double> f64(std::string_view name, std::size_t size) override { return make<double>(name, size); }
  void bytes(std::string_view name, std::size_t size, Source<std::uint8_t> source) override {
    put(name, size, std::move(source));
  }
  void u32(std::string_view name, std::size_t size, Source<std::uint32_t> source) override {
    put(name, size, std::move(source));
  }
  void u64(std::string_view name, std::size_t size, Source<std::uint64_t> source) override {
    put(name, size, std::move(source));
  }
  void f32(std::string_view name, std::size_t size, Source<float> source) override {
    put(name, size, std::move(source));
  }
  void f64(std::string_view name, std::size_t size, Source<double> source) override {
    put(name, size, std::move(source));
  }
  void bf16(std::string_view name, std::size_t size, Source<BFloat16> source) override {
    put(name, size, std::move(source));
  }
  void lend(std::string_view name, std::span<const std::uint8_t> array) override { put(name, array); }
  void lend(std::string_view name, std::span<const std::uint32_t> array) override { put(name, array); }
  void lend(std::string_view name, std::span<const float> array) override { put(name, array); }

 private:
  template <typename T>
  std::span<T> make(std::string_view name, std::size_t size) {
    auto array = make_array<T>({size});
    out_[nb::str(name.data(), name.size())] = array;
    return {array.data(), size};
  }
  template <typename T>
  void put(std::string_view name, std::size_t size, Source<T> source) {
    StreamedArray array{streamed_engine_, size, std::move(source)};
    const nb::str key(name.data(), name.size());
    if (streamed_engine_.is_none()) out_[key] = array.whole();
    else out_[key] = nb::cast(std::move(array));
  }
  template <typename T>
  void put(std::string_view name, std::span<const T> array) {
    if (streamed_engine_.is_none()) return ArrayWriter::lend(name, array);
    using Lent = nb::ndarray<const T, nb::numpy>;
    out_[nb::str(name.data(), name.size())] = Lent(array.data(), {array.size()}, streamed_engine_);
  }
  nb::dict& out_;
  nb::object streamed_engine_;
};

class DictReader final : public ArrayReader {
 public:
  explicit DictReader(const nb::dict& in, nb::object let_go = nb::none()) : in_(in), let_go_(std::move(let_go)) {}
  bool has(std::string_view name) const override { return in_.contains(nb::str(name.data(), name.size())); }
  std::span<const std::uint8_t> bytes(std::string_view name) const override { return get<std::uint8_t>(name); }
  std::span<const std::uint32_t> u32(std::string_view name) const override { return get<std::uint32_t>(name); }
  std::span<const std::uint64_t> u64(std::string_view name) const override { return get<std::uint64_t>(name); }
  std::span<const float> f32(std::string_view name) const override { return get<float>(name); }
  std::span<const double> f64(std::string_view name) const override { return get<double>(name); }
  std::span<const BFloat16> bf16(std::string_view name) const override {
    const auto bits = get<std::uint16_t>(name);
    return {reinterpret_cast<const BFloat16*>(bits.data()), bits.size()};
  }
  void let_go() const override {
    if (!let_go_.is_none()) let_go_();
  }

 private:
  template <typename T>
  std::span<const T> get(std::string_view name) const {
    const nb::str key(name.data(), name.size());
    In<T> array;
    if (!in_.contains(key) || !nb::try_cast(in_[key], array, false)) {
      throw std::invalid_argument("array '" + std::string(name) + "' is missing or of the wrong type");
    }
    if (array.size() == 0)
      return {};  // exempt from the check of alignment: pickle has one address for all empty arrays
    if (reinterpret_cast<std::uintptr_t>(array.data()) % alignof(T) != 0) {
      throw std::invalid_argument("array '" + std::string(name) + "' is not aligned to its type");
    }
    return view(array);
  }
  const nb::dict& in_;
  nb::object let_go_;
};

}  // namespace labelgrove::bindings
