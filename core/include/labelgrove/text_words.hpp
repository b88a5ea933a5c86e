// Text into words: what stands between separators, in lower case, whatever way its characters were encoded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "labelgrove/unicode.hpp"

namespace labelgrove {

// A letter with its marks: the letter's code point, or with marks a number that stands for all of them.
using Unit = std::uint32_t;

inline constexpr std::size_t kLongestWord = 64;  // in units; a longer one is cut
inline constexpr std::size_t kMostMarks = 30;    // of a letter; the others are left out
inline constexpr Unit kBoundary = 0x20;          // before and after a word; no word holds it

constexpr Unit with_mark(Unit unit, std::uint32_t mark) { return ((unit ^ mark) * 0x01000193U) | 0x80000000U; }

// A word, and where it stands in the text: bytes from `begin` to `end`.
struct Word {
  std::span<const Unit> units;
  std::size_t begin;
  std::size_t end;
  bool unspaced;  // a run of letters of a script without spaces
};

// Finds the words of one text after another.
class WordReader {
 public:
  // With `fold_accents` marks above, below and through a letter count for nothing, if Unicode knows the letter without
  // them.
  explicit WordReader(bool fold_accents);

  // Calls use(word) for every word, in order. Its units are valid during the call only.
  template <typename Use>
  void read(std::string_view text, Use&& use) {
    size_ = 0;
    marks_.clear();
    run_ = CharacterKind::separator;
    const char* const start = text.data();
    const auto at = [&] { return static_cast<std::size_t>(text.data() - start); };
    std::size_t begin = 0;  // of the character at hand
    std::size_t first = 0;  // of the word
    std::size_t last = 0;
    const auto end_word = [&] {
      end_letter();
      if (size_ != 0) use(Word{{units_.data(), size_}, first, last, run_ == CharacterKind::unspaced});
      size_ = 0;
      run_ = CharacterKind::separator;
    };
    const auto add_letter = [&](std::uint32_t point, CharacterKind kind) {
      if (kind != run_ || size_ == kLongestWord) end_word();
      if (size_ == 0) first = begin;
      run_ = kind;
      units_[size_++] = point;
      last = at();
    };
    const auto take = [&](std::uint32_t point, std::uint32_t entry) {
      const CharacterKind kind = Unicode::kind(entry);
      switch (kind) {
        case CharacterKind::separator:
          end_word();
          break;
        case CharacterKind::letter:
        case CharacterKind::unspaced:
          end_letter();
          if (compose(point)) {
            last = at();
          } else {
            add_letter(point, kind);
          }
          break;
        case CharacterKind::mark:
          if (size_ == 0) break;
          if (marks_.size() < kMostMarks) marks_.push_back({Unicode::order(entry), point});
          last = at();
          break;
        case CharacterKind::ignorable:
          break;
      }
    };
    while (!text.empty()) {
      begin = at();
      const std::uint32_t point = next_point(text);
      if (point < plain_.size() && plain_[point] != 0) {
        end_letter();
        add_letter(plain_[point], CharacterKind::letter);
        continue;
      }
      const std::uint32_t entry = unicode_->entry(point);
      const auto mapped = unicode_->mapped(entry);
      if (mapped.empty()) {
        take(point, entry);
      } else {
        for (const std::uint32_t one : mapped) take(one, unicode_->entry(one));
      }
    }
    end_word();
  }

 private:
  struct Mark {
    std::uint8_t order;
    std::uint32_t point;
  };

  // Adds the marks that have been read to the letter that they belong to, in canonical order.
  void end_letter() {
    if (!marks_.empty()) add_marks();
  }
  void add_marks();
  // Joins the parts of a Hangul syllable.
  bool compose(std::uint32_t point);

  const Unicode* unicode_;
  bool fold_accents_;
  std::array<std::uint8_t, 128> plain_{};  // what an ASCII letter or digit becomes; 0 for all else
  CharacterKind run_ = CharacterKind::separator;
  std::array<Unit, kLongestWord> units_{};
  std::size_t size_ = 0;
  std::vector<Mark> marks_;
};

}  // namespace labelgrove
