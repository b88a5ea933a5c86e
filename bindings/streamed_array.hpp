// An array of an engine's state that is made piece by piece, while it is written to a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "labelgrove/archive.hpp"

namespace labelgrove::bindings {

// What it gives is the engine's state as it is then: nobody may change the engine meanwhile.
struct StreamedArray {
  using Numbers = std::variant<Source<std::uint32_t>, Source<float>>;
  static constexpr std::size_t kPiece = std::size_t{1} << 18;  // numbers

  nb::object engine;
  std::size_t size = 0;
  Numbers numbers;

  const char* type() const { return std::holds_alternative<Source<float>>(numbers) ? "float32" : "uint32"; }
  // The next piece, None behind the last one.
  static nb::object next(Numbers& from) {
    return std::visit(
        [](auto& source) {
          auto piece = empty(source);
          while (piece.size() < kPiece && source(piece)) continue;
          return piece.empty() ? nb::none()
                               : nb::cast(to_array(std::span<const typename decltype(piece)::value_type>(piece)));
        },
        from);
  }
  nb::object whole() const {
    return std::visit(
        [this](auto source) {
          auto piece = empty(source);
          auto array = make_array<typename decltype(piece)::value_type>({size});
          for (auto* to = array.data(); source(piece); piece.clear()) to = std::copy(piece.begin(), piece.end(), to);
          return nb::cast(array);
        },
        numbers);
  }

 private:
  template <typename T>
  static std::vector<T> empty(const Source<T>&) {
    return {};
  }
};

}  // namespace labelgrove::bindings
