#include "labelgrove/lom_tree.hpp"

#include <algorithm>

namespace labelgrove {
namespace {

// For counting memory: a node in a list that doubles, including the copy while it does; and a label's data and name.
constexpr std::uint64_t kBytesOfLomNode = 3 * sizeof(LomTree::Node);
constexpr std::uint64_t kBytesOfClassName = 160;
// Nodes may take one in this many parts of the budget, since they leave less for weights.
constexpr std::uint64_t kShareOfNodes = 4;

}  // namespace

LomTree::LomTree(const LomTreeOptions& options) : options_(options), nodes_(1), budget_(options.max_bytes) {
  budget_.takes(count());
}

// --- the budget -----------------------------------------------------------------------------------------------------

std::uint64_t LomTree::count() const {
  std::uint64_t bytes = nodes_.size() * kBytesOfLomNode + known_.count() * kBytesOfClassName;
  for (const Node& node : nodes_) bytes += node.classes.most_bytes() + node.regressor.most_bytes();
  return bytes;
}

auto LomTree::regressors() {
  return [this](auto&& visit) {
    for (Node& node : nodes_) {
      if (!node.is_leaf()) visit(node.regressor);
    }
  };
}

std::uint64_t LomTree::max_nodes() const {
  const std::uint64_t wanted = options_.max_nodes > 0
                                   ? options_.max_nodes
                                   : std::uint64_t{options_.nodes_per_class} * nodes_[kRoot].classes.size() - 1;
  return budget_.bounded() ? std::min(wanted, budget_.most() / kShareOfNodes / (2 * kBytesOfLomNode)) : wanted;
}

// --- learning: Algorithm 1 ------------------------------------------------------------------------------------------

void LomTree::learn(const Features& given, LabelId label, float weight) {
  if (weight == 0.0F) {
    ++passed_over_;
    return;
  }
  // The class may be new at every node of the path, which may become one longer.
  const std::uint64_t needed =
      label < known_.count() ? 0 : (label + std::uint64_t{1} - known_.count()) * kBytesOfClassName;
  const std::uint64_t announced =
      budget_.bounded() ? needed + (nodes_[kRoot].height + std::uint64_t{2}) * ClassHistogram::kMostGrowth : 0;
  usable_ = false;  // until all is done
  try {
    budget_.take_or_throw(announced, regressors());
  } catch (const BudgetExceeded&) {
    usable_ = true;
    throw;
  }
  std::uint64_t taken = needed;
  known_.see(label);
  const Features x = options_.normalize ? of_unit_length(given, unit_) : given;
  NodeId v = kRoot;
  while (true) {
    taken -= nodes_[v].classes.most_bytes();
    ClassCount& seen = nodes_[v].classes.at(label);  // stays valid when nodes_ grows
    taken += nodes_[v].classes.most_bytes();
    nodes_[v].classes.weigh(seen, weight);
    if (seen.reached < ClassCount::kMostOfAClass) {
      ++seen.reached;
      ++nodes_[v].reached;
    }
    nodes_[v].most = std::max(nodes_[v].most, seen.reached);
    if (nodes_[v].is_leaf() && !make_children(v)) break;
    v = train(nodes_[v], x, weight, seen);
  }
  ++nodes_[v].smallest;
  update_above(v);
  budget_.gives_back(announced - taken);
  usable_ = true;
}

// Gives a leaf children, new or recycled, if it has at least two classes and the limits allow it.
bool LomTree::make_children(NodeId v) {
  if (nodes_[v].classes.size() < 2) return false;
  NodeId left;
  NodeId right;
  if (inner_nodes() < max_nodes()) {
    if (!budget_.take(2 * kBytesOfLomNode, regressors())) return false;
    left = static_cast<NodeId>(nodes_.size());
    right = left + 1;
    nodes_.resize(nodes_.size() + 2);
  } else {
    left = recyclable_leaf();
    if (left == kNone || nodes_[v].smallest - nodes_[v].most <= options_.swap_resistance * (nodes_[left].smallest + 1))
      return false;  // Inequality 2
    right = nodes_[left].parent;
    detach(left);
    start_over(left);
    start_over(right);
  }
  Node& node = nodes_[v];
  node.left = left;
  node.right = right;
  node.regressor.start(options_.learner);
  nodes_[left].parent = nodes_[right].parent = v;
  nodes_[left].smallest = node.smallest / 2;
  nodes_[right].smallest = node.smallest - nodes_[left].smallest;
  update_above(left);
  return true;
}

// The leaf with the smallest C that has a grandparent, the left one among equals; kNone if there is none.
NodeId LomTree::recyclable_leaf() const {
  const auto smaller = [this](const Node& node) {
    return nodes_[node.left].smallest <= nodes_[node.right].smallest ? node.left : node.right;
  };
  if (nodes_[kRoot].is_leaf()) return kNone;
  NodeId v = smaller(nodes_[kRoot]);
  if (nodes_[v].is_leaf()) v = v == nodes_[kRoot].left ? nodes_[kRoot].right : nodes_[kRoot].left;
  if (nodes_[v].is_leaf()) return kNone;
  while (!nodes_[v].is_leaf()) v = smaller(nodes_[v]);
  return v;
}

// Figure 2: the leaf's sibling takes the place of their parent.
void LomTree::detach(NodeId leaf) {
  const NodeId parent = nodes_[leaf].parent;
  const NodeId grandparent = nodes_[parent].parent;
  const NodeId sibling = nodes_[parent].left == leaf ? nodes_[parent].right : nodes_[parent].left;
  Node& above = nodes_[grandparent];
  (above.left == parent ? above.left : above.right) = sibling;
  nodes_[sibling].parent = grandparent;
  update_above(sibling);
}

// SetNode.
void LomTree::start_over(NodeId v) {
  const std::uint32_t swaps = nodes_[v].swaps + 1;
  budget_.gives_back(nodes_[v].classes.most_bytes() + nodes_[v].regressor.most_bytes());
  nodes_[v] = Node();
  nodes_[v].swaps = swaps;
}

// UpdateC, and the same for heights.
void LomTree::update_above(NodeId v) {
  while (v != kRoot) {
    v = nodes_[v].parent;
    Node& node = nodes_[v];
    const Node& left = nodes_[node.left];
    const Node& right = nodes_[node.right];
    const std::uint64_t smallest = std::min(left.smallest, right.smallest);
    const std::uint32_t height = 1 + std::max(left.height, right.height);
    if (node.smallest == smallest && node.height == height) return;
    node.smallest = smallest;
    node.height = height;
  }
}

// One step of an inner node's regressor. Returns the child that the example goes to.
NodeId LomTree::train(Node& node, const Features& x, float weight, ClassCount& seen) {
  const bool mostly_right = seen.right > seen.trained / 2;
  // An example mostly follows its class, so the next node is prefetched while this one learns.
  nodes_[mostly_right ? node.right : node.left].regressor.prefetch(x);
  const float target = node.mean() > seen.mean() ? -1.0F : 1.0F;
  const auto [before, after] =
      budget_.teach(node.regressor, options_.learner, x, target, weight, 0.0F, work_, regressors());
  if (seen.trained > 0) node.side.learn(before, mostly_right);
  const double score = std::clamp(static_cast<double>(after), -1.0, 1.0);
  if (seen.trained < ClassCount::kMostOfAClass) {
    node.score += score;
    ++node.trained;
    seen.score += score;
    ++seen.trained;
    if (score > 0.0) ++seen.right;
  }
  return score > 0.0 ? node.right : node.left;
}

// --- the learnt model ------------------------------------------------------------------------------------------------

ModelSize LomTree::size() const {
  ModelSize size;
  for (const Node& node : nodes_) {
    size.model_bytes += sizeof(Node) + node.classes.bytes() + node.regressor.bytes();
    if (!node.is_leaf()) size.weights += node.regressor.size() + 1;
  }
  return size;
}

}  // namespace labelgrove
