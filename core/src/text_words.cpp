#include "labelgrove/text_words.hpp"

#include <algorithm>

namespace labelgrove {
namespace {

// Combining classes up to this are parts of letters (nuktas, voicing marks, viramas); above it are points and accents.
constexpr std::uint8_t kLastPart = 9;

// The only mark that becomes a letter in lower case; it comes after all other marks.
constexpr std::uint32_t kIotaBelow = 0x345;
constexpr std::uint32_t kIota = 0x3b9;

// An i has its dot anyway; in lower case a capital one with a dot, as in Turkish, is an i and this.
constexpr std::uint32_t kDotAbove = 0x307;

// Hangul, by the arithmetic of chapter 3.12 of the Unicode standard.
constexpr std::uint32_t kSyllable = 0xac00;
constexpr std::uint32_t kSyllables = 11172;
constexpr std::uint32_t kLeading = 0x1100;
constexpr std::uint32_t kLeadings = 19;
constexpr std::uint32_t kVowel = 0x1161;
constexpr std::uint32_t kVowels = 21;
constexpr std::uint32_t kTrailing = 0x11a7;  // one before the first
constexpr std::uint32_t kTrailings = 28;

}  // namespace

WordReader::WordReader(bool fold_accents, bool symbols)
    : unicode_(&Unicode::tables()), fold_accents_(fold_accents), symbols_(symbols) {
  for (std::uint32_t point = 0; point < plain_.size(); ++point) {
    const auto mapped = unicode_->mapped(unicode_->entry(point));
    const std::uint32_t to = mapped.empty() ? point : mapped[0];
    const bool letter = Unicode::kind(unicode_->entry(to)) == CharacterKind::letter;
    if (letter && mapped.size() <= 1 && to < plain_.size()) plain_[point] = static_cast<std::uint8_t>(to);
  }
}

void WordReader::add_marks() {
  // Canonical order: marks of class 0 stay where they are, those between them are sorted.
  for (auto begin = marks_.begin(); begin != marks_.end();) {
    const auto end = std::find_if(begin, marks_.end(), [](const Mark& mark) { return mark.order == 0; });
    std::stable_sort(begin, end, [](const Mark& a, const Mark& b) { return a.order < b.order; });
    begin = end == marks_.end() ? end : end + 1;
  }
  for (const Mark& mark : marks_) {
    if (fold_accents_ && mark.order > kLastPart) continue;
    if (mark.point == kDotAbove && units_[size_ - 1] == 'i') continue;
    if (mark.point != kIotaBelow) {
      units_[size_ - 1] = with_mark(units_[size_ - 1], mark.point);
    } else if (size_ < kLongestWord) {
      begins_[size_] = begins_[size_ - 1];
      units_[size_++] = kIota;
    }
  }
  marks_.clear();
}

bool WordReader::compose(std::uint32_t point) {
  if (point < kVowel || point >= kTrailing + kTrailings || size_ == 0) return false;
  Unit& last = units_[size_ - 1];
  if (point - kVowel < kVowels && last - kLeading < kLeadings) {
    last = kSyllable + ((last - kLeading) * kVowels + (point - kVowel)) * kTrailings;
    return true;
  }
  const bool open = last - kSyllable < kSyllables && (last - kSyllable) % kTrailings == 0;
  if (!open || point <= kTrailing) return false;
  last += point - kTrailing;
  return true;
}

}  // namespace labelgrove
