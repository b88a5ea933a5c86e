#include "labelgrove/sibling_block.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "labelgrove/kernels.hpp"

namespace labelgrove {
namespace {

constexpr std::uint32_t kBiasRow = 0;

// An example that is learnt again moves the weights half as far, and leaves AROW's variances alone: it is no new
// evidence. Shrinking them once more is what over-fits (docs/decisions/arow.md).
constexpr float kReplayedR = 2.0F;

}  // namespace

SiblingBlock::SiblingBlock(const LearnerOptions& options, std::uint32_t children, bool theta)
    : RowBlock(options, children, theta, 0), state_(options.has_state()) {
  if (options.kind == LearnerKind::nag || (options.kind != LearnerKind::arow && options.loss != Loss::logistic)) {
    throw std::invalid_argument("a sibling block learns by AROW, or by AdaGrad or SGD in logistic loss");
  }
  set_stride(room_for(columns_));
  start_row(kBiasRow);
}

SiblingBlock::SiblingBlock(const LearnerOptions& options, const BlockView& stored)
    : SiblingBlock(options, stored.children, stored.theta) {
  updates_ = stored.updates;
  map_.reserve(stored.features.size());
  for (const FeatureId feature : stored.features) map_.find_or_insert(feature);
  reserve_rows(rows());
  for (std::uint32_t r = 0; r < rows(); ++r) {
    start_row(r);
    const std::size_t at = std::size_t{r} * columns_;
    std::copy_n(stored.weights + at, columns_, row(r));
    if (state_ && stored.state != nullptr) std::copy_n(stored.state + at, columns_, row(r) + stride_);
  }
}

std::size_t SiblingBlock::bytes() const {
  return map_.bytes() + storage_.bytes(rows() * row_floats_) + sizeof(SiblingBlock);
}

// --- columns ---------------------------------------------------------------------------------------------------------

void SiblingBlock::set_stride(std::uint32_t stride) {
  stride_ = stride;
  row_floats_ = std::size_t{stride} * (state_ ? 2 : 1);
}

void SiblingBlock::reserve_rows(std::size_t rows) {
  storage_.reserve(rows * row_floats_);
  rows_ = storage_.data();
}

void SiblingBlock::start_row(std::uint32_t r) {
  reserve_rows(std::size_t{r} + 1);
  float* weights = row(r);
  std::fill_n(weights, stride_, 0.0F);
  if (state_) std::fill_n(weights + stride_, stride_, options_.initial_state());
}

void SiblingBlock::make_room(std::uint32_t columns) {
  if (columns > stride_) move_to_stride(room_for(columns));
}

// In place: the pages that the rows lie in are in the cache and the process has them already, fresh ones cost more than
// all the moving. Rows move from the far end on, so that none is overwritten before it has moved.
void SiblingBlock::move_to_stride(std::uint32_t stride) {
  const std::size_t parts = state_ ? 2 : 1;
  const std::uint32_t old_stride = stride_;
  const std::uint32_t kept = std::min({columns_, stride, old_stride});
  storage_.reserve(rows() * parts * stride);
  float* data = storage_.data();
  const auto move = [&](std::size_t r, std::size_t part) {
    float* to = data + (r * parts + part) * stride;
    std::memmove(to, data + (r * parts + part) * old_stride, kept * sizeof(float));
    std::fill_n(to + kept, stride - kept, part == 0 ? 0.0F : options_.initial_state());
  };
  if (stride > old_stride) {
    for (std::size_t r = rows(); r-- > 0;) {
      for (std::size_t part = parts; part-- > 0;) move(r, part);
    }
  } else {
    for (std::size_t r = 0; r < rows(); ++r) {
      for (std::size_t part = 0; part < parts; ++part) move(r, part);
    }
  }
  set_stride(stride);
  if (stride < old_stride) storage_.give_back(rows() * row_floats_);
  rows_ = storage_.data();
}

void SiblingBlock::copy_column(std::uint32_t from, std::uint32_t to, bool negated) {
  // 0 - w rather than -w: a weight that never moved is +0 in both.
  for (std::uint32_t r = 0; r < rows(); ++r) {
    float* weights = row(r);
    weights[to] = negated ? 0.0F - weights[from] : weights[from];
    if (state_) weights[stride_ + to] = weights[stride_ + from];
  }
}

void SiblingBlock::add_leaf() {
  make_room(columns_ + 1);
  ++columns_;
  copy_column(columns_ - 2, columns_ - 1, false);  // theta stays the last column
  copy_column(columns_ - 1, columns_ - 2, true);   // and the new leaf is its inverse
}

void SiblingBlock::reset_child(std::uint32_t child) { copy_column(columns_ - 1, child, true); }

void SiblingBlock::drop_theta() {
  theta_ = false;
  --columns_;
  // What lies beyond the last column must be as new, for the next column that takes its place.
  for (std::uint32_t r = 0; r < rows(); ++r) {
    row(r)[columns_] = 0.0F;
    if (state_) row(r)[stride_ + columns_] = options_.initial_state();
  }
  if (room_for(columns_) < stride_) move_to_stride(room_for(columns_));
}

SiblingBlock SiblingBlock::parent_block() const {
  SiblingBlock parent(options_, 1, true);
  parent.map_ = map_;
  parent.updates_ = updates_;
  parent.reserve_rows(rows());
  for (std::uint32_t r = 0; r < rows(); ++r) {
    const float* theta = weights(r) + columns_ - 1;
    float* copy = parent.row(r);
    copy[0] = copy[1] = theta[0];
    if (state_) copy[parent.stride_] = copy[parent.stride_ + 1] = theta[stride_];
  }
  return parent;
}

void SiblingBlock::put_weights(std::span<const float> weights) {
  const std::uint32_t n = children();
  for (std::uint32_t r = 0; r < rows(); ++r) {
    const std::size_t at = std::size_t{r} * n;
    if (at < weights.size()) std::copy_n(weights.data() + at, n, row(r));
    else std::fill_n(row(r), n, 0.0F);
  }
}

// --- learning --------------------------------------------------------------------------------------------------------

void SiblingBlock::find_or_insert_rows(const Features& x, Workspace& work) {
  work.found.resize(x.size);
  for (std::uint32_t j = 0; j < x.size; ++j) map_.prefetch(x.ids[j]);
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t before = map_.size();
    work.found[j] = map_.find_or_insert(x.ids[j]);
    if (map_.size() != before) start_row(before + 1);
    else __builtin_prefetch(row(work.found[j] + 1));
  }
  work.rows.resize(x.size + 1);
  work.values.resize(x.size + 1);
  work.rows[0] = row(kBiasRow);
  work.values[0] = 1.0F;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    work.rows[j + 1] = row(work.found[j] + 1);
    work.values[j + 1] = x.values[j];
  }
}

// SGD holds w~ = Pi_t w, so that L2 regularisation touches no weight that the example does not (Jasinska et al. 2016,
// Appendix B). With gamma_t = gamma / (1 + lambda gamma t) the product telescopes to
// Pi_t = (1 + lambda gamma (t + 1)) / (1 + lambda gamma), and the step Pi_{t-1} gamma_t is the constant
// gamma / (1 + lambda gamma).
void SiblingBlock::learn(const Features& x, std::span<const std::uint32_t> positives, float weight, bool fresh,
                         Workspace& work) {
  find_or_insert_rows(x, work);
  const Kernels& kernel = kernels();
  const std::size_t n = work.rows.size();
  const std::uint32_t columns = room_for(columns_);  // whole vectors; what lies beyond the last column is as new
  for (auto* scratch : {&work.margins, &work.variances, &work.steps, &work.targets}) {
    if (scratch->size() < columns) scratch->resize(columns);
  }
  float* const* rows = work.rows.data();
  const float* values = work.values.data();
  float* margins = work.margins.data();
  float* steps = work.steps.data();
  float* targets = work.targets.data();
  std::fill_n(targets, columns, -1.0F);
  for (const std::uint32_t child : positives) targets[child] = 1.0F;
  if (theta_) targets[columns_ - 1] = 1.0F;

  if (options_.kind == LearnerKind::arow) {
    kernel.margins_and_variances(rows, values, n, columns, stride_, margins, work.variances.data());
    const float r = (fresh ? options_.r : kReplayedR * options_.r) / weight;
    for (std::uint32_t c = 0; c < columns; ++c) {
      const float loss = 1.0F - targets[c] * margins[c];
      steps[c] = loss > 0.0F ? targets[c] * arow_step(loss, work.variances[c], r) : 0.0F;
    }
    std::fill(steps + columns_, steps + columns, 0.0F);
    kernel.arow(rows, values, n, columns, stride_, steps, fresh ? weight / options_.r : 0.0F);
  } else {
    kernel.margins(rows, values, n, columns, margins);
    const float scale = inverse_scale();
    for (std::uint32_t c = 0; c < columns; ++c) steps[c] = -targets[c] * (margins[c] * scale);
    kernel.sigmoid(steps, columns, steps);
    for (std::uint32_t c = 0; c < columns; ++c) steps[c] *= -targets[c];  // the gradient
    std::fill(steps + columns_, steps + columns, 0.0F);
    if (options_.kind == LearnerKind::adagrad) {
      for (std::uint32_t c = 0; c < columns_; ++c) steps[c] *= weight;
      kernel.adagrad(rows, values, n, columns, stride_, steps, options_.rate, options_.epsilon);
    } else {
      const auto step = static_cast<float>(-sgd_step(options_, squared_length(values, n), static_cast<double>(weight)));
      for (std::uint32_t c = 0; c < columns_; ++c) steps[c] *= step;
      kernel.add_scaled(rows, values, n, columns, steps);
    }
  }
  ++updates_;
}

}  // namespace labelgrove
