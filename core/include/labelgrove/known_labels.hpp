// The labels that a model has seen, and those that it may return.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"

namespace labelgrove {

class KnownLabels {
 public:
  KnownLabels() = default;
  // Labels below `count`, none of them seen yet.
  explicit KnownLabels(LabelId count) : states_(count, State::unknown) {}
  // Loads what save() wrote for `count` labels. Throws std::invalid_argument if it is damaged.
  KnownLabels(const ArrayReader& saved, std::uint64_t count);
  void save(ArrayWriter& out) const;

  // Makes the label known, even if it was removed.
  void see(LabelId label);
  // Removes the labels for good. Throws std::invalid_argument, and removes none, if one was never seen, was removed
  // before, or is given twice.
  void remove(std::span<const LabelId> labels);

  // All labels ever seen are below it.
  LabelId count() const { return static_cast<LabelId>(states_.size()); }
  bool has(LabelId label) const { return label < states_.size() && states_[label] == State::there; }
  // Whether the label was ever seen, removed or not.
  bool knows(LabelId label) const { return label < states_.size() && states_[label] != State::unknown; }
  // All labels that were seen and not removed, in ascending order.
  std::vector<LabelId> there() const;

 private:
  enum class State : std::uint8_t { unknown = 0, there = 1, removed = 2 };

  std::vector<State> states_;  // by label
};

// The labels that may be returned, and their thresholds. REQUIRES: outlived by the known labels, whose number must not
// grow while some are allowed or have thresholds (see fits()).
class LabelScope {
 public:
  explicit LabelScope(const KnownLabels& known) : known_(known), count_(known.count()) {}
  // Only the labels given.
  LabelScope(const KnownLabels& known, std::span<const LabelId> allowed);
  // One threshold for all labels, or one by label; a label without a threshold is never returned.
  void set_thresholds(std::span<const float> thresholds);

  bool open(LabelId label) const { return known_.has(label) && (!restricted_ || allowed_[label] != 0); }
  float threshold(LabelId label) const {
    if (thresholds_.size() == 1) return thresholds_[0];
    return label < thresholds_.size() ? thresholds_[label] : std::numeric_limits<float>::infinity();
  }
  float lowest_threshold() const { return lowest_; }
  // Whether the scope was made for these labels, and none has been added since.
  bool fits(const KnownLabels& known) const { return &known == &known_ && known.count() == count_; }

 private:
  const KnownLabels& known_;
  LabelId count_;
  bool restricted_ = false;
  std::vector<std::uint8_t> allowed_;  // by label
  std::vector<float> thresholds_;
  float lowest_ = 0.0F;
};

}  // namespace labelgrove
