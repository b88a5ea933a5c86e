// One online label tree, or several over the same labels that learn the same stream. What they predict is averaged
// (GroveSearch); they differ in what they draw, and all but the first place new labels at random where the first one
// places them greedily.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
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
  // On given trees, as OnlinePlt has it. REQUIRES, here and below: options.trees of them, all with the same labels.
  OnlineGrove(const OnlineGroveOptions& options, std::span<const LabelTree> trees);
  // The batch model's arrays must outlive this one, as long as it inherits(). The examples that it has learnt from are
  // those of the past.
  OnlineGrove(const OnlineGroveOptions& options, const ArrayReader& batch,
              const std::optional<std::span<const std::uint64_t>>& of_labels);
  // As OnlinePlt has it.
  OnlineGrove(const OnlineGroveOptions& options, const ArrayReader& saved, bool borrow, bool check_only = false);
  OnlineGrove(const OnlineGrove&) = delete;
  OnlineGrove& operator=(const OnlineGrove&) = delete;

  void save(ArrayWriter& out, bool for_prediction) const;

  // As OnlinePlt has them. `examples` is called from several threads.
  void learn(const std::function<OnlinePlt::Example(std::size_t)>& examples, std::size_t begin, std::size_t end,
             unsigned threads, const Questions& questions = {});
  void remove_labels(std::span<const LabelId> labels);
  void restore_inherited();

  // Whether it goes on from a batch model, whose arrays it reads where they are.
  bool inherits() const { return batch_ != nullptr; }
  bool can_learn() const { return first().can_learn(); }
  bool usable() const { return usable_; }
  const OnlineGroveOptions& options() const { return options_; }
  std::uint64_t examples_seen() const { return first().examples_seen(); }
  const OnlineThresholds* thresholds() const { return first().thresholds(); }
  const std::deque<OnlinePlt>& trees() const { return trees_; }
  // Of the first tree.
  const LabelTree& tree() const { return first().tree(); }
  std::span<const NodeBlock* const> blocks() const { return first().blocks(); }
  // Of all trees.
  OnlinePlt::Size size() const;

 private:
  using Examples = std::function<OnlinePlt::Example(std::size_t)>;
  void learn_together(const Examples& examples, std::size_t begin, std::size_t end, unsigned threads);
  void learn_each(const Examples& examples, std::size_t begin, std::size_t end, unsigned threads);
  void learn_and_tune(const Examples& examples, std::size_t begin, std::size_t end, unsigned threads);
  std::vector<Scored> ask(const Features& x, std::size_t k) const;
  const OnlinePlt& first() const { return trees_.front(); }

  OnlineGroveOptions options_;
  std::unique_ptr<CompactPlt> batch_;
  std::deque<OnlinePlt> trees_;
  bool usable_ = true;
};

}  // namespace labelgrove
