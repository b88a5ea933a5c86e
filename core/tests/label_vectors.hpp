// Sparse vectors of labels that own their arrays.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "labelgrove/row_view.hpp"
#include "support.hpp"

namespace labelgrove::testing {

struct Vectors {
  std::vector<std::vector<std::pair<FeatureId, float>>> rows;
  std::vector<std::int64_t> indptr{0};
  std::vector<FeatureId> ids;
  std::vector<float> values;

  void add(const std::vector<std::pair<FeatureId, float>>& row) {
    rows.push_back(row);
    for (const auto& [id, value] : row) {
      ids.push_back(id);
      values.push_back(value);
    }
    indptr.push_back(static_cast<std::int64_t>(ids.size()));
  }
  RowView view() const { return {indptr, ids, values}; }
  std::vector<LabelId> all() const {
    std::vector<LabelId> labels(rows.size());
    std::iota(labels.begin(), labels.end(), 0U);
    return labels;
  }
  std::vector<double> scales() const {
    std::vector<double> scales;
    for (std::size_t label = 0; label < rows.size(); ++label) scales.push_back(unit_scale(view()[label]));
    return scales;
  }
};

inline Vectors random_vectors(std::size_t labels, std::uint32_t features, double density) {
  Random random(11);
  Vectors vectors;
  for (std::size_t label = 0; label < labels; ++label) {
    const Example example = random_example(random, features, density);
    std::vector<std::pair<FeatureId, float>> row;
    for (std::size_t j = 0; j < example.ids.size(); ++j) row.emplace_back(example.ids[j], example.values[j]);
    vectors.add(row);
  }
  return vectors;
}

}  // namespace labelgrove::testing
