#include "labelgrove/label_centroids.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/elementary.hpp"

namespace labelgrove {
void LabelCentroids::append(std::span<const std::uint32_t> examples,
                            const std::function<std::pair<Features, double>(std::uint32_t)>& example) {
  std::vector<std::pair<FeatureId, double>> parts;
  double total = 0.0;
  for (const std::uint32_t i : examples) {
    const auto [x, weight] = example(i);
    total += weight;
    for (std::uint32_t j = 0; j < x.size; ++j) parts.emplace_back(x.ids[j], weight * static_cast<double>(x.values[j]));
  }
  // Stable, so that a feature's parts stay in the order of the examples and their sum does not depend on the sort.
  std::ranges::stable_sort(parts, {}, &std::pair<FeatureId, double>::first);
  const std::size_t begin = ids_.size();
  for (std::size_t i = 0; i < parts.size();) {
    const FeatureId id = parts[i].first;
    double sum = 0.0;
    for (; i < parts.size() && parts[i].first == id; ++i) sum += parts[i].second;
    if (total <= 0.0) continue;
    ids_.push_back(id);
    values_.push_back(static_cast<float>(sum / total));
  }
  ends_.push_back(ids_.size());
  squares_.push_back(squared_length(values_.data() + begin, values_.size() - begin));
}

double LabelCentroids::nearness(const Features& x, double square, LabelId label, double gamma) const {
  const FeatureId* id = ids_.data() + ends_[label];
  const FeatureId* end = ids_.data() + ends_[label + 1];
  double product = 0.0;
  for (std::uint32_t j = 0; j < x.size && id != end; ++j) {
    id = std::lower_bound(id, end, x.ids[j]);
    if (id != end && *id == x.ids[j])
      product +=
          static_cast<double>(x.values[j]) * static_cast<double>(values_[static_cast<std::size_t>(id - ids_.data())]);
  }
  const double distance = std::max(0.0, square - 2.0 * product + squares_[label]);
  return 2.0 / (1.0 + fixed_exp(0.5 * gamma * distance));
}

std::size_t LabelCentroids::bytes() const {
  return ends_.capacity() * sizeof(ends_[0]) + ids_.capacity() * sizeof(ids_[0]) +
         values_.capacity() * sizeof(values_[0]) + squares_.capacity() * sizeof(squares_[0]);
}

void LabelCentroids::save(ArrayWriter& out) const {
  auto sizes = out.u32("centroid.features", squares_.size());
  for (std::size_t label = 0; label < squares_.size(); ++label)
    sizes[label] = static_cast<std::uint32_t>(ends_[label + 1] - ends_[label]);
  out.lend("centroid.feature", ids_);
  out.lend("centroid.value", values_);
}

LabelCentroids::LabelCentroids(const ArrayReader& saved, LabelId labels, bool check_only) {
  const auto sizes = saved.u32("centroid.features");
  Pieces<std::uint32_t> ids(saved, "centroid.feature");
  Pieces<float> values(saved, "centroid.value");
  require(sizes.size() == labels, "array 'centroid.features' must hold one number for each label");
  for (const std::uint32_t size : sizes) {
    const auto id = ids.take(size);
    const auto value = values.take(size);
    require(increases_below(id, kNone / 2), "a centroid's features do not increase, or are out of range");
    require(all_finite(value), "a centroid holds a number that is not finite");
    if (check_only) continue;
    ids_.insert(ids_.end(), id.begin(), id.end());
    values_.insert(values_.end(), value.begin(), value.end());
    ends_.push_back(ids_.size());
    squares_.push_back(squared_length(value.data(), value.size()));
  }
  finish_all(ids, values);
}

}  // namespace labelgrove
