// What the examples of every label look like: the sum of them, each scaled to unit length, of which the cosine to an
// example is how near that example is to the label's centroid.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"

namespace labelgrove {

class LabelSums {
 public:
  // A sum that comes to more than twice as many features as `budget` is cut to the largest `budget` of them. Where all
  // of them would take more than `max_bytes`, unless it is 0, the budget becomes smaller, and all are cut to it, down to
  // one feature a label.
  explicit LabelSums(std::uint32_t budget, std::uint64_t max_bytes = 0) : budget_(budget), max_bytes_(max_bytes) {}
  // What save() wrote. Throws std::invalid_argument if anything does not hold that must.
  explicit LabelSums(const ArrayReader& saved, std::uint64_t max_bytes = 0);
  void save(ArrayWriter& out) const;

  // Adds an example of unit length, with the labels that it has; labels without examples come into being.
  void add(const Features& x, std::span<const LabelId> labels, float weight);
  // Forgets what the label's examples looked like, and how many there were.
  void forget(LabelId label);

  // Of an example of unit length; 0 where the label has no examples.
  float cosine(const Features& x, LabelId label) const;
  // Examples that had the label.
  std::uint64_t count(LabelId label) const { return label < sums_.size() ? sums_[label].count : 0; }
  // Examples that were added.
  std::uint64_t examples() const { return examples_; }
  std::size_t bytes() const;

 private:
  struct Part {
    FeatureId id;
    float value;
  };
  struct Sum {
    std::vector<Part> parts;  // ids increase
    double square = 0.0;      // of the length
    std::uint64_t count = 0;
  };
  // At most what is held for so many labels and parts: the list of sums has an eighth to spare.
  std::uint64_t most_bytes(std::size_t labels, std::uint64_t parts) const {
    return (labels + labels / 8 + 1) * sizeof(Sum) + parts * sizeof(Part);
  }
  void make_room(std::size_t labels, std::uint64_t parts);
  void cut(std::vector<Part>& parts) const;
  void merge(const Features& x, float weight, Sum& sum);
  void measure(Sum& sum) const;

  std::uint32_t budget_;
  std::uint64_t max_bytes_;
  std::uint64_t examples_ = 0;
  std::uint64_t parts_ = 0;   // of all sums
  std::vector<Sum> sums_;     // by label
  std::vector<Part> merged_;  // room to work in
};

}  // namespace labelgrove
