#include "labelgrove/text_features.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/elementary.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/parallel.hpp"
#include "labelgrove/text_words.hpp"

namespace labelgrove {
namespace {

constexpr std::uint32_t kLongestRun = 8;
constexpr std::uint32_t kLongestPiece = 16;
constexpr std::uint32_t kLongestShortText = 8;            // in words
constexpr std::uint32_t kLongestShortPiece = 3;           // in letters, boundaries included
constexpr std::size_t kLettersPerWord = 4;                // in scripts without spaces, for the length of a short text
constexpr std::size_t kMostWords = std::size_t{1} << 16;  // distinct words of a text that pieces are made of
constexpr std::size_t kBlock = 8;                         // texts per task of a thread
constexpr std::size_t kWave = 128;                        // blocks per thread between two appends

// The hash of a sequence of units is Σ (unit + 1)·kBase^(number of units after it), modulo 2^64, so that the hash of
// any piece of a word follows from those of the word's prefixes.
constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15ULL;
// Words and pieces of the same units get unrelated hashes.
constexpr std::uint64_t kWords = 0x73647277ULL;
constexpr std::uint64_t kPieces = 0x73636570ULL;

// The parts of a row.
enum Part : std::size_t { of_words, of_pieces, of_short_pieces };

constexpr std::uint64_t extended(std::uint64_t hash, Unit unit) { return hash * kBase + unit + 1; }

constexpr auto kPowers = [] {
  std::array<std::uint64_t, kLongestWord + 3> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * kBase;
  return powers;
}();

double log_of(std::uint64_t n) {
  static const auto small = [] {
    std::vector<double> found(std::size_t{1} << 16);
    for (std::size_t i = 1; i < found.size(); ++i) found[i] = fixed_log(static_cast<double>(i));
    return found;
  }();
  return n < small.size() ? small[n] : fixed_log(static_cast<double>(n));
}

// A column and its number of occurrences, 32 bits each.
using Entry = std::uint64_t;

constexpr Entry entry(std::uint32_t column, std::uint32_t times) { return Entry{column} << 32 | times; }

// Sorts by column.
void sort_entries(std::vector<Entry>& entries, std::vector<Entry>& scratch) {
  constexpr std::size_t kFew = 48;
  constexpr int kDigit = 8;
  if (entries.size() < kFew) {
    std::sort(entries.begin(), entries.end());
    return;
  }
  constexpr std::size_t kDigits = 32 / kDigit;
  const auto digit = [](Entry one, std::size_t place) { return (one >> (32 + kDigit * place)) & ((1U << kDigit) - 1); };
  std::array<std::array<std::uint32_t, 1U << kDigit>, kDigits> places{};
  for (const Entry one : entries) {
    for (std::size_t place = 0; place < kDigits; ++place) ++places[place][digit(one, place)];
  }
  scratch.resize(entries.size());
  for (std::size_t place = 0; place < kDigits; ++place) {
    if (places[place][digit(entries.front(), place)] == entries.size()) continue;  // all have the same digit
    std::uint32_t next = 0;
    for (std::uint32_t& one : places[place]) next += std::exchange(one, next);
    for (const Entry one : entries) scratch[places[place][digit(one, place)]++] = one;
    entries.swap(scratch);
  }
}

// Counts the features of one text after another.
class Counter {
 public:
  Counter(const TextOptions& options, const TextParts& parts)
      : options_(options), parts_(parts), reader_(options.fold_accents, options.symbols), slots_(256) {}

  // Appends the row of a text.
  void count(std::string_view text, SparseRows& rows) {
    for (std::vector<Entry>& entries : entries_) entries.clear();
    words_.clear();
    short_words_.clear();
    units_.clear();
    ++text_;
    ends_ = 0;
    std::size_t n_words = 0;
    reader_.read(text, [&](const Word& word) {
      if (word.kind != CharacterKind::separator) {
        n_words += word.unspaced() ? (word.units.size() + kLettersPerWord - 1) / kLettersPerWord : 1;
        if (n_words <= options_.short_words) short_words_.push_back(kept(word.units, 0));
      }
      if (options_.longest_run > 0) for_each_part(word, [&](const Word& part) { add_word(part.units); });
      if (options_.longest_piece == 0) return;
      if (!options_.beginnings) {
        note(word.units);
      } else if (!word.unspaced()) {
        add_beginnings(word.units);
      }
    });
    for (const Kept& word : words_) add_pieces(of_pieces, word, options_.shortest_piece, options_.longest_piece);
    if (n_words <= options_.short_words) {
      for (const Kept& word : short_words_) add_pieces(of_short_pieces, word, 1, kLongestShortPiece);
    }
    for (std::vector<Entry>& entries : entries_) append(entries, rows);
    rows.indptr.push_back(static_cast<std::int64_t>(rows.ids.size()));
  }

 private:
  struct Hashed {
    std::uint64_t hash;
    std::uint64_t power;  // kBase^units
  };
  struct Kept {
    std::uint64_t hash;
    std::uint32_t begin;  // of its units
    std::uint32_t size;
    std::uint32_t times;
  };
  struct Slot {
    std::uint64_t hash = 0;
    std::uint64_t text = 0;
    std::uint32_t word = 0;
  };

  void add(Part part, std::uint64_t hash, std::uint32_t times) {
    const std::uint32_t begin = part == of_words ? 0 : parts_[part - 1];
    const std::uint64_t width = parts_[part] - begin;
    const std::uint64_t place = mix(hash ^ (part == of_words ? kWords : kPieces)) >> 32;
    entries_[part].push_back(entry(begin + static_cast<std::uint32_t>(place * width >> 32), times));
  }

  static std::uint64_t hashed(std::span<const Unit> units) {
    std::uint64_t hash = 0;
    for (const Unit unit : units) hash = extended(hash, unit);
    return hash;
  }

  // Adds a word, and the runs that end with it.
  void add_word(std::span<const Unit> units) {
    const Hashed word{hashed(units), kPowers[units.size()]};
    Hashed run = word;
    for (std::uint32_t n = 1;; ++n) {
      if (n >= options_.shortest_run) add(of_words, run.hash, 1);
      if (n == options_.longest_run || n > ends_) break;
      const Hashed& before = last_[(last_end_ + kLongestRun - n) % kLongestRun];
      run.hash += extended(before.hash, kBoundary) * run.power;
      run.power *= before.power * kBase;
    }
    last_[last_end_] = word;
    last_end_ = (last_end_ + 1) % kLongestRun;
    ends_ = std::min(ends_ + 1, kLongestRun - 1);
  }

  Kept kept(std::span<const Unit> units, std::uint64_t hash) {
    const auto begin = static_cast<std::uint32_t>(units_.size());
    units_.insert(units_.end(), units.begin(), units.end());
    return {hash, begin, static_cast<std::uint32_t>(units.size()), 1};
  }

  // Records a word whose pieces are to be added.
  void note(std::span<const Unit> units) {
    const std::uint64_t hash = hashed(units);
    Slot* const slot = slot_of(hash);
    if (slot != nullptr && slot->text == text_) {
      ++words_[slot->word].times;
      return;
    }
    if (words_.size() == kMostWords) return;
    if (slot != nullptr) *slot = {hash, text_, static_cast<std::uint32_t>(words_.size())};
    words_.push_back(kept(units, hash));
    if (2 * words_.size() > slots_.size()) grow();
  }
  void grow() {
    slots_.assign(2 * slots_.size(), {});
    for (std::uint32_t i = 0; i < words_.size(); ++i) {
      Slot* const slot = slot_of(words_[i].hash);
      if (slot != nullptr) *slot = {words_[i].hash, text_, i};
    }
  }
  // The word's slot in this text, or the free one where it belongs; null if neither is within reach. A word without a
  // slot is recorded every time that it occurs, which adds up to the same (docs/decisions/hashing.md).
  Slot* slot_of(std::uint64_t hash) {
    std::size_t at = mix(hash) & (slots_.size() - 1);
    for (std::uint32_t distance = 0; distance <= kFarthestProbe; ++distance, at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].text != text_ || slots_[at].hash == hash) return &slots_[at];
    }
    return nullptr;
  }

  void add_pieces(Part part, const Kept& word, std::uint32_t shortest, std::uint32_t longest) {
    std::array<std::uint64_t, kLongestWord + 3> hashes;  // of the prefixes of the word with its boundaries
    hashes[0] = 0;
    hashes[1] = extended(0, kBoundary);
    std::uint32_t size = 1;
    for (const Unit unit : std::span(units_).subspan(word.begin, word.size)) {
      hashes[size + 1] = extended(hashes[size], unit);
      ++size;
    }
    hashes[size + 1] = extended(hashes[size], kBoundary);
    ++size;
    for (std::uint32_t n = std::min(shortest, size); n <= std::min(longest, size); ++n) {
      for (std::uint32_t end = n; end <= size; ++end) {
        add(part, hashes[end] - hashes[end - n] * kPowers[n], word.times);
      }
    }
  }

  void add_beginnings(std::span<const Unit> units) {
    std::uint64_t hash = extended(0, kBoundary);
    const std::size_t longest = std::min<std::size_t>(options_.longest_piece, units.size() + 1);
    for (std::uint32_t n = 2; n <= longest; ++n) {
      hash = extended(hash, units[n - 2]);
      if (n >= options_.shortest_piece) add(of_pieces, hash, 1);
    }
  }

  // Appends the counts to the row, in ascending order of columns.
  void append(std::vector<Entry>& entries, SparseRows& rows) {
    sort_entries(entries, scratch_);
    for (std::size_t i = 0; i < entries.size();) {
      const Entry column = entries[i] >> 32;
      std::uint64_t times = 0;
      for (; i < entries.size() && entries[i] >> 32 == column; ++i) times += entries[i] & 0xffffffffU;
      rows.ids.push_back(static_cast<FeatureId>(column));
      rows.values.push_back(static_cast<float>(times));
    }
  }

  const TextOptions& options_;
  TextParts parts_;
  WordReader reader_;
  std::array<std::vector<Entry>, kTextParts> entries_;
  std::vector<Entry> scratch_;
  std::array<Hashed, kLongestRun> last_{};  // the previous words
  std::uint32_t last_end_ = 0;
  std::uint32_t ends_ = 0;  // how many of them belong to this text
  std::vector<Slot> slots_;
  std::uint64_t text_ = 0;   // number of the text: slots with other numbers are vacant
  std::vector<Kept> words_;  // distinct ones
  std::vector<Kept> short_words_;
  std::vector<Unit> units_;
};

// The smallest of the `most` largest values, none of them negative, and how many of these equal it; zeros if there are
// no more than `most` values.
std::pair<float, std::size_t> lightest_of(std::span<const float> values, std::size_t most) {
  if (values.size() <= most) return {0.0F, 0};
  // The bits of such numbers have the order of the numbers. Those of the result are found one by one, from the highest:
  // to count is faster than to sort, since it needs no decisions.
  const auto at_least = [&](std::int32_t bits) {
    std::uint32_t count = 0;
    for (const float value : values) count += std::bit_cast<std::int32_t>(value) >= bits ? 1U : 0U;
    return count;
  };
  std::int32_t least = 0;
  for (std::int32_t bit = 1 << 30; bit != 0; bit >>= 1) {
    if (at_least(least | bit) >= most) least |= bit;
  }
  return {std::bit_cast<float>(least), most - at_least(least + 1)};
}

// Applies `use` to the ids and to the values, in two threads if there are many.
template <typename Use>
void both(SparseRows& rows, std::size_t size, unsigned threads, Use&& use) {
  constexpr std::size_t kMany = 1U << 16;
  parallel_for(2, size < kMany ? 1 : threads, [&](std::size_t i) {
    if (i == 0) use(rows.ids);
    else use(rows.values);
  });
}

std::size_t bytes_in(std::span<const std::string_view> texts) {
  std::size_t bytes = 0;
  for (const std::string_view text : texts) bytes += text.size();
  return bytes;
}

// Moves the rows of the parts to the end of `all`. If that needs memory, takes `times` what is needed now.
void append(SparseRows& all, std::span<SparseRows> parts, double times) {
  std::size_t size = all.ids.size();
  for (const SparseRows& part : parts) size += part.ids.size();
  if (size > all.ids.capacity()) {
    const auto room = std::max(size, static_cast<std::size_t>(times * static_cast<double>(size)));
    all.ids.reserve(room);
    all.values.reserve(room);
  }
  for (SparseRows& part : parts) {
    all.append(part);
    part.indptr.resize(1);
    part.ids.clear();
    part.values.clear();
  }
}

// Concatenates rows.
SparseRows joined(std::span<const RowView> parts, unsigned threads) {
  SparseRows all;
  std::vector<std::size_t> begins{0};
  for (const RowView& part : parts) {
    const auto begin = static_cast<std::int64_t>(begins.back());
    for (std::size_t row = 1; row < part.indptr.size(); ++row) all.indptr.push_back(begin + part.indptr[row]);
    begins.push_back(begins.back() + part.ids.size());
  }
  both(all, begins.back(), threads, [&](auto& array) { array.resize(begins.back()); });
  parallel_for(parts.size(), threads, [&](std::size_t i) {
    const auto begin = static_cast<std::ptrdiff_t>(begins[i]);
    std::ranges::copy(parts[i].ids, all.ids.begin() + begin);
    std::ranges::copy(parts[i].values, all.values.begin() + begin);
  });
  return all;
}

}  // namespace

TextFeatures::TextFeatures(const TextOptions& options) : options_(options) {
  const TextOptions& o = options_;
  const bool words = o.longest_run > 0;
  const bool pieces = o.longest_piece > 0;
  const bool short_pieces = o.short_words > 0;
  if ((!words && !pieces) || (words && (o.shortest_run == 0 || o.shortest_run > o.longest_run)) ||
      (pieces && (o.shortest_piece == 0 || o.shortest_piece > o.longest_piece)) || o.longest_run > kLongestRun ||
      o.longest_piece > kLongestPiece) {
    throw std::invalid_argument("the lengths of runs or pieces of words are out of range");
  }
  if (o.short_words > kLongestShortText) throw std::invalid_argument("the length of short texts is out of range");
  if (o.columns < 2 || o.columns >= kNone / 2) throw std::invalid_argument("the number of columns is out of range");
  if (!(o.piece_weight > 0.0F && o.piece_weight < 1e6F)) {
    throw std::invalid_argument("the weight of pieces is out of range");
  }
  if (o.most_features == 0) throw std::invalid_argument("most_features must be at least 1");
  const std::uint32_t of_words_only = pieces || short_pieces ? o.columns / 2 : o.columns;
  parts_[of_words] = words ? of_words_only : 0;
  const std::uint32_t left = o.columns - parts_[of_words];
  const std::uint32_t of_pieces_only = short_pieces ? left / 2 : left;
  parts_[of_pieces] = parts_[of_words] + (pieces ? of_pieces_only : 0);
  parts_[of_short_pieces] = o.columns;
  if (o.rare_count_more || o.least_documents > 1) {
    documents_.reset(static_cast<std::uint32_t*>(std::calloc(o.columns, sizeof(std::uint32_t))));
    if (documents_ == nullptr) throw std::bad_alloc();
  }
}

// While threads count a wave of blocks, the caller appends the previous wave to the result, then joins them. So the
// threads use the same memory again and again: if each allocated its share of the result, they would spend a tenth of
// their time in the operating system.
template <typename Use>
SparseRows TextFeatures::count(std::span<const std::string_view> texts, unsigned threads, Use&& use) const {
  SparseRows all;
  const std::size_t blocks = (texts.size() + kBlock - 1) / kBlock;
  const std::size_t workers = std::clamp<std::size_t>(blocks, 1, std::max(threads, 1U));
  const std::size_t wave = std::min(blocks, workers * kWave);
  std::vector<SparseRows> counting(wave);
  std::vector<SparseRows> counted(wave);
  std::size_t begin = 0;  // of the wave
  std::atomic<std::size_t> next;
  const auto count_blocks = [&](std::size_t) {
    Counter counter(options_, parts_);
    for (std::size_t i = next++; i < wave && begin + i < blocks; i = next++) {
      SparseRows rows = std::move(counting[i]);  // not changed in place, since another thread writes to its neighbour
      const std::size_t first = (begin + i) * kBlock;
      for (const std::string_view text : texts.subspan(first, std::min(kBlock, texts.size() - first))) {
        counter.count(text, rows);
      }
      counting[i] = std::move(rows);
    }
  };
  const auto append_counted = [&](double times) {
    const std::size_t before = all.ids.size();
    append(all, counted, times);
    use(std::span(all.ids).subspan(before));
  };
  const std::size_t bytes = bytes_in(texts);
  std::size_t bytes_counted = 0;
  Crew crew(workers - 1);
  for (; begin < blocks; begin += wave) {
    next = 0;
    crew.start(workers, count_blocks);
    // Texts at the beginning may be unlike the others, so the size of the result is not estimated from a few of them.
    const bool few = bytes_counted < bytes / 64 + 1;
    append_counted(few ? 2.0 : 1.1 * static_cast<double>(bytes) / static_cast<double>(bytes_counted));
    const std::size_t first = begin * kBlock;
    bytes_counted += bytes_in(texts.subspan(first, std::min(wave * kBlock, texts.size() - first)));
    crew.finish();
    counting.swap(counted);
  }
  append_counted(1.0);
  return all;
}

SparseRows TextFeatures::count(std::span<const std::string_view> texts, unsigned threads) const {
  return count(texts, threads, [](std::span<const FeatureId>) {});
}

TextFeatures::Moment TextFeatures::moment(std::uint64_t documents) const {
  return {documents > options_.first_documents ? options_.least_documents : 1, log_of(1 + documents)};
}

float TextFeatures::weight(float times, std::uint32_t documents, const Moment& of) const {
  double weight = 1.0 + log_of(static_cast<std::uint64_t>(times));
  if (options_.rare_count_more) weight *= 1.0 + of.logarithm - log_of(1 + std::uint64_t{documents});
  return documents < of.least_documents ? 0.0F : static_cast<float>(weight);
}

std::size_t TextFeatures::finish(std::span<FeatureId> ids, std::span<float> values, bool keeps_parts) const {
  std::size_t left = 0;
  const auto finish_part = [&](std::size_t begin, std::size_t end, float weight) {
    const auto [least, room] = lightest_of(values.subspan(begin, end - begin), options_.most_features);
    const std::size_t first = left;
    std::size_t light = 0;
    for (std::size_t j = begin; j < end; ++j) {
      ids[left] = ids[j];
      values[left] = values[j];
      const bool is_light = values[j] == least;
      light += is_light ? 1 : 0;
      left += values[j] > 0.0F && values[j] >= least && !(is_light && light > room) ? 1 : 0;
    }
    if (left == first && begin < end && keeps_parts) {
      ids[left] = ids[end - 1];
      values[left++] = 1.0F;
    }
    const double length = std::sqrt(squared_length(values.data() + first, left - first));
    for (std::size_t j = first; j < left; ++j) values[j] = scaled(values[j], weight / length);
  };
  std::size_t begin = 0;
  for (std::size_t part = 0; part < kTextParts; ++part) {
    const auto rest = ids.subspan(begin);
    const std::size_t end =
        begin + static_cast<std::size_t>(std::ranges::lower_bound(rest, parts_[part]) - rest.begin());
    finish_part(begin, end, part == of_words ? 1.0F : options_.piece_weight);
    begin = end;
  }
  return left;
}

template <typename MomentOf, typename DocumentsOf>
void TextFeatures::weigh(SparseRows& rows, unsigned threads, MomentOf&& moment_of, DocumentsOf&& documents_of) const {
  const std::size_t n = rows.indptr.size() - 1;
  std::vector<std::size_t> left(n);
  parallel_for_runs(n, kBlock, threads, [&](std::size_t first, std::size_t last) {
    const auto at = [&](std::size_t row) { return static_cast<std::size_t>(rows.indptr[row]); };
    for (std::size_t row = first; row < last; ++row) {
      const Moment moment = moment_of(row);
      float* values = rows.values.data();
      const std::size_t end = at(row + 1);
      for (std::size_t j = at(row); j < end; ++j) values[j] = weight(values[j], documents_of(j), moment);
    }
    for (std::size_t row = first; row < last; ++row) {
      const std::size_t size = at(row + 1) - at(row);
      left[row] = finish(std::span(rows.ids).subspan(at(row), size), std::span(rows.values).subspan(at(row), size),
                         moment_of(row).keeps_parts);
    }
  });
  // Close the gaps.
  both(rows, rows.ids.size(), threads, [&](auto& array) {
    auto end = array.begin();
    for (std::size_t row = 0; row < n; ++row) {
      const auto begin = array.begin() + rows.indptr[row];
      const auto size = static_cast<std::ptrdiff_t>(left[row]);
      end = begin == end ? end + size : std::copy_n(begin, size, end);
    }
    array.erase(end, array.end());
  });
  for (std::size_t row = 0; row < n; ++row) {
    rows.indptr[row + 1] = rows.indptr[row] + static_cast<std::int64_t>(left[row]);
  }
}

void TextFeatures::weigh(SparseRows& rows, std::uint32_t more, unsigned threads) const {
  Moment now = moment(n_documents_ + more);
  now.keeps_parts = now.least_documents == 1;
  now.least_documents = std::max(now.least_documents, 1 + more);  // a feature in none of the documents has no weight
  weigh(
      rows, threads, [&](std::size_t) { return now; },
      [documents = documents_.get(), ids = rows.ids.data(), columns = options_.columns, more](std::size_t j) {
        if (ids[j] >= columns) throw std::invalid_argument("an id is out of range");
        return (documents == nullptr ? 1 : documents[ids[j]]) + more;
      });
}

SparseRows TextFeatures::transform(std::span<const std::string_view> texts, unsigned threads) const {
  SparseRows rows = count(texts, threads);
  weigh(rows, 1, threads);
  return rows;
}

SparseRows TextFeatures::fit_transform(std::span<const std::string_view> texts, unsigned threads) {
  SparseRows rows = count(texts, threads, [&](std::span<const FeatureId> ids) {
    if (documents_ == nullptr) return;
    for (const FeatureId id : ids) ++documents_[id];
  });
  n_documents_ += texts.size();
  weigh(rows, 0, threads);
  return rows;
}

SparseRows TextFeatures::weighted(std::span<const RowView> counts, bool as_next, unsigned threads) const {
  if (std::ranges::any_of(counts, &RowView::dense)) throw std::invalid_argument("counts must be sparse rows");
  SparseRows rows = joined(counts, threads);
  weigh(rows, as_next ? 1 : 0, threads);
  return rows;
}

// In one thread, like the frequencies below: two, each with half of the columns, would be no faster, since they must
// find these columns in every document.
void TextFeatures::add(const RowView& counts) {
  n_documents_ += counts.size();
  if (documents_ == nullptr) return;
  for (const FeatureId id : counts.ids) ++documents_[id];
}

SparseRows TextFeatures::learn(const RowView& counts, unsigned threads) {
  SparseRows rows{.indptr = {counts.indptr.begin(), counts.indptr.end()},
                  .ids = {counts.ids.begin(), counts.ids.end()},
                  .values = {counts.values.begin(), counts.values.end()}};
  std::vector<std::uint32_t> documents(rows.ids.size(), 1);
  for (std::size_t j = 0; documents_ != nullptr && j < rows.ids.size(); ++j) documents[j] = ++documents_[rows.ids[j]];
  // Before anything can fail: a feature must not be in more documents than there are.
  const std::uint64_t before = std::exchange(n_documents_, n_documents_ + counts.size());
  weigh(
      rows, threads, [&](std::size_t row) { return moment(before + row + 1); },
      [&](std::size_t j) { return documents[j]; });
  return rows;
}

// The columns that occurred, in ascending order: the difference from the previous one and the number of documents, each
// in groups of seven bits, lowest first, with the high bit set if another group follows.
void TextFeatures::save(ArrayWriter& out) const {
  std::vector<std::uint8_t> bytes;
  const auto put = [&](std::uint32_t value) {
    for (; value > 0x7f; value >>= 7) bytes.push_back(static_cast<std::uint8_t>(value | 0x80U));
    bytes.push_back(static_cast<std::uint8_t>(value));
  };
  std::uint32_t last = 0;
  const std::uint32_t columns = documents_ == nullptr ? 0 : options_.columns;
  for (std::uint32_t column = 0; column < columns; ++column) {
    if (documents_[column] == 0) continue;
    put(column - last);
    put(documents_[column]);
    last = column;
  }
  std::ranges::copy(bytes, out.bytes("documents", bytes.size()).begin());
  out.u64("counters", 1)[0] = n_documents_;
}

TextFeatures::TextFeatures(const TextOptions& options, const ArrayReader& in) : TextFeatures(options) {
  const auto counters = in.u64("counters");
  require(counters.size() == 1 && counters[0] < std::uint64_t{1} << 60,
          "array 'counters' must hold the number of documents");
  n_documents_ = counters[0];
  const std::uint32_t columns = documents_ == nullptr ? 0 : options_.columns;
  const auto bytes = in.bytes("documents");
  std::size_t at = 0;
  const auto take = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      require(at < bytes.size() && shift <= 28, "array 'documents' is cut short or damaged");
      value |= std::uint64_t{bytes[at] & 0x7fU} << shift;
      if ((bytes[at++] & 0x80U) == 0) return value;
    }
  };
  for (std::uint64_t column = 0; at < bytes.size();) {
    const bool first = at == 0;
    const std::uint64_t gap = take();
    const std::uint64_t times = take();
    column += gap;
    require((gap > 0 || first) && column < columns && times > 0 && times <= n_documents_ && times < kNone,
            "array 'documents' holds an invalid column or count");
    documents_[column] = static_cast<std::uint32_t>(times);
  }
}

}  // namespace labelgrove
