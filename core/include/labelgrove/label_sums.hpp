// For every label the sum of its examples, each scaled to unit length. The cosine between this sum and an example
// measures the example's similarity to the label's centroid.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"

namespace labelgrove {

class LabelSums {
 public:
  // A sum with more than twice `budget` features is cut to its `budget` largest. If all sums together would take more
  // than `max_bytes` (0 is unbounded), the budget shrinks, down to one feature per label, and all sums are cut to it.
  explicit LabelSums(std::uint32_t budget, std::uint64_t max_bytes = 0) : budget_(budget), max_bytes_(max_bytes) {}
  // Loads what save() wrote. Throws std::invalid_argument if it is damaged.
  explicit LabelSums(const ArrayReader& saved, std::uint64_t max_bytes = 0);
  void save(ArrayWriter& out) const;

  // Adds an example of unit length to its labels; new labels are created.
  void add(const Features& x, std::span<const LabelId> labels, float weight);
  // Removes the label's sum and count.
  void forget(LabelId label);

  // The cosine with an example of unit length; 0 if the label has no examples.
  float cosine(const Features& x, LabelId label) const;
  // The number of examples that had the label.
  std::uint64_t count(LabelId label) const { return label < sums_.size() ? sums_[label].count : 0; }
  // The number of examples added.
  std::uint64_t examples() const { return examples_; }
  std::size_t bytes() const;

 private:
  struct Part {
    FeatureId id;
    float value;
  };
  struct Sum {
    std::vector<Part> parts;  // ids increase
    double square = 0.0;      // squared length
    std::uint64_t count = 0;
  };
  // An upper bound on the memory for so many labels and parts: the list of sums has an eighth to spare.
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
  std::vector<Part> merged_;  // scratch space
};

}  // namespace labelgrove
