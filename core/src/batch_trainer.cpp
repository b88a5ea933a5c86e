#include "labelgrove/batch_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "labelgrove/node_problem.hpp"
#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

constexpr std::size_t kTile = 32;  // children that are learnt at once: their weights for a feature are two cache lines
constexpr std::uint64_t kShares = 8;  // a task is at most this share of all the work, if it can be cut

// Some children of a node: those that are learnt from the same renumbered examples, one tile after another.
struct Task {
  NodeId node = 0;
  std::vector<std::uint32_t> children;
  std::uint64_t cost = 0;
};

// What was learnt for some children of a node.
struct Tile {
  std::vector<std::uint32_t> children;
  std::vector<FeatureId> features;  // of rows 1, 2, …
  std::vector<float> weights;       // (features + 1, children), the bias first
};

// What a class of examples costs in all, by child: positives, and the rest of the node's examples.
struct Balance {
  std::vector<double> positive;
  std::vector<std::uint64_t> positives;
  double all = 0.0;
};

Balance balance_of(const NodeExamples& examples, std::size_t children, std::span<const float> example_costs) {
  Balance balance{std::vector<double>(children), std::vector<std::uint64_t>(children)};
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const double cost = example_costs.empty() ? 1.0 : static_cast<double>(example_costs[examples.examples[i]]);
    balance.all += cost;
    for (std::uint64_t p = examples.ends[i]; p < examples.ends[i + 1]; ++p) {
      const std::uint32_t child = examples.positives[p];
      ++balance.positives[child];
      balance.positive[child] += cost * (examples.costs == nullptr ? 1.0 : static_cast<double>(examples.costs[p]));
    }
  }
  return balance;
}

// A child that all of the node's examples have, or none, is learnt from the bias alone: no feature tells them apart.
bool is_constant(const Balance& balance, const NodeExamples& examples, std::uint32_t child) {
  return balance.positives[child] == 0 || balance.positives[child] == examples.size();
}

Tile constant_tile(const TrainingOptions& options, const Balance& balance, std::uint32_t child) {
  const bool positive = balance.positives[child] > 0;
  const double cost = positive ? balance.positive[child] : balance.all;
  const auto margin = static_cast<float>(constant_margin(options.solver, cost));
  return {{child}, {}, {positive ? margin : -margin}};
}

// Rows in which no weight reaches the threshold are dropped.
Tile keep_weights(const TrainingOptions& options, const NodeProblem& problem, const BatchSolver& solver,
                  std::span<const std::uint32_t> children) {
  Tile tile{{children.begin(), children.end()}, {}, {}};
  const auto is_kept = [&](float w) { return w != 0.0F && std::fabs(w) >= options.weight_threshold; };
  for (std::uint32_t r = 0; r < problem.table_rows(); ++r) {
    const auto row = solver.weights().subspan(std::size_t{r} * solver.stride(), children.size());
    if (r == 0) {
      for (const float w : row) tile.weights.push_back(w * options.solver.bias);
    } else if (std::ranges::any_of(row, is_kept)) {
      tile.features.push_back(problem.features()[r - 1]);
      for (const float w : row) tile.weights.push_back(is_kept(w) ? w : 0.0F);
    }
  }
  return tile;
}

std::vector<Tile> learn(const TrainingOptions& options, const TrainingSet& data, const NodeExamples& examples,
                        const Task& task) {
  thread_local NodeProblem problem;
  thread_local BatchSolver solver;
  std::vector<Tile> tiles;
  problem.build(data, examples.examples, options.solver.bias);
  const std::span<const std::uint32_t> children(task.children);
  const std::size_t width = options.solver.loss == BatchLoss::softmax ? children.size() : kTile;
  for (std::size_t first = 0; first < children.size(); first += width) {
    const auto some = children.subspan(first, std::min(width, children.size() - first));
    solver.solve(options.solver, problem, examples, some, data.example_costs, task.node);
    tiles.push_back(keep_weights(options, problem, solver, some));
  }
  return tiles;
}

std::unique_ptr<WeightBlock> assemble(Link link, std::uint32_t children, std::span<const Tile> tiles) {
  FeatureMap map;
  for (const Tile& tile : tiles) {
    for (const FeatureId feature : tile.features) map.find_or_insert(feature);
  }
  std::vector<float> weights((map.size() + std::size_t{1}) * children);
  for (const Tile& tile : tiles) {
    const float* next = tile.weights.data();
    for (std::size_t r = 0; r <= tile.features.size(); ++r) {
      const std::size_t row = r == 0 ? 0 : map.find(tile.features[r - 1]) + std::size_t{1};
      for (const std::uint32_t child : tile.children) weights[row * children + child] = *next++;
    }
  }
  return std::make_unique<WeightBlock>(link, children, std::move(map), std::move(weights));
}

// Learnt children of all nodes, cut into tasks where a node is too much of the work; the largest first.
std::vector<Task> cut_into_tasks(std::vector<Task> nodes, bool whole) {
  std::uint64_t total = 0;
  for (const Task& node : nodes) total += node.cost;
  std::vector<Task> tasks;
  for (const Task& node : nodes) {
    const std::size_t tiles = (node.children.size() + kTile - 1) / kTile;
    const std::uint64_t wanted = whole ? 1 : std::min<std::uint64_t>(tiles, 1 + kShares * node.cost / (total + 1));
    const std::size_t width = (tiles + wanted - 1) / wanted * kTile;
    for (std::size_t first = 0; first < node.children.size(); first += whole ? node.children.size() : width) {
      const std::size_t n = whole ? node.children.size() : std::min(width, node.children.size() - first);
      const auto begin = node.children.begin() + static_cast<std::ptrdiff_t>(first);
      tasks.push_back(
          {node.node, {begin, begin + static_cast<std::ptrdiff_t>(n)}, node.cost * n / node.children.size()});
    }
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.cost > b.cost; });
  return tasks;
}

}  // namespace

std::vector<std::unique_ptr<WeightBlock>> train_blocks(const TrainingOptions& options, const LabelTree& tree,
                                                       const TrainingSet& data, unsigned threads) {
  const Assignment assignment(tree, data);
  const bool competing = options.solver.loss == BatchLoss::softmax;
  std::vector<std::vector<Tile>> constant(tree.size());
  std::vector<Task> nodes;
  for (NodeId v = 0; v < tree.size(); ++v) {
    const auto children = static_cast<std::uint32_t>(tree[v].children.size());
    const NodeExamples examples = assignment[v];
    const Balance balance = balance_of(examples, children, data.example_costs);
    Task node{v, {}, 0};
    for (std::uint32_t c = 0; c < children; ++c) {
      if (competing ? children > 1 && examples.size() > 0 : !is_constant(balance, examples, c)) {
        node.children.push_back(c);
      } else {
        constant[v].push_back(constant_tile(options, balance, c));
      }
    }
    for (const std::uint32_t i : examples.examples) node.cost += data.example(i).x.size;
    node.cost *= node.children.size();
    if (!node.children.empty()) nodes.push_back(std::move(node));
  }

  const std::vector<Task> tasks = cut_into_tasks(std::move(nodes), competing);
  std::vector<std::vector<Tile>> learnt(tasks.size());
  parallel_for(tasks.size(), threads,
               [&](std::size_t i) { learnt[i] = learn(options, data, assignment[tasks[i].node], tasks[i]); });
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    std::ranges::move(learnt[i], std::back_inserter(constant[tasks[i].node]));
    learnt[i] = {};
  }
  std::vector<std::unique_ptr<WeightBlock>> blocks(tree.size());
  parallel_for(tree.size(), threads, [&](std::size_t v) {
    const auto children = static_cast<std::uint32_t>(tree[static_cast<NodeId>(v)].children.size());
    if (children > 0) blocks[v] = assemble(options.link, children, constant[v]);
  });
  return blocks;
}

}  // namespace labelgrove
