// The properties of characters: their kind, combining class, and result after decomposition (NFKD) and case folding.
// The tables are our own, so that a text gives the same features on every machine. Changing them makes saved text
// models useless.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace labelgrove {

enum class CharacterKind : std::uint8_t {
  separator = 0,
  letter = 1,     // or a digit
  unspaced = 2,   // a letter of a script that does not separate words with spaces
  mark = 3,       // belongs to the letter before it
  ignorable = 4,  // skipped
};

class Unicode {
 public:
  // Built by the first call, in about a millisecond. Thread-safe.
  static const Unicode& tables();

  static CharacterKind kind(std::uint32_t entry) { return static_cast<CharacterKind>(entry & 7U); }
  // The canonical combining class.
  static std::uint8_t order(std::uint32_t entry) { return static_cast<std::uint8_t>(entry >> 3); }

  // A code point's entry, the argument of the other functions.
  std::uint32_t entry(std::uint32_t point) const {
    if (point < entries_.size()) return entries_[point];
    return point >> 12 == 0xe0U ? static_cast<std::uint32_t>(CharacterKind::ignorable) : 0U;
  }
  // The characters that replace it; empty if it stays as it is.
  std::span<const std::uint32_t> mapped(std::uint32_t entry) const {
    const std::uint32_t at = entry >> 11;
    return at == 0 ? std::span<const std::uint32_t>{} : std::span(targets_).subspan(at + 1, targets_[at]);
  }

 private:
  Unicode();

  std::vector<std::uint32_t> entries_;  // kind: 3 bits, order: 8, index into targets_: 21
  std::vector<std::uint32_t> targets_;  // a count, followed by that many code points
};

inline constexpr std::uint32_t kReplacement = 0xfffd;  // stands for bytes that are not UTF-8, and separates words

// Removes the first code point from a text that is not empty, and returns it.
inline std::uint32_t next_point(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) {
    text.remove_prefix(1);
    return first;
  }
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  std::uint32_t point = first & (0x7fU >> length);
  bool whole = first >= 0xc2 && first < 0xf5 && text.size() >= length;
  for (std::size_t i = 1; whole && i < length; ++i) {
    whole = (byte(i) & 0xc0U) == 0x80U;
    point = point << 6 | (byte(i) & 0x3fU);
  }
  whole = whole && !(length == 3 && (point < 0x800 || point >> 11 == 0x1b)) &&
          !(length == 4 && (point < 0x10000 || point > 0x10ffff));
  text.remove_prefix(whole ? length : 1);
  return whole ? point : kReplacement;
}

}  // namespace labelgrove
