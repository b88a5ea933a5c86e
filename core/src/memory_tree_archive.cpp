// Saving and loading: docs/format.md documents every array.
#include <algorithm>
#include <string>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/memory_tree.hpp"
#include "labelgrove/node_archive.hpp"
#include "labelgrove/regressor_archive.hpp"

namespace labelgrove {

void MemoryTree::save(ArrayWriter& out, bool for_prediction) const {
  auto counters = out.u64("counters", 3);
  counters[0] = known_.count();
  counters[1] = examples_seen();
  counters[2] = remembered_.reached();
  known_.save(out);
  std::ranges::copy(seen_, out.f64("label.seen", seen_.size()).begin());
  out.f64("seen", 1)[0] = all_seen_;
  save_routes(out, nodes(), for_prediction);
  auto sizes = out.u32("node.entries", nodes_.size());
  std::ranges::transform(nodes_, sizes.begin(),
                         [](const Node& node) { return static_cast<std::uint32_t>(node.entries.size()); });
  auto entries = out.u32("leaf.entry", remembered_.size());
  for (auto next = entries.begin(); const Node& node : nodes_) next = std::ranges::copy(node.entries, next).out;
  save_remembered(out, "entry", remembered_, examples_);
  if (budget_.bounded()) out.u64("budget", 1)[0] = max_examples_;
  std::vector<const Regressor*> all;
  for_each_regressor(*this, [&](const Regressor& regressor, const auto&) { all.push_back(&regressor); });
  save_regressors(out, all, options_.learner, for_prediction);
}

MemoryTree::MemoryTree(const MemoryTreeOptions& options, const ArrayReader& saved, bool for_prediction, bool check_only)
    : options_(options), max_examples_(options.max_examples), budget_(options.max_bytes), can_learn_(!for_prediction) {
  const auto counters = saved.u64("counters");
  require(counters.size() == 3 && counters[0] < kNone / 2 && counters[1] <= kMostExamples && counters[2] <= counters[1],
          "array 'counters' must hold the number of labels, the number of examples and the number of examples with a "
          "weight");
  passed_over_ = counters[1] - counters[2];
  known_ = KnownLabels(saved, counters[0]);
  load_seen(saved, counters[2]);
  nodes_ = saved_routes<Node>(saved, for_prediction);
  if (budget_.bounded()) {
    const auto budget = saved.u64("budget");
    require(budget.size() == 1, "array 'budget' must hold one number");
    max_examples_ = budget[0];
    require(options_.max_examples == 0 || (max_examples_ > 0 && max_examples_ <= options_.max_examples),
            "array 'budget': more examples may be remembered than the options allow");
  }
  load_leaves(saved, counters[2], check_only);
  if (options_.classifiers) classifiers_.resize(known_.count());
  std::vector<Regressor*> all;
  std::vector<std::string> names;
  for_each_regressor(*this, [&](Regressor& regressor, const auto& name) {
    all.push_back(check_only ? nullptr : &regressor);
    names.push_back(name());
  });
  load_regressors(saved, all, options_.learner, for_prediction, [&](std::size_t i) { return names[i]; });
  if (budget_.bounded() && can_learn_ && !check_only) budget_.takes(count());
}

void MemoryTree::load_seen(const ArrayReader& saved, std::uint64_t examples) {
  const auto total = saved.f64("seen");
  const auto seen = saved.f64("label.seen");
  const double most = static_cast<double>(examples) * static_cast<double>(kMostWeight);
  require(total.size() == 1 && total[0] >= 0.0 && total[0] <= most && (total[0] > 0.0) == (examples > 0),
          "array 'seen' must hold the total weight of all examples");
  require(seen.size() == known_.count(), "array 'label.seen' must hold a number for every label");
  all_seen_ = total[0];
  seen_.assign(seen.begin(), seen.end());
  for (LabelId label = 0; label < seen.size(); ++label) {
    // Both were summed and rounded in stream order.
    require(seen[label] >= 0.0 && seen[label] <= all_seen_ * (1.0 + 1e-6) && (seen[label] > 0.0) == known_.knows(label),
            "the weight of a label's examples is out of range");
    if (known_.has(label)) by_frequency_.emplace(-seen[label], label);
  }
}

void MemoryTree::load_leaves(const ArrayReader& saved, std::uint64_t reached, bool check_only) {
  const auto take = [&](const Features& x, float weight, std::span<const LabelId> labels) {
    std::vector<LabelId> sorted(labels.begin(), labels.end());
    std::ranges::sort(sorted);
    require(std::ranges::adjacent_find(sorted) == sorted.end() &&
                std::ranges::all_of(labels, [this](LabelId label) { return known_.knows(label); }),
            "a label of a remembered example is not known, or is given twice");
    if (!check_only) remembered_.append(examples_.add(x, 1.0, weight), labels);
  };
  const std::size_t known = load_remembered(saved, "entry", take);
  const std::uint64_t most = max_examples_ == 0 ? reached : std::min(reached, max_examples_);
  require(known == most, "the number of remembered examples is wrong");
  remembered_.restore(reached);
  places_.resize(known);
  Pieces<std::uint32_t> sizes(saved, "node.entries");
  Pieces<std::uint32_t> entries(saved, "leaf.entry");
  for (NodeId v = 0; v < nodes_.size(); ++v) {
    Node& node = nodes_[v];
    require(v == kRoot || node.parent < v, "node ", v, ": a child is older than its parent");
    const auto its = entries.take(sizes.one());
    require(its.empty() || node.is_leaf(), "node ", v, ": an inner node remembers examples");
    node.entries.assign(its.begin(), its.end());
    for (std::uint32_t at = 0; at < its.size(); ++at) {
      require(its[at] < places_.size() && places_[its[at]].leaf == kNone, "node ", v,
              ": a remembered example does not exist, or is in two places");
      places_[its[at]] = {v, at};
    }
    node.remembered = static_cast<std::uint32_t>(its.size());
  }
  for (auto v = static_cast<NodeId>(nodes_.size()); --v > kRoot;)
    nodes_[nodes_[v].parent].remembered += nodes_[v].remembered;
  finish_all(sizes, entries);
  require(nodes_[kRoot].remembered == places_.size(), "a remembered example is in no leaf");
}

}  // namespace labelgrove
