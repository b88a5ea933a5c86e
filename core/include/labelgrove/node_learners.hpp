// The classifiers of all nodes of an online tree while they learn, with the work still queued for them.
//
// Every change to a node becomes an event in its queue, and queues are drained node by node. Node classifiers never
// look at each other, so queues may be drained later, in any order and by any number of threads, and the result is the
// same to the last bit. Only a node that is asked for a probability, or that INSERTNODE copies from, must be brought up
// to date at once.
//
// One thread at a time may call the methods of NodeLearners; run() starts the other threads itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/budget.hpp"
#include "labelgrove/example_store.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/replay_memory.hpp"
#include "labelgrove/sibling_block.hpp"

namespace labelgrove {

struct ReplayOptions {
  std::uint32_t replay = 0;         // times that a node learns again after each example
  std::uint32_t replay_most = 0;    // upper limit while labels come in blocks; 0 keeps it at `replay`
  std::uint64_t replay_memory = 0;  // examples that a node remembers; 0 is unbounded
  std::uint64_t max_bytes = 0;      // memory budget of the whole tree; 0 is unbounded
};

// How a node learns an example that reaches it.
struct Lesson {
  std::uint32_t replays = 0;  // the number of remembered examples that are learnt again after it
  Evidence evidence = Evidence::full;
  bool several = false;  // labels per example: the loss of replays is bounded, and some of them fade weights
  bool twice = false;    // whether it is itself learnt again at once
  float share = 1.0F;    // of its weight, with which it is learnt this time
};

class NodeLearners {
 public:
  NodeLearners(const LearnerOptions& learner, const ReplayOptions& replay, std::uint64_t seed)
      : learner_(learner), replay_(replay), seed_(seed) {}

  // --- nodes ---------------------------------------------------------------------------------------------------------
  // Whether v has classifiers, of children or an auxiliary one.
  bool has(NodeId v) const { return v < nodes_.size() && nodes_[v] != nullptr; }
  // As of the end of v's queue. REQUIRES, here and below: has(v).
  bool has_theta(NodeId v) const { return nodes_[v]->theta; }
  // The state so far: events in the queue are not applied yet.
  const SiblingBlock& block(NodeId v) const { return nodes_[v]->block; }
  const ReplayMemory& memory(NodeId v) const { return nodes_[v]->memory; }
  // For loading. What the caller changes is counted when memory is announced.
  SiblingBlock& block(NodeId v) { return may_change(v).block; }
  ReplayMemory& memory(NodeId v) { return may_change(v).memory; }
  // By node; null if it has no classifiers.
  std::span<const NodeBlock* const> blocks() const { return blocks_; }
  ExampleStore& examples() { return examples_; }
  const ExampleStore& examples() const { return examples_; }
  // Memory held by blocks, and by remembered examples.
  std::size_t block_bytes() const;
  std::size_t memory_bytes() const;

  // Gives v this block. REQUIRES: !has(v).
  void put(NodeId v, SiblingBlock block);
  // Gives v untrained classifiers, or none if it has neither children nor theta. REQUIRES: !has(v).
  void start(NodeId v, std::size_t children, bool theta);
  // Drops v's classifiers and all examples that only v needs.
  void discard(NodeId v);
  // INSERTNODE: `below` takes over v's classifiers, and v gets those that it would have, had it been there from the
  // start.
  void insert_above(NodeId v, NodeId below);

  // --- events --------------------------------------------------------------------------------------------------------
  void add_leaf(NodeId v) { enqueue(v, {Event::Kind::add_leaf, kNone, 0}); }
  void reset_child(NodeId v, std::uint32_t child) { enqueue(v, {Event::Kind::reset_child, kNone, child}); }
  void drop_theta(NodeId v);
  // Queues the example, which is positive for the given children of v. `children` is v's number of children; it only
  // serves to estimate the cost.
  void learn(NodeId v, ExampleId example, std::span<const std::uint32_t> positives, std::size_t children,
             const Lesson& lesson);

  // --- the budget ----------------------------------------------------------------------------------------------------
  // Bytes are counted from shapes, as an upper bound of what is held, so that the count depends only on the stream and
  // not on threads or calls. Memory is announced before it is used. When an announcement exceeds the budget, all queues
  // are drained, the shapes are counted afresh, and the rows and examples of least worth are forgotten.
  // Throws BudgetExceeded if that many more bytes cannot fit, whatever is forgotten; no row has been forgotten then.
  void make_room(std::uint64_t bytes);
  // Throws BudgetExceeded if an example of so many features and new labels has no chance to fit: the tree would be too
  // large without any rows and examples, or the example at the root.
  void check_fits(std::size_t new_labels, std::size_t features, const LabelTree& tree);
  // Announce the memory needed to learn one such example at each of the nodes, and to add a leaf to v, after inserting
  // a node between v and its children if `insert`.
  void make_room_for_learning(std::span<const NodeId> nodes, const LabelTree& tree, std::size_t features,
                              std::size_t positives);
  void make_room_for_leaf(NodeId v, bool insert);
  struct Budget {
    std::uint64_t counted = 0;        // bytes announced, starting from the last count of shapes
    std::uint64_t replay_memory = 0;  // the current limit of examples that a node remembers
  };
  Budget budget() const { return {counted_, replay_.replay_memory}; }
  void restore(const Budget& budget);
  const ReplayOptions& replay() const { return replay_; }

  // --- draining the queues -------------------------------------------------------------------------------------------
  // Applies everything in v's queue.
  void bring_up_to_date(NodeId v);
  // Whether all other threads are waiting for take_in to return.
  using Idle = std::function<bool()>;
  // Calls `take_in` until it returns false, and drains the queues that each call fills. With several threads, the
  // others drain them during the next call. That call drains for itself any queue that it needs at once, and should
  // return soon after `idle` becomes true.
  void run(const std::function<bool(const Idle&)>& take_in, unsigned threads);

 private:
  struct Event {
    enum class Kind : std::uint32_t { learn, add_leaf, reset_child, drop_theta };
    Kind kind;
    ExampleId example;        // learn
    std::uint32_t first;      // learn: index in positives_ of its first positive child; reset_child: the child
    std::uint32_t count = 0;  // learn: number of positive children
    Lesson lesson = {};       // learn
  };
  struct Task;
  // Upper bounds of the bytes that a node holds, from its shape.
  struct Count {
    std::uint64_t lasting = 0;  // after forgetting all rows and examples
    std::uint64_t rows = 0;     // in addition
    std::uint64_t entries = 0;  // of its memory
  };
  struct Node {
    explicit Node(SiblingBlock b) : block(std::move(b)), theta(block.has_theta()) {}
    SiblingBlock block;
    ReplayMemory memory;
    std::vector<Event> queue;
    Task* sealed = nullptr;  // a task that comes before the queue, perhaps running in another thread
    bool theta;              // as of the end of the queue
    std::uint64_t cost = 0;  // estimated cost of draining the queue
    Count count = {};        // as it is in the sums
  };
  // The sealed queue of one node, drained by the first thread that takes it.
  struct Task {
    enum class State : std::uint8_t { ready, taken, done, failed };
    Node* node = nullptr;  // null once the thread that takes examples in knows that it is done
    std::vector<Event> events;
    std::uint64_t cost = 0;
    std::atomic<State> state{State::ready};
  };

  void set_node(NodeId v, std::unique_ptr<Node> node);
  void enqueue(NodeId v, Event event);
  void finish_sealed(Node& node);
  void work_off(Task& task, Workspace& work);
  void work_off(Node& node, std::span<const Event> events, std::span<const std::uint32_t> positives, Workspace& work);
  void learn_one(Node& node, const Event& event, std::span<const std::uint32_t> positives, Workspace& work);
  void seal_queues();
  void forget_tasks();
  void drain();
  std::size_t columns(NodeId v, const LabelTree& tree) const;
  Node& may_change(NodeId v) {
    uncounted_ = true;
    return *nodes_[v];
  }
  void count(Node& node);
  void count_as(Node& node, const Count& now);
  void settle();
  std::uint64_t count() const { return count_lasting() + count_memory() + rows_.load(std::memory_order_relaxed); }
  std::uint64_t count_lasting() const;
  std::uint64_t count_memory() const;
  void forget_examples(std::uint64_t most);
  void forget_rows(std::uint64_t bytes);

  LearnerOptions learner_;
  ReplayOptions replay_;
  std::uint64_t seed_;
  std::uint64_t counted_ = 0;
  // Sums of all nodes' counts, with a budget only. Each thread adds what the nodes that it drains have grown by.
  std::atomic<std::uint64_t> lasting_{0};
  std::atomic<std::uint64_t> rows_{0};
  std::atomic<std::uint64_t> entries_{0};
  bool uncounted_ = false;  // a caller may have changed nodes
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<const NodeBlock*> blocks_;
  ExampleStore examples_;

  std::vector<NodeId> waiting_;                  // nodes whose queues are not empty
  std::vector<std::uint32_t> positives_;         // the positive children of queued events
  std::vector<std::uint32_t> sealed_positives_;  // likewise, of events in tasks
  std::deque<Task> tasks_;
  std::vector<Task*> order_;  // tasks_, most expensive first
  Workspace work_;
};

}  // namespace labelgrove
