// Measures how labels come: in blocks, one class after another, or mixed; how many an example has; and which turned up
// late. It looks at the labels of the stream alone, so all nodes agree on it whatever the tree, and decisions based on
// it keep OPLT equivalent to IPLT.
//
// In blocks, a label mostly follows itself; in a mixed stream it follows itself only as often as it occurs at all.
// blocks() is the number of repetitions in excess of chance, relative to the largest possible excess, over about the
// last hundred examples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"

namespace labelgrove {

class LabelGauge {
 public:
  LabelGauge() = default;
  // Loads what save() wrote. Throws std::invalid_argument, naming the first invariant that does not hold, unless a
  // stream of `examples_seen` examples with labels below `n_labels` can have led to it.
  LabelGauge(const ArrayReader& saved, LabelId n_labels, std::uint64_t examples_seen);

  void save(ArrayWriter& out) const;

  // Counts the labels of the next example. REQUIRES: they are distinct.
  void observe(std::span<const LabelId> labels);
  // From 0 (mixed) to 1 (one class after another).
  double blocks() const;
  // By how much the example with these labels counts, which has just been observed, from 1/20 to 1: in blocks the less,
  // the more examples labels have had.
  double share(std::span<const LabelId> labels) const;
  // Whether a label of the example just observed is one that turned up late and has had few examples since: in random
  // order its others would hardly all have come after its first. Never where labels come in blocks.
  bool is_late(LabelId label) const;
  // The mean number of labels per example; 0 before the first.
  double labels_per_example() const;

 private:
  std::vector<std::uint64_t> counts_;  // by label: the number of examples that had it
  std::vector<std::uint64_t> before_;  // by label: the number of examples before its first
  std::vector<LabelId> last_;          // labels of the previous example
  std::uint64_t examples_ = 0;
  std::uint64_t labels_ = 0;  // the sum of the counts
  std::uint64_t met_ = 0;     // the number of counts that are not 0
  double repeated_ = 0.0;     // running mean: the share of an example's labels that repeat, in excess of chance
  double possible_ = 0.0;     // running mean: the largest possible value of that
};

}  // namespace labelgrove
