// One linear regressor that learns online: a sibling block with a single column.
//
// A tree has millions of regressors, most of which know a few dozen features. The weights, each with its optimiser
// state, are therefore stored in the very table that finds them: one slot per feature and no other memory. The table is
// a hash table (open addressing, Robin Hood displacement) of any size, at most two thirds full; or, whenever that is
// smaller, two plain arrays of weights and states over all features up to the largest, which dense examples use
// directly. A feature is stored once its weight has moved. No result depends on how the table stores it. Chosen
// collisions cost little, as in FeatureMap.
//
// Any number of threads may predict at once; learning needs exclusive access.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

class Regressor {
 public:
  struct Term {
    FeatureId feature;
    float weight;
    float state;
  };
  // The example's margin before and after a step.
  struct Margins {
    float before;
    float after;
  };

  // Empty; start() must be called before learn().
  Regressor() = default;
  // Forgets everything and starts to learn.
  void start(const LearnerOptions& options);
  // Loads stored terms, the bias first; `states` may be empty. Without `learns` only weights are kept, for prediction.
  // REQUIRES: the features are distinct.
  Regressor(const LearnerOptions& options, std::span<const FeatureId> features, std::span<const float> weights,
            std::span<const float> states, bool learns);

  // One step towards `target`, -1 or +1. The example counts `weight` times; `offset` is added to its margin. REQUIRES:
  // the regressor learns; the learner is AROW, AdaGrad, or SGD without L2; 0 < weight <= kMostWeight.
  Margins learn(const LearnerOptions& options, const Features& x, float target, float weight, Workspace& work,
                float offset = 0.0F);

  float margin(const Features& x, Workspace& work) const;
  // added[j] = the contribution of feature j of x to the margin; returns the bias.
  float margin_parts(const Features& x, float* added) const;

  Term bias() const { return {kNone, bias_, bias_state_}; }
  // Appends all terms that differ from their initial values, in ascending order of features; with `by_weight` only
  // those whose weight differs.
  void collect(bool by_weight, std::vector<Term>& terms) const;
  std::size_t size() const;
  // The number of features without a slot within reach of their home.
  std::size_t crowded_out() const { return crowded_out_ ? crowded_out_->size() : 0; }
  std::size_t bytes() const;

  // --- forgetting, within a memory budget
  // An upper bound on the memory for this many terms that differ from their initial values, whatever their history.
  static constexpr std::uint64_t kBytesOfTerm = 31;
  std::uint64_t most_bytes() const { return kBytesOfTerm * size(); }
  // Adds the bytes of every feature to worth[the feature's worth].
  void add_worths(std::span<std::uint64_t> worth) const;
  // Forgets all features with a worth of at most `at_most`, as if they had never occurred.
  void forget(std::uint32_t at_most);

  // Prefetches what margin() and learn() will read.
  void prefetch(const Features& x) const;

 private:
  bool has_state() const { return width_ == 3; }
  std::size_t room() const { return std::size_t{slots_} * (direct_ ? width_ - 1U : width_); }
  // 1 if the term differs from its initial values, else 0.
  std::uint32_t moved(float weight, float state) const { return weight != 0.0F || state != new_state_ ? 1U : 0U; }
  // The distance from a weight to its state.
  std::size_t to_state() const { return direct_ ? slots_ : 1; }
  bool lies_there(const Features& x) const { return direct_ && is_dense(x) && x.size <= slots_; }

  std::uint32_t home(FeatureId feature) const {
    return static_cast<std::uint32_t>((std::uint64_t{scattered(feature)} * slots_) >> 32);
  }
  FeatureId key(std::uint32_t slot) const { return std::bit_cast<FeatureId>(cells_[std::size_t{slot} * width_]); }
  std::uint32_t displacement(std::uint32_t slot, FeatureId feature) const {
    const std::uint32_t wanted = home(feature);
    return slot >= wanted ? slot - wanted : slot + slots_ - wanted;
  }
  // A pointer to the weight, or null.
  float* find(FeatureId feature) const;
  float* find_crowded_out(FeatureId feature) const;

  std::size_t gather(const Features& x, Workspace& work) const;
  float step(const LearnerOptions& options, const Features& x, float target, float weight, float margin, float* weights,
             std::size_t to_state, float variance, Workspace& work);
  void keep(const Features& x, std::size_t unknown, const Workspace& work);
  void make_room(FeatureId largest, std::size_t more);
  void insert(Term term);
  std::uint32_t worth(const Term& term) const;
  template <typename Visit>
  void for_each(Visit&& visit) const;

  // Hashed: slots of [ feature | weight | state ]; direct: all weights, then all states.
  std::unique_ptr<float[]> cells_;
  // Weights and states; null while there are none.
  std::unique_ptr<std::map<FeatureId, std::array<float, 2>>> crowded_out_;
  std::uint32_t slots_ = 0;
  std::uint32_t known_ = 0;  // hashed: slots in use, and features crowded out
  std::uint32_t moved_ = 0;  // features that differ from their initial values; kNone: must be counted
  float bias_ = 0.0F;
  float bias_state_ = 0.0F;
  std::uint8_t new_state_ = 0;  // initial state: 0 for AdaGrad, 1 for AROW
  std::uint8_t width_ = 3;      // floats in a slot
  bool direct_ = false;
};

}  // namespace labelgrove
