// Text into words: what stands between separators, in lower case, whatever way its characters were encoded.
#pragma once

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
  explicit WordReader(bool fold_accents) : unicode_(&Unicode::tables()), fold_accents_(fold_accents) {}

  // Calls use(word) for every word, in order. Its units are valid during the call only.
  template <typename Use>
  void read(std::string_view text, Use&& use) {
    units_.clear();
    marks_.clear();
    run_ = CharacterKind::separator;
    const std::size_t size = text.size();
    std::size_t begin = 0;  // of the character at hand
    std::size_t first = 0;  // of the word
    std::size_t last = 0;
    const auto end_word = [&] {
      end_letter();
      if (!units_.empty()) use(Word{units_, first, last, run_ == CharacterKind::unspaced});
      units_.clear();
      run_ = CharacterKind::separator;
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
          if (!compose(point)) {
            if (kind != run_ || units_.size() == kLongestWord) end_word();
            if (units_.empty()) first = begin;
            run_ = kind;
            units_.push_back(point);
          }
          last = size - text.size();
          break;
        case CharacterKind::mark:
          if (units_.empty()) break;
          if (marks_.size() < kMostMarks) marks_.push_back({Unicode::order(entry), point});
          last = size - text.size();
          break;
        case CharacterKind::ignorable:
          break;
      }
    };
    while (!text.empty()) {
      begin = size - text.size();
      const std::uint32_t point = next_point(text);
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
  CharacterKind run_ = CharacterKind::separator;
  std::vector<Unit> units_;
  std::vector<Mark> marks_;
};

}  // namespace labelgrove
