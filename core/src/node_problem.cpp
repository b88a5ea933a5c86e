#include "labelgrove/node_problem.hpp"

#include <algorithm>

namespace labelgrove {

namespace {

constexpr FeatureId kNear = FeatureId{1} << 22;  // smaller features are looked up in an array

}  // namespace

// An entry of number_ that is left over from an earlier node is recognised because features_ has another feature at
// that index, so nothing needs to be cleared between nodes.
std::uint32_t NodeProblem::row_of(FeatureId feature) {
  if (feature >= kNear) {
    const std::uint32_t found = far_.find(feature);
    if (found != kNone) return found + 1;
    far_.put(feature, table_rows() - 1);
    features_.push_back(feature);
    return table_rows() - 1;
  }
  if (feature >= number_.size()) number_.resize(std::max<std::size_t>(feature + std::size_t{1}, 2 * number_.size()));
  const std::uint32_t found = number_[feature];
  if (found < features_.size() && features_[found] == feature) return found + 1;
  number_[feature] = static_cast<std::uint32_t>(features_.size());
  features_.push_back(feature);
  return table_rows() - 1;
}

void NodeProblem::build(const TrainingSet& data, std::span<const std::uint32_t> examples, float bias) {
  ends_.assign(1, 0);
  squares_.clear();
  features_.clear();
  far_ = FeatureMap();
  std::size_t cells = 0;
  for (const std::uint32_t example : examples) cells += std::size_t{data.example(example).x.size} + 1;
  if (ids_.size() < cells) {
    ids_.clear();
    values_.clear();
    ids_.resize(cells);
    values_.resize(cells);
  }
  std::size_t at = 0;
  for (const std::uint32_t example : examples) {
    const Features x = data.example(example).x;
    const double scale = data.normalize ? unit_scale(x) : data.scale;
    ids_[at] = 0;
    values_[at++] = bias;
    double square = static_cast<double>(bias) * static_cast<double>(bias);
    for (std::uint32_t j = 0; j < x.size; ++j) {
      ids_[at] = row_of(x.ids[j]);
      values_[at] = scaled(x.values[j], scale);
      square += static_cast<double>(values_[at]) * static_cast<double>(values_[at]);
      ++at;
    }
    squares_.push_back(static_cast<float>(square));
    ends_.push_back(at);
  }
}

}  // namespace labelgrove
