#include "labelgrove/sibling_block.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "labelgrove/budget.hpp"
#include "labelgrove/half_kernels.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/kernels.hpp"

namespace labelgrove {
namespace {

// An example that is learnt again moves the weights half as far and leaves AROW's variances unchanged: it is no new
// evidence, and shrinking them again would over-fit (docs/decisions/arow.md).
constexpr float kReplayedR = 2.0F;

// If the loss is bounded, it counts as at most what a column loses that knows nothing of the example: one that
// contradicts it may have learnt better since, or the example may lack a label.
constexpr float kMostLoss = 1.0F;

// Fading has its full strength after this many steps of the block (docs/decisions/arow.md).
constexpr std::uint64_t kSettled = 10000;

template <typename Number>
Number nearest(float number) {
  if constexpr (std::is_same_v<Number, BFloat16>) return rounded(number, kToNearest);
  else if constexpr (std::is_same_v<Number, Variance>) return rounded_variance(number, kToNearest);
  else return number;
}

template <typename Small>
void copy(const Numbers<Small>& from, std::size_t at, std::uint32_t n, float* to) {
  if (from.floats != nullptr) std::copy_n(from.floats + at, n, to);
  else std::transform(from.small + at, from.small + at + n, to, [](Small number) { return widened(number); });
}
template <typename Small>
void copy(const Numbers<Small>& from, std::size_t at, std::uint32_t n, Small* to) {
  if (from.small != nullptr) std::copy_n(from.small + at, n, to);
  else std::transform(from.floats + at, from.floats + at + n, to, nearest<Small>);
}

}  // namespace

SiblingBlock::SiblingBlock(const LearnerOptions& options, std::uint32_t children, bool theta)
    : RowBlock(options, children, theta, 0, options.kind == LearnerKind::arow), state_(options.has_state()) {
  shares_rows_ = halves_;
  if (options.kind == LearnerKind::nag || (options.kind != LearnerKind::arow && options.loss != Loss::logistic)) {
    throw std::invalid_argument("a sibling block learns by AROW, or by AdaGrad or SGD with logistic loss");
  }
  set_stride(room_for(columns_));
  row_count_ = 0;
  start_row();  // the bias
}

SiblingBlock::SiblingBlock(const LearnerOptions& options, const BlockView& stored)
    : SiblingBlock(options, stored.children, stored.theta) {
  updates_ = stored.updates;
  if (stored.inherited.block != nullptr) inherited_.make() = stored.inherited;
  map_.reserve(stored.features.size());
  for (std::uint32_t feature = 0; feature < stored.features.size(); ++feature) {
    Place at{.row = feature + 1};
    if (!stored.places.empty()) {
      at = {stored.places[feature] & ~kSharedRow, (stored.places[feature] & kSharedRow) != 0, stored.shares[feature]};
    }
    put_place(stored.features[feature], at);
  }
  reserve_rows(stored.rows());
  while (rows() < stored.rows()) start_row();
  by_type([&]<typename Number>(Number) {
    for (std::uint32_t r = 0; r < rows(); ++r) {
      const std::size_t at = std::size_t{r} * columns_;
      copy(stored.weights, at, columns_, row<Number>(r));
      if (state_ && stored.state) copy(stored.state, at, columns_, states<Number>(r));
    }
  });
}

std::size_t SiblingBlock::bytes() const {
  const std::size_t inherited = this->inherited() != nullptr
                                    ? sizeof(Inherited) + this->inherited()->replaced.capacity() * sizeof(std::uint32_t)
                                    : 0;
  return map_.bytes() + own_places_.bytes() + own_shares_.bytes() + members_.bytes() +
         storage_.bytes(floats_of(rows())) + inherited + sizeof(SiblingBlock);
}

// --- columns ---------------------------------------------------------------------------------------------------------

void SiblingBlock::set_stride(std::uint32_t stride) {
  stride_ = stride;
  row_bytes_ = row_bytes(stride);
}

void SiblingBlock::reserve_rows(std::size_t rows) {
  storage_.reserve(floats_of(rows));
  rows_ = reinterpret_cast<const std::byte*>(storage_.data());
}

// Appends a row with initial values and returns its number.
std::uint32_t SiblingBlock::start_row() {
  reserve_rows(std::size_t{row_count_} + 1);
  by_type([&]<typename Number>(Number zero) {
    std::fill_n(row<Number>(row_count_), stride_, zero);
    if (state_) std::fill_n(states<Number>(row_count_), stride_, nearest<StateOf<Number>>(options_.initial_state()));
  });
  return row_count_++;
}

// In place: the pages with the rows are already mapped and in the cache, and fresh ones would cost more than moving the
// data. Rows are moved in an order in which none is overwritten before it has moved.
void SiblingBlock::move_to_stride(std::uint32_t stride) {
  const std::uint32_t old_stride = stride_;
  const std::size_t old_bytes = row_bytes_;
  const std::uint32_t kept = std::min({columns_, stride, old_stride});
  set_stride(stride);
  if (stride > old_stride) reserve_rows(rows());
  by_type([&]<typename Number>(Number zero) {
    using State = StateOf<Number>;
    const auto* data = reinterpret_cast<const std::byte*>(storage_.data());
    const auto move_weights = [&](std::uint32_t r) {
      std::memmove(row<Number>(r), data + r * old_bytes, kept * sizeof(Number));
      std::fill_n(row<Number>(r) + kept, stride - kept, zero);
    };
    const auto move_state = [&](std::uint32_t r) {
      if (!state_) return;
      std::memmove(states<Number>(r), data + r * old_bytes + old_stride * sizeof(Number), kept * sizeof(State));
      std::fill_n(states<Number>(r) + kept, stride - kept, nearest<State>(options_.initial_state()));
    };
    if (stride > old_stride) {
      for (std::uint32_t r = rows(); r-- > 0;) move_state(r), move_weights(r);
    } else {
      for (std::uint32_t r = 0; r < rows(); ++r) move_weights(r), move_state(r);
    }
  });
  if (stride < old_stride) storage_.give_back(floats_of(rows()));
  rows_ = reinterpret_cast<const std::byte*>(storage_.data());
}

void SiblingBlock::copy_column(std::uint32_t from, std::uint32_t to, bool negated) {
  by_type([&]<typename Number>(Number) {
    // 0 - w rather than -w, so that a weight that never moved is +0 in both columns.
    for (std::uint32_t r = 0; r < rows(); ++r) {
      Number* weights = row<Number>(r);
      weights[to] = negated ? nearest<Number>(0.0F - widened(weights[from])) : weights[from];
      if (state_) states<Number>(r)[to] = states<Number>(r)[from];
    }
  });
}

void SiblingBlock::add_leaf() {
  if (columns_ == stride_) move_to_stride(room_for(columns_ + 1));
  ++columns_;
  copy_column(columns_ - 2, columns_ - 1, false);  // theta stays the last column
  copy_column(columns_ - 1, columns_ - 2, true);   // and the new leaf is its inverse
}

void SiblingBlock::reset_child(std::uint32_t child) {
  copy_column(columns_ - 1, child, true);
  Inherited* from = inherited_.get();
  if (from == nullptr || child >= from->block->children()) return;
  const auto at = std::ranges::lower_bound(from->replaced, child);
  if (at == from->replaced.end() || *at != child) from->replaced.insert(at, child);
}

void SiblingBlock::drop_theta() {
  theta_ = false;
  --columns_;
  if (room_for(columns_) < stride_) move_to_stride(room_for(columns_));
}

SiblingBlock SiblingBlock::parent_block() const {
  SiblingBlock parent(options_, 1, true);
  parent.map_ = map_;
  parent.updates_ = updates_;
  parent.own_places_ = own_places_;
  parent.own_shares_ = own_shares_;
  parent.vacant_ = vacant_;
  parent.members_ = members_;
  parent.places_ = parent.own_places_.data();
  parent.shares_ = parent.own_shares_.data();
  parent.inherited_ = inherited_;
  if (inherited() != nullptr) {  // theta inherits nothing but its state
    auto& replaced = parent.inherited_.get()->replaced;
    replaced.resize(inherited()->block->children());
    std::iota(replaced.begin(), replaced.end(), 0U);
  }
  parent.reserve_rows(rows());
  parent.row_count_ = rows();
  by_type([&]<typename Number>(Number) {
    for (std::uint32_t r = 0; r < rows(); ++r) {
      std::fill_n(parent.row<Number>(r), 2, weights<Number>(r)[columns_ - 1]);
      if (state_) std::fill_n(parent.states<Number>(r), 2, state<Number>(r)[columns_ - 1]);
    }
  });
  return parent;
}

void SiblingBlock::restore_inherited() {
  if (inherited() == nullptr) return;
  const CompactBlock* from = inherited()->block;
  Workspace work;
  for (const FeatureId feature : from->features()) take_over(feature, work);
  work.inherited.resize(inherited_width());
  by_type([&]<typename Number>(Number zero) {
    for (std::uint32_t r = 1; r < rows(); ++r) std::fill_n(row<Number>(r), children(), zero);
    for (const FeatureId feature : map_.features()) {
      if (!inherited_row(feature, work.sums, work.inherited.data())) continue;
      copy<BFloat16>(work.inherited.data(), 0, children(), row<Number>(place(feature).row));
    }
    copy<BFloat16>(from->bias(), 0, from->children(), row<Number>(0));
  });
  inherited_.reset();
}

// --- forgetting ------------------------------------------------------------------------------------------------------

namespace {

// For the map, whose arrays may be a quarter too long and whose tables are at least half full except just after
// doubling; for the list of features; and for places and shares. Vectors have an eighth to spare.
constexpr std::uint64_t kBytesOfFeature = 24 + 5 + 9;
constexpr std::uint64_t kBytesOfMembers = 5;
// With the heads of vectors, four spare elements in each, and the headers that the heap adds.
constexpr std::uint64_t kBytesOfBlock = 512;

}  // namespace

std::uint64_t SiblingBlock::row_bytes(std::size_t columns) const {
  return room_for(static_cast<std::uint32_t>(columns)) * (number_bytes() + (state_ ? state_bytes() : 0));
}

std::uint64_t SiblingBlock::most_bytes(std::uint64_t features, std::uint64_t rows, std::uint64_t row_bytes) const {
  return kBytesOfBlock + features * kBytesOfFeature + rows * kBytesOfMembers +
         RowStorage::most_bytes(rows * row_bytes) +
         (inherited() != nullptr ? sizeof(Inherited) + inherited()->replaced.size() * sizeof(std::uint32_t) : 0);
}

std::uint64_t SiblingBlock::growth(std::uint64_t features, std::size_t columns) const {
  return features * (kBytesOfFeature + kBytesOfMembers) + RowStorage::most_growth(features * row_bytes(columns));
}

std::uint64_t SiblingBlock::growth_by_leaf() const {
  return most_bytes(map_.size(), rows(), row_bytes(columns_ + std::size_t{1})) - most_bytes();
}

std::uint64_t SiblingBlock::bytes_of_row(std::uint32_t r) const {
  return row_bytes(columns_) + kBytesOfMembers + sharing(r) * kBytesOfFeature;
}

// The largest weight that a feature has in the row. Features that share it are represented by the mean square of their
// shares. AROW also knows how much evidence there is for the row, and what is worth little may take few bytes.
std::uint32_t SiblingBlock::worth(std::uint32_t r) const {
  if (!halves_) {
    const float* all = weights<float>(r);
    float largest = 0.0F;
    for (std::uint32_t c = 0; c < columns_; ++c) largest = std::max(largest, std::abs(all[c]));
    return worth_of(largest);
  }
  const BFloat16* all = weights<BFloat16>(r);
  const Variance* variances = state<BFloat16>(r);
  // In the types in which they are stored, which compilers compare by the vector.
  std::int16_t bits = 0;
  std::uint8_t root = UINT8_MAX;
  for (std::uint32_t c = 0; c < columns_; ++c) bits = std::max(bits, static_cast<std::int16_t>(all[c].bits & 0x7FFFU));
  for (std::uint32_t c = 0; c < columns_; ++c) root = std::min(root, variances[c].root);
  const float largest = widened(BFloat16{static_cast<std::uint16_t>(bits)});
  const float evidence = 1.0F / widened(Variance{root}) - 1.0F;  // Σx²/r in the surest column
  const float per_byte = evidence / static_cast<float>(bytes_of_row(r));
  return worth_of(largest * std::sqrt(std::sqrt(per_byte) / static_cast<float>(sharing(r))));
}

void SiblingBlock::add_worths(std::span<std::uint64_t> worths) const {
  for (std::uint32_t r = 1; r < rows(); ++r) worths[worth(r)] += bytes_of_row(r);
}

void SiblingBlock::forget(std::uint32_t at_most) {
  std::vector<std::uint32_t> kept(rows(), kNone);
  kept[0] = 0;
  std::uint32_t n = 1;
  for (std::uint32_t r = 1; r < rows(); ++r) {
    if (worth(r) <= at_most) continue;
    if (r != n) std::memmove(row<std::byte>(n), row<std::byte>(r), row_bytes_);
    kept[r] = n++;
  }
  if (n == rows()) return;
  std::vector<FeatureId> features;
  std::vector<Place> places;
  for (const FeatureId feature : map_.features()) {
    Place at = place(feature);
    at.row = kept[at.row];
    if (at.row == kNone) continue;
    features.push_back(feature);
    places.push_back(at);
  }
  map_ = FeatureMap();
  own_places_.release();
  own_shares_.release();
  vacant_ = kNone;
  members_.release();
  map_.reserve(features.size());
  for (std::size_t i = 0; i < features.size(); ++i) put_place(features[i], places[i]);
  row_count_ = n;
  storage_.give_back(floats_of(n));
  rows_ = reinterpret_cast<const std::byte*>(storage_.data());
}

// --- learning --------------------------------------------------------------------------------------------------------

// With AROW, the features that an example brings to a node for the first time share one row. Until a second example has
// one of them, all that the node knows about them is their ratio in this example, x = |x| u. They act as a single
// feature u whose value is |x|, and each feature f has the share u_f of its weights. In the direction u this is AROW
// with a full covariance matrix, I - (1 - S) u u', rather than with its diagonal.
void SiblingBlock::place_newcomers(const Features& x, std::uint32_t newcomers, Workspace& work) {
  double square = 0.0;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    if (work.found[j] == kNone) square += static_cast<double>(x.values[j]) * static_cast<double>(x.values[j]);
  }
  const bool shared = shares_rows_ && newcomers > 1 && square > 0.0;
  const double length = std::sqrt(square);
  const std::uint32_t row = shared ? start_row() : 0;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    if (work.found[j] != kNone) continue;
    const Place at = shared ? Place{row, true, static_cast<float>(static_cast<double>(x.values[j]) / length)}
                            : Place{.row = start_row()};
    work.found[j] = put_place(x.ids[j], at);
  }
}

// Gives a feature that occurs in a second example a row of its own, starting with what is known about it.
std::uint32_t SiblingBlock::take_out(FeatureId feature, std::uint32_t in_map) {
  const Place at = found(in_map);
  const std::uint32_t own = --members_[at.row] == 0 ? at.row : start_row();
  // The other half of the draw rounds the step of this example.
  const auto noise = static_cast<std::uint32_t>(draw(options_.seed, Draw::rounding, updates_, feature) >> 32);
  // Variances become the diagonal of I - (1 - S) u u'.
  half_kernels().take_share(weights<BFloat16>(at.row), at.share, noise, columns_, stride_, row<BFloat16>(own));
  own_places_[in_map & ~kSharedRow] = std::exchange(vacant_, in_map & ~kSharedRow);
  return put_place(feature, {.row = own});
}

// Gives an inherited feature a row of its own when it is learnt for the first time.
void SiblingBlock::take_over(FeatureId feature, Workspace& work) {
  if (map_.find(feature) != kNone) return;
  work.inherited.resize(std::max(work.inherited.size(), inherited_width()));
  if (!inherited_row(feature, work.sums, work.inherited.data())) return;
  const std::uint32_t own = start_row();
  by_type([&]<typename Number>(Number) {
    copy<BFloat16>(work.inherited.data(), 0, children(), row<Number>(own));
    if (state_) std::fill_n(states<Number>(own), columns_, nearest<StateOf<Number>>(inherited()->state));
  });
  put_place(feature, {.row = own});
}

// Returns the map's entry for the feature.
std::uint32_t SiblingBlock::put_place(FeatureId feature, Place place) {
  std::uint32_t in_map = place.row;
  if (place.shared) {
    auto at = static_cast<std::uint32_t>(own_places_.size());
    if (vacant_ != kNone) {
      at = std::exchange(vacant_, own_places_[vacant_]);
    } else {
      own_places_.push_back(0);
      own_shares_.push_back(0.0F);
      places_ = own_places_.data();
      shares_ = own_shares_.data();
    }
    own_places_[at] = place.row;
    own_shares_[at] = place.share;
    while (members_.size() <= place.row) members_.push_back(0);
    ++members_[place.row];
    in_map = at | kSharedRow;
  }
  map_.put(feature, in_map);
  return in_map;
}

void SiblingBlock::find_or_insert_rows(const Features& x, bool fresh, Workspace& work) {
  work.found.resize(x.size);
  for (std::uint32_t j = 0; j < x.size; ++j) map_.prefetch(x.ids[j]);
  for (std::uint32_t j = 0; inherited() != nullptr && j < x.size; ++j) take_over(x.ids[j], work);
  std::uint32_t newcomers = 0;
  bool shared = false;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t in_map = map_.find(x.ids[j]);
    work.found[j] = in_map;
    if (in_map == kNone) ++newcomers;
    else if ((in_map & kSharedRow) != 0) shared = true;
    else prefetch_row(in_map);
  }
  // An example that is learnt again does not bring back features that the block has forgotten.
  if (!fresh) return;
  for (std::uint32_t j = 0; shared && j < x.size; ++j) {
    const std::uint32_t in_map = work.found[j];
    if (in_map != kNone && (in_map & kSharedRow) != 0) work.found[j] = take_out(x.ids[j], in_map);
  }
  if (newcomers > 0) place_newcomers(x, newcomers, work);
}

// Collects the rows found, the bias's first, their values, and for each row the feature that its noise is drawn for:
// the first one in the example that has the row. Returns the number of rows.
template <typename Number>
std::size_t SiblingBlock::gather(const Features& x, std::vector<Number*>& rows, Workspace& work) {
  rows.resize(x.size + std::size_t{1});
  work.values.resize(x.size + std::size_t{1});
  work.noise.resize(x.size + std::size_t{1});
  rows[0] = row<Number>(0);
  work.values[0] = 1.0F;
  work.noise[0] = kNone;
  std::size_t n = 1;
  std::size_t shared = 0;  // the index at which features that share a row are added up
  for (std::uint32_t j = 0; j < x.size; ++j) {
    if (work.found[j] == kNone) continue;
    const Place at = found(work.found[j]);
    Number* const its = row<Number>(at.row);
    if (at.shared && shared != 0 && rows[shared] == its) {
      work.values[shared] += x.values[j] * at.share;
      continue;
    }
    if (at.shared) shared = n;
    rows[n] = its;
    work.values[n] = x.values[j] * at.share;
    work.noise[n] = x.ids[j];
    ++n;
  }
  return n;
}

void SiblingBlock::learn(const Features& x, std::span<const std::uint32_t> positives, float weight, Evidence evidence,
                         Workspace& work) {
  find_or_insert_rows(x, is_new(evidence), work);
  const std::uint32_t columns = room_for(columns_);  // whole vectors; nothing reads the columns beyond the last
  for (auto* scratch : {&work.margins, &work.shares, &work.steps, &work.targets}) {
    if (scratch->size() < columns) scratch->resize(columns);
  }
  float* targets = work.targets.data();
  std::fill_n(targets, columns_, -1.0F);
  std::fill(targets + columns_, targets + columns, 0.0F);  // nothing to learn in these columns
  for (const std::uint32_t child : positives) targets[child] = 1.0F;
  if (theta_) targets[columns_ - 1] = 1.0F;
  if (options_.kind == LearnerKind::arow) learn_by_arow(x, weight, evidence, columns, work);
  else descend(x, weight, columns, work);
  ++updates_;
}

void SiblingBlock::learn_by_arow(const Features& x, float weight, Evidence evidence, std::uint32_t columns,
                                 Workspace& work) {
  const std::size_t n = gather(x, work.half_rows, work);
  BFloat16* const* rows = work.half_rows.data();
  const float* values = work.values.data();
  const float* targets = work.targets.data();
  float* losses = work.margins.data();
  float* steps = work.steps.data();
  const HalfKernels& kernel = half_kernels();
  kernel.margins(rows, values, n, columns, losses);
  const float most = is_bounded(evidence) ? kMostLoss : std::numeric_limits<float>::infinity();
  // Most columns have nothing to learn, and their variances are not even read.
  for (std::uint32_t c = 0; c < columns; ++c) {
    losses[c] = std::min(1.0F - targets[c] * losses[c], most);
    steps[c] = losses[c] > 0.0F ? targets[c] : 0.0F;
  }
  const bool learns = std::any_of(steps, steps + columns, [](float step) { return step != 0.0F; });
  if (!learns && evidence != Evidence::fading) return;
  const std::uint64_t draws = draws_at(options_.seed, Draw::rounding, updates_);
  for (std::size_t j = 0; j < n; ++j) work.noise[j] = static_cast<std::uint32_t>(mix(draws ^ work.noise[j]));
  if (evidence == Evidence::fading) {
    const float settled = static_cast<float>(std::min(updates_, kSettled)) / static_cast<float>(kSettled);
    const float share = settled * weight / options_.r;
    float* shares = work.shares.data();
    for (std::uint32_t c = 0; c < columns; ++c) shares[c] = losses[c] <= 0.0F ? share : 0.0F;
    kernel.fade(rows, values, work.noise.data(), n, columns, stride_, shares);
  }
  if (!learns) return;
  const bool fresh = is_new(evidence);
  const float r = (fresh ? options_.r : kReplayedR * options_.r) / weight;
  kernel.arow_steps(rows, values, n, columns, stride_, losses, r, steps);
  float* surer = losses;  // variances' evidence; reuses the losses, which are no longer needed
  for (std::uint32_t c = 0; fresh && c < columns; ++c) {
    surer[c] = weight / options_.r * (evidence == Evidence::by_loss ? 0.5F + std::min(losses[c], 1.0F) : 1.0F);
  }
  kernel.arow(rows, values, work.noise.data(), n, columns, stride_, steps, fresh ? surer : nullptr);
}

// AdaGrad and SGD.
//
// SGD holds w~ = Pi_t w, so that L2 regularisation touches no weight that the example does not (Jasinska et al. 2016,
// Appendix B). With gamma_t = gamma / (1 + lambda gamma t) the product telescopes to
// Pi_t = (1 + lambda gamma (t + 1)) / (1 + lambda gamma), and the step Pi_{t-1} gamma_t is the constant
// gamma / (1 + lambda gamma).
void SiblingBlock::descend(const Features& x, float weight, std::uint32_t columns, Workspace& work) {
  const std::size_t n = gather(x, work.rows, work);
  float* const* rows = work.rows.data();
  const float* values = work.values.data();
  const float* targets = work.targets.data();
  const float* margins = work.margins.data();
  float* steps = work.steps.data();
  kernels().margins(rows, values, n, columns, work.margins.data());
  const float scale = inverse_scale();
  for (std::uint32_t c = 0; c < columns; ++c) steps[c] = -targets[c] * (margins[c] * scale);
  kernels().sigmoid(steps, columns, steps);
  for (std::uint32_t c = 0; c < columns; ++c) steps[c] *= -targets[c];  // the gradient
  if (options_.kind == LearnerKind::adagrad) {
    for (std::uint32_t c = 0; c < columns_; ++c) steps[c] *= weight;
    kernels().adagrad(rows, values, n, columns, stride_, steps, options_.rate, options_.epsilon);
  } else {
    const auto step = static_cast<float>(-sgd_step(options_, squared_length(values, n), static_cast<double>(weight)));
    for (std::uint32_t c = 0; c < columns_; ++c) steps[c] *= step;
    kernels().add_scaled(rows, values, n, columns, steps);
  }
}

}  // namespace labelgrove
