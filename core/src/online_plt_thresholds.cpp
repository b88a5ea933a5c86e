// Thresholds tuned online: each example is predicted just before it is learnt.

#include "labelgrove/online_plt.hpp"

namespace labelgrove {

// OFO, Algorithm 2, lines 4-8. The prediction must come from a model that has learnt all earlier examples and not this
// one, so the nodes opened by the search are brought up to date.
void OnlinePlt::candidates(ExampleId example, std::vector<LabelId>& found) {
  found.clear();
  products_.clear();
  begin_search();
  to_open_.assign(1, {kAboveRoot, 1.0F});
  while (!to_open_.empty()) {
    const auto [v, probability] = to_open_.back();
    to_open_.pop_back();
    const auto& children = tree_[v].children;
    const auto products = open(example, v, probability);
    for (std::size_t i = 0; i < children.size(); ++i) {
      const TreeNode& child = tree_[children[i]];
      if (child.live == 0 || !(static_cast<double>(products[i]) >= thresholds_->least_below(children[i]))) continue;
      if (!child.is_leaf()) to_open_.emplace_back(children[i], products[i]);
      else if (thresholds_->predicts(child.label, products[i])) found.push_back(child.label);
    }
  }
}

// Continues from the deepest node on the path that the search has opened.
float OnlinePlt::probability(ExampleId example, LabelId label) {
  const NodeId leaf = tree_.leaf_of(label);
  path_.clear();
  NodeId v = leaf;
  for (; opened_[tree_[v].parent].first != search_; v = tree_[v].parent) path_.push_back(v);
  float product = products_[opened_[tree_[v].parent].second + tree_[v].slot];
  for (; !path_.empty(); v = path_.back(), path_.pop_back()) {
    product = open(example, v, product)[tree_[path_.back()].slot];
  }
  return product;
}

// P(child | x) of v's children, given v's probability.
std::span<const float> OnlinePlt::open(ExampleId example, NodeId v, float probability) {
  const auto of_children = probabilities(learners_.examples().view(example), v);
  opened_[v] = {search_, products_.size()};
  for (const float conditional : of_children) products_.push_back(probability * conditional);
  return std::span(products_).last(of_children.size());
}

}  // namespace labelgrove
