// One online label tree, or several over the same labels that learn the same stream. Predictions are averaged
// (GroveSearch). The trees have different seeds, and if the first one places new labels greedily, the others place them
// at random.
//
// The memory budget is shared evenly by the trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/compact_plt.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/online_plt.hpp"
#include "labelgrove/online_thresholds.hpp"
#include "labelgrove/search.hpp"

namespace labelgrove {

struct OnlineGroveOptions : OnlinePltOptions {
  std::uint32_t trees = 1;
};

class OnlineGrove {
 public:
  explicit OnlineGrove(const OnlineGroveOptions& options);
  // Starts from given trees (see OnlinePlt). REQUIRES, here and below: there are options.trees of them, all with the
  // same labels.
  OnlineGrove(const OnlineGroveOptions& options, std::span<const LabelTree> trees);
  // Resumes from a batch model, whose arrays must outlive this model as long as it inherits(). `of_labels`: see
  // OnlinePlt::Past.
  OnlineGrove(const OnlineGroveOptions& options, const ArrayReader& batch,
              const std::optional<std::span<const std::uint64_t>>& of_labels);
  // Loads what save() wrote (see OnlinePlt).
  OnlineGrove(const OnlineGroveOptions& options, const ArrayReader& saved, bool borrow, bool check_only = false);
  OnlineGrove(const OnlineGrove&) = delete;
  OnlineGrove& operator=(const OnlineGrove&) = delete;

  void save(ArrayWriter& out, bool for_prediction) const;

  // See OnlinePlt. `examples` is called from several threads. With several trees, BudgetExceeded breaks the model, too:
  // the trees may have learnt different numbers of examples.
  void learn(const LabelledExamples& examples, std::size_t begin, std::size_t end, unsigned threads,
             const Questions& questions = {});
  void remove_labels(std::span<const LabelId> labels);
  void restore_inherited();

  // Whether the model still reads weights from the batch model's arrays.
  bool inherits() const { return batch_ != nullptr; }
  bool can_learn() const { return first().can_learn(); }
  bool usable() const { return usable_; }
  const OnlineGroveOptions& options() const { return options_; }
  std::uint64_t examples_seen() const { return first().examples_seen(); }
  const OnlineThresholds* thresholds() const { return first().thresholds(); }
  const std::deque<OnlinePlt>& trees() const { return trees_; }
  // The first tree's.
  const LabelTree& tree() const { return first().tree(); }
  std::span<const NodeBlock* const> blocks() const { return first().blocks(); }
  // Summed over all trees.
  ModelSize size() const;

 private:
  void learn_together(const LabelledExamples& examples, std::size_t begin, std::size_t end, unsigned threads);
  void learn_each(const LabelledExamples& examples, std::size_t begin, std::size_t end, unsigned threads);
  void learn_and_tune(const LabelledExamples& examples, std::size_t begin, std::size_t end, unsigned threads);
  std::vector<Scored> ask(const Features& x, std::size_t k) const;
  const OnlinePlt& first() const { return trees_.front(); }

  OnlineGroveOptions options_;
  std::unique_ptr<CompactPlt> batch_;
  std::deque<OnlinePlt> trees_;
  bool usable_ = true;
};

}  // namespace labelgrove
