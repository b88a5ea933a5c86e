// Classifiers for labels that few examples have (PfastreXML: Jain, Prabhu & Varma 2016, section 5): how near an example
// is to the mean of those that have the label.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"

namespace labelgrove {

class LabelCentroids {
 public:
  // None.
  LabelCentroids() = default;
  // What save() wrote. Throws std::invalid_argument unless it holds one centroid for every label.
  LabelCentroids(const ArrayReader& saved, LabelId labels, bool check_only = false);
  void save(ArrayWriter& out) const;

  // Adds the centroid of the next label, from 0 on. each(take) calls take(x, weight) for every example that has it.
  using Take = std::function<void(const Features& x, double weight)>;
  void append(const std::function<void(const Take& take)>& each);

  bool empty() const { return ends_.size() == 1; }
  std::size_t bytes() const;
  // 2 / (1 + exp(gamma / 2 |x - mu|^2)): 1 where x is the label's centroid, and less the farther it is. `square` is
  // |x|^2.
  double nearness(const Features& x, double square, LabelId label, double gamma) const;

 private:
  std::vector<std::uint64_t> ends_{0};
  std::vector<FeatureId> ids_;  // increasing for every label
  std::vector<float> values_;
  std::vector<double> squares_;  // |mu|^2
};

}  // namespace labelgrove
