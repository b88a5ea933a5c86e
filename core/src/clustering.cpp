#include "labelgrove/clustering.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "labelgrove/bisection.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

// All threads work on one group if it has this many stored values, and this many times a thread's share of the values
// of its level; otherwise each group goes to one thread.
constexpr std::size_t kValuesForAll = std::size_t{1} << 16;
constexpr double kSharesForAll = 1.5;

// The labels order_[begin, end), to be divided into `parts` children of `node`.
struct Group {
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t parts;
  std::uint32_t node;
  std::uint32_t middle = 0;  // the position of the cut

  std::uint32_t size() const { return end - begin; }
};

struct Node {
  std::int64_t parent;
  std::uint32_t depth;
  std::uint32_t begin;
  LabelId label;  // kNone for an inner node
};

class Clustering {
 public:
  Clustering(const RowView& vectors, std::uint32_t dimension, const Interpolation& interpolation,
             const ClusteringOptions& options, unsigned threads)
      : vectors_(vectors),
        interpolation_(interpolation),
        options_(options),
        crew_(threads - 1),
        scales_(vectors.size()),
        order_(vectors.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::ranges::transform(order_, scales_.begin(), [&](LabelId label) { return unit_scale(vectors[label]); });
    for (unsigned i = 0; i < threads; ++i) {
      workers_.push_back(
          std::make_unique<Bisection>(vectors, scales_, dimension, options.tolerance, options.max_iterations));
    }
  }

  ClusterTree run() {
    std::vector<Group> level;
    open(0, static_cast<std::uint32_t>(order_.size()), -1, level);
    while (!level.empty()) {
      cut_all(level);
      std::vector<Group> below;
      for (const Group& group : level) divide(group, below);
      level = std::move(below);
    }
    return numbered_by_level();
  }

 private:
  // Creates a node for the labels of [begin, end), and below it either leaves or a group to be cut.
  void open(std::uint32_t begin, std::uint32_t end, std::int64_t parent, std::vector<Group>& groups) {
    const std::uint32_t depth = parent < 0 ? 0 : nodes_[static_cast<std::size_t>(parent)].depth + 1;
    const bool alone = end - begin == 1;
    const auto node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({parent, depth, begin, alone ? order_[begin] : kNone});
    if (alone) return;
    if (end - begin <= std::max(options_.max_leaf_size, options_.arity)) {
      for (std::uint32_t i = begin; i < end; ++i) open(i, i + 1, node, groups);
    } else {
      groups.push_back({begin, end, options_.arity, node});
    }
  }

  // One side of a group that was cut: finished, or to be cut again for the same node.
  void go_on(std::uint32_t begin, std::uint32_t end, std::uint32_t parts, std::uint32_t node,
             std::vector<Group>& groups) {
    if (parts == 1) {
      open(begin, end, node, groups);
    } else if (end - begin == parts) {
      for (std::uint32_t i = begin; i < end; ++i) open(i, i + 1, node, groups);
    } else {
      groups.push_back({begin, end, parts, node});
    }
  }

  void divide(const Group& group, std::vector<Group>& below) {
    const std::uint32_t front = group.middle - group.begin;
    const std::uint32_t back = group.end - group.middle;
    std::uint32_t front_parts = std::min(front_share(group.parts), front);
    const std::uint32_t back_parts = std::min(group.parts - front_parts, back);
    front_parts = std::min(group.parts - back_parts, front);
    go_on(group.begin, group.middle, front_parts, group.node, below);
    go_on(group.middle, group.end, back_parts, group.node, below);
  }

  static std::uint32_t front_share(std::uint32_t parts) { return (parts + 1) / 2; }

  std::size_t values_of(const Group& group) const {
    const auto labels = std::span(order_).subspan(group.begin, group.size());
    return std::transform_reduce(labels.begin(), labels.end(), std::size_t{0}, std::plus<>(),
                                 [&](LabelId label) { return std::size_t{vectors_[label].size}; });
  }

  void cut_all(std::vector<Group>& level) {
    std::vector<std::size_t> values;
    for (const Group& group : level) values.push_back(values_of(group));
    const auto all = static_cast<double>(std::reduce(values.begin(), values.end()));
    const double share = workers_.size() > 1 ? kSharesForAll * all / static_cast<double>(workers_.size()) : 2.0 * all;
    std::vector<Group*> small;
    for (std::size_t i = 0; i < level.size(); ++i) {
      Group& group = level[i];
      if (values[i] >= kValuesForAll && static_cast<double>(values[i]) > share) {
        cut(group, *workers_[0], &crew_);
      } else {
        small.push_back(&group);
      }
    }
    std::ranges::stable_sort(small, std::ranges::greater{}, &Group::size);
    std::atomic<std::size_t> next{0};
    crew_.start(workers_.size(), [&](std::size_t worker) {
      for (std::size_t i = next++; i < small.size(); i = next++) cut(*small[i], *workers_[worker], nullptr);
    });
    crew_.finish();
  }

  std::pair<std::size_t, std::size_t> first_centres(const Group& group) const {
    const std::size_t n = group.size();
    const std::uint64_t which = static_cast<std::uint64_t>(group.begin) << 32 | group.end;
    const std::size_t front = draw(options_.seed, Draw::clustering, which, 0) % n;
    const std::size_t apart = 1 + draw(options_.seed, Draw::clustering, which, 1) % (n - 1);
    return {front, (front + apart) % n};
  }

  // Moves the labels of the front before those of the back, keeping the order within both.
  void cut(Group& group, Bisection& worker, Crew* crew) {
    const std::span<LabelId> labels(order_.data() + group.begin, group.size());
    const double share = static_cast<double>(front_share(group.parts)) / static_cast<double>(group.parts);
    const std::span<const std::uint8_t> front =
        worker.split(labels, split_weights(interpolation_, labels), share, first_centres(group), crew);
    std::vector<LabelId> back;
    std::uint32_t at = group.begin;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (front[i] != 0) {
        order_[at++] = labels[i];
      } else {
        back.push_back(labels[i]);
      }
    }
    group.middle = at;
    std::ranges::copy(back, order_.begin() + at);
  }

  ClusterTree numbered_by_level() const {
    std::vector<std::uint32_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::uint32_t v) { return std::tuple(nodes_[v].depth, nodes_[v].begin); });
    std::vector<std::int64_t> number(nodes_.size());
    for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<std::int64_t>(i);
    ClusterTree tree;
    for (const std::uint32_t v : order) {
      const Node& node = nodes_[v];
      tree.parents.push_back(node.parent < 0 ? -1 : number[static_cast<std::size_t>(node.parent)]);
      if (node.label != kNone) tree.labels.push_back(node.label);
    }
    return tree;
  }

  const RowView& vectors_;
  const Interpolation& interpolation_;
  const ClusteringOptions& options_;
  Crew crew_;
  std::vector<double> scales_;
  std::vector<std::unique_ptr<Bisection>> workers_;
  std::vector<LabelId> order_;  // labels, grouped
  std::vector<Node> nodes_;
};

}  // namespace

ClusterTree cluster_labels(const RowView& vectors, std::uint32_t dimension, const Interpolation& interpolation,
                           const ClusteringOptions& options, unsigned threads) {
  if (vectors.size() == 0) return {{-1}, {}};
  return Clustering(vectors, dimension, interpolation, options, std::max(threads, 1U)).run();
}

}  // namespace labelgrove
