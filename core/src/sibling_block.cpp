#include "labelgrove/sibling_block.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "labelgrove/hash.hpp"
#include "labelgrove/kernels.hpp"
#include "labelgrove/row_finder.hpp"

namespace labelgrove {
namespace {

constexpr std::uint32_t kBiasRow = 0;

// AROW's squared hinge wants margins of at least 1 and gives no probability; sigma(3 m) measured best calibrated over
// several data sets (docs/decisions/arow.md).
constexpr float kArowSlope = 3.0F;
// An example that is learnt again moves the weights half as far, and leaves AROW's variances alone: it is no new evidence.
// Shrinking them once more is what over-fits (docs/decisions/arow.md).
constexpr float kReplayedR = 2.0F;

// Columns that a row has room for: 2, or vectors of 4. (Vectors of 8 are faster by 2 % and hold 1 to 4 % more.)
std::uint32_t room_for(std::uint32_t columns) { return columns <= 2 ? 2 : (columns + 3) / 4 * 4; }

// What NAG's sum of squares begins with: no step is divided by 0.
constexpr float kTiny = 1e-30F;

void prepare(Workspace& work, std::size_t columns) {
  if (work.margins.size() < columns) {
    work.margins.resize(columns);
    work.variances.resize(columns);
    work.steps.resize(columns);
    work.targets.resize(columns);
  }
}

}  // namespace

SiblingBlock::SiblingBlock(const LearnerOptions& options, std::uint32_t children, bool theta, std::uint64_t key)
    : options_(options),
      columns_(children + (theta ? 1 : 0)),
      stride_(room_for(columns_)),
      theta_(theta),
      state_(options.has_state()),
      key_(key) {
  start_row(kBiasRow);
}

SiblingBlock::SiblingBlock(const LearnerOptions& options, const BlockView& stored, bool borrow)
    : options_(options),
      columns_(stored.children + (stored.theta ? 1 : 0)),
      stride_(borrow ? columns_ : room_for(columns_)),
      theta_(stored.theta),
      state_(!borrow && options.has_state()),
      updates_(stored.updates) {
  map_.reserve(stored.features.size());
  for (const FeatureId feature : stored.features) map_.find_or_insert(feature);
  if (borrow) {
    borrowed_ = stored.weights;
    return;
  }
  storage_.reserve(rows() * row_floats());
  for (std::uint32_t r = 0; r < rows(); ++r) {
    start_row(r);
    const std::size_t at = std::size_t{r} * columns_;
    std::copy_n(stored.weights + at, columns_, row(r));
    if (state_ && stored.state != nullptr) std::copy_n(stored.state + at, columns_, row(r) + stride_);
  }
}

std::size_t SiblingBlock::bytes() const {
  return map_.bytes() + (borrowed_ == nullptr ? storage_.bytes(rows() * row_floats()) : 0) + sizeof(SiblingBlock);
}

void SiblingBlock::copy_weights(std::uint32_t columns, float* out) const {
  for (std::uint32_t r = 0; r < rows(); ++r) out = std::copy_n(row(r), columns, out);
}

void SiblingBlock::copy_state(std::uint32_t columns, float* out) const {
  for (std::uint32_t r = 0; r < rows(); ++r) out = std::copy_n(row(r) + stride_, columns, out);
}

// --- columns -----------------------------------------------------------------------------------------------------------

void SiblingBlock::start_row(std::uint32_t r) {
  storage_.reserve((std::size_t{r} + 1) * row_floats());
  float* weights = row(r);
  std::fill_n(weights, stride_, 0.0F);
  if (state_) std::fill_n(weights + stride_, stride_, options_.initial_state());
  if (options_.kind == LearnerKind::nag) scales_.push_back(0.0F);
  if (options_.spread > 0.0F) {
    const std::uint64_t feature = r == kBiasRow ? 0 : std::uint64_t{map_.features()[r - 1]} + 1;
    for (std::uint32_t c = 0; c < columns_; ++c) {
      const auto unit = static_cast<float>(draw(key_, Draw::weights, feature, c) >> 40) * 0x1.0p-24F;
      weights[c] = options_.spread * (2.0F * unit - 1.0F);
    }
  }
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
  stride_ = stride;
  if (stride < old_stride) storage_.give_back(rows() * row_floats());
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
  const std::uint32_t theta = columns_ - 1;
  parent.storage_.reserve(rows() * parent.row_floats());
  for (std::uint32_t r = 0; r < rows(); ++r) {
    float* copy = parent.row(r);
    copy[0] = copy[1] = row(r)[theta];
    if (state_) copy[parent.stride_] = copy[parent.stride_ + 1] = row(r)[stride_ + theta];
  }
  return parent;
}

// --- learning and prediction ---------------------------------------------------------------------------------------------

void SiblingBlock::number_features(std::uint32_t count) {
  map_.reserve(count);
  for (FeatureId feature = 0; feature < count; ++feature) start_row(map_.find_or_insert(feature) + 1);
  numbered_ = true;
}

void SiblingBlock::insert_rows(const Features& x, Workspace& work) {
  work.found.resize(x.size);
  for (std::uint32_t j = 0; j < x.size; ++j) map_.prefetch(x.ids[j]);
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t before = map_.size();
    work.found[j] = map_.find_or_insert(x.ids[j]);
    if (map_.size() != before) start_row(before + 1);
    else __builtin_prefetch(row(work.found[j] + 1));
  }
}

void SiblingBlock::find_or_insert_rows(const Features& x, Workspace& work) {
  if (!numbered_) insert_rows(x, work);
  const std::uint32_t* found = numbered_ ? x.ids : work.found.data();
  work.rows.resize(x.size + 1);
  work.values.resize(x.size + 1);
  work.rows[0] = row(kBiasRow);
  work.values[0] = 1.0F;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    work.rows[j + 1] = row(found[j] + 1);
    work.values[j + 1] = x.values[j];
  }
}

void SiblingBlock::learn(const Features& x, std::span<const std::uint32_t> positives, float weight, bool fresh,
                         Workspace& work) {
  find_or_insert_rows(x, work);
  const Kernels& kernel = kernels();
  const std::size_t n = work.rows.size();
  const std::uint32_t columns = room_for(columns_);  // whole vectors; what lies beyond the last column is as new
  prepare(work, columns);
  float* const* rows = work.rows.data();
  const float* values = work.values.data();
  float* margins = work.margins.data();
  float* steps = work.steps.data();
  float* targets = work.targets.data();
  std::fill_n(targets, columns, -1.0F);
  for (const std::uint32_t child : positives) targets[child] = 1.0F;
  if (theta_) targets[columns_ - 1] = 1.0F;

  switch (options_.kind) {
    case LearnerKind::adagrad:
    case LearnerKind::sgd: {
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
        const auto step =
            static_cast<float>(-sgd_step(options_, squared_length(values, n), static_cast<double>(weight)));
        for (std::uint32_t c = 0; c < columns_; ++c) steps[c] *= step;
        kernel.add_scaled(rows, values, n, columns, steps);
      }
      break;
    }
    case LearnerKind::nag:
      break;  // only regresses
    case LearnerKind::arow: {
      kernel.margins_and_variances(rows, values, n, columns, stride_, margins, work.variances.data());
      const float r = (fresh ? options_.r : kReplayedR * options_.r) / weight;
      for (std::uint32_t c = 0; c < columns; ++c) {
        const float loss = 1.0F - targets[c] * margins[c];
        steps[c] = loss > 0.0F ? targets[c] * arow_step(loss, work.variances[c], r) : 0.0F;
      }
      std::fill(steps + columns_, steps + columns, 0.0F);
      kernel.arow(rows, values, n, columns, stride_, steps, fresh ? weight / options_.r : 0.0F);
      break;
    }
  }
  ++updates_;
}

// SGD holds w~ = Pi_t w, so that L2 regularisation touches no weight that the example does not (Jasinska et al. 2016,
// Appendix B). With gamma_t = gamma / (1 + lambda gamma t) the product telescopes to
// Pi_t = (1 + lambda gamma (t + 1)) / (1 + lambda gamma), and the step Pi_{t-1} gamma_t is the constant
// gamma / (1 + lambda gamma).
float SiblingBlock::inverse_scale() const {
  if (options_.kind != LearnerKind::sgd) return 1.0F;
  const double decay = static_cast<double>(options_.l2) * static_cast<double>(options_.rate);
  return static_cast<float>((1.0 + decay) / (1.0 + decay * static_cast<double>(updates_ + 1)));
}

// NAG (Ross, Mineiro & Langford 2013, Algorithm 2) keeps the largest value s of each feature and steps as AdaGrad does,
// times sqrt(t / N) / s; as s grows, w shrinks so that w s stays. What is stored is w s: then nothing needs to be
// shrunk, and the step is AdaGrad's. Gives sqrt(t / N), and work.scaled = x / s.
double SiblingBlock::normalize(Workspace& work) {
  const std::size_t n = work.rows.size();
  work.scaled.resize(n);
  const float* base = storage_.data();
  const std::size_t floats = row_floats();
  for (std::size_t j = 0; j < n; ++j) {
    float& scale = scales_[static_cast<std::size_t>(work.rows[j] - base) / floats];
    const float size = std::fabs(work.values[j]);
    if (size > scale) scale = size;
    work.scaled[j] = scale > 0.0F ? work.values[j] / scale : 0.0F;
    norm_ += static_cast<double>(work.scaled[j]) * static_cast<double>(work.scaled[j]);
  }
  return std::sqrt(static_cast<double>(updates_ + 1) / norm_);
}

void SiblingBlock::regress(const Features& x, std::span<const float> targets, float weight, Workspace& work,
                           float* margins) {
  find_or_insert_rows(x, work);
  const Kernels& kernel = kernels();
  const std::size_t n = work.rows.size();
  const std::uint32_t columns = room_for(columns_);
  prepare(work, columns);
  const bool is_nag = options_.kind == LearnerKind::nag;
  const float rate = is_nag ? static_cast<float>(static_cast<double>(options_.rate) * normalize(work)) : options_.rate;
  const float* values = work.values.data();
  const float* seen = is_nag ? work.scaled.data() : values;
  float* steps = work.steps.data();
  kernel.margins(work.rows.data(), seen, n, columns, work.margins.data());
  std::fill(steps + columns_, steps + columns, 0.0F);
  for (std::uint32_t c = 0; c < columns_; ++c) steps[c] = work.margins[c] - targets[c];
  if (options_.kind == LearnerKind::sgd) {
    const auto step = static_cast<float>(-sgd_step(options_, squared_length(values, n), static_cast<double>(weight)));
    for (std::uint32_t c = 0; c < columns_; ++c) steps[c] *= step;
    kernel.add_scaled(work.rows.data(), values, n, columns, steps);
  } else {
    for (std::uint32_t c = 0; c < columns_; ++c) steps[c] *= weight;
    kernel.adagrad(work.rows.data(), values, n, columns, stride_, steps, rate, is_nag ? kTiny : options_.epsilon);
  }
  kernel.margins(work.rows.data(), seen, n, columns_, margins);
  ++updates_;
}

void SiblingBlock::finish() {
  RowStorage kept(std::size_t{rows()} * columns_);
  for (std::uint32_t r = 0; r < rows(); ++r) {
    const float scale = scales_.empty() ? 1.0F : scales_[r];
    float* to = kept.data() + std::size_t{r} * columns_;
    for (std::uint32_t c = 0; c < columns_; ++c) to[c] = scale > 0.0F ? row(r)[c] / scale : 0.0F;
  }
  storage_ = std::move(kept);
  stride_ = columns_;
  state_ = false;
  scales_ = std::vector<float>();
}

bool SiblingBlock::is_finite() const {
  for (std::uint32_t r = 0; r < rows(); ++r) {
    if (!std::all_of(row(r), row(r) + columns_, [](float w) { return std::isfinite(w); })) return false;
  }
  return true;
}

void SiblingBlock::margins(const Features& x, Workspace& work, float* out) const {
  find_rows(map_, x, [this](std::uint32_t r) { return row(r); }, work);
  work.bytes += work.rows.size() * children() * sizeof(float);
  kernels().margins(work.rows.data(), work.values.data(), work.rows.size(), children(), out);
}

void SiblingBlock::predict(const Features& x, Workspace& work, float* probabilities) const {
  const std::uint32_t columns = children();
  prepare(work, columns);
  float* scores = work.margins.data();
  margins(x, work, scores);
  const float scale = margin_scale();
  for (std::uint32_t c = 0; c < columns; ++c) scores[c] *= scale;
  kernels().sigmoid(scores, columns, probabilities);
}

float SiblingBlock::margin_scale() const { return options_.kind == LearnerKind::arow ? kArowSlope : inverse_scale(); }

float SiblingBlock::contributions(const Features& x, std::uint32_t child, float* added) const {
  const float scale = margin_scale();
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t found = map_.find(x.ids[j]);
    added[j] = found == kNone ? 0.0F : row(found + 1)[child] * x.values[j] * scale;
  }
  return scale * row(kBiasRow)[child];
}

LinearBlock SiblingBlock::linear() const {
  const auto known = map_.features();
  LinearBlock all{Link::logistic, margin_scale(), children(), {known.begin(), known.end()}, {}};
  all.weights.resize(std::size_t{rows()} * children());
  copy_weights(children(), all.weights.data());
  return all;
}

}  // namespace labelgrove
