// Texts into rows of features: words, runs of words and pieces of words, hashed into columns, weighted by how rare they are
// among the documents so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/row_view.hpp"

namespace labelgrove {

struct TextOptions {
  // Runs of so many words, and pieces of so many letters, the boundaries of a word being two of them, are features; there
  // are no words or no pieces where the longest is 0.
  std::uint32_t shortest_run = 1;
  std::uint32_t longest_run = 1;
  std::uint32_t shortest_piece = 0;
  std::uint32_t longest_piece = 0;
  bool beginnings = false;  // only pieces at the beginning of a word, and not to its end
  // Lengths of the two parts of a row.
  float word_weight = 1.0F;
  float piece_weight = 1.0F;
  std::uint32_t most_features = kNone;  // of a part: those that weigh most, of equal ones the first
  std::uint32_t columns = 1U << 22;     // less than 2^31; if there are words and pieces they have half of them each
  std::uint32_t least_documents = 2;    // a feature counts from so many documents on
  std::uint32_t first_documents = 0;    // but from its first one in so many documents at the beginning
  bool rare_count_more = true;          // weights by document frequency
  bool fold_accents = false;
};

// Rows that own their arrays.
struct TextRows {
  std::vector<std::int64_t> indptr{0};
  std::vector<FeatureId> ids;
  std::vector<float> values;

  RowView view() const { return {indptr, ids, values}; }
};

// How often a feature of a text weighs more for being rare, and by which columns a text is known.
//
// A row is made in two steps. `count` finds the features of texts and how often each occurs, which depends on nothing but
// the text. Then they are weighted: a feature that occurs c times in a text, and in d of n documents, gets
// (1 + log c)·(1 + log((1 + n)/(1 + d))), and each part of the row is scaled to its length.
class TextFeatures {
 public:
  // Throws std::invalid_argument for options outside their domains.
  explicit TextFeatures(const TextOptions& options);
  // REQUIRES: `in` was written by save.
  TextFeatures(const TextOptions& options, const ArrayReader& in);

  std::uint64_t documents() const { return n_documents_; }
  const TextOptions& options() const { return options_; }

  // Raw counts, in increasing columns. Changes nothing; the same for any number of threads.
  TextRows count(std::span<const std::string_view> texts, unsigned threads) const;
  // Rows of texts as they would be if each were learnt next.
  TextRows transform(std::span<const std::string_view> texts, unsigned threads) const;
  // The same of texts whose features were counted, all parts below one another; or, unless `as_next`, rows of documents
  // that are among those counted. Throws std::invalid_argument if a column is out of range.
  TextRows weighted(std::span<const RowView> counts, bool as_next, unsigned threads) const;

  // Counts documents whose features were counted.
  void add(const RowView& counts, unsigned threads);
  // One document after another: each is counted, then weighted as things stand. Any cut into calls and any number of
  // threads give the same.
  TextRows learn(const RowView& counts, unsigned threads);

  void save(ArrayWriter& out) const;

 private:
  // A feature's weight in one document, if so many hold it of as many as `Moment` tells.
  struct Moment {
    std::uint64_t documents;
    double logarithm;  // of one more
  };
  static Moment moment(std::uint64_t documents);
  float weight(float times, std::uint32_t documents, const Moment& of) const;
  // Weights rows by the documents that there are, or that there will be with some more that have all the features.
  void weigh(TextRows& rows, std::uint32_t more, unsigned threads) const;
  // Calls use(row, place) for every feature, one document after another for each column.
  template <typename Use>
  void each_share(const RowView& counts, unsigned threads, Use&& use) const;
  // Scales the parts of a row to their lengths, and leaves out what weighs nothing, or least of too many features; gives the
  // number that is left.
  std::size_t finish(std::span<FeatureId> ids, std::span<float> values) const;
  void finish(TextRows& rows, unsigned threads) const;

  TextOptions options_;
  std::uint32_t first_piece_;  // column from which on there are pieces
  std::uint64_t n_documents_ = 0;
  std::vector<std::uint32_t> documents_;  // by column, in how many documents it occurred
};

}  // namespace labelgrove
