// What a node of a LOMtree knows about the classes of the examples that have reached it (Choromanska & Langford 2015,
// Algorithm 1). It holds the classes that were seen there and no others, in order of arrival.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/feature_map.hpp"

namespace labelgrove {

struct ClassCount {
  LabelId label = kNone;
  std::uint64_t reached = 0;  // l(y): examples of the class that have come here
  std::uint64_t trained = 0;  // n(y): those that the regressor has learnt from
  std::uint64_t right = 0;    // of those, how many went right
  double score = 0.0;         // m(y): the sum of their scores

  // e(y), the expected score.
  double mean() const { return trained > 0 ? score / static_cast<double>(trained) : 0.0; }
};

class ClassHistogram {
 public:
  // The class's count, all 0 if the class is new. Valid until the next call.
  ClassCount& at(LabelId label);
  // Null if the class was never seen.
  const ClassCount* find(LabelId label) const;
  // REQUIRES: the class is new.
  void append(const ClassCount& count);

  std::span<const ClassCount> all() const { return counts_; }
  std::size_t size() const { return counts_.size(); }
  std::size_t bytes() const;

 private:
  std::uint32_t place(LabelId label) const;

  std::vector<ClassCount> counts_;
  std::unique_ptr<FeatureMap> places_;  // of many classes; a few are looked through
};

}  // namespace labelgrove
