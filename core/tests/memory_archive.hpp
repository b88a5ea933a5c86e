// A model's arrays in memory, for tests to compare and damage.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/hash.hpp"

namespace labelgrove::testing {

class MemoryArchive final : public ArrayWriter, public ArrayReader {
 public:
  using Array = std::variant<std::vector<std::uint8_t>, std::vector<std::uint32_t>, std::vector<std::uint64_t>,
                             std::vector<float>, std::vector<double>, std::vector<std::uint16_t>>;

  void make(std::string_view name, std::size_t size, Space& space) override {
    std::visit([&]<typename T>(std::span<T>& numbers) { numbers = added<T>(name, size); }, space);
  }
  void stream(std::string_view name, std::size_t size, AnySource source) override {
    const auto take = [&]<typename T>(Source<T>& next) {
      std::vector<T> numbers;
      while (next(numbers)) continue;
      if (numbers.size() != size) throw std::logic_error("a source gives more or less than it was said to");
      if constexpr (std::is_same_v<T, BFloat16>) {
        std::ranges::transform(numbers, added<std::uint16_t>(name, size).begin(), &BFloat16::bits);
      } else {
        std::ranges::copy(numbers, added<T>(name, size).begin());
      }
    };
    std::visit(take, source);
  }

  bool has(std::string_view name) const override { return arrays_.contains(name); }
  void find(std::string_view name, ArrayReader::Array& array) const override {
    const auto get = [&]<typename T>(std::span<const T>& numbers) {
      if constexpr (std::is_same_v<T, BFloat16>) {
        const auto bits = stored<std::uint16_t>(name);
        numbers = {reinterpret_cast<const BFloat16*>(bits.data()), bits.size()};
      } else {
        numbers = stored<T>(name);
      }
    };
    std::visit(get, array);
  }

  std::map<std::string, Array, std::less<>>& arrays() { return arrays_; }

  // Compares every bit.
  friend bool operator==(const MemoryArchive& a, const MemoryArchive& b) { return a.as_bits() == b.as_bits(); }
  // A hash, for comparisons with other archives.
  std::uint64_t fingerprint() const {
    std::uint64_t sum = 0;
    for (const auto& [name, numbers] : as_bits()) {
      for (const char letter : name) sum = mix(sum ^ static_cast<std::uint64_t>(letter));
      for (const std::uint64_t number : numbers) sum = mix(sum ^ number);
    }
    return sum;
  }

 private:
  template <typename T>
  std::span<T> added(std::string_view name, std::size_t size) {
    const auto [at, is_new] = arrays_.try_emplace(std::string(name), std::vector<T>(size));
    if (!is_new) throw std::logic_error("array '" + at->first + "' is written twice");
    return std::get<std::vector<T>>(at->second);
  }
  template <typename T>
  std::span<const T> stored(std::string_view name) const {
    const auto at = arrays_.find(name);
    if (at == arrays_.end() || !std::holds_alternative<std::vector<T>>(at->second)) {
      throw std::invalid_argument("array '" + std::string(name) + "' is missing or of the wrong type");
    }
    return std::get<std::vector<T>>(at->second);
  }
  // The stored bits: as values, NaN would differ from itself, and -0 would equal +0.
  std::map<std::string, std::vector<std::uint64_t>> as_bits() const {
    std::map<std::string, std::vector<std::uint64_t>> all;
    for (const auto& [name, array] : arrays_) {
      auto& bits = all[name];
      std::visit(
          [&bits](const auto& numbers) {
            for (const auto number : numbers) {
              if constexpr (std::is_same_v<std::remove_const_t<decltype(number)>, float>) {
                bits.push_back(std::bit_cast<std::uint32_t>(number));
              } else if constexpr (std::is_same_v<std::remove_const_t<decltype(number)>, double>) {
                bits.push_back(std::bit_cast<std::uint64_t>(number));
              } else {
                bits.push_back(number);
              }
            }
          },
          array);
    }
    return all;
  }

  std::map<std::string, Array, std::less<>> arrays_;
};

template <typename Model>
MemoryArchive saved(const Model& model, bool for_prediction = false) {
  MemoryArchive archive;
  if constexpr (requires { model.save(archive, for_prediction); }) model.save(archive, for_prediction);
  else model.save(archive);
  return archive;
}

// The archive after change(numbers) of one of its arrays.
template <typename Change>
MemoryArchive changed(MemoryArchive archive, std::string_view name, Change&& change) {
  std::visit([&](auto& numbers) { change(numbers); }, archive.arrays().find(name)->second);
  return archive;
}

// A change of an array's first number.
inline auto set_first(double value) {
  return [value]<typename T>(std::vector<T>& numbers) { numbers[0] = static_cast<T>(value); };
}

}  // namespace labelgrove::testing
