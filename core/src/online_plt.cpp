#include "labelgrove/online_plt.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "labelgrove/hash.hpp"
#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

// Examples that are taken in before queues are worked off: enough for a node to find its rows in the cache again, few
// enough to be held, and with several threads for all to begin early.
constexpr std::size_t kWindow = 4096;
constexpr std::size_t kSharedWindow = 2048;

}  // namespace

OnlinePlt::OnlinePlt(const OnlinePltOptions& options) : OnlinePlt(options, LabelTree()) {}

OnlinePlt::OnlinePlt(const OnlinePltOptions& options, LabelTree tree) : options_(options), tree_(std::move(tree)) {
  start_classifiers();
  if (options_.ofo) thresholds_.emplace(*options_.ofo, tree_);
}

// NEWCLASSIFIER for every node (Algorithm 1, line 2), and auxiliary ones where the policy may need them (Algorithm 2).
void OnlinePlt::start_classifiers() {
  for (NodeId v = 0; v < tree_.size(); ++v) {
    const bool theta = needs_theta(v);
    const auto children = static_cast<std::uint32_t>(tree_[v].children.size());
    if (children == 0 && !theta) set_node(v, nullptr);
    else set_node(v, std::make_unique<Node>(SiblingBlock(options_.learner, children, theta)));
  }
}

void OnlinePlt::set_node(NodeId v, std::unique_ptr<Node> node) {
  if (v >= nodes_.size()) {
    nodes_.resize(v + 1);
    blocks_.resize(v + 1);
    visited_.resize(v + 1);
  }
  blocks_[v] = node ? &node->block : nullptr;
  nodes_[v] = std::move(node);
}

// --- learning: OPLT.TRAIN (Algorithm 3) ----------------------------------------------------------------------------------

void OnlinePlt::learn(const std::function<Example(std::size_t)>& examples, std::size_t begin, std::size_t end,
                      unsigned threads) {
  usable_ = false;  // until all is done
  const std::size_t window = threads <= 1 ? kWindow : kSharedWindow;
  const auto take_in_window = [&] {
    for (const std::size_t stop = std::min(end, begin + window); begin < stop; ++begin) take_in(examples(begin));
  };
  if (threads <= 1) {
    while (begin < end) {
      take_in_window();
      work_off_queues();
    }
  } else {
    Crew crew(threads - 1);
    while (begin < end) {
      take_in_window();
      crew.finish();
      forget_tasks();
      seal_queues();
      crew.start(order_.size(), [this](std::size_t i) {
        thread_local Workspace work;
        work_off(*order_[i], work);
      });
    }
    crew.finish();
    forget_tasks();
  }
  usable_ = true;
}

void OnlinePlt::take_in(const Example& given) {
  const auto& [x, labels, weight] = given;
  if (options_.policy == Policy::fixed &&
      std::ranges::any_of(labels, [this](LabelId label) { return tree_.leaf_of(label) == kNone; })) {
    throw std::invalid_argument("a label is not in the tree, which does not grow");
  }
  ++examples_seen_;
  if (weight == 0.0F) return;
  const ExampleId example = store_.add(x, options_.normalize ? unit_scale(x) : 1.0, weight);
  if (thresholds_) tune_thresholds(store_.view(example), labels);
  NodeId selected = kNone;  // Algorithm 8 runs once for an observation, then goes on from the node it selected
  for (const LabelId label : labels) {
    if (tree_.leaf_of(label) == kNone) grow(store_.view(example), label, selected);
  }
  assign(example, labels);
  store_.release(example);
}

// UPDATETREE (Algorithm 4) for one new label.
void OnlinePlt::grow(const Features& x, LabelId label, NodeId& selected) {
  if (tree_[kRoot].is_leaf() && tree_[kRoot].label == kNone) {
    tree_.give_label(kRoot, label);
    if (thresholds_) thresholds_->renew(tree_, kRoot);
    return;
  }
  // A node that the observation's last label has filled (possible in given trees only) is left downwards.
  NodeId v = selected == kNone ? descend(x, kRoot) : selected;
  if (selected != kNone && tree_[v].leaf_children != 1) v = descend(x, v);
  if (tree_[v].leaf_children == 1) {  // line 8
    const auto& children = tree_[v].children;
    v = *std::find_if(children.begin(), children.end(), [this](NodeId child) { return tree_[child].is_leaf(); });
  }
  selected = v;

  if (tree_[v].silent_children > 0) {  // a place has fallen free
    const auto& children = tree_[v].children;
    const NodeId leaf =
        *std::find_if(children.begin(), children.end(), [this](NodeId child) { return tree_[child].silent; });
    enqueue(v, {EventKind::reset_child, kNone, tree_[leaf].slot, 0});
    tree_.give_label(leaf, label);
    if (thresholds_) thresholds_->renew(tree_, leaf);
    if (nodes_[leaf]) {
      discard(leaf);
      start_leaf_theta(leaf);
    }
    return;
  }

  if (tree_[v].is_leaf() || tree_[v].children.size() >= options_.max_leaves) {  // line 10
    bring_up_to_date(v);
    const NodeId below = tree_.insert_node(v);
    if (thresholds_) thresholds_->inserted(v, below);
    const Node& old = *nodes_[v];
    auto above = std::make_unique<Node>(old.block.parent_block());
    above->memory = old.memory.parent_memory();
    for (std::size_t i = 0; i < above->memory.size(); ++i) store_.retain(above->memory.example(i));
    set_node(below, std::move(nodes_[v]));
    set_node(v, std::move(above));
  }
  enqueue(v, {EventKind::add_leaf, kNone, 0, 0});
  const NodeId leaf = tree_.add_leaf(v, label);
  if (thresholds_) thresholds_->renew(tree_, leaf);
  if (needs_theta(leaf)) start_leaf_theta(leaf);
  else set_node(leaf, nullptr);
  settle_theta(v);
  if (tree_[v].children.size() <= 2) {
    for (const NodeId child : tree_[v].children) settle_theta(child);
  }
}

// Algorithm 8, lines 2-6: down to the node that takes the label.
NodeId OnlinePlt::descend(const Features& x, NodeId v) {
  while (!tree_[v].is_leaf()) {
    const TreeNode& node = tree_[v];
    if (options_.policy != Policy::cpet && (node.is_pre_leaf() || node.children.size() < options_.arity)) break;
    switch (options_.policy) {
      case Policy::random:
        v = node.children[draw(options_.seed, Draw::policy, policy_draws_++) % node.children.size()];
        break;
      case Policy::complete:
        v = *std::min_element(node.children.begin(), node.children.end(),
                              [this](NodeId a, NodeId b) { return tree_[a].leaves < tree_[b].leaves; });
        break;
      default:
        v = best_child(x, v);
    }
  }
  return v;
}

// Line 6: the child with the best (1 - alpha) eta(x, v') + alpha log((|L_v| / |Ch(v)|) / |L_v'|); the first among equals.
NodeId OnlinePlt::best_child(const Features& x, NodeId v) {
  const TreeNode& node = tree_[v];
  bring_up_to_date(v);
  probabilities_.resize(node.children.size());
  nodes_[v]->block.predict(x, work_, probabilities_.data());
  const double even_share = static_cast<double>(node.leaves) / static_cast<double>(node.children.size());
  NodeId best = node.children[0];
  double best_score = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const double balance = std::log(even_share / tree_[node.children[i]].leaves);
    const double score = (1.0 - options_.alpha) * static_cast<double>(probabilities_[i]) + options_.alpha * balance;
    if (score > best_score) {
      best_score = score;
      best = node.children[i];
    }
  }
  return best;
}

// Whether the policy can still select v, so that its auxiliary classifier must be kept.
bool OnlinePlt::needs_theta(NodeId v) const {
  if (v == kAboveRoot || options_.policy == Policy::fixed) return false;
  const TreeNode& node = tree_[v];
  if (options_.policy == Policy::cpet) return node.is_leaf();
  if (node.is_leaf()) {
    const TreeNode& parent = tree_[node.parent];
    return node.parent == kAboveRoot || !parent.is_pre_leaf() || parent.leaf_children == 1;
  }
  return node.is_pre_leaf() || node.children.size() < options_.arity;
}

void OnlinePlt::settle_theta(NodeId v) {
  if (!nodes_[v] || !nodes_[v]->theta || needs_theta(v)) return;
  nodes_[v]->theta = false;
  if (!tree_[v].is_leaf()) {
    enqueue(v, {EventKind::drop_theta, kNone, 0, 0});
    return;
  }
  discard(v);
}

void OnlinePlt::start_leaf_theta(NodeId leaf) {
  set_node(leaf, std::make_unique<Node>(SiblingBlock(options_.learner, 0, true)));
}

// Drops a node's classifiers and all examples that only it needs.
void OnlinePlt::discard(NodeId v) {
  Node& node = *nodes_[v];
  finish_sealed(node);
  for (const Event& event : node.queue) {
    if (event.kind == EventKind::learn) store_.release(event.example);
  }
  for (std::size_t i = 0; i < node.memory.size(); ++i) store_.release(node.memory.example(i));
  set_node(v, nullptr);
}

// ASSIGNTONODES (Algorithm 9): every positive node's block gets the example, with the children that are positive.
void OnlinePlt::assign(ExampleId example, std::span<const LabelId> labels) {
  ++visit_;
  path_.assign(1, kAboveRoot);
  reached_.clear();
  for (const LabelId label : labels) {
    for (NodeId v = tree_.leaf_of(label); v != kNone && v != kAboveRoot && visited_[v] != visit_; v = tree_[v].parent) {
      visited_[v] = visit_;
      reached_.emplace_back(tree_[v].parent, tree_[v].slot);
      path_.push_back(v);
    }
  }
  std::sort(reached_.begin(), reached_.end());
  for (const NodeId v : path_) {
    if (!nodes_[v]) continue;
    const auto first = static_cast<std::uint32_t>(positives_.size());
    auto child = std::lower_bound(reached_.begin(), reached_.end(), std::pair(v, std::uint32_t{0}));
    for (; child != reached_.end() && child->first == v; ++child) positives_.push_back(child->second);
    store_.retain(example);
    enqueue(v, {EventKind::learn, example, first, static_cast<std::uint32_t>(positives_.size()) - first});
    nodes_[v]->cost += store_.view(example).size * (tree_[v].children.size() + 1);
  }
}

void OnlinePlt::enqueue(NodeId v, Event event) {
  Node& node = *nodes_[v];
  if (node.queue.empty()) waiting_.push_back(v);
  node.queue.push_back(event);
}

// All that has reached v so far is learnt.
void OnlinePlt::bring_up_to_date(NodeId v) {
  Node& node = *nodes_[v];
  finish_sealed(node);
  work_off(node, node.queue, positives_, work_);
  node.queue.clear();
  node.cost = 0;
}

// What was sealed is learnt, by this thread or another.
void OnlinePlt::finish_sealed(Node& node) {
  if (node.sealed == nullptr) return;
  Task& task = *node.sealed;
  work_off(task, work_);
  // Seldom, and not for long: another thread is at this very node.
  while (task.state.load(std::memory_order_acquire) == Task::State::taken) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  if (task.state.load(std::memory_order_acquire) == Task::State::failed) throw std::bad_alloc();
  task.node = nullptr;
  node.sealed = nullptr;
}

// Unless another thread has taken it.
void OnlinePlt::work_off(Task& task, Workspace& work) {
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

void OnlinePlt::work_off(Node& node, std::span<const Event> events, std::span<const std::uint32_t> positives,
                         Workspace& work) {
  for (const Event& event : events) {
    switch (event.kind) {
      case EventKind::learn:
        learn_one(node, event, positives.subspan(event.first, event.count), work);
        break;
      case EventKind::add_leaf:
        node.block.add_leaf();
        break;
      case EventKind::reset_child:
        node.block.reset_child(event.first);
        node.memory.forget_child(event.first);
        break;
      case EventKind::drop_theta:
        node.block.drop_theta();
        break;
    }
  }
}

// UPDATECLASSIFIERS (Algorithm 7) for the children of one node, and its replays.
void OnlinePlt::learn_one(Node& node, const Event& event, std::span<const std::uint32_t> positives, Workspace& work) {
  node.block.learn(store_.view(event.example), positives, store_.weight(event.example), true, work);
  ExampleId unneeded = event.example;
  if (options_.replay > 0) {
    unneeded = node.memory.offer(options_.seed, options_.replay_memory, event.example, positives);
    for (std::uint32_t r = 0; r < options_.replay; ++r) {
      const std::size_t i = node.memory.pick(options_.seed, r);
      const ExampleId again = node.memory.example(i);
      node.block.learn(store_.view(again), node.memory.positives(i), store_.weight(again), false, work);
    }
  }
  if (unneeded != kNone) store_.release(unneeded);
}

void OnlinePlt::work_off_queues() {
  for (const NodeId v : waiting_) {
    if (nodes_[v]) bring_up_to_date(v);  // a node may have gone, or its queue been worked off, since it was noted
  }
  waiting_.clear();
  positives_.clear();
}

void OnlinePlt::seal_queues() {
  for (const NodeId v : waiting_) {
    if (!nodes_[v] || nodes_[v]->queue.empty()) continue;
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
  std::stable_sort(order_.begin(), order_.end(), [](const Task* a, const Task* b) { return a->cost > b->cost; });
}

// REQUIRES: all tasks are done.
void OnlinePlt::forget_tasks() {
  for (const Task& task : tasks_) {
    if (task.node != nullptr) task.node->sealed = nullptr;
  }
  tasks_.clear();
  order_.clear();
}

void OnlinePlt::remove_labels(std::span<const LabelId> labels) {
  for (const LabelId label : tree_.removable(labels)) {
    const NodeId leaf = tree_.leaf_of(label);
    tree_.remove_label(label);
    if (thresholds_) thresholds_->renew(tree_, leaf);
  }
}

OnlinePlt::Size OnlinePlt::size() const {
  Size size;
  for (NodeId v = 0; v < tree_.size(); ++v) {
    size.model_bytes += sizeof(TreeNode) + tree_[v].children.capacity() * sizeof(NodeId) + sizeof(nodes_[v]);
    if (!nodes_[v]) continue;
    size.weights += std::uint64_t{nodes_[v]->block.rows()} * nodes_[v]->block.columns();
    size.model_bytes += nodes_[v]->block.bytes();
    size.memory_bytes += nodes_[v]->memory.bytes();
  }
  size.memory_bytes += store_.bytes();
  return size;
}

}  // namespace labelgrove
