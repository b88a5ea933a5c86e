// Online probabilistic label trees (Jasinska-Kobus et al. 2021): OPLT, and IPLT on a given tree.
//
// Examples are taken in in stream order: the tree grows for new labels (TreePolicy), and the example is queued at every
// node that it reaches (NodeLearners). With several threads the stream is cut into windows: while one thread takes in
// the next window, the others drain the queues left by the last one. The model is the same to the last bit for any
// number of threads and any cut of the stream into calls.
//
// Threads: any number may predict at once while none changes the model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/compact_plt.hpp"
#include "labelgrove/label_gauge.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/node_learners.hpp"
#include "labelgrove/online_thresholds.hpp"
#include "labelgrove/row_block.hpp"
#include "labelgrove/scored.hpp"
#include "labelgrove/tree_policy.hpp"

namespace labelgrove {

struct OnlinePltOptions : GrowthOptions, ReplayOptions {
  LearnerOptions learner;
  bool normalize = true;          // scale examples to unit length
  std::optional<OfoOptions> ofo;  // tune thresholds online, from predictions made before each update
  std::uint64_t seed = 0;         // also seeds the learner's draws
};

// Predictions made during learning: the k most probable labels of some examples, each predicted just before it is
// learnt. Questions about consecutive examples cost less than others, since nodes then have little left to learn.
struct Questions {
  std::span<const std::uint64_t> examples = {};  // their positions in the stream, increasing
  std::size_t k = 0;
  // Receives the answer for the i-th of them.
  std::function<void(std::size_t i, const std::vector<Scored>& found)> answer = {};
};

class OnlinePlt {
 public:
  explicit OnlinePlt(const OnlinePltOptions& options);
  // Starts from a given tree: IPLT if the policy is `fixed`, else OPLT that grows this tree.
  OnlinePlt(const OnlinePltOptions& options, LabelTree tree);
  // Resumes from the weights of one tree of a batch model (section 5.4), which must outlive this model. `past`
  // describes the examples that the batch model has learnt from; the optimiser's state is estimated from it. Without
  // `past` the state is that of an untrained model.
  struct Past {
    std::uint64_t examples = 0;
    std::span<const std::uint64_t> of_labels;  // by label: the number of examples that had it
  };
  OnlinePlt(const OnlinePltOptions& options, const CompactTree& batch, const std::optional<Past>& past);
  // Loads what save() wrote. Throws std::invalid_argument, naming the first invariant that does not hold. With `borrow`
  // the weights stay where they are and the model can only predict. With `check_only` the weights are checked but not
  // loaded: the model only knows its labels, and nothing else may be asked of it. `batch` is the tree that the model
  // resumed from, if any.
  OnlinePlt(const OnlinePltOptions& options, const ArrayReader& saved, bool borrow, bool check_only = false,
            const CompactTree* batch = nullptr);

  void save(ArrayWriter& out, bool for_prediction) const;

  // Learns from examples [begin, end) of a stream, in order; `examples(i)` returns the i-th. A label without a leaf is
  // new. An example of weight 0 is counted as seen and changes nothing else. REQUIRES: can_learn(); ids increase,
  // values are finite; labels are distinct and below kNone - 1, none was removed, and none is new if the policy is
  // `fixed`; weights are at most kMostWeight; `questions` name examples in [begin, end) of positive weight. Throws
  // BudgetExceeded if an example does not fit; all earlier ones are learnt, its new labels may have leaves already, and
  // the model stays usable. If it throws anything else, such as std::bad_alloc, the model is broken: usable() is false,
  // and no other method may be called.
  void learn(const LabelledExamples& examples, std::size_t begin, std::size_t end, unsigned threads,
             const Questions& questions = {});
  // learn() in steps, for trees that tune their thresholds together. hold() stores an example (kNone if its weight is
  // 0), every tree may be asked to predict it, then teach() teaches it to each tree. settle() drains the queues.
  ExampleId hold(const LabelledExample& example);
  // Whether thresholds are tuned on the next example. In a grove the first tree decides for all.
  bool asks() const;
  // The labels that this tree alone would predict, and its probability of one label, from all that was taught so far.
  // REQUIRES: thresholds are tuned; candidates() is called first.
  void candidates(ExampleId example, std::vector<LabelId>& found);
  float probability(ExampleId example, LabelId label);
  void teach(ExampleId example, std::span<const LabelId> labels,
             const std::optional<std::span<const LabelId>>& predicted);
  void settle();
  // REQUIRES: each label has a leaf, and is given once.
  void remove_labels(std::span<const LabelId> labels);
  // Restores the batch model's weights in the classifiers of labels and inner nodes; the batch model is no longer
  // needed afterwards. The optimiser's state, auxiliary classifiers and remembered examples keep what was learnt since.
  // REQUIRES: no label has been added since.
  void restore_inherited();

  bool can_learn() const { return can_learn_; }
  bool usable() const { return usable_; }
  const OnlinePltOptions& options() const { return options_; }
  const LabelTree& tree() const { return tree_; }
  std::uint64_t examples_seen() const { return examples_seen_; }
  // The thresholds tuned while learning; null if they are not tuned, or if the model was loaded for prediction.
  const OnlineThresholds* thresholds() const { return thresholds_ ? &*thresholds_ : nullptr; }
  // By node: the classifiers of its children; null if it has neither children nor an auxiliary classifier.
  std::span<const NodeBlock* const> blocks() const {
    return can_learn_ ? learners_.blocks() : std::span<const NodeBlock* const>(stored_blocks_);
  }
  const RowBlock* block(NodeId v) const;

  ModelSize size() const;

 private:
  OnlinePlt(const OnlinePltOptions& options, const ArrayReader& saved, const TreeOutline& outline, bool borrow,
            bool check_only, const CompactTree* batch);
  static OnlinePltOptions seeded(OnlinePltOptions options);
  void take_in(const LabelledExample& given, const Questions& questions, std::optional<std::size_t> question);
  void begin_search();
  std::span<const float> open(ExampleId example, NodeId v, float probability);
  void grow(const Features& x, LabelId label, NodeId& selected);
  void take_place(NodeId v, LabelId label);
  void settle_theta(NodeId v);
  void assign(ExampleId example, std::span<const LabelId> labels);
  Lesson lesson_of(std::span<const LabelId> labels);
  std::span<const float> probabilities(const Features& x, NodeId v);
  void save_thresholds(ArrayWriter& out) const;
  void load_thresholds(const ArrayReader& saved, bool check_only);

  OnlinePltOptions options_;
  LabelTree tree_;
  TreePolicy policy_;
  NodeLearners learners_;
  std::vector<std::unique_ptr<StoredBlock>> stored_;  // by node, if the model can only predict
  std::vector<const NodeBlock*> stored_blocks_;
  std::optional<OnlineThresholds> thresholds_;
  std::optional<LabelGauge> gauge_;  // if it decides how examples are learnt
  std::uint64_t examples_seen_ = 0;
  bool can_learn_ = true;
  bool usable_ = true;

  // The example being taken in:
  std::vector<std::uint64_t> visited_;  // by node: the last visit in which it was positive
  std::uint64_t visit_ = 0;
  std::vector<NodeId> path_;
  std::vector<NodeId> late_;                               // the nodes of path_ that lead to a late label, its leaf too
  std::vector<std::pair<NodeId, std::uint32_t>> reached_;  // (parent, slot) of every positive node
  std::vector<std::uint32_t> slots_;
  Workspace work_;
  std::vector<float> probabilities_;
  std::vector<LabelId> predicted_;
  // The nodes opened by the search that predicted it:
  std::vector<std::pair<NodeId, float>> to_open_;  // with their probabilities
  // By node: the search that opened it, and its index in products_.
  std::vector<std::pair<std::uint64_t, std::size_t>> opened_;
  std::vector<float> products_;  // P(child | x) of the children of opened nodes
  std::uint64_t search_ = 0;
  std::uint64_t searched_ = 0;  // examples_seen_ + 1 at that search
};

}  // namespace labelgrove
