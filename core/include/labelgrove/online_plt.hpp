// Online probabilistic label trees (Jasinska-Kobus et al. 2021): OPLT, and IPLT on a given tree.
//
// Examples are taken in in stream order: the tree grows for new labels (TreePolicy), and the example is queued at
// every node that it reaches (NodeLearners). With several threads the stream is cut into windows: while one thread
// takes the next window in, the others work off the queues that the last one left.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/block_gauge.hpp"
#include "labelgrove/compact_plt.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/node_learners.hpp"
#include "labelgrove/online_thresholds.hpp"
#include "labelgrove/row_block.hpp"
#include "labelgrove/search.hpp"
#include "labelgrove/tree_policy.hpp"

namespace labelgrove {

struct OnlinePltOptions : GrowthOptions, ReplayOptions {
  LearnerOptions learner;
  bool normalize = true;          // scale examples to unit length
  std::optional<OfoOptions> ofo;  // tune thresholds meanwhile, from predictions made before each update
  std::uint64_t seed = 0;         // of the learner's draws, too
};

// Examples that are asked about just before they are learnt: what are the k most probable labels, by all that came before?
struct Questions {
  std::span<const std::uint64_t> examples = {};  // their numbers, increasing
  std::size_t k = 0;
  std::function<void(std::size_t i, const std::vector<Scored>& found)> answer = {};  // to the i-th of them
};

class OnlinePlt {
 public:
  explicit OnlinePlt(const OnlinePltOptions& options);
  // On a given tree: IPLT if the policy is `fixed`, else OPLT that starts from this tree.
  OnlinePlt(const OnlinePltOptions& options, LabelTree tree);
  // Goes on from the weights of a batch model (section 5.4), whose one tree this is, and which must outlive this one.
  // `past`: the examples that it has learnt from, by which the optimiser's state is guessed; without, the state is as if
  // nothing had been learnt.
  struct Past {
    std::uint64_t examples = 0;
    std::span<const std::uint64_t> of_labels;  // examples that had each label
  };
  OnlinePlt(const OnlinePltOptions& options, const CompactTree& batch, const std::optional<Past>& past);
  // What save() wrote. Throws std::invalid_argument, naming what does not hold, unless every invariant does. With
  // `borrow` the weights stay where they lie and the model can only predict. With `check_only` they are checked and not
  // taken in: the model knows which labels there are, and is of no use but that. `batch`: the tree that it goes on from, if any.
  OnlinePlt(const OnlinePltOptions& options, const ArrayReader& saved, bool borrow, bool check_only = false,
            const CompactTree* batch = nullptr);

  void save(ArrayWriter& out, bool for_prediction) const;

  // Learns from examples [begin, end) of a stream, in order; `examples(i)` gives the i-th. A label without a leaf is
  // new. An example of weight 0 counts as seen, and changes nothing else. REQUIRES: can_learn(); ids increase, values
  // are finite; labels are distinct, below kNone - 1, none was removed, and none is new if the policy is `fixed`;
  // weights are at most kMostWeight; only these examples are asked about. Should memory run out, the model is broken,
  // usable() says so, and nothing else may be asked of it.
  struct Example {
    Features x;
    std::span<const LabelId> labels;
    float weight = 1.0F;  // how many times it counts
  };
  void learn(const std::function<Example(std::size_t)>& examples, std::size_t begin, std::size_t end, unsigned threads,
             const Questions& questions = {});
  // learn() in steps, for trees that tune their thresholds together. An example is held, unless it has no weight (kNone),
  // perhaps asked about in every tree, then taught to all of them; settle() works off what has been taught since.
  ExampleId hold(const Example& example);
  // Whether thresholds learn from the next example. All trees go by the first one's word.
  bool asks() const;
  // Labels that this tree alone would predict, and how probable it finds one, by all that was taught so far.
  // REQUIRES: thresholds are tuned; candidates() comes first.
  void candidates(ExampleId example, std::vector<LabelId>& found);
  float probability(ExampleId example, LabelId label);
  void teach(ExampleId example, std::span<const LabelId> labels,
             const std::optional<std::span<const LabelId>>& predicted);
  void settle();
  // Throws std::invalid_argument, and removes none, if one has no leaf or is given twice.
  void remove_labels(std::span<const LabelId> labels);
  // The classifiers of labels and inner nodes have the weights of the batch model again that it goes on from, which is
  // not needed from here on. What was learnt since remains in the optimiser's state, in auxiliary classifiers and in
  // what nodes remember. REQUIRES: no label has come since.
  void restore_inherited();

  bool can_learn() const { return can_learn_; }
  bool usable() const { return usable_; }
  const OnlinePltOptions& options() const { return options_; }
  const LabelTree& tree() const { return tree_; }
  std::uint64_t examples_seen() const { return examples_seen_; }
  // Those tuned while learning; null without, or if loaded for prediction.
  const OnlineThresholds* thresholds() const { return thresholds_ ? &*thresholds_ : nullptr; }
  // By node: the classifiers of its children; null if it has neither children nor an auxiliary classifier.
  std::span<const NodeBlock* const> blocks() const {
    return can_learn_ ? learners_.blocks() : std::span<const NodeBlock* const>(stored_blocks_);
  }
  const RowBlock* block(NodeId v) const;

  struct Size {
    std::uint64_t weights = 0;       // held in blocks, auxiliary classifiers included
    std::uint64_t model_bytes = 0;   // rows, keys, tables, structure
    std::uint64_t memory_bytes = 0;  // remembered examples
  };
  Size size() const;

 private:
  OnlinePlt(const OnlinePltOptions& options, const ArrayReader& saved, const TreeOutline& outline, bool borrow,
            bool check_only, const CompactTree* batch);
  static OnlinePltOptions seeded(OnlinePltOptions options);
  void take_in(const Example& given, const Questions& questions, std::optional<std::size_t> question);
  std::span<const float> open(ExampleId example, NodeId v, float probability);
  void grow(const Features& x, LabelId label, NodeId& selected);
  void take_place(NodeId v, LabelId label);
  void settle_theta(NodeId v);
  void assign(ExampleId example, std::span<const LabelId> labels, bool opened);
  std::uint32_t replays_after(std::span<const LabelId> labels);
  std::span<const float> probabilities(const Features& x, NodeId v);
  void save_thresholds(ArrayWriter& out) const;
  void load_thresholds(const ArrayReader& saved, bool check_only);

  OnlinePltOptions options_;
  LabelTree tree_;
  TreePolicy policy_;
  NodeLearners learners_;
  std::vector<std::unique_ptr<StoredBlock>> stored_;  // by node, where the model can only predict
  std::vector<const NodeBlock*> stored_blocks_;
  std::optional<OnlineThresholds> thresholds_;
  std::optional<BlockGauge> gauge_;  // where the number of replays depends on it
  std::uint64_t examples_seen_ = 0;
  bool can_learn_ = true;
  bool usable_ = true;

  // Of the example being taken in:
  std::vector<std::uint64_t> visited_;  // by node: the last example that was positive there
  std::uint64_t visit_ = 0;
  std::vector<NodeId> path_;
  std::vector<std::pair<NodeId, std::uint32_t>> reached_;  // (parent, slot) of every positive node
  std::vector<std::uint32_t> slots_;
  Workspace work_;
  std::vector<float> probabilities_;
  std::vector<LabelId> predicted_;
  // Of the nodes that the search for thresholds has opened:
  std::vector<std::pair<NodeId, float>> to_open_;              // with their probability
  std::vector<std::pair<std::uint64_t, std::size_t>> opened_;  // by node: for which search, where in products_
  std::vector<float> products_;                                // P(child | x) of their children
  std::uint64_t search_ = 0;
};

}  // namespace labelgrove
