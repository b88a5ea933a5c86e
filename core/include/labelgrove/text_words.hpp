// Splits text into words at separators, and normalises them to lower case and one encoding of each character. On
// request, symbols form words, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "labelgrove/unicode.hpp"

namespace labelgrove {

// A letter with its marks: the letter's code point, or a hash if it has marks.
using Unit = std::uint32_t;

inline constexpr std::size_t kLongestWord = 64;  // in units; longer words are cut
inline constexpr std::size_t kMostMarks = 30;    // of a letter; further ones are dropped
inline constexpr Unit kBoundary = 0x20;          // before and after a word; never part of one

// Whether a separator is white space, a control character or no character at all, and not a symbol.
constexpr bool is_blank(std::uint32_t point) {
  return point <= 0x20 || (point >= 0x7f && point <= 0xa0) || point == 0x1680 || (point >= 0x2000 && point <= 0x200b) ||
         point == 0x2028 || point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000 ||
         point == kReplacement;
}

// Whether a symbol, such as an emoji, is a word by itself; others form runs, as do the two halves of a flag.
constexpr bool stands_alone(Unit symbol) { return symbol >= 0x2190 && !(symbol >= 0x1f1e6 && symbol <= 0x1f1ff); }

constexpr Unit with_mark(Unit unit, std::uint32_t mark) { return ((unit ^ mark) * 0x01000193U) | 0x80000000U; }

// A word, and its position in the text: bytes [begin, end).
struct Word {
  std::span<const Unit> units;
  std::size_t begin;
  std::size_t end;
  CharacterKind kind;                   // of its letters; separator if it consists of symbols
  std::span<const std::size_t> begins;  // where each letter begins, if the word is unspaced

  // Whether it is a sequence of letters in a script without spaces.
  bool unspaced() const { return kind == CharacterKind::unspaced; }
};

// Calls use(part) for every part of a word that counts as a word: the word itself or, in a script without spaces, each
// pair of neighbouring letters.
template <typename Use>
void for_each_part(const Word& word, Use&& use) {
  const std::size_t size = word.units.size();
  if (!word.unspaced() || size < 2) {
    use(word);
    return;
  }
  for (std::size_t i = 0; i + 1 < size; ++i) {
    std::size_t next = i + 2;  // the first letter of the next character: one character may stand for several letters
    while (next < size && word.begins[next] == word.begins[i + 1]) ++next;
    const std::size_t end = next < size ? word.begins[next] : word.end;
    use(Word{word.units.subspan(i, 2), word.begins[i], end, word.kind, word.begins.subspan(i, 2)});
  }
}

// Finds the words of one text after another. Not thread-safe: use one for each thread.
class WordReader {
 public:
  // `fold_accents` drops marks above, below and through a letter, if Unicode defines the letter without them. With
  // `symbols`, separators that are not blank form words.
  explicit WordReader(bool fold_accents, bool symbols = false);

  // Calls use(word) for every word, in order. Its spans are only valid during the call.
  template <typename Use>
  void read(std::string_view text, Use&& use) {
    size_ = 0;
    marks_.clear();
    const char* const start = text.data();
    const auto at = [&] { return static_cast<std::size_t>(text.data() - start); };
    std::size_t begin = 0;  // of the current character
    std::size_t first = 0;  // of the word
    std::size_t last = 0;
    const auto end_word = [&] {
      end_letter();
      if (size_ != 0) {
        const std::size_t begins = run_ == CharacterKind::unspaced ? size_ : 0;
        use(Word{{units_.data(), size_}, first, last, run_, {begins_.data(), begins}});
      }
      size_ = 0;
    };
    const auto add_letter = [&](std::uint32_t point, CharacterKind kind) {
      if (kind != run_ || size_ == kLongestWord) end_word();
      if (size_ == 0) first = begin;
      run_ = kind;
      if (kind == CharacterKind::unspaced) begins_[size_] = begin;
      units_[size_++] = point;
      last = at();
    };
    const auto take = [&](std::uint32_t point, std::uint32_t entry) {
      const CharacterKind kind = Unicode::kind(entry);
      switch (kind) {
        case CharacterKind::separator:
          if (symbols_ && !is_blank(point)) {
            end_letter();
            if (stands_alone(point) || (size_ != 0 && stands_alone(units_[size_ - 1]))) end_word();
            add_letter(point, kind);
          } else {
            end_word();
          }
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

  // Adds the marks read so far to their letter, in canonical order.
  void end_letter() {
    if (!marks_.empty()) add_marks();
  }
  void add_marks();
  // Joins the parts of a Hangul syllable.
  bool compose(std::uint32_t point);

  const Unicode* unicode_;
  bool fold_accents_;
  bool symbols_;
  std::array<std::uint8_t, 128> plain_{};         // by ASCII character: the unit of a letter or digit; 0 for all others
  CharacterKind run_ = CharacterKind::separator;  // of the word's letters, or separator if it consists of symbols
  std::array<Unit, kLongestWord> units_{};
  std::array<std::size_t, kLongestWord> begins_{};  // of the units, if the script has no spaces
  std::size_t size_ = 0;
  std::vector<Mark> marks_;
};

}  // namespace labelgrove
