// A model's state as a Python dict of NumPy arrays, or of objects that produce them piece by piece.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "arrays.hpp"
#include "labelgrove/archive.hpp"
#include "streamed_array.hpp"

namespace labelgrove::bindings {

inline nb::str key(std::string_view name) { return nb::str(name.data(), name.size()); }

class DictWriter final : public ArrayWriter {
 public:
  // With an engine, large arrays are `StreamedArray`s or views of its memory; both keep the engine alive.
  explicit DictWriter(nb::dict& out, nb::object streamed_engine = nb::none())
      : out_(out), streamed_engine_(std::move(streamed_engine)) {}
  void make(std::string_view name, std::size_t size, Space& space) override {
    const auto allocate = [&]<typename T>(std::span<T>& numbers) {
      auto array = make_array<T>({size});
      out_[key(name)] = array;
      numbers = {array.data(), size};
    };
    std::visit(allocate, space);
  }
  void stream(std::string_view name, std::size_t size, AnySource source) override {
    StreamedArray array{streamed_engine_, size, std::move(source)};
    if (streamed_engine_.is_none()) out_[key(name)] = array.whole();
    else out_[key(name)] = nb::cast(std::move(array));
  }
  void lend(std::string_view name, Lent array) override {
    if (streamed_engine_.is_none()) return ArrayWriter::lend(name, array);
    const auto put = [&]<typename T>(std::span<const T> numbers) {
      out_[key(name)] = nb::ndarray<const T, nb::numpy>(numbers.data(), {numbers.size()}, streamed_engine_);
    };
    std::visit(put, array);
  }

 private:
  nb::dict& out_;
  nb::object streamed_engine_;
};

class DictReader final : public ArrayReader {
 public:
  explicit DictReader(const nb::dict& in, nb::object let_go = nb::none()) : in_(in), let_go_(std::move(let_go)) {}
  bool has(std::string_view name) const override { return in_.contains(key(name)); }
  void find(std::string_view name, Array& array) const override {
    std::visit([&]<typename T>(std::span<const T>& numbers) { numbers = get<T>(name); }, array);
  }
  void let_go() const override {
    if (!let_go_.is_none()) let_go_();
  }

 private:
  template <typename T>
  std::span<const T> get(std::string_view name) const {
    if constexpr (std::is_same_v<T, BFloat16>) {  // NumPy has no such type, so it holds the bits
      const auto bits = get<std::uint16_t>(name);
      return {reinterpret_cast<const BFloat16*>(bits.data()), bits.size()};
    } else {
      In<T> array;
      if (!has(name) || !nb::try_cast(in_[key(name)], array, false)) {
        throw std::invalid_argument("array '" + std::string(name) + "' is missing or of the wrong type");
      }
      if (array.size() == 0)
        return {};  // exempt from the check of alignment: pickle has one address for all empty arrays
      if (reinterpret_cast<std::uintptr_t>(array.data()) % alignof(T) != 0) {
        throw std::invalid_argument("array '" + std::string(name) + "' is not aligned to its type");
      }
      return view(array);
    }
  }
  const nb::dict& in_;
  nb::object let_go_;
};

}  // namespace labelgrove::bindings
