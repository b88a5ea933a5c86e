// An ensemble of multi-label decision trees: LdSM (Majzoubi & Choromanska 2020) or FastXML (Prabhu & Varma 2014). A
// label's score is its mean share s of the leaves that the example reaches, over all trees whose leaf has labels. With
// tail_weight w > 0 it is s^(1 - w) times the similarity to the label's centroid to the power of w.
//
// Threads: any number may predict at once, each with its own ForestFinder, while none changes the forest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/forest_router.hpp"
#include "labelgrove/forest_tree.hpp"
#include "labelgrove/known_labels.hpp"
#include "labelgrove/label_centroids.hpp"
#include "labelgrove/scored.hpp"

namespace labelgrove {

class Forest {
 public:
  explicit Forest(const ForestOptions& options) : options_(options) {}
  // Loads what save() wrote. Throws std::invalid_argument, naming the first invariant that does not hold. With `borrow`
  // the weights stay where they are, and statistics of growth are not loaded. With `check_only` everything is checked,
  // and the forest must not be used.
  Forest(const ForestOptions& options, const ArrayReader& saved, bool borrow, bool check_only = false);
  Forest(const Forest&) = delete;
  Forest& operator=(const Forest&) = delete;

  void save(ArrayWriter& out, bool for_prediction) const;
  // Parts of save(): the nodes, and the statistics of their splits. save_statistics() REQUIRES: can_learn().
  void save_structure(ArrayWriter& out) const;
  void save_statistics(ArrayWriter& out) const;

  // Grows all trees. The result does not depend on the number of threads. REQUIRES: the forest is empty.
  void grow(const ForestExamples& data, unsigned threads);

  bool can_learn() const { return !borrowed_; }
  bool usable() const { return true; }
  const ForestOptions& options() const { return options_; }
  std::uint64_t examples_seen() const { return examples_seen_; }
  const KnownLabels& known() const { return known_; }
  // As KnownLabels::remove().
  void remove_labels(std::span<const LabelId> labels) { known_.remove(labels); }
  std::span<const ForestTree> trees() const { return trees_; }
  const LabelCentroids& centroids() const { return centroids_; }

  ModelSize size() const;

 private:
  void find_centroids(const ForestTrainingSet& set);
  void load_statistics(const ArrayReader& saved);

  ForestOptions options_;
  std::vector<ForestTree> trees_;
  LabelCentroids centroids_;  // of all labels, if tail_weight > 0
  KnownLabels known_;
  std::uint64_t examples_seen_ = 0;
  bool borrowed_ = false;
};

// Finds labels for the examples of a batch (LdSM's Algorithm 5). Labels in none of the leaves have a score of 0. Not
// thread-safe: use one for each thread.
class ForestFinder {
 public:
  ForestFinder(const Forest& forest, const LabelScope& scope);

  // Routes a batch of examples, which the other methods refer to by index. The examples must outlive the batch.
  void start(std::span<const Features> batch);

  void top_k(std::size_t i, std::size_t k, std::vector<Scored>& found);
  // All labels with a positive score that reaches their threshold, best first.
  void above_threshold(std::size_t i, std::vector<Scored>& found);

  // The number of hyperplanes evaluated in all trees, and the depth of the deepest leaf.
  SearchStats stats(std::size_t i) const { return {router_.classifiers(i), router_.ways(i).depth}; }

 private:
  // Calls take(label, score) for the labels in the leaves of the i-th example, in any order; take returns the smallest
  // score that is still of interest.
  template <typename Take>
  void score(std::size_t i, Take&& take);
  // Combines the share with the similarity to the label's centroid.
  float mixed(std::size_t i, LabelId label, float share) const;

  const Forest& forest_;
  const LabelScope& scope_;
  std::span<const Features> batch_;
  ForestRouter router_;
  std::vector<double> squares_;  // by example: |x|^2, if there are centroids
  std::vector<float> sums_;      // by label: its shares; 0 between examples
};

}  // namespace labelgrove
