// Online probabilistic label trees (Jasinska-Kobus et al. 2021): OPLT, and IPLT on a given tree.
//
// Learning goes in two steps. The examples are taken in in stream order: the tree grows for new labels, and each node that
// an example reaches gets an event in its queue. The queues are worked off node by node: node classifiers never look at
// each other, so this may happen later, in any order and in any number of threads, and the result is the same to the last
// bit. Only a node that the policy asks for a probability, or that INSERTNODE copies from, must be up to date at once.
//
// With several threads the stream is cut into windows: while one thread takes the next window in, the others work off the
// queues that the last one has left. What the first needs of these it works off itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/example_store.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/online_thresholds.hpp"
#include "labelgrove/replay_memory.hpp"
#include "labelgrove/sibling_block.hpp"

namespace labelgrove {

enum class Policy : std::uint8_t {
  fixed = 0,        // the given tree does not grow: IPLT
  best_greedy = 1,  // Algorithm 8
  random = 2,       // Algorithm 8
  cpet = 3,         // descend as BEST-GREEDY does, always to a leaf, and expand it
  complete = 4,     // always towards the child with the fewest leaves
};

struct OnlinePltOptions {
  LearnerOptions learner;
  Policy policy = Policy::best_greedy;
  double alpha = 0.75;              // weight of balance in BEST-GREEDY's score
  std::uint32_t arity = 2;          // b
  std::uint32_t max_leaves = 100;   // b_max, the arity of pre-leaf nodes
  std::uint32_t replay = 0;         // how often a node learns again after each example
  std::uint64_t replay_memory = 0;  // examples that a node remembers; 0 is no bound
  bool normalize = true;            // scale examples to unit length
  std::optional<OfoOptions> ofo;    // tune thresholds meanwhile, from predictions made before each update
  std::uint64_t seed = 0;
};

class OnlinePlt {
 public:
  explicit OnlinePlt(const OnlinePltOptions& options);
  // On a given tree: IPLT if the policy is `fixed`, else OPLT that starts from this tree.
  OnlinePlt(const OnlinePltOptions& options, LabelTree tree);
  // What save() wrote. Throws std::invalid_argument, naming what does not hold, unless every invariant does. With `borrow`
  // the weights stay where they lie and the model can only predict.
  OnlinePlt(const OnlinePltOptions& options, const ArrayReader& saved, bool borrow);

  void save(ArrayWriter& out, bool for_prediction) const;

  // Learns from examples [begin, end) of a stream, in order; `examples(i)` gives the i-th. A label without a leaf is new.
  // An example of weight 0 counts as seen, and changes nothing else.
  // REQUIRES: can_learn(); ids increase, values are finite; labels are distinct, below kNone - 1, none was removed, and
  // none is new if the policy is `fixed`; weights are at most kMostWeight.
  // Should memory run out, the model is broken, usable() says so, and nothing else may be asked of it.
  struct Example {
    Features x;
    std::span<const LabelId> labels;
    float weight = 1.0F;  // how many times it counts
  };
  void learn(const std::function<Example(std::size_t)>& examples, std::size_t begin, std::size_t end, unsigned threads);
  // Examples with all of the first `features` features are to come; they are kept without feature ids.
  void expect_dense(std::uint32_t features) { store_.expect_dense(features); }
  // Throws std::invalid_argument, and removes none, if one has no leaf or is given twice.
  void remove_labels(std::span<const LabelId> labels);

  bool can_learn() const { return can_learn_; }
  bool usable() const { return usable_; }
  const OnlinePltOptions& options() const { return options_; }
  const LabelTree& tree() const { return tree_; }
  std::uint64_t examples_seen() const { return examples_seen_; }
  // Those tuned while learning; null without, or if loaded for prediction.
  const OnlineThresholds* thresholds() const { return thresholds_ ? &*thresholds_ : nullptr; }
  // By node: the classifiers of its children; null if it has neither children nor an auxiliary classifier.
  std::span<const NodeBlock* const> blocks() const { return blocks_; }
  const SiblingBlock* block(NodeId v) const { return nodes_[v] ? &nodes_[v]->block : nullptr; }

  struct Size {
    std::uint64_t weights = 0;       // held in blocks, auxiliary classifiers included
    std::uint64_t model_bytes = 0;   // rows, keys, tables, structure
    std::uint64_t memory_bytes = 0;  // remembered examples
  };
  Size size() const;

 private:
  enum class EventKind : std::uint32_t { learn, add_leaf, reset_child, drop_theta };
  struct Event {
    EventKind kind;
    ExampleId example;    // learn
    std::uint32_t first;  // learn: where in positives_ its positive children begin; reset_child: the child
    std::uint32_t count;  // learn: how many
  };
  struct Task;
  struct Node {
    explicit Node(SiblingBlock b) : block(std::move(b)), theta(block.has_theta()) {}
    SiblingBlock block;
    ReplayMemory memory;
    std::vector<Event> queue;
    Task* sealed = nullptr;  // what the node has to learn before its queue, perhaps under way in another thread
    bool theta;              // as of the end of the queue
    std::uint64_t cost = 0;  // of working off the queue
  };
  // The queue of one node, sealed to be worked off by whoever takes it first.
  struct Task {
    enum class State : std::uint8_t { ready, taken, done, failed };
    Node* node = nullptr;  // null again once the thread that takes examples in has seen that it is done
    std::vector<Event> events;
    std::uint64_t cost = 0;
    std::atomic<State> state{State::ready};
  };

  void take_in(const Example& example);
  void tune_thresholds(const Features& x, std::span<const LabelId> labels);
  void save_thresholds(ArrayWriter& out) const;
  void load_thresholds(const ArrayReader& saved);
  void start_classifiers();
  void save_memory(ArrayWriter& out, std::span<const NodeId> kept) const;
  void load_memory(const ArrayReader& saved, std::span<const NodeId> nodes);
  void set_node(NodeId v, std::unique_ptr<Node> node);
  void grow(const Features& x, LabelId label, NodeId& selected);
  NodeId descend(const Features& x, NodeId v);
  NodeId best_child(const Features& x, NodeId v);
  bool needs_theta(NodeId v) const;
  void settle_theta(NodeId v);
  void start_leaf_theta(NodeId leaf);
  void discard(NodeId v);
  void assign(ExampleId example, std::span<const LabelId> labels);
  void enqueue(NodeId v, Event event);
  void bring_up_to_date(NodeId v);
  void finish_sealed(Node& node);
  void work_off(Task& task, Workspace& work);
  void work_off(Node& node, std::span<const Event> events, std::span<const std::uint32_t> positives, Workspace& work);
  void learn_one(Node& node, const Event& event, std::span<const std::uint32_t> positives, Workspace& work);
  void work_off_queues();
  void seal_queues();
  void forget_tasks();

  OnlinePltOptions options_;
  LabelTree tree_;
  std::vector<std::unique_ptr<Node>> nodes_;  // by node id; null for leaves without theta
  std::vector<const NodeBlock*> blocks_;
  ExampleStore store_;
  std::optional<OnlineThresholds> thresholds_;
  std::uint64_t examples_seen_ = 0;
  std::uint64_t policy_draws_ = 0;
  bool can_learn_ = true;
  bool usable_ = true;

  // Of the examples being learnt:
  std::vector<NodeId> waiting_;                  // nodes whose queue is not empty
  std::vector<std::uint32_t> positives_;         // the positive children of events in queues
  std::vector<std::uint32_t> sealed_positives_;  // likewise, of events in tasks
  std::deque<Task> tasks_;
  std::vector<Task*> order_;            // of tasks_, the longest first
  std::vector<std::uint64_t> visited_;  // by node: the last example that was positive there
  std::vector<NodeId> path_;
  std::vector<std::pair<NodeId, std::uint32_t>> reached_;  // (parent, slot) of every positive node
  std::uint64_t visit_ = 0;
  Workspace work_;
  std::vector<float> probabilities_;
  std::vector<std::pair<NodeId, float>> open_;  // nodes to be searched, with their probability
  std::vector<LabelId> predicted_;
};

}  // namespace labelgrove
