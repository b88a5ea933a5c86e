#include "labelgrove/regressor.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "labelgrove/budget.hpp"
#include "labelgrove/elementary.hpp"
#include "labelgrove/kernels.hpp"

namespace labelgrove {
namespace {

// Keeps the table at most two thirds full.
constexpr std::size_t slots_for(std::size_t features) { return features + features / 2 + 1; }

float logistic_gradient(float margin, float target) {
  return static_cast<float>(-static_cast<double>(target) / (1.0 + fixed_exp(static_cast<double>(target * margin))));
}

}  // namespace

void Regressor::start(const LearnerOptions& options) {
  *this = Regressor();
  width_ = options.has_state() ? 3 : 2;
  bias_state_ = options.initial_state();
  new_state_ = static_cast<std::uint8_t>(bias_state_);
}

Regressor::Regressor(const LearnerOptions& options, std::span<const FeatureId> features, std::span<const float> weights,
                     std::span<const float> states, bool learns) {
  start(options);
  if (!learns) width_ = 2;
  if (!features.empty()) make_room(std::ranges::max(features), features.size());
  bias_ = weights[0];
  if (!states.empty()) bias_state_ = states[0];
  for (std::size_t i = 0; i < features.size(); ++i) {
    insert({features[i], weights[i + 1], states.empty() ? new_state_ : states[i + 1]});
  }
}

// --- the table ------------------------------------------------------------------------------------------------------

float* Regressor::find(FeatureId feature) const {
  if (direct_) return feature < slots_ ? cells_.get() + feature : nullptr;
  if (slots_ == 0) return nullptr;
  std::uint32_t slot = home(feature);
  for (std::uint32_t distance = 0; distance <= kFarthestProbe; ++distance) {
    const FeatureId there = key(slot);
    if (there == feature) return cells_.get() + std::size_t{slot} * width_ + 1;
    if (there == kNone || displacement(slot, there) < distance) return nullptr;
    if (++slot == slots_) slot = 0;
  }
  return find_crowded_out(feature);
}

float* Regressor::find_crowded_out(FeatureId feature) const {
  if (!crowded_out_) return nullptr;
  const auto found = crowded_out_->find(feature);
  return found != crowded_out_->end() ? found->second.data() : nullptr;
}

template <typename Visit>
void Regressor::for_each(Visit&& visit) const {
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    if (!direct_ && key(slot) == kNone) continue;
    const float* weight = cells_.get() + (direct_ ? slot : std::size_t{slot} * width_ + 1);
    const Term term{direct_ ? slot : key(slot), *weight, has_state() ? weight[to_state()] : new_state_};
    if (moved(term.weight, term.state) != 0) visit(term);
  }
  if (!crowded_out_) return;
  for (const auto& [feature, cell] : *crowded_out_) {
    const Term term{feature, cell[0], has_state() ? cell[1] : new_state_};
    if (moved(term.weight, term.state) != 0) visit(term);
  }
}

std::size_t Regressor::bytes() const {
  constexpr std::size_t kBytesOfTreeNode = 48;
  return room() * sizeof(float) + crowded_out() * kBytesOfTreeNode;
}

// Makes room for `more` additional features, none of them larger than `largest`.
void Regressor::make_room(FeatureId largest, std::size_t more) {
  if (!direct_ && slots_for(known_ + more) <= slots_) return;
  std::vector<Term> terms;
  for_each([&](const Term& term) { terms.push_back(term); });
  for (const Term& term : terms) largest = std::max(largest, term.feature);
  const std::size_t hashed = slots_for(std::max(terms.size() + more, terms.size() + terms.size() / 2));
  const std::size_t direct = std::size_t{largest} + 1;
  direct_ = direct * (width_ - 1U) <= hashed * width_;
  slots_ = static_cast<std::uint32_t>(direct_ ? direct + direct / 8 : hashed);
  known_ = moved_ = 0;
  crowded_out_.reset();
  cells_ = std::make_unique_for_overwrite<float[]>(room());
  if (direct_) {
    std::fill_n(cells_.get(), slots_, 0.0F);
    if (has_state()) std::fill_n(cells_.get() + slots_, slots_, new_state_);
  } else {
    for (std::size_t slot = 0; slot < slots_; ++slot) cells_[slot * width_] = std::bit_cast<float>(kNone);
  }
  for (const Term& term : terms) insert(term);
}

// REQUIRES: there is room; the feature is not stored yet, or the table is direct and the term has its initial values.
void Regressor::insert(Term term) {
  if (moved_ != kNone) moved_ += moved(term.weight, term.state);
  if (direct_) {
    cells_[term.feature] = term.weight;
    if (has_state()) cells_[slots_ + std::size_t{term.feature}] = term.state;
    return;
  }
  ++known_;
  std::uint32_t slot = home(term.feature);
  for (std::uint32_t distance = 0;; ++distance) {
    if (distance > kFarthestProbe) {
      if (!crowded_out_) crowded_out_ = std::make_unique<std::map<FeatureId, std::array<float, 2>>>();
      crowded_out_->emplace(term.feature, std::array{term.weight, term.state});
      return;
    }
    float* cell = cells_.get() + std::size_t{slot} * width_;
    const FeatureId there = key(slot);
    const std::uint32_t theirs = there == kNone ? 0 : displacement(slot, there);
    if (there == kNone || theirs < distance) {
      const Term displaced{there, cell[1], has_state() ? cell[2] : new_state_};
      cell[0] = std::bit_cast<float>(term.feature);
      cell[1] = term.weight;
      if (has_state()) cell[2] = term.state;
      if (there == kNone) return;
      term = displaced;
      distance = theirs;
    }
    if (++slot == slots_) slot = 0;
  }
}

void Regressor::collect(bool by_weight, std::vector<Term>& terms) const {
  terms.clear();
  for_each([&](const Term& term) {
    if (!by_weight || term.weight != 0.0F) terms.push_back(term);
  });
  if (!direct_) std::ranges::sort(terms, {}, &Term::feature);
}

std::size_t Regressor::size() const {
  if (moved_ != kNone) return moved_;
  std::size_t n = 0;
  for_each([&](const Term&) { ++n; });
  return n;
}

// The weight times a measure of what was learnt about it, since a feature that is forgotten and returns starts with its
// largest step again.
std::uint32_t Regressor::worth(const Term& term) const {
  if (!has_state()) return worth_of(term.weight);
  return worth_of(term.weight * (new_state_ > 0 ? 1.0F / term.state - 1.0F : std::sqrt(term.state)));
}

void Regressor::add_worths(std::span<std::uint64_t> worths) const {
  for_each([&](const Term& term) { worths[worth(term)] += kBytesOfTerm; });
}

void Regressor::forget(std::uint32_t at_most) {
  std::vector<Term> kept;
  for_each([&](const Term& term) {
    if (worth(term) > at_most) kept.push_back(term);
  });
  direct_ = false;
  slots_ = known_ = moved_ = 0;
  crowded_out_.reset();
  cells_.reset();
  if (kept.empty()) return;
  make_room(std::ranges::max(kept, {}, &Term::feature).feature, kept.size());
  for (const Term& term : kept) insert(term);
}

// --- learning and prediction ----------------------------------------------------------------------------------------

void Regressor::prefetch(const Features& x) const {
  if (direct_ || slots_ == 0) return;  // hardware prefetching is enough here
  for (std::uint32_t j = 0; j < x.size; ++j) __builtin_prefetch(cells_.get() + std::size_t{home(x.ids[j])} * width_);
}

// Copies the weights, followed by the states, into arrays in the order of x. Returns the number of features that are
// not stored.
std::size_t Regressor::gather(const Features& x, Workspace& work) const {
  const std::size_t n = x.size;
  work.rows.resize(n);
  work.gathered.resize(2 * n);
  float* weights = work.gathered.data();
  float* states = weights + n;
  prefetch(x);
  const std::size_t behind = to_state();
  std::size_t unknown = 0;
  for (std::size_t j = 0; j < n; ++j) {
    float* weight = find(x.ids[j]);
    work.rows[j] = weight;
    unknown += weight == nullptr ? 1 : 0;
    weights[j] = weight == nullptr ? 0.0F : *weight;
    states[j] = weight == nullptr || !has_state() ? new_state_ : weight[behind];
  }
  return unknown;
}

// Stores what was gathered and has changed since.
void Regressor::keep(const Features& x, std::size_t unknown, const Workspace& work) {
  const float* weights = work.gathered.data();
  const float* states = weights + x.size;
  const std::size_t behind = to_state();
  for (std::uint32_t j = 0; j < x.size; ++j) {
    float* weight = work.rows[j];
    if (weight == nullptr) continue;
    const std::uint32_t before = moved(*weight, has_state() ? weight[behind] : new_state_);
    *weight = weights[j];
    if (has_state()) weight[behind] = states[j];
    if (moved_ != kNone) moved_ += moved(weights[j], states[j]) - before;
  }
  if (unknown == 0) return;
  const auto is_new = [&](std::uint32_t j) { return work.rows[j] == nullptr && moved(weights[j], states[j]) != 0; };
  std::size_t more = 0;
  for (std::uint32_t j = 0; j < x.size; ++j) more += is_new(j) ? 1 : 0;
  if (more == 0) return;
  make_room(x.ids[x.size - 1], more);
  for (std::uint32_t j = 0; j < x.size; ++j) {
    if (is_new(j)) insert({x.ids[j], weights[j], states[j]});
  }
}

Regressor::Margins Regressor::learn(const LearnerOptions& options, const Features& x, float target, float weight,
                                    Workspace& work, float offset) {
  const bool there = lies_there(x);
  const std::size_t unknown = there ? 0 : gather(x, work);
  float* weights = there ? cells_.get() : work.gathered.data();
  const std::size_t behind = there ? to_state() : x.size;
  float margin;
  float variance = 0.0F;
  if (options.kind == LearnerKind::arow) {
    kernels().run_margin_and_variance(weights, x.values, x.size, behind, &margin, &variance);
  } else {
    margin = kernels().run_margin(weights, x.values, x.size);
  }
  margin += bias_ + offset;
  const float moved = step(options, x, target, weight, margin, weights, behind, variance + bias_state_, work);
  if (moved == 0.0F) return {margin, margin};
  if (there) moved_ = kNone;
  else keep(x, unknown, work);
  return {margin, offset + bias_ + kernels().run_margin(there ? cells_.get() : work.gathered.data(), x.values, x.size)};
}

// Updates the bias and the weights, like SiblingBlock::learn. Returns 0 if nothing changed.
float Regressor::step(const LearnerOptions& options, const Features& x, float target, float weight, float margin,
                      float* weights, std::size_t to_state, float variance, Workspace& work) {
  if (options.kind == LearnerKind::arow) {
    const float loss = 1.0F - target * margin;
    if (!(loss > 0.0F)) return 0.0F;
    const float far = target * arow_step(loss, variance, options.r / weight);
    bias_ += far * bias_state_;
    bias_state_ /= 1.0F + bias_state_ / (options.r / weight);
    kernels().run_arow(weights, x.values, x.size, to_state, far, weight / options.r);
    return far;
  }
  float gradient =
      options.loss == Loss::logistic ? logistic_gradient(margin, target) : std::clamp(margin, -1.0F, 1.0F) - target;
  if (gradient == 0.0F) return 0.0F;
  constexpr float kOne = 1.0F;
  if (options.kind == LearnerKind::sgd) {
    const float far =
        -static_cast<float>(sgd_step(options, 1.0 + squared_length(x.values, x.size), static_cast<double>(weight))) *
        gradient;
    bias_ += far;
    kernels().add_scaled(&weights, &far, 1, x.size, x.values);
    return far;
  }
  gradient *= weight;
  work.steps.resize(x.size);
  for (std::uint32_t j = 0; j < x.size; ++j) work.steps[j] = gradient * x.values[j];
  kernels().adagrad(&weights, &kOne, 1, x.size, to_state, work.steps.data(), options.rate, options.epsilon);
  bias_state_ = std::min(bias_state_ + gradient * gradient, kLargestSquareSum);
  bias_ -= options.rate * gradient / std::sqrt(options.epsilon + bias_state_);
  return gradient;
}

float Regressor::margin(const Features& x, Workspace& work) const {
  if (lies_there(x)) return bias_ + kernels().run_margin(cells_.get(), x.values, x.size);
  work.gathered.resize(x.size);
  prefetch(x);
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const float* weight = find(x.ids[j]);
    work.gathered[j] = weight == nullptr ? 0.0F : *weight;
  }
  return bias_ + kernels().run_margin(work.gathered.data(), x.values, x.size);
}

float Regressor::margin_parts(const Features& x, float* added) const {
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const float* weight = find(x.ids[j]);
    added[j] = weight == nullptr ? 0.0F : *weight * x.values[j];
  }
  return bias_;
}

}  // namespace labelgrove
