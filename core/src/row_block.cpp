#include "labelgrove/row_block.hpp"

#include <algorithm>

#include "labelgrove/kernels.hpp"
#include "labelgrove/row_finder.hpp"

namespace labelgrove {
namespace {

// AROW's squared hinge wants margins of at least 1 and gives no probability; sigma(3 m) measured best calibrated over
// several data sets (docs/decisions/arow.md).
constexpr float kArowSlope = 3.0F;

}  // namespace

void RowBlock::copy_weights(std::uint32_t columns, float* out) const {
  for (std::uint32_t r = 0; r < rows(); ++r) out = std::copy_n(weights(r), columns, out);
}

void RowBlock::copy_state(std::uint32_t columns, float* out) const {
  for (std::uint32_t r = 0; r < rows(); ++r) out = std::copy_n(weights(r) + stride_, columns, out);
}

void RowBlock::margins(const Features& x, Workspace& work, float* out) const {
  find_rows(map_, x, [this](std::uint32_t r) { return weights(r); }, work);
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
    added[j] = found == kNone ? 0.0F : weights(found + 1)[child] * x.values[j] * scale;
  }
  return scale * weights(0)[child];
}

LinearBlock RowBlock::linear() const {
  const auto known = map_.features();
  LinearBlock all{Link::logistic, margin_scale(), children(), {known.begin(), known.end()}, {}};
  all.weights.resize(std::size_t{rows()} * children());
  copy_weights(children(), all.weights.data());
  return all;
}

StoredBlock::StoredBlock(const LearnerOptions& options, const BlockView& stored)
    : RowBlock(options, stored.children, false, stored.updates) {
  map_.reserve(stored.features.size());
  for (const FeatureId feature : stored.features) map_.find_or_insert(feature);
  rows_ = stored.weights;
  row_floats_ = stride_ = columns_;
}

}  // namespace labelgrove
