// Which labels a model has seen, and which of them may be found.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"

namespace labelgrove {

class KnownLabels {
 public:
  KnownLabels() = default;
  // What save() wrote for `count` labels. Throws std::invalid_argument.
  KnownLabels(const ArrayReader& saved, std::uint64_t count);
  void save(ArrayWriter& out) const;

  // Makes the label known, even if it had been removed.
  void see(LabelId label);
  // Removes the labels for good. Throws std::invalid_argument, and removes none, if one was never seen, was removed
  // before, or is given twice.
  void remove(std::span<const LabelId> labels);

  // All labels that were ever seen are below.
  LabelId count() const { return static_cast<LabelId>(states_.size()); }
  bool has(LabelId label) const { return label < states_.size() && states_[label] == State::there; }
  // Whether it was ever seen.
  bool knows(LabelId label) const { return label < states_.size() && states_[label] != State::unknown; }
  // All that were seen and not removed, increasing.
  std::vector<LabelId> there() const;

 private:
  enum class State : std::uint8_t { unknown = 0, there = 1, removed = 2 };

  std::vector<State> states_;  // by label
};

// Which labels may be found, and from which probability on.
class LabelScope {
 public:
  explicit LabelScope(const KnownLabels& known) : known_(known) {}
  // Only the labels given.
  LabelScope(const KnownLabels& known, std::span<const LabelId> allowed);
  // One for all, or one by label; where they are too few, the label is never above its threshold.
  void set_thresholds(std::span<const float> thresholds);

  bool open(LabelId label) const { return known_.has(label) && (!restricted_ || allowed_[label] != 0); }
  float threshold(LabelId label) const;
  float lowest_threshold() const { return lowest_; }

 private:
  const KnownLabels& known_;
  bool restricted_ = false;
  std::vector<std::uint8_t> allowed_;  // by label
  std::vector<float> thresholds_;
  float lowest_ = 0.0F;
};

}  // namespace labelgrove
