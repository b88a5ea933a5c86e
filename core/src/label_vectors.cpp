#include "labelgrove/label_vectors.hpp"

#include <bit>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

constexpr std::size_t kRowsPerTask = 4096;
constexpr std::int64_t kExamplesPerTask = 2048;

// A sum of rows, with a place for every feature. Two levels of bits mark the occupied places, so that reading them in
// order, and clearing them, takes time in proportion to their number.
class Sum {
 public:
  explicit Sum(std::uint32_t dimension)
      : values_(dimension, 0.0F), taken_(dimension / 64 + std::size_t{1}), words_(taken_.size() / 64 + 1) {}

  void add(const Features& x, double scale) {
    for (std::uint32_t j = 0; j < x.size; ++j) {
      const FeatureId id = x.ids[j];
      if (id >= values_.size()) throw std::invalid_argument("a row has a feature that is out of range");
      values_[id] += scaled(x.values[j], scale);
      taken_[id / 64] |= std::uint64_t{1} << id % 64;
      words_[id / 4096] |= std::uint64_t{1} << id / 64 % 64;
    }
  }

  // Appends the sum, without features that have cancelled out, and clears it.
  void take(SparseRows& vectors) {
    const std::size_t begin = vectors.values.size();
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t words = std::exchange(words_[i], 0); words != 0; words &= words - 1) {
        const std::size_t word = i * 64 + static_cast<std::size_t>(std::countr_zero(words));
        for (std::uint64_t bits = std::exchange(taken_[word], 0); bits != 0; bits &= bits - 1) {
          const std::size_t id = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
          const float value = std::exchange(values_[id], 0.0F);
          if (value == 0.0F) continue;
          vectors.ids.push_back(static_cast<FeatureId>(id));
          vectors.values.push_back(value);
        }
      }
    }
    const std::size_t size = vectors.values.size() - begin;
    const double scale =
        unit_scale({vectors.ids.data() + begin, vectors.values.data() + begin, static_cast<std::uint32_t>(size)});
    for (float& value : std::span(vectors.values).subspan(begin)) value = scaled(value, scale);
    vectors.indptr.push_back(static_cast<std::int64_t>(vectors.ids.size()));
  }

 private:
  std::vector<float> values_;
  std::vector<std::uint64_t> taken_;
  std::vector<std::uint64_t> words_;  // which words of `taken_` are not 0
};

// Divides the labels into runs with about the same number of examples: the beginning of each run, and the end of the
// last.
std::vector<std::size_t> runs_of(std::span<const std::int64_t> ends) {
  std::vector<std::size_t> runs{0};
  for (std::size_t label = 1; label < ends.size(); ++label) {
    if (label + 1 == ends.size() || ends[label] - ends[runs.back()] >= kExamplesPerTask) runs.push_back(label);
  }
  return runs;
}

}  // namespace

SparseRows label_vectors(const RowView& rows, std::uint32_t dimension, std::span<const std::int64_t> ends,
                         std::span<const std::uint32_t> examples, unsigned threads) {
  std::vector<double> scales(rows.size());
  parallel_for_runs(rows.size(), kRowsPerTask, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) scales[row] = unit_scale(rows[row]);
  });

  const std::vector<std::size_t> runs = runs_of(ends);
  std::vector<SparseRows> parts(runs.size() - 1);
  const auto make = [=] { return Sum(dimension); };
  parallel_for(parts.size(), threads, make, [&](Sum& sum, std::size_t run) {
    for (std::size_t label = runs[run]; label < runs[run + 1]; ++label) {
      for (const std::uint32_t row : examples.subspan(static_cast<std::size_t>(ends[label]),
                                                      static_cast<std::size_t>(ends[label + 1] - ends[label]))) {
        if (row >= scales.size()) throw std::invalid_argument("a label has an example that does not exist");
        sum.add(rows[row], scales[row]);
      }
      sum.take(parts[run]);
    }
  });

  SparseRows all;
  std::size_t entries = 0;
  for (const SparseRows& part : parts) entries += part.ids.size();
  all.ids.reserve(entries);
  all.values.reserve(entries);
  for (SparseRows& part : parts) {
    all.append(part);
    part = SparseRows();
  }
  return all;
}

}  // namespace labelgrove
