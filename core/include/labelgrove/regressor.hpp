// One linear regressor that learns online: what a sibling block is for many columns, for a single one.
//
// A tree of regressors has millions of them, most of which know a few dozen features. So the weights, each with its
// optimiser's state, lie in the very table that finds them: one place in memory a feature, and none beside it. The
// table is hashed (open addressing, Robin Hood displacement), nearly full and of any size; or, whenever that is
// smaller, two plain runs over all features up to the largest, of weights and of states, which dense examples use
// where they lie. A feature takes room as soon as its weight has moved. No result depends on how the table stores
// them. Chosen collisions cost little, as in FeatureMap.
#pragma once

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

  // Empty, and not to be taught before start().
  Regressor() = default;
  // Forgets everything, and begins.
  void start(const LearnerOptions& options);
  // What was stored, the bias first; `states` may be empty. With `learns` unset there are weights alone, for
  // prediction. REQUIRES: the features are distinct.
  Regressor(const LearnerOptions& options, std::span<const FeatureId> features, std::span<const float> weights,
            std::span<const float> states, bool learns);

  // One step towards `target`, -1 or +1, from an example that counts `weight` times; `offset` is added to its margin.
  // REQUIRES: it learns; AROW, AdaGrad, or SGD without L2; 0 < weight <= kMostWeight.
  Margins learn(const LearnerOptions& options, const Features& x, float target, float weight, Workspace& work,
                float offset = 0.0F);

  float margin(const Features& x, Workspace& work) const;
  // added[j] = what feature j of x adds to the margin; returns the bias.
  float margin_parts(const Features& x, float* added) const;

  Term bias() const { return {kNone, bias_, bias_state_}; }
  // All that differ from new ones, in increasing order of features; `by_weight`: those whose weight does.
  void collect(bool by_weight, std::vector<Term>& terms) const;
  std::size_t size() const;
  // Those that found no slot within reach of their home.
  std::size_t crowded_out() const { return crowded_out_ ? crowded_out_->size() : 0; }
  std::size_t bytes() const;

  // --- forgetting, where there is a bound to what is held
  // At most what is held for this many that differ from new ones, however they came.
  static constexpr std::uint64_t kBytesOfTerm = 31;
  std::uint64_t most_bytes() const { return kBytesOfTerm * size(); }
  // worth[number] += the bytes of every feature that is worth so much.
  void add_worths(std::span<std::uint64_t> worth) const;
  // Forgets all features that are worth at most so much, as if they had never come.
  void forget(std::uint32_t at_most);

  // Asks the CPU to fetch what margin() and learn() will read.
  void prefetch(const Features& x) const;

 private:
  bool has_state() const { return width_ == 3; }
  std::size_t room() const { return std::size_t{slots_} * (direct_ ? width_ - 1U : width_); }
  // 1, if it differs from a new one.
  std::uint32_t moved(float weight, float state) const { return weight != 0.0F || state != new_state_ ? 1U : 0U; }
  // From a weight to its state.
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
  // Where the weight stands, or null.
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

  std::unique_ptr<float[]>
      cells_;  // hashed: slots of [ feature | weight | state ]; direct: all weights, then all states
  struct Cell {
    float weight_and_state[2];
  };
  std::unique_ptr<std::map<FeatureId, Cell>> crowded_out_;  // null as long as there are none
  std::uint32_t slots_ = 0;
  std::uint32_t known_ = 0;  // if hashed: slots in use, and those crowded out
  std::uint32_t moved_ = 0;  // features that differ from new ones; kNone: to be counted
  float bias_ = 0.0F;
  float bias_state_ = 0.0F;
  std::uint8_t new_state_ = 0;  // AdaGrad begins with 0, AROW with 1
  std::uint8_t width_ = 3;      // of a slot
  bool direct_ = false;
};

}  // namespace labelgrove
