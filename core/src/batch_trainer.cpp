#include "labelgrove/batch_trainer.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "labelgrove/node_problem.hpp"
#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

// The number of children trained at once. Their weights for a feature fill two cache lines, or one at nodes with many
// examples and few children, as near the root, where this costs little and lets threads share the node.
constexpr std::size_t kTile = 32;
constexpr std::size_t kNarrowTile = 16;
constexpr std::size_t kManyExamples = 8192;
constexpr std::size_t kFewChildren = 64;
// A task that can be divided costs at most one in this many parts of a thread's work.
constexpr std::uint64_t kTasksPerThread = 4;
// A node is dense if its examples have this share of all features up to its last one, on average. There many small
// weights share the work, and every one counts in every example: dropping may take kMostDropped of a child's squared
// length, unless a threshold above kUsualThreshold asks for a small model (docs/decisions/batch-solver.md).
constexpr double kDense = 0.5;
constexpr double kMostDropped = 0.05;
constexpr float kUsualThreshold = 0.1F;

// Some children of a node, trained from the same renumbered examples, one tile after another.
struct Task {
  NodeId node = 0;
  std::vector<std::uint32_t> children;
  std::uint64_t child_cost = 0;
  std::size_t tile = kTile;    // children trained at once
  std::size_t first_tile = 0;  // index among the node's tiles

  std::size_t tiles() const { return (children.size() + tile - 1) / tile; }
  std::uint64_t cost() const { return child_cost * children.size(); }
};

// The weights kept for some children of a node, by row of the node's table.
struct Tile {
  std::vector<std::uint32_t> children;
  std::vector<float> bias;          // by child
  std::vector<std::uint32_t> rows;  // increasing
  std::vector<FeatureId> features;  // of the rows
  std::vector<std::uint64_t> ends;  // the end of each row's weights
  std::vector<std::uint32_t> columns;
  std::vector<float> weights;
};

// The total cost of examples, by child: of the positives, and of all the node's examples.
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

// A child that all or none of the node's examples have is learnt from the bias alone: no feature tells them apart.
bool is_constant(const Balance& balance, const NodeExamples& examples, std::uint32_t child) {
  return balance.positives[child] == 0 || balance.positives[child] == examples.size();
}

Tile constant_tile(const TrainingOptions& options, const Balance& balance, std::uint32_t child) {
  const bool positive = balance.positives[child] > 0;
  const double cost = positive ? balance.positive[child] : balance.all;
  const auto margin = static_cast<float>(constant_margin(options.solver, cost));
  return {{child}, {positive ? margin : -margin}, {}, {}, {}, {}, {}};
}

bool is_dense(const NodeProblem& problem) {
  std::size_t cells = 0;
  for (std::size_t i = 0; i < problem.size(); ++i) cells += problem[i].size;
  const auto last = std::ranges::max_element(problem.features());
  const double columns = last == problem.features().end() ? 0.0 : *last + 1.0;
  return static_cast<double>(cells) >= kDense * static_cast<double>(problem.size()) * columns;
}

// For each child the least weight to keep: the threshold, unless the child of a dense node would lose too much by it.
std::vector<float> least_weights(const TrainingOptions& options, const NodeProblem& problem, const BatchSolver& solver,
                                 std::size_t children) {
  const std::size_t stride = solver.stride();
  const float threshold = options.weight_threshold;
  std::vector<float> least(stride, threshold);
  if (threshold > kUsualThreshold || !is_dense(problem)) return least;
  const auto weights = solver.weights().subspan(stride, (problem.table_rows() - 1) * stride);  // without the bias
  std::vector<float> small;
  for (std::size_t c = 0; c < children; ++c) {
    double all = 0.0;
    double dropped = 0.0;
    small.clear();
    for (std::size_t at = c; at < weights.size(); at += stride) {
      const float weight = std::fabs(weights[at]);
      const double square = static_cast<double>(weight) * static_cast<double>(weight);
      all += square;
      if (weight >= threshold) continue;
      dropped += square;
      small.push_back(weight);
    }
    std::ranges::sort(small, std::greater{});
    for (auto next = small.begin(); dropped > kMostDropped * all && next != small.end(); ++next) {
      least[c] = *next;
      dropped -= static_cast<double>(*next) * static_cast<double>(*next);
    }
  }
  return least;
}

// Drops rows in which no weight is kept. Kept weights suit examples as they are, before any scaling by data.scale.
Tile keep_weights(const TrainingOptions& options, const TrainingSet& data, const NodeProblem& problem,
                  const BatchSolver& solver, std::span<const std::uint32_t> children) {
  Tile tile;
  tile.children.assign(children.begin(), children.end());
  const std::size_t stride = solver.stride();  // columns beyond the children are zero
  const float* row = solver.weights().data();
  for (std::size_t c = 0; c < children.size(); ++c) tile.bias.push_back(row[c] * options.solver.bias);
  const float scale = data.normalize ? 1.0F : static_cast<float>(data.scale);
  std::vector<float> least = least_weights(options, problem, solver, children.size());
  for (float& weight : least) weight = std::max(scale * weight, std::numeric_limits<float>::denorm_min());
  for (std::uint32_t r = 1; r < problem.table_rows(); ++r) {
    row += stride;
    bool any = false;
    for (std::size_t c = 0; c < stride; ++c) any |= std::fabs(scale * row[c]) >= least[c];  // mostly false
    if (!any) continue;
    for (std::size_t c = 0; c < children.size(); ++c) {
      const float weight = scale * row[c];
      if (!(std::fabs(weight) >= least[c])) continue;
      tile.columns.push_back(children[c]);
      tile.weights.push_back(weight);
    }
    tile.rows.push_back(r);
    tile.features.push_back(problem.features()[r - 1]);
    tile.ends.push_back(tile.weights.size());
  }
  return tile;
}

// A thread's working memory, reused for all its tasks.
struct Bench {
  explicit Bench(Room* room) : problem(room), solver(room) {}
  NodeProblem problem;
  BatchSolver solver;
  MarginCounts margin_counts;  // of the task
};

std::vector<Tile> learn(const TrainingOptions& options, const TrainingSet& data, const NodeExamples& examples,
                        const Task& task, Bench& bench, Progress& progress) {
  NodeProblem& problem = bench.problem;
  BatchSolver& solver = bench.solver;
  std::vector<Tile> tiles;
  bench.margin_counts = {};
  problem.build(data, examples.examples, options.solver.bias);
  const std::span<const std::uint32_t> children(task.children);
  for (std::size_t first = 0; first < children.size(); first += task.tile) {
    const auto some = children.subspan(first, std::min(task.tile, children.size() - first));
    solver.solve(options.solver, problem, examples, some, data.example_costs, task.node, progress);
    tiles.push_back(keep_weights(options, data, problem, solver, some));
    if (options.solver.held_out > 0.0F) bench.margin_counts.add(solver.margin_counts());
    progress.advance(task.child_cost * some.size());
  }
  return tiles;
}

// Calls take(row, feature, first weight, number of weights) for every row of a tile.
template <typename Take>
void for_each_row(const Tile& tile, Take&& take) {
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < tile.rows.size(); begin = tile.ends[i++]) {
    take(tile.rows[i], tile.features[i], begin, tile.ends[i] - begin);
  }
}

// REQUIRES: tiles that have rows are in the order of their children.
CompactedBlock assemble(Link link, std::uint32_t children, std::vector<Tile> tiles,
                        std::vector<std::uint8_t> rarities) {
  SparseBlock block{link, 1.0F, std::vector<float>(children), {}, {0}, {}, {}};
  block.rarities = std::move(rarities);
  std::size_t rows = 0;
  for (const Tile& tile : tiles) {
    if (!tile.rows.empty()) rows = std::max<std::size_t>(rows, tile.rows.back() + std::size_t{1});
    for (std::size_t c = 0; c < tile.children.size(); ++c) block.bias[tile.children[c]] = tile.bias[c];
  }
  std::vector<std::uint64_t> next(rows);  // by row of the table: the number of weights, then where the next one goes
  std::vector<FeatureId> features(rows);
  for (const Tile& tile : tiles) {
    for_each_row(tile, [&](std::uint32_t row, FeatureId feature, std::uint64_t, std::uint64_t n) {
      next[row] += n;
      features[row] = feature;
    });
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint64_t n = std::exchange(next[row], block.ends.back());
    if (n == 0) continue;
    block.features.push_back(features[row]);
    block.ends.push_back(block.ends.back() + n);
  }
  block.children.resize(block.ends.back());
  block.weights.resize(block.ends.back());
  for (const Tile& tile : tiles) {
    for_each_row(tile, [&](std::uint32_t row, FeatureId, std::uint64_t first, std::uint64_t n) {
      std::copy_n(tile.columns.data() + first, n, block.children.data() + next[row]);
      std::copy_n(tile.weights.data() + first, n, block.weights.data() + next[row]);
      next[row] += n;
    });
  }
  return compacted(block, {});
}

// The children to train at all nodes, divided into tasks if a node is too much work for one thread; most expensive
// first, those of a node in the order of its children. Divisions are between tiles, and do not affect the result.
std::vector<Task> cut_into_tasks(std::span<const Task> nodes, unsigned threads) {
  const std::uint64_t shares = threads > 1 ? kTasksPerThread * threads : 0;
  std::uint64_t total = 0;
  for (const Task& node : nodes) total += node.cost();
  std::vector<Task> tasks;
  for (const Task& node : nodes) {
    const std::size_t wanted = std::min<std::uint64_t>(node.tiles(), 1 + shares * node.cost() / (total + 1));
    const std::size_t width = (node.tiles() + wanted - 1) / wanted * node.tile;
    for (std::size_t first = 0; first < node.children.size(); first += width) {
      const std::size_t n = std::min(width, node.children.size() - first);
      const auto begin = node.children.begin() + static_cast<std::ptrdiff_t>(first);
      const std::vector<std::uint32_t> some(begin, begin + static_cast<std::ptrdiff_t>(n));
      tasks.push_back({node.node, some, node.child_cost, node.tile, 0});
    }
  }
  std::ranges::stable_sort(tasks, std::ranges::greater(), &Task::cost);
  return tasks;
}

// The blocks of inner nodes, each assembled and compacted as soon as its last task is done.
class Assembly {
 public:
  Assembly(const TrainingOptions& options, const LabelTree& tree, std::span<const NodeId> nodes,
           const TrainingSet& data, const Assignment& assignment, unsigned threads)
      : options_(options),
        data_(data),
        assignment_(assignment),
        threads_(threads),
        width_(tree.size()),
        weighted_(data.weighted()),
        rarities_(tree.size()),
        tiles_(tree.size()),
        place_(tree.size()),
        blocks_(nodes.size()) {
    std::vector<Task> learnt(nodes.size());
    parallel_for(nodes.size(), threads, [&](std::size_t i) {
      const NodeId v = nodes[i];
      width_[v] = static_cast<std::uint32_t>(tree[v].children.size());
      place_[v] = static_cast<std::uint32_t>(i);
      learnt[i] = examine(v);
    });
    std::erase_if(learnt, [](const Task& node) { return node.children.empty(); });
    tasks_ = cut_into_tasks(learnt, threads);
    left_ = std::vector<std::atomic<std::uint32_t>>(tree.size());
    for (Task& task : tasks_) {
      ++left_[task.node];
      task.first_tile = tiles_[task.node].size();
      tiles_[task.node].resize(task.first_tile + task.tiles());
    }
    for (const NodeId v : nodes) {
      if (left_[v] == 0) finish(v, fixed_link());
    }
  }

  std::uint64_t work() const {
    return std::accumulate(tasks_.begin(), tasks_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Task& task) { return sum + task.cost(); });
  }

  std::vector<CompactedBlock> run(Progress& progress, Room* room) {
    const auto make = [=] { return Bench(room); };
    parallel_for(tasks_.size(), threads_, make, [&](Bench& bench, std::size_t i) {
      const NodeId v = tasks_[i].node;
      const auto place = tiles_[v].begin() + static_cast<std::ptrdiff_t>(tasks_[i].first_tile);
      NodeExamples examples = assignment_[v];
      examples.rarities = rarities_[v];
      std::ranges::move(learn(options_, data_, examples, tasks_[i], bench, progress), place);
      if (options_.solver.held_out > 0.0F) {
        const std::lock_guard lock(counting_);
        margin_counts_.add(bench.margin_counts);
      }
      if (--left_[v] == 0) finish(v, options_.link);
    });
    return std::move(blocks_);
  }

  // Of all tasks that have run.
  const MarginCounts& margin_counts() const { return margin_counts_; }

 private:
  // Returns what must be trained at a node; children that need no training get their tiles at once.
  Task examine(NodeId v) {
    const NodeExamples examples = assignment_[v];
    const Balance balance = balance_of(examples, width_[v], data_.example_costs);
    if (options_.link == Link::calibrated) rarities_[v] = rarities_of(balance, examples);
    Task node;
    node.node = v;
    for (std::uint32_t c = 0; c < width_[v]; ++c) {
      if (competing() ? width_[v] > 1 && examples.size() > 0 : !is_constant(balance, examples, c)) {
        node.children.push_back(c);
      } else {
        tiles_[v].push_back(constant_tile(options_, balance, c));
      }
    }
    for (const std::uint32_t i : examples.examples) node.child_cost += data_.example(i).x.size;
    if (examples.size() >= kManyExamples && width_[v] <= kFewChildren) node.tile = kNarrowTile;
    if (competing()) node.tile = node.children.size();
    return node;
  }

  // If costs differ there is one curve for all: one for each rarity would undo what the costs have done.
  std::vector<std::uint8_t> rarities_of(const Balance& balance, const NodeExamples& examples) const {
    std::vector<std::uint8_t> rarities(balance.positives.size());
    if (weighted_) return rarities;
    std::ranges::transform(balance.positives, rarities.begin(),
                           [&](std::uint64_t count) { return rarity_of(count, examples.size()); });
    return rarities;
  }

  void finish(NodeId v, Link link) {
    blocks_[place_[v]] = assemble(link, width_[v], std::exchange(tiles_[v], {}), std::exchange(rarities_[v], {}));
  }

  // Of nodes whose children all, or nearly all, of their examples have, or none: their margins are far surer.
  Link fixed_link() const { return options_.link == Link::calibrated ? Link::squared_hinge : options_.link; }

  bool competing() const { return options_.solver.loss == BatchLoss::softmax; }

  const TrainingOptions& options_;
  const TrainingSet& data_;
  const Assignment& assignment_;
  unsigned threads_;
  std::vector<std::uint32_t> width_;  // by node: number of children
  bool weighted_;
  // By node, of its children; empty unless the link may be measured. Nodes learnt apart can be joined, as all have
  // them.
  std::vector<std::vector<std::uint8_t>> rarities_;
  std::vector<std::vector<Tile>> tiles_;  // by node: the tiles trained so far
  std::vector<std::uint32_t> place_;      // by node: index in blocks_
  std::vector<Task> tasks_;
  std::vector<std::atomic<std::uint32_t>> left_;  // by node: tasks that are not done yet
  std::vector<CompactedBlock> blocks_;
  std::mutex counting_;
  MarginCounts margin_counts_;  // protected by counting_
};

void calibrate(std::span<CompactedBlock> blocks, const MarginCounts& counts) {
  const auto calibration = std::make_shared<const Calibration>(counts);
  for (CompactedBlock& block : blocks) {
    if (block.link == Link::calibrated) block.calibration = calibration;
  }
}

}  // namespace

std::vector<CompactedBlock> train_blocks(const TrainingOptions& options, std::span<const LabelTree> trees,
                                         const TrainingSet& data, unsigned threads, Progress& progress) {
  std::vector<CompactedBlock> blocks;
  MarginCounts counts;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const std::vector<NodeId> nodes = inner_nodes(trees[t]);
    const Assignment assignment(trees[t], nodes, data, threads);
    Assembly tree(options, trees[t], nodes, data, assignment, threads);
    progress.expect(progress.done() + (trees.size() - t) * tree.work());  // assumes that all trees cost about the same
    std::ranges::move(tree.run(progress, nullptr), std::back_inserter(blocks));
    counts.add(tree.margin_counts());
  }
  calibrate(blocks, counts);
  return blocks;
}

std::vector<CompactedBlock> train_nodes(const TrainingOptions& options, const LabelTree& tree,
                                        std::span<const NodeId> nodes, const TrainingSet& data, unsigned threads,
                                        Progress& progress, Room* room) {
  const Assignment assignment(tree, nodes, data, threads);
  Assembly some(options, tree, nodes, data, assignment, threads);
  progress.expect(some.work());
  std::vector<CompactedBlock> blocks = some.run(progress, room);
  calibrate(blocks, some.margin_counts());
  return blocks;
}

std::vector<NodeId> inner_nodes(const LabelTree& tree) {
  std::vector<NodeId> nodes;
  for (NodeId v = 0; v < tree.size(); ++v) {
    if (!tree[v].is_leaf()) nodes.push_back(v);
  }
  return nodes;
}

}  // namespace labelgrove
