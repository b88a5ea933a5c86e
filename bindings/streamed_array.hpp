// An array of an engine's state that is produced piece by piece, while it is written to a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "labelgrove/archive.hpp"

namespace labelgrove::bindings {

// It produces the engine's current state: the engine must not change meanwhile.
struct StreamedArray {
  static constexpr std::size_t kPiece = std::size_t{1} << 18;  // numbers

  nb::object engine;
  std::size_t size = 0;
  ArrayWriter::AnySource numbers;

  // NumPy has no bfloat16, so it gets the bits.
  const char* type() const {
    constexpr const char* kTypes[] = {"uint8", "uint32", "uint64", "float32", "float64", "uint16"};
    return kTypes[numbers.index()];
  }
  std::size_t bytes() const {
    return std::visit([this]<typename T>(const Source<T>&) { return size * sizeof(T); }, numbers);
  }
  // The next piece; None after the last.
  static nb::object next(ArrayWriter::AnySource& from) {
    return std::visit(
        [](auto& source) {
          auto piece = empty(source);
          while (piece.size() < kPiece && source(piece)) continue;
          return piece.empty() ? nb::none() : nb::cast(to_array(bits_of(std::span(std::as_const(piece)))));
        },
        from);
  }
  nb::object whole() const {
    return std::visit(
        [this](auto source) {
          auto piece = empty(source);
          const auto bits = [&piece] { return bits_of(std::span(std::as_const(piece))); };
          auto array = make_array<typename decltype(bits())::value_type>({size});
          for (auto* to = array.data(); source(piece); piece.clear()) to = std::ranges::copy(bits(), to).out;
          return nb::cast(array);
        },
        numbers);
  }

 private:
  template <typename T>
  static std::span<const T> bits_of(std::span<const T> numbers) {
    return numbers;
  }
  static std::span<const std::uint16_t> bits_of(std::span<const BFloat16> numbers) {
    return {reinterpret_cast<const std::uint16_t*>(numbers.data()), numbers.size()};
  }
  template <typename T>
  static std::vector<T> empty(const Source<T>&) {
    return {};
  }
};

}  // namespace labelgrove::bindings
