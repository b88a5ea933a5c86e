// Do labels come in blocks, one class after another, or mixed? And one an example, or several? Read off a stream's labels
// alone: all nodes, whatever the tree is and becomes, agree about it, so what they do by it leaves OPLT proper.
//
// A label that comes in blocks mostly comes right after itself; in a mixed stream it does so as often as it comes at all. The
// gauge is how many labels repeat beyond that, out of those that could, over the last hundred examples or so.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"

namespace labelgrove {

class BlockGauge {
 public:
  BlockGauge() = default;
  // What save() wrote. Throws std::invalid_argument, naming what does not hold, unless it can be what a stream of that many
  // examples with labels below `n_labels` has left.
  BlockGauge(const ArrayReader& saved, LabelId n_labels, std::uint64_t examples_seen);

  void save(ArrayWriter& out) const;

  // Takes in the labels of one more example; they are distinct.
  void observe(std::span<const LabelId> labels);
  // From 0, mixed, to 1, one class after another.
  double blocks() const;
  // Labels that an example has had on average, before the first one 0.
  double labels_per_example() const;

 private:
  std::vector<std::uint64_t> counts_;  // by label: examples that had it
  std::vector<LabelId> last_;          // labels of the last example
  std::uint64_t examples_ = 0;
  std::uint64_t labels_ = 0;  // the sum of the counts
  double repeated_ =
      0.0;  // running mean: the share of an example's labels that repeat, beyond those that would by chance
  double possible_ = 0.0;  // running mean: the most that this could have been
};

}  // namespace labelgrove
