#include "labelgrove/node_learners.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

// If the number of replays follows the stream, up to this many have full weight. More share the same total weight: that
// many replays of a few remembered examples would over-fit (docs/decisions/arow.md).
constexpr std::uint32_t kFullReplays = 4;

// Weights fade once per this many new examples, since fading costs as much as a step in which every child learns.
constexpr std::uint64_t kFadesAfter = 4;

}  // namespace

// --- nodes -----------------------------------------------------------------------------------------------------------

void NodeLearners::set_node(NodeId v, std::unique_ptr<Node> node) {
  if (v >= nodes_.size()) {
    nodes_.resize(v + std::size_t{1});
    blocks_.resize(v + std::size_t{1});
  }
  blocks_[v] = node ? &node->block : nullptr;
  if (nodes_[v]) count_as(*nodes_[v], {});
  nodes_[v] = std::move(node);
  if (nodes_[v]) count(*nodes_[v]);
}

void NodeLearners::put(NodeId v, SiblingBlock block) { set_node(v, std::make_unique<Node>(std::move(block))); }

void NodeLearners::start(NodeId v, std::size_t children, bool theta) {
  if (children == 0 && !theta) set_node(v, nullptr);
  else put(v, SiblingBlock(learner_, static_cast<std::uint32_t>(children), theta));
}

void NodeLearners::discard(NodeId v) {
  Node& node = *nodes_[v];
  finish_sealed(node);
  for (const Event& event : node.queue) {
    if (event.kind == Event::Kind::learn) examples_.release(event.example);
  }
  for (std::size_t i = 0; i < node.memory.size(); ++i) examples_.release(node.memory.example(i));
  set_node(v, nullptr);
}

void NodeLearners::insert_above(NodeId v, NodeId below) {
  bring_up_to_date(v);
  const Node& old = *nodes_[v];
  auto above = std::make_unique<Node>(old.block.parent_block());
  above->memory = old.memory.parent_memory();
  for (std::size_t i = 0; i < above->memory.size(); ++i) examples_.retain(above->memory.example(i));
  set_node(below, std::move(nodes_[v]));
  set_node(v, std::move(above));
}

std::size_t NodeLearners::block_bytes() const {
  std::size_t bytes = 0;
  for (const auto& node : nodes_) bytes += sizeof(node) + (node ? node->block.bytes() : 0);
  return bytes;
}

std::size_t NodeLearners::memory_bytes() const {
  std::size_t bytes = examples_.bytes();
  for (const auto& node : nodes_) bytes += node ? node->memory.bytes() : 0;
  return bytes;
}

// --- events ----------------------------------------------------------------------------------------------------------

void NodeLearners::drop_theta(NodeId v) {
  nodes_[v]->theta = false;
  enqueue(v, {Event::Kind::drop_theta, kNone, 0});
}

void NodeLearners::learn(NodeId v, ExampleId example, std::span<const std::uint32_t> positives, std::size_t children,
                         const Lesson& lesson) {
  const auto first = static_cast<std::uint32_t>(positives_.size());
  positives_.insert(positives_.end(), positives.begin(), positives.end());
  examples_.retain(example);
  enqueue(v, {Event::Kind::learn, example, first, static_cast<std::uint32_t>(positives.size()), lesson});
  nodes_[v]->cost += examples_.view(example).size * (children + 1) * (lesson.replays + 1 + lesson.twice);
}

void NodeLearners::enqueue(NodeId v, Event event) {
  Node& node = *nodes_[v];
  if (node.queue.empty()) waiting_.push_back(v);
  node.queue.push_back(event);
}

// --- draining the queues ---------------------------------------------------------------------------------------------

void NodeLearners::bring_up_to_date(NodeId v) {
  Node& node = *nodes_[v];
  finish_sealed(node);
  work_off(node, node.queue, positives_, work_);
  node.queue = std::vector<Event>();  // = {} would keep the memory, and most nodes wait long for their next event
  node.cost = 0;
}

void NodeLearners::drain() {
  for (const NodeId v : waiting_) {
    if (has(v)) bring_up_to_date(v);
  }
  for (const Task& task : tasks_) {
    if (task.node != nullptr) finish_sealed(*task.node);
  }
  waiting_.clear();
  positives_.clear();
}

// Makes sure that the node's sealed task is done, by this thread or another.
void NodeLearners::finish_sealed(Node& node) {
  if (node.sealed == nullptr) return;
  Task& task = *node.sealed;
  work_off(task, work_);
  // Rare and short: only while another thread is working on this very node.
  while (task.state.load(std::memory_order_acquire) == Task::State::taken) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  if (task.state.load(std::memory_order_acquire) == Task::State::failed) throw std::bad_alloc();
  task.node = nullptr;
  node.sealed = nullptr;
}

// Does nothing if another thread has taken the task.
void NodeLearners::work_off(Task& task, Workspace& work) {
  auto ready = Task::State::ready;
  if (!task.state.compare_exchange_strong(ready, Task::State::taken, std::memory_order_acq_rel)) return;
  try {
    work_off(*task.node, task.events, sealed_positives_, work);
  } catch (...) {
    task.state.store(Task::State::failed, std::memory_order_release);
    throw;
  }
  task.state.store(Task::State::done, std::memory_order_release);
}

void NodeLearners::work_off(Node& node, std::span<const Event> events, std::span<const std::uint32_t> positives,
                            Workspace& work) {
  for (const Event& event : events) {
    switch (event.kind) {
      case Event::Kind::learn:
        learn_one(node, event, positives.subspan(event.first, event.count), work);
        break;
      case Event::Kind::add_leaf:
        node.block.add_leaf();
        break;
      case Event::Kind::reset_child:
        node.block.reset_child(event.first);
        node.memory.forget_child(event.first);
        break;
      case Event::Kind::drop_theta:
        node.block.drop_theta();
        break;
    }
  }
  if (!events.empty()) count(node);
}

// UPDATECLASSIFIERS (Algorithm 7) for the children of one node, and its replays.
void NodeLearners::learn_one(Node& node, const Event& event, std::span<const std::uint32_t> positives,
                             Workspace& work) {
  const Lesson& lesson = event.lesson;
  const float share = lesson.share * examples_.weight(event.example);
  node.block.learn(examples_.view(event.example), positives, share, lesson.evidence, work);
  if (lesson.twice) node.block.learn(examples_.view(event.example), positives, share, Evidence::again, work);
  ExampleId unneeded = event.example;
  if (replay_.replay > 0) {
    unneeded = node.memory.offer(seed_, replay_.replay_memory, event.example, positives);
    const float lighter = replay_.replay_most > 0 && lesson.replays > kFullReplays
                              ? static_cast<float>(kFullReplays) / static_cast<float>(lesson.replays)
                              : 1.0F;
    Evidence evidence = lesson.several ? Evidence::bounded : Evidence::again;
    if (lesson.several && node.memory.reached() % kFadesAfter == 0) evidence = Evidence::fading;
    for (std::uint32_t r = 0; r < lesson.replays; ++r) {
      const std::size_t i = node.memory.pick(seed_, r);
      const ExampleId again = node.memory.example(i);
      const float weight = lighter * examples_.weight(again);
      node.block.learn(examples_.view(again), node.memory.positives(i), weight, evidence, work);
      if (evidence == Evidence::fading) evidence = Evidence::bounded;
    }
  }
  if (unneeded != kNone) examples_.release(unneeded);
}

void NodeLearners::run(const std::function<bool(const Idle&)>& take_in, unsigned threads) {
  if (threads <= 1) {
    while (take_in([] { return false; })) {
      for (const NodeId v : waiting_) {
        if (has(v)) bring_up_to_date(v);  // it may have been discarded, or brought up to date, since it was queued
      }
      waiting_.clear();
      positives_.clear();
    }
    return;
  }
  std::vector<Workspace> works(threads);
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  const Idle idle = [&] { return done.load(std::memory_order_relaxed) == order_.size(); };
  Crew crew(threads - 1);
  while (take_in(idle)) {
    crew.finish();
    forget_tasks();
    seal_queues();
    next = 0;
    done = 0;
    crew.start(threads, [&](std::size_t worker) {
      for (std::size_t i = next++; i < order_.size(); i = next++) {
        work_off(*order_[i], works[worker]);
        ++done;
      }
    });
  }
  crew.finish();
  forget_tasks();
}

void NodeLearners::seal_queues() {
  for (const NodeId v : waiting_) {
    if (!has(v) || nodes_[v]->queue.empty()) continue;
    Node& node = *nodes_[v];
    Task& task = tasks_.emplace_back();
    task.node = &node;
    task.events.swap(node.queue);
    task.cost = std::exchange(node.cost, 0);
    node.sealed = &task;
    order_.push_back(&task);
  }
  waiting_.clear();
  sealed_positives_.swap(positives_);
  positives_.clear();
  std::ranges::stable_sort(order_, std::ranges::greater(), &Task::cost);
}

// REQUIRES: all tasks are done.
void NodeLearners::forget_tasks() {
  for (const Task& task : tasks_) {
    if (task.node != nullptr) task.node->sealed = nullptr;
  }
  tasks_.clear();
  order_.clear();
}

}  // namespace labelgrove
