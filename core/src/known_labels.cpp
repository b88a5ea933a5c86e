#include "labelgrove/known_labels.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "labelgrove/archive_check.hpp"

namespace labelgrove {

KnownLabels::KnownLabels(const ArrayReader& saved, std::uint64_t count) {
  const auto states = saved.bytes("label.state");
  require(states.size() == count && std::ranges::all_of(states, [](std::uint8_t state) { return state <= 2; }),
          "array 'label.state' must hold a number from 0 to 2 for every label");
  for (const std::uint8_t state : states) states_.push_back(static_cast<State>(state));
}

void KnownLabels::save(ArrayWriter& out) const {
  auto states = out.bytes("label.state", states_.size());
  for (LabelId label = 0; label < count(); ++label) states[label] = static_cast<std::uint8_t>(states_[label]);
}

void KnownLabels::see(LabelId label) {
  if (label >= states_.size()) states_.resize(label + std::size_t{1}, State::unknown);
  states_[label] = State::there;
}

void KnownLabels::remove(std::span<const LabelId> labels) {
  std::vector<LabelId> sorted(labels.begin(), labels.end());
  std::ranges::sort(sorted);
  if (!std::ranges::all_of(sorted, [this](LabelId label) { return has(label); }) ||
      std::ranges::adjacent_find(sorted) != sorted.end()) {
    throw std::invalid_argument("a label to be removed was not learnt, or is given twice");
  }
  for (const LabelId label : sorted) states_[label] = State::removed;
}

std::vector<LabelId> KnownLabels::there() const {
  std::vector<LabelId> there;
  for (LabelId label = 0; label < count(); ++label) {
    if (has(label)) there.push_back(label);
  }
  return there;
}

LabelScope::LabelScope(const KnownLabels& known, std::span<const LabelId> allowed)
    : known_(known), count_(known.count()), restricted_(true), allowed_(known.count()) {
  for (const LabelId label : allowed) {
    if (label < allowed_.size()) allowed_[label] = 1;
  }
}

void LabelScope::set_thresholds(std::span<const float> thresholds) {
  thresholds_.assign(thresholds.begin(), thresholds.end());
  lowest_ = thresholds.empty() ? std::numeric_limits<float>::infinity() : std::ranges::min(thresholds);
}

}  // namespace labelgrove
