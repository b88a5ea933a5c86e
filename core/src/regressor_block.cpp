#include "labelgrove/regressor_block.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "labelgrove/hash.hpp"
#include "labelgrove/kernels.hpp"
#include "labelgrove/sibling_block.hpp"

namespace labelgrove {
namespace {

// The initial value of NAG's sum of squares, to avoid a division by 0.
constexpr float kTiny = 1e-30F;

}  // namespace

RegressorBlock::RegressorBlock(const LearnerOptions& options, std::uint32_t columns, std::uint32_t features,
                               std::uint64_t key)
    : options_(options),
      columns_(columns),
      rows_(features + 1),
      stride_(room_for(columns)),
      row_floats_(std::size_t{stride_} * (options.has_state() ? 2 : 1)),
      storage_(rows_ * row_floats_) {
  if (options_.kind == LearnerKind::arow) throw std::invalid_argument("a regressor block does not learn by AROW");
  std::fill_n(storage_.data(), rows_ * row_floats_, 0.0F);
  if (options_.kind == LearnerKind::nag) scales_.resize(rows_);
  if (options_.spread == 0.0F) return;
  for (std::uint32_t r = 0; r < rows_; ++r) {
    for (std::uint32_t c = 0; c < columns_; ++c) {
      const auto unit = static_cast<float>(draw(key, Draw::weights, r, c) >> 40) * 0x1.0p-24F;
      row(r)[c] = options_.spread * (2.0F * unit - 1.0F);
    }
  }
}

// NAG (Ross, Mineiro & Langford 2013, Algorithm 2) keeps the largest value s of each feature and takes AdaGrad's steps
// times sqrt(t / N) / s; when s grows, w shrinks so that w s is unchanged. We store w s: then nothing needs to shrink,
// and the step is AdaGrad's. Returns sqrt(t / N), and sets work.scaled to x / s.
double RegressorBlock::normalize(const Features& x, Workspace& work) {
  const std::size_t n = x.size + std::size_t{1};
  work.scaled.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    float& scale = scales_[work.found[j]];
    scale = std::max(scale, std::fabs(work.values[j]));
    work.scaled[j] = scale > 0.0F ? work.values[j] / scale : 0.0F;
    norm_ += static_cast<double>(work.scaled[j]) * static_cast<double>(work.scaled[j]);
  }
  return std::sqrt(static_cast<double>(examples_ + 1) / norm_);
}

void RegressorBlock::learn(const Features& x, std::span<const float> targets, float weight, Workspace& work,
                           float* margins) {
  find_numbered_rows(x, work);
  const Kernels& kernel = kernels();
  const std::size_t n = work.found.size();
  work.rows.resize(n);
  for (std::size_t j = 0; j < n; ++j) work.rows[j] = row(work.found[j]);
  work.steps.assign(stride_, 0.0F);
  work.margins.resize(std::max<std::size_t>(work.margins.size(), stride_));
  const bool is_nag = options_.kind == LearnerKind::nag;
  const float rate =
      is_nag ? static_cast<float>(static_cast<double>(options_.rate) * normalize(x, work)) : options_.rate;
  const float* values = work.values.data();
  const float* seen = is_nag ? work.scaled.data() : values;
  float* steps = work.steps.data();
  kernel.margins(work.rows.data(), seen, n, stride_, work.margins.data());
  for (std::uint32_t c = 0; c < columns_; ++c) steps[c] = work.margins[c] - targets[c];
  if (options_.kind == LearnerKind::sgd) {
    const auto step = static_cast<float>(-sgd_step(options_, squared_length(values, n), static_cast<double>(weight)));
    for (std::uint32_t c = 0; c < columns_; ++c) steps[c] *= step;
    kernel.add_scaled(work.rows.data(), values, n, stride_, steps);
  } else {
    for (std::uint32_t c = 0; c < columns_; ++c) steps[c] *= weight;
    kernel.adagrad(work.rows.data(), values, n, stride_, stride_, steps, rate, is_nag ? kTiny : options_.epsilon);
  }
  kernel.margins(work.rows.data(), seen, n, columns_, margins);
  ++examples_;
}

std::vector<float> RegressorBlock::weights() const {
  std::vector<float> all(std::size_t{rows_} * columns_);
  for (std::uint32_t r = 0; r < rows_; ++r) {
    const float scale = scales_.empty() ? 1.0F : scales_[r];
    for (std::uint32_t c = 0; c < columns_; ++c) all[r * columns_ + c] = scale > 0.0F ? row(r)[c] / scale : 0.0F;
  }
  return all;
}

}  // namespace labelgrove
