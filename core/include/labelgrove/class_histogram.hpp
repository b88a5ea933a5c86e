// What a node of a LOMtree knows about the classes of the examples that have reached it (Choromanska & Langford 2015,
// Algorithm 1). It holds the classes that were seen there and no others, in order of arrival.
//
// Counts are of examples, each taken once. What they weigh is kept beside them, from the first example on that does not
// weigh 1.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "labelgrove/base.hpp"
#include "labelgrove/feature_map.hpp"

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
  // An example of the class of `count`, one of all(), weighs so much. REQUIRES: the count does not include it yet.
  void weigh(const ClassCount& count, float weight);
  bool weighted() const { return weights_ != nullptr; }
  // What the examples of a class weigh, `count` being one of all().
  double weight(const ClassCount& count) const {
    return weights_ ? weights_[place_of(count)] : static_cast<double>(count.reached);
  }
  // What all examples weigh. REQUIRES: weighted().
  double total_weight() const { return total_weight_; }
  // For loading: all weights, in the order of the classes.
  void restore_weights(std::span<const double> weights, double total);

  std::span<const ClassCount> all() const { return {counts_.get(), size_}; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const;
  // At most what is held for as many classes, weighed or not, however they came; and what one more adds to it.
  std::uint64_t most_bytes() const;
  static constexpr std::uint64_t kMostGrowth = 112;

 private:
  std::uint32_t place(LabelId label) const;
  std::size_t place_of(const ClassCount& count) const { return static_cast<std::size_t>(&count - counts_.get()); }
  void make_room();

  std::unique_ptr<ClassCount[]> counts_;
  std::unique_ptr<double[]> weights_;   // of each class; null while all examples weigh 1
  std::unique_ptr<FeatureMap> places_;  // by label, where there are many; a few are looked through
  std::uint32_t size_ = 0;
  std::uint32_t room_ = 0;
  double total_weight_ = 0.0;
};

}  // namespace labelgrove
