#include "labelgrove/ldsm_splitter.hpp"

#include <cstddef>

#include "labelgrove/hash.hpp"
#include "labelgrove/regressor_block.hpp"

namespace labelgrove {

LdsmSplitter::LdsmSplitter(const ForestOptions& options, const ForestTrainingSet& data)
    : NodeSplitter(options, data),
      ldsm_(*options.ldsm()),
      objective_(options.children, ldsm_.objective),
      targets_(options.children),
      margins_(options.children) {}

std::vector<float> LdsmSplitter::learn(const NodeDraft& node, SplitFigures& figures) {
  number_features(node.examples, ldsm_.min_count);
  RegressorBlock block(ldsm_.learner, options().children, static_cast<std::uint32_t>(features().size()), node.key);
  const ForestExamples& examples = data().examples();
  objective_.start(node.histogram.size());
  order_ = node.examples;
  for (std::uint32_t epoch = 0; epoch < ldsm_.epochs; ++epoch) {
    if (ldsm_.shuffle) {
      const std::uint64_t key = draw(node.key, Draw::shuffle, epoch);
      shuffle(order_, [key](std::size_t n) { return draw(key, Draw::shuffle, n); });
    }
    for (const std::uint32_t i : order_) {
      const double weight = examples.weight(i);
      const LabelledExample example = examples.example(i);
      if (!trains(example.labels, weight)) continue;
      take(example, data().scale(i));
      const std::uint32_t directions = objective_.choose(taken_slots(), weight);
      for (std::uint32_t m = 0; m < options().children; ++m) targets_[m] = (directions >> m & 1U) != 0 ? 1.0F : 0.0F;
      block.learn(taken(), targets_, static_cast<float>(weight), work(), margins_.data());
      objective_.record(taken_slots(), weight, margins_);
    }
    figures.course.push_back(static_cast<float>(objective_.value()));
  }
  return block.weights();
}

void LdsmSplitter::measure(const NodeDraft& node, SplitFigures& figures) {
  objective_.start(node.histogram.size());
  for (std::uint32_t s = 0; s < node.histogram.size(); ++s) {
    objective_.add(s, node.histogram[s].count,
                   counts().subspan(std::size_t{s} * options().children, options().children));
  }
  figures.objective = static_cast<float>(objective_.value());
  figures.balance = static_cast<float>(objective_.balance());
  figures.purity = static_cast<float>(objective_.purity());
}

}  // namespace labelgrove
