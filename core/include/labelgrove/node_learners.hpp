// The classifiers of all nodes of an online tree while they learn, and what they still have to learn.
//
// Whatever happens to a node becomes an event in its queue, and queues are worked off node by node: node classifiers
// never look at each other, so this may happen later, in any order and in any number of threads, and the result is the
// same to the last bit. Only a node that is asked for a probability, or that INSERTNODE copies from, must be up to
// date at once.
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
  std::uint32_t replay = 0;         // how often a node learns again after each example,
  std::uint32_t replay_most = 0;    // and how often at most, while labels come in blocks; 0 is as often as ever
  std::uint64_t replay_memory = 0;  // examples that a node remembers; 0 is no bound
  std::uint64_t max_bytes = 0;      // that all of it may take; 0 is no bound
};

class NodeLearners {
 public:
  NodeLearners(const LearnerOptions& learner, const ReplayOptions& replay, std::uint64_t seed)
      : learner_(learner), replay_(replay), seed_(seed) {}

  // --- nodes ---------------------------------------------------------------------------------------------------------
  // Whether v has classifiers: of children, or an auxiliary one.
  bool has(NodeId v) const { return v < nodes_.size() && nodes_[v] != nullptr; }
  // As of the end of v's queue. REQUIRES, here and below: has(v).
  bool has_theta(NodeId v) const { return nodes_[v]->theta; }
  // As of what has been worked off.
  const SiblingBlock& block(NodeId v) const { return nodes_[v]->block; }
  SiblingBlock& block(NodeId v) { return nodes_[v]->block; }
  const ReplayMemory& memory(NodeId v) const { return nodes_[v]->memory; }
  ReplayMemory& memory(NodeId v) { return nodes_[v]->memory; }
  // By node; null where there are no classifiers.
  std::span<const NodeBlock* const> blocks() const { return blocks_; }
  ExampleStore& examples() { return examples_; }
  const ExampleStore& examples() const { return examples_; }
  // Of blocks, and of what is remembered.
  std::size_t block_bytes() const;
  std::size_t memory_bytes() const;

  // v has this block from now on. REQUIRES: !has(v).
  void put(NodeId v, SiblingBlock block);
  // Classifiers that have learnt nothing; none at all without children and theta. REQUIRES: !has(v).
  void start(NodeId v, std::size_t children, bool theta);
  // Drops v's classifiers and all examples that only it needs.
  void discard(NodeId v);
  // INSERTNODE: `below` takes v's classifiers over, and v gets those of a node that has been there from the start.
  void insert_above(NodeId v, NodeId below);

  // --- events --------------------------------------------------------------------------------------------------------
  void add_leaf(NodeId v) { enqueue(v, {Event::Kind::add_leaf, kNone, 0}); }
  void reset_child(NodeId v, std::uint32_t child) { enqueue(v, {Event::Kind::reset_child, kNone, child}); }
  void drop_theta(NodeId v);
  // The example, which is positive for these of v's children and so much evidence, and then so many remembered ones. If
  // `fades`, weights fade by the first of them, now and then.
  void learn(NodeId v, ExampleId example, std::span<const std::uint32_t> positives, std::size_t children,
             std::uint32_t replays, Evidence evidence, bool fades);

  // --- the budget ----------------------------------------------------------------------------------------------------
  // Bytes are counted from shapes, at most as many as are held, so that they are the same wherever and however the stream
  // was cut: all that is needed from now on is announced before it is taken, and when it does not fit, all queues are
  // worked off, it is counted afresh, and what is worth least is forgotten.
  // Throws BudgetExceeded if so much more cannot fit.
  void make_room(std::uint64_t bytes);
  // What learning such an example takes at a node, that adding a leaf does, and inserting a node above.
  void make_room_for_learning(std::span<const NodeId> nodes, const LabelTree& tree, std::size_t features,
                              std::size_t positives);
  void make_room_for_leaf(NodeId v);
  void make_room_for_insertion(NodeId v);
  struct Budget {
    std::uint64_t counted = 0;        // of all that has been announced since it was counted afresh
    std::uint64_t replay_memory = 0;  // examples that a node may remember by now
  };
  Budget budget() const { return {counted_, replay_.replay_memory}; }
  void restore(const Budget& budget);
  const ReplayOptions& replay() const { return replay_; }

  // --- working off ---------------------------------------------------------------------------------------------------
  // All that has reached v so far is learnt.
  void bring_up_to_date(NodeId v);
  // Whether all other threads wait for what is being taken in.
  using Idle = std::function<bool()>;
  // Calls `take_in` until it gives false, and works off what each call has enqueued. With several threads the others
  // work while the next call goes on, which works off itself what it needs at once and had better end once they are idle.
  void run(const std::function<bool(const Idle&)>& take_in, unsigned threads);

 private:
  struct Event {
    enum class Kind : std::uint32_t { learn, add_leaf, reset_child, drop_theta };
    Kind kind;
    ExampleId example;          // learn
    std::uint32_t first;        // learn: where in positives_ its positive children begin; reset_child: the child
    std::uint32_t count = 0;    // learn: how many
    std::uint32_t replays = 0;  // learn: examples that are learnt again behind it
    Evidence evidence = Evidence::full;  // learn
    bool fades = false;                  // learn
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

  void set_node(NodeId v, std::unique_ptr<Node> node);
  void enqueue(NodeId v, Event event);
  void finish_sealed(Node& node);
  void work_off(Task& task, Workspace& work);
  void work_off(Node& node, std::span<const Event> events, std::span<const std::uint32_t> positives, Workspace& work);
  void learn_one(Node& node, const Event& event, std::span<const std::uint32_t> positives, Workspace& work);
  void work_off_queues();
  void seal_queues();
  void forget_tasks();
  std::uint64_t count() const;
  std::uint64_t count_memory() const;
  void forget_examples(std::uint64_t most);
  void forget_rows(std::uint64_t bytes);

  LearnerOptions learner_;
  ReplayOptions replay_;
  std::uint64_t seed_;
  std::uint64_t counted_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<const NodeBlock*> blocks_;
  ExampleStore examples_;

  std::vector<NodeId> waiting_;                  // nodes whose queue is not empty
  std::vector<std::uint32_t> positives_;         // the positive children of events in queues
  std::vector<std::uint32_t> sealed_positives_;  // likewise, of events in tasks
  std::deque<Task> tasks_;
  std::vector<Task*> order_;  // of tasks_, the longest first
  Workspace work_;
};

}  // namespace labelgrove
