// The classifiers of one tree node's children as prediction sees them, however they were learnt and are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/bfloat16.hpp"
#include "labelgrove/calibration.hpp"
#include "labelgrove/link.hpp"

namespace labelgrove {

// Scratch space of one thread, reused from call to call.
struct Workspace {
  std::vector<std::uint32_t> found;
  std::vector<float*> rows;
  std::vector<BFloat16*> half_rows;
  std::vector<std::uint32_t> noise;
  std::vector<float> values;
  std::vector<float> scaled;
  std::vector<float> gathered;
  std::vector<float> margins;
  std::vector<float> shares;
  std::vector<float> steps;
  std::vector<float> targets;
  std::vector<const std::uint8_t*> compact_rows;
  std::size_t located = 0;  // the number of compact_rows found by locate()
  std::vector<float> sums;
  std::vector<float> inherited;
  std::vector<BFloat16> half_inherited;
  std::uint64_t bytes = 0;  // bytes of weights read for predictions so far
};

// Lists the rows of an example's features and their values, if row 0 is the bias and feature f has row f + 1.
inline void find_numbered_rows(const Features& x, Workspace& work) {
  const std::size_t n = x.size + std::size_t{1};
  work.found.resize(n);
  work.values.resize(n);
  work.found[0] = 0;
  work.values[0] = 1.0F;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    work.found[j + 1] = x.ids[j] + 1;
    work.values[j + 1] = x.values[j];
  }
}

// The parameters of a block's predictions: P(child | node, x) = link(scale * (w . x + bias)).
struct LinearBlock {
  Link link = Link::logistic;
  float scale = 1.0F;
  std::uint32_t children = 0;
  std::vector<FeatureId> features;                      // their rows are 1, 2, …
  std::vector<float> weights;                           // (features + 1, children), the bias first
  std::shared_ptr<const Calibration> calibration = {};  // if the link is `calibrated`
  std::vector<std::uint8_t> rarities = {};              // by child; empty if unknown
};

// Thread-safe for prediction, as long as each thread has its own workspace and none of them changes the block.
class NodeBlock {
 public:
  virtual ~NodeBlock() = default;

  virtual std::uint32_t children() const = 0;
  // probabilities[c] = eta(x, child c) for all children.
  virtual void predict(const Features& x, Workspace& work, float* probabilities) const = 0;
  // predict() in three steps. Each prefetches what the next one reads; interleaving several examples hides the latency
  // of memory.
  virtual void prefetch(const Features&) const {}
  virtual void locate(const Features&, Workspace&) const {}
  virtual void predict_located(const Features& x, Workspace& work, float* probabilities) const {
    predict(x, work, probabilities);
  }
  // added[j] = the contribution of feature j of x to the linear score behind the child's probability; returns the score
  // of an example without features. If the link is a sigmoid, the score is its argument.
  virtual float contributions(const Features& x, std::uint32_t child, float* added) const = 0;
  // All weights, for conversion to another representation.
  virtual LinearBlock linear() const = 0;

 protected:
  NodeBlock() = default;
  NodeBlock(const NodeBlock&) = default;
  NodeBlock(NodeBlock&&) = default;
  NodeBlock& operator=(const NodeBlock&) = default;
  NodeBlock& operator=(NodeBlock&&) = default;
};

}  // namespace labelgrove
