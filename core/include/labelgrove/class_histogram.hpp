// The statistics that a LOMtree node keeps about the classes of the examples that have reached it (Choromanska &
// Langford 2015, Algorithm 1). It contains only the classes seen there, in order of arrival.
//
// Examples are counted once each. Their weights are kept separately, starting with the first example whose weight is
// not 1.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "labelgrove/base.hpp"
#include "labelgrove/feature_map.hpp"

namespace labelgrove {

// Every class has one at every node of its paths, so it must be small. Counters stop at kMostOfAClass.
struct ClassCount {
  static constexpr std::uint32_t kMostOfAClass = std::numeric_limits<std::uint32_t>::max();

  LabelId label = kNone;
  std::uint32_t reached = 0;  // l(y): examples of the class that have reached the node
  std::uint32_t trained = 0;  // n(y): those from which the regressor has learnt
  std::uint32_t right = 0;    // the number of those that went right
  double score = 0.0;         // m(y): the sum of their scores

  // e(y), the expected score.
  double mean() const { return trained > 0 ? score / trained : 0.0; }
};

class ClassHistogram {
 public:
  // The class's statistics, all 0 if it is new. Valid until the next call.
  ClassCount& at(LabelId label);
  // Null if the class has not been seen.
  const ClassCount* find(LabelId label) const;
  // REQUIRES: the class is new.
  void append(const ClassCount& count);
  // Adds the weight of an example of the class of `count`, one of all(). REQUIRES: the count does not include the
  // example yet.
  void weigh(const ClassCount& count, float weight);
  bool weighted() const { return weights_ != nullptr; }
  // The total weight of a class's examples. REQUIRES: `count` is one of all().
  double weight(const ClassCount& count) const {
    return weights_ ? weights_[place_of(count)] : static_cast<double>(count.reached);
  }
  // The total weight of all examples. REQUIRES: weighted().
  double total_weight() const { return total_weight_; }
  // For loading: all weights, in the order of classes.
  void restore_weights(std::span<const double> weights, double total);

  std::span<const ClassCount> all() const { return {counts_.get(), size_}; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const;
  // An upper bound on the memory for this many classes, weighted or not, whatever their history; and on its growth by
  // another class.
  std::uint64_t most_bytes() const;
  static constexpr std::uint64_t kMostGrowth = 112;

 private:
  std::uint32_t place(LabelId label) const;
  std::size_t place_of(const ClassCount& count) const { return static_cast<std::size_t>(&count - counts_.get()); }
  void make_room();

  std::unique_ptr<ClassCount[]> counts_;
  std::unique_ptr<double[]> weights_;   // by class; null while all weights are 1
  std::unique_ptr<FeatureMap> places_;  // by label, if there are many; a few are searched linearly
  std::uint32_t size_ = 0;
  std::uint32_t room_ = 0;
  double total_weight_ = 0.0;
};

}  // namespace labelgrove
