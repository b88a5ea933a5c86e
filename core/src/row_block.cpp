#include "labelgrove/row_block.hpp"

#include <algorithm>

#include "labelgrove/kernels.hpp"

namespace labelgrove {
namespace {

// AROW's squared hinge wants margins of at least 1 and gives no probability; sigma(3 m) measured best calibrated over
// several data sets (docs/decisions/arow.md).
constexpr float kArowSlope = 3.0F;

}  // namespace

void RowBlock::margins(const Features& x, Workspace& work, float* out) const {
  for (std::uint32_t j = 0; j < x.size; ++j) map_.prefetch(x.ids[j]);
  work.rows.clear();
  work.values.clear();
  const auto add = [&](std::uint32_t row, float value) {
    __builtin_prefetch(weights(row));
    work.rows.push_back(const_cast<float*>(weights(row)));  // learning and prediction share the workspace
    work.values.push_back(value);
  };
  add(0, 1.0F);  // the bias
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t found = map_.find(x.ids[j]);
    if (found == kNone) continue;
    const Place at = place(found);
    add(at.row, x.values[j] * at.share);
  }
  work.bytes += work.rows.size() * children() * sizeof(float);
  kernels().margins(work.rows.data(), work.values.data(), work.rows.size(), children(), out);
}

void RowBlock::predict(const Features& x, Workspace& work, float* probabilities) const {
  const std::uint32_t columns = children();
  if (work.margins.size() < columns) work.margins.resize(columns);
  float* scores = work.margins.data();
  margins(x, work, scores);
  const float scale = margin_scale();
  for (std::uint32_t c = 0; c < columns; ++c) scores[c] *= scale;
  kernels().sigmoid(scores, columns, probabilities);
}

float RowBlock::margin_scale() const { return options_.kind == LearnerKind::arow ? kArowSlope : inverse_scale(); }

float RowBlock::inverse_scale() const {
  if (options_.kind != LearnerKind::sgd) return 1.0F;
  const double decay = static_cast<double>(options_.l2) * static_cast<double>(options_.rate);
  return static_cast<float>((1.0 + decay) / (1.0 + decay * static_cast<double>(updates_ + 1)));
}

float RowBlock::contributions(const Features& x, std::uint32_t child, float* added) const {
  const float scale = margin_scale();
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t found = map_.find(x.ids[j]);
    const Place at = found == kNone ? Place() : place(found);
    added[j] = found == kNone ? 0.0F : weights(at.row)[child] * at.share * x.values[j] * scale;
  }
  return scale * weights(0)[child];
}

LinearBlock RowBlock::linear() const {
  const auto known = map_.features();
  LinearBlock all{Link::logistic, margin_scale(), children(), {known.begin(), known.end()}, {}};
  all.weights.resize((known.size() + 1) * children());
  float* out = std::copy_n(weights(0), children(), all.weights.data());
  for (std::uint32_t feature = 0; feature < known.size(); ++feature) {
    const Place at = place(feature);
    out = std::transform(weights(at.row), weights(at.row) + children(), out, [&](float w) { return w * at.share; });
  }
  return all;
}

StoredBlock::StoredBlock(const LearnerOptions& options, const BlockView& stored)
    : RowBlock(options, stored.children, false, stored.updates) {
  map_.reserve(stored.features.size());
  for (const FeatureId feature : stored.features) map_.find_or_insert(feature);
  places_ = stored.places;
  shares_ = stored.shares;
  row_count_ = stored.rows();
  rows_ = stored.weights;
  row_floats_ = stride_ = columns_;
}

}  // namespace labelgrove
