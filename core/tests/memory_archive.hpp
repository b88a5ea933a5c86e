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
    take(name, size, source);
  }
  void u32(std::string_view name, std::size_t size, Source<std::uint32_t> source) override { take(name, size, source); }
  void u64(std::string_view name, std::size_t size, Source<std::uint64_t> source) override { take(name, size, source); }
  void f32(std::string_view name, std::size_t size, Source<float> source) override { take(name, size, source); }
  void f64(std::string_view name, std::size_t size, Source<double> source) override { take(name, size, source); }
  void bf16(std::string_view name, std::size_t size, Source<BFloat16> source) override {
    std::vector<BFloat16> numbers;
    while (source(numbers)) continue;
    if (numbers.size() != size) throw std::logic_error("a source gives more or less than it was said to");
    std::ranges::transform(numbers, make<std::uint16_t>(name, size).begin(), &BFloat16::bits);
  }

  bool has(std::string_view name) const override { return arrays_.contains(name); }
  std::span<const std::uint8_t> bytes(std::string_view name) const override { return get<std::uint8_t>(name); }
  std::span<const std::uint32_t> u32(std::string_view name) const override { return get<std::uint32_t>(name); }
  std::span<const std::uint64_t> u64(std::string_view name) const override { return get<std::uint64_t>(name); }
  std::span<const float> f32(std::string_view name) const override { return get<float>(name); }
  std::span<const double> f64(std::string_view name) const override { return get<double>(name); }
  std::span<const BFloat16> bf16(std::string_view name) const override {
    const auto bits = get<std::uint16_t>(name);
    return {reinterpret_cast<const BFloat16*>(bits.data()), bits.size()};
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
  std::span<T> make(std::string_view name, std::size_t size) {
    const auto [at, is_new] = arrays_.try_emplace(std::string(name), std::vector<T>(size));
    if (!is_new) throw std::logic_error("array '" + at->first + "' is written twice");
    return std::get<std::vector<T>>(at->second);
  }
  template <typename T>
  void take(std::string_view name, std::size_t size, const Source<T>& source) {
    std::vector<T> numbers;
    for (Source<T> next = source; next(numbers);) continue;
    if (numbers.size() != size) throw std::logic_error("a source gives more or less than it was said to");
    std::ranges::copy(numbers, make<T>(name, size).begin());
  }
  template <typename T>
  std::span<const T> get(std::string_view name) const {
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

}  // namespace labelgrove::testing
