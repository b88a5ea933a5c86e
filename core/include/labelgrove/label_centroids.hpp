// Classifiers for rare labels (PfastreXML: Jain, Prabhu & Varma 2016, section 5): the similarity of an example to the
// mean of the label's examples.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"

namespace labelgrove {

class LabelCentroids {
 public:
  // No centroids.
  LabelCentroids() = default;
  // Loads what save() wrote. Throws std::invalid_argument unless there is one valid centroid for every label.
  LabelCentroids(const ArrayReader& saved, LabelId labels, bool check_only = false);
  void save(ArrayWriter& out) const;

  // Appends the centroid of the next label, starting at 0. example(i) returns one of its examples, with its weight.
  void append(std::span<const std::uint32_t> examples,
              const std::function<std::pair<Features, double>(std::uint32_t)>& example);

  bool empty() const { return ends_.size() == 1; }
  std::size_t bytes() const;
  // 2 / (1 + exp(gamma / 2 |x - mu|^2)): 1 at the label's centroid mu, and less with growing distance. `square` is
  // |x|^2.
  double nearness(const Features& x, double square, LabelId label, double gamma) const;

 private:
  std::vector<std::uint64_t> ends_{0};
  std::vector<FeatureId> ids_;  // increasing within a label
  std::vector<float> values_;
  std::vector<double> squares_;  // |mu|^2
};

}  // namespace labelgrove
