// Turns texts into rows of features: words, runs of words and pieces of words, hashed into columns and weighted by
// their rarity in the documents so far.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/row_view.hpp"

namespace labelgrove {

struct TextOptions {
  // Features are runs of words (n-grams) and pieces of words (n-grams of letters, with a boundary before and after each
  // word) of these lengths. A longest length of 0 disables words or pieces.
  std::uint32_t shortest_run = 1;
  std::uint32_t longest_run = 1;
  std::uint32_t shortest_piece = 0;
  std::uint32_t longest_piece = 0;
  bool beginnings = false;              // only pieces at the beginning of a word, without its end boundary
  std::uint32_t short_words = 0;        // texts of at most so many words have a third part: pieces of 1 to 3 letters
  float piece_weight = 1.0F;            // length to which parts of pieces are scaled; that of words has length 1
  std::uint32_t most_features = kNone;  // limit for each part: the heaviest are kept, the first among equals
  std::uint32_t columns = 1U << 22;     // less than 2^31; half for words if there are pieces
  std::uint32_t least_documents = 2;    // features in fewer documents have no weight,
  std::uint32_t first_documents = 0;    // except while there are at most this many documents
  bool rare_count_more = true;          // weight by inverse document frequency
  bool fold_accents = false;
  bool symbols = false;  // runs of symbols are words, too
};

// The parts of a row, in the order of their columns: words, pieces, and the pieces of short texts.
inline constexpr std::size_t kTextParts = 3;
// The column after the last one of each part.
using TextParts = std::array<std::uint32_t, kTextParts>;

// The document frequencies of features, and the rows that follow from them.
//
// A row is made in two steps. count() finds the features of a text and their number of occurrences, which depend on the
// text alone. Then they are weighted: a feature that occurs c times in the text, and in d of n documents, gets (1 + log
// c)·(1 + log((1 + n)/(1 + d))), and each part of the row is scaled to its length. To be predicted, a text leaves out
// the features that are new; a part of which nothing would be left keeps one, so that the others weigh no more than in
// the rows that were learnt.
//
// Threads: const methods may run at once; add() and learn() need exclusive access. Models depend on all of this:
// changing how texts become columns or weights makes saved models useless.
class TextFeatures {
 public:
  // Throws std::invalid_argument for options outside their domains.
  explicit TextFeatures(const TextOptions& options);
  // REQUIRES: `in` was written by save() with the same options. Throws std::invalid_argument if it is damaged.
  TextFeatures(const TextOptions& options, const ArrayReader& in);

  std::uint64_t documents() const { return n_documents_; }
  const TextOptions& options() const { return options_; }

  // Raw counts, in ascending order of columns. The result does not depend on the number of threads.
  SparseRows count(std::span<const std::string_view> texts, unsigned threads) const;
  // The row of each text, as if that text were the next to be learnt.
  SparseRows transform(std::span<const std::string_view> texts, unsigned threads) const;
  // Adds all texts to the document frequencies, then returns their rows.
  SparseRows fit_transform(std::span<const std::string_view> texts, unsigned threads);
  // The rows of texts counted earlier, concatenating all of `counts`. Unless `as_next`, the rows are those of
  // documents that have already been added. Throws std::invalid_argument if a column is out of range.
  SparseRows weighted(std::span<const RowView> counts, bool as_next, unsigned threads) const;

  // Adds counted documents to the document frequencies.
  void add(const RowView& counts);
  // For one document after another: adds it, then weights it with the frequencies at that point. The result depends
  // neither on the number of threads nor on how documents are divided into calls.
  SparseRows learn(const RowView& counts, unsigned threads);

  void save(ArrayWriter& out) const;

 private:
  // As the public method; calls use(ids) for the ids of all rows, piece by piece.
  template <typename Use>
  SparseRows count(std::span<const std::string_view> texts, unsigned threads, Use&& use) const;
  // What the weights of features depend on besides the features: the number of documents at that time.
  struct Moment {
    std::uint32_t least_documents;  // features in fewer have no weight
    double logarithm;               // log(1 + documents)
    bool keeps_parts = false;       // features without weight are new: a part that has no others keeps one
  };
  Moment moment(std::uint64_t documents) const;
  float weight(float times, std::uint32_t documents, const Moment& of) const;
  // Weights rows by the current document frequencies, or as if every feature were in `more` additional documents.
  void weigh(SparseRows& rows, std::uint32_t more, unsigned threads) const;
  // Weights rows by the moment of each, and the document frequency of each entry; then finishes them.
  template <typename MomentOf, typename DocumentsOf>
  void weigh(SparseRows& rows, unsigned threads, MomentOf&& moment_of, DocumentsOf&& documents_of) const;
  // Scales the parts of a row to their lengths, after dropping features without weight and the lightest beyond
  // most_features. Returns the number of features left.
  std::size_t finish(std::span<FeatureId> ids, std::span<float> values, bool keeps_parts) const;

  TextOptions options_;
  TextParts parts_;
  std::uint64_t n_documents_ = 0;
  // By column: its document frequency; null if that is not needed. Allocated by calloc(), which leaves it to the system
  // to clear memory on first use: most columns of most models are never used.
  struct Free {
    void operator()(std::uint32_t* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::uint32_t[], Free> documents_;
};

}  // namespace labelgrove
