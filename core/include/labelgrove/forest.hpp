// An ensemble of multi-label decision trees: LdSM (Majzoubi & Choromanska 2020) or FastXML (Prabhu & Varma 2014). The
// score of a label is the mean of its shares in all leaves that the example reaches, in all trees; or with tail_weight
// w > 0 that to the power of 1 - w, times the nearness of the label's centroid to the power of w.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/forest_router.hpp"
#include "labelgrove/forest_tree.hpp"
#include "labelgrove/label_centroids.hpp"
#include "labelgrove/search.hpp"

namespace labelgrove {

class Forest {
 public:
  explicit Forest(const ForestOptions& options) : options_(options) {}
  // What save() wrote. Throws std::invalid_argument, naming what does not hold, unless every invariant does. With
  // `borrow` the weights stay where they lie, and nothing is known about how the trees grew. `check_only` goes through
  // all of it, and nothing may be asked of such a forest.
  Forest(const ForestOptions& options, const ArrayReader& saved, bool borrow, bool check_only = false);
  Forest(const Forest&) = delete;
  Forest& operator=(const Forest&) = delete;

  void save(ArrayWriter& out, bool for_prediction) const;
  // Parts of it: the nodes, and how they were split. REQUIRES of the second: can_learn().
  void save_structure(ArrayWriter& out) const;
  void save_statistics(ArrayWriter& out) const;

  // Grows all trees. The same for any number of threads. REQUIRES: nothing has been grown.
  void grow(const ForestExamples& data, unsigned threads);
  // Never finds these labels again.
  void remove_labels(std::span<const LabelId> labels);

  bool can_learn() const { return !borrowed_; }
  bool usable() const { return true; }
  const ForestOptions& options() const { return options_; }
  std::uint64_t examples_seen() const { return examples_seen_; }
  // All labels are below.
  LabelId label_count() const { return static_cast<LabelId>(known_.size()); }
  bool knows(LabelId label) const { return label < known_.size() && known_[label] != 0; }
  std::span<const ForestTree> trees() const { return trees_; }
  const LabelCentroids& centroids() const { return centroids_; }

  struct Size {
    std::uint64_t weights = 0;
    std::uint64_t model_bytes = 0;
  };
  Size size() const;

 private:
  void find_centroids(const ForestTrainingSet& set);
  void load_statistics(const ArrayReader& saved);

  ForestOptions options_;
  std::vector<ForestTree> trees_;
  LabelCentroids centroids_;         // of all labels if they count, else none
  std::vector<std::uint8_t> known_;  // by label: whether an example had it, and it was not removed
  std::uint64_t examples_seen_ = 0;
  bool borrowed_ = false;
};

// Finds labels for the examples of a batch (LdSM's Algorithm 5). Not thread-safe: each thread has its own.
//
// Labels that are in none of the leaves have the score 0.
class ForestFinder {
 public:
  // With `allowed`, by label, no other labels are returned; empty for all.
  ForestFinder(const Forest& forest, std::span<const std::uint8_t> allowed);

  // Routes the examples, which the other methods refer to by number. The examples must outlive the batch.
  void start(std::span<const Features> batch);

  void top_k(std::size_t i, std::size_t k, std::vector<Scored>& found);
  // All labels with a score above 0 that is at least their threshold; `thresholds` holds one for all, or one by label.
  void above_threshold(std::size_t i, std::span<const float> thresholds, std::vector<Scored>& found);

  // The hyperplanes asked in all trees, and the depth of the deepest leaf.
  SearchStats stats(std::size_t i) const { return {router_.classifiers(i), router_.ways(i).depth}; }

 private:
  bool open(LabelId label) const { return forest_.knows(label) && (allowed_.empty() || allowed_[label] != 0); }
  // Calls take(label, score) for the labels in the leaves of the i-th example, in any order; take returns the least
  // score that is still of interest.
  template <typename Take>
  void score(std::size_t i, Take&& take);
  // With the nearness of the label's centroid.
  float mixed(std::size_t i, LabelId label, float share) const;

  const Forest& forest_;
  std::span<const std::uint8_t> allowed_;
  std::span<const Features> batch_;
  ForestRouter router_;
  std::vector<double> squares_;  // by example: |x|^2, if centroids count
  std::vector<float> sums_;      // by label: its shares; 0 between two examples
};

}  // namespace labelgrove
