// What a node of a LOMtree knows about the classes of the examples that have reached it (Choromanska & Langford 2015,
// Algorithm 1). It holds the classes that were seen there and no others, in order of arrival.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "labelgrove/base.hpp"

namespace labelgrove {

// Every class has one at every node of its paths, so it is small. What is counted stops at kMostOfAClass.
struct ClassCount {
  static constexpr std::uint32_t kMostOfAClass = std::numeric_limits<std::uint32_t>::max();

  LabelId label = kNone;
  std::uint32_t reached = 0;  // l(y): examples of the class that have come here
  std::uint32_t trained = 0;  // n(y): those that the regressor has learnt from
  std::uint32_t right = 0;    // of those, how many went right
  double score = 0.0;         // m(y): the sum of their scores

  // e(y), the expected score.
  double mean() const { return trained > 0 ? score / trained : 0.0; }
};

class ClassHistogram {
 public:
  // The class's count, all 0 if the class is new. Valid until the next call.
  ClassCount& at(LabelId label);
  // Null if the class was never seen.
  const ClassCount* find(LabelId label) const;
  // REQUIRES: the class is new.
  void append(const ClassCount& count);

  std::span<const ClassCount> all() const { return {counts_.get(), size_}; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const;

 private:
  std::uint32_t place(LabelId label) const;
  void enter(std::uint32_t place);
  void make_room();
  std::size_t slots() const;

  std::unique_ptr<ClassCount[]> counts_;
  std::unique_ptr<std::uint32_t[]> places_;  // of many classes, by hash; a few are looked through
  std::uint32_t size_ = 0;
  std::uint32_t room_ = 0;
};

}  // namespace labelgrove
