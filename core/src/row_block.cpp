#include "labelgrove/row_block.hpp"

#include <algorithm>
#include <iterator>

#include "labelgrove/half_kernels.hpp"
#include "labelgrove/kernels.hpp"

namespace labelgrove {
namespace {

// AROW's squared hinge asks for margins of at least 1 and has no probabilities. sigma(3 m) was the best calibrated on
// several data sets (docs/decisions/arow.md).
constexpr float kArowSlope = 3.0F;

}  // namespace

void RowBlock::margins(const Features& x, Workspace& work, float* out) const {
  for (std::uint32_t j = 0; j < x.size; ++j) map_.prefetch(x.ids[j]);
  work.rows.clear();
  work.half_rows.clear();
  work.values.clear();
  const auto add = [&](std::uint32_t row, float value) {
    __builtin_prefetch(rows_ + row * row_bytes_);
    // The workspace is shared with learning, which writes to rows.
    if (halves_) work.half_rows.push_back(const_cast<BFloat16*>(weights<BFloat16>(row)));
    else work.rows.push_back(const_cast<float*>(weights<float>(row)));
    work.values.push_back(value);
  };
  add(0, 1.0F);  // the bias
  const std::size_t width = inherited() != nullptr ? inherited_width() : 0;
  work.inherited.resize(std::max(work.inherited.size(), x.size * width));
  work.half_inherited.resize(work.inherited.size());
  std::size_t next = 0;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t in_map = map_.find(x.ids[j]);
    float* row = work.inherited.data() + next;
    if (in_map != kNone) {
      const Place at = found(in_map);
      add(at.row, x.values[j] * at.share);
    } else if (inherited_row(x.ids[j], work.sums, row)) {
      BFloat16* half_row = work.half_inherited.data() + next;
      if (halves_) {
        std::transform(row, row + children(), half_row, [](float w) { return rounded(w, kToNearest); });
        work.half_rows.push_back(half_row);
      } else {
        work.rows.push_back(row);
      }
      work.values.push_back(x.values[j]);
      next += width;
    }
  }
  const std::size_t n = work.values.size();
  work.bytes += n * children() * number_bytes();
  if (halves_) half_kernels().margins(work.half_rows.data(), work.values.data(), n, children(), out);
  else kernels().margins(work.rows.data(), work.values.data(), n, children(), out);
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

bool RowBlock::inherited_row(FeatureId feature, std::vector<float>& sums, float* weights) const {
  if (inherited() == nullptr) return false;
  const CompactBlock* from = inherited()->block;
  if (!from->row(feature, sums, weights)) return false;
  for (const std::uint32_t child : inherited()->replaced) weights[child] = 0.0F;
  if (children() > from->children()) std::fill(weights + from->children(), weights + children(), 0.0F);
  // Rounded as the row will be.
  for (std::uint32_t c = 0; halves_ && c < children(); ++c) weights[c] = widened(rounded(weights[c], kToNearest));
  return true;
}

float RowBlock::margin_scale() const { return options_.kind == LearnerKind::arow ? kArowSlope : inverse_scale(); }

float RowBlock::inverse_scale() const {
  if (options_.kind != LearnerKind::sgd) return 1.0F;
  const double decay = static_cast<double>(options_.l2) * static_cast<double>(options_.rate);
  return static_cast<float>((1.0 + decay) / (1.0 + decay * static_cast<double>(updates_ + 1)));
}

float RowBlock::contributions(const Features& x, std::uint32_t child, float* added) const {
  const float scale = margin_scale();
  std::vector<float> sums;
  std::vector<float> row(inherited() != nullptr ? inherited_width() : 0);
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t in_map = map_.find(x.ids[j]);
    added[j] = 0.0F;
    if (in_map != kNone) added[j] = weight(found(in_map).row, child) * found(in_map).share * x.values[j] * scale;
    else if (inherited_row(x.ids[j], sums, row.data())) added[j] = row[child] * x.values[j] * scale;
  }
  return scale * weight(0, child);
}

LinearBlock RowBlock::linear() const {
  const auto known = map_.features();
  LinearBlock all{Link::logistic, margin_scale(), children(), {known.begin(), known.end()}, {}};
  if (inherited() != nullptr) {
    std::ranges::copy_if(inherited()->block->features(), std::back_inserter(all.features),
                         [this](FeatureId feature) { return map_.find(feature) == kNone; });
  }
  all.weights.reserve((all.features.size() + 1) * children());
  const auto add = [&](Place at) {
    for (std::uint32_t c = 0; c < children(); ++c) all.weights.push_back(weight(at.row, c) * at.share);
  };
  add({});  // the bias
  for (const FeatureId feature : known) add(place(feature));
  std::vector<float> sums;
  std::vector<float> row(inherited() != nullptr ? inherited_width() : 0);
  for (std::size_t i = known.size(); i < all.features.size(); ++i) {
    inherited_row(all.features[i], sums, row.data());
    all.weights.insert(all.weights.end(), row.begin(), row.begin() + children());
  }
  return all;
}

StoredBlock::StoredBlock(const LearnerOptions& options, const BlockView& stored)
    : RowBlock(options, stored.children, false, stored.updates, stored.weights.small != nullptr) {
  map_.reserve(stored.features.size());
  shares_rows_ = !stored.places.empty();
  places_ = stored.places.data();
  shares_ = stored.shares.data();
  for (std::uint32_t feature = 0; feature < stored.features.size(); ++feature) {
    const std::uint32_t row = shares_rows_ ? places_[feature] : feature + 1;
    map_.put(stored.features[feature], (row & kSharedRow) != 0 ? feature | kSharedRow : row);
  }
  row_count_ = stored.rows();
  rows_ = halves_ ? reinterpret_cast<const std::byte*>(stored.weights.small)
                  : reinterpret_cast<const std::byte*>(stored.weights.floats);
  stride_ = columns_;
  row_bytes_ = columns_ * number_bytes();
  if (stored.inherited.block != nullptr) inherited_.make() = stored.inherited;
}

}  // namespace labelgrove
