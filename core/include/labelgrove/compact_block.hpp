// The classifiers of a node's children, read in place from the arrays of a compact model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/calibration.hpp"
#include "labelgrove/compact_rows.hpp"
#include "labelgrove/link.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

class CompactBlock final : public NodeBlock {
 public:
  // The arrays of `rows` and the `rarities` of the children, if given, must outlive the block. REQUIRES:
  // check_compact_rows() has accepted the rows and returned `weights`, and each rarity is less than kRarities.
  CompactBlock(Link link, float scale, const CompactRows& rows, std::uint32_t features, std::uint64_t weights,
               std::shared_ptr<const Calibration> calibration = {}, const std::uint8_t* rarities = nullptr)
      : link_(link),
        scale_(scale),
        rows_(rows),
        features_(features),
        weights_(weights),
        calibration_(std::move(calibration)),
        rarities_(rarities) {}

  std::uint32_t children() const override { return rows_.columns; }
  void predict(const Features& x, Workspace& work, float* probabilities) const override;
  void prefetch(const Features& x) const override;
  void locate(const Features& x, Workspace& work) const override;
  void predict_located(const Features& x, Workspace& work, float* probabilities) const override;
  float contributions(const Features& x, std::uint32_t child, float* added) const override;
  LinearBlock linear() const override;
  // The weights of a feature that has a row; returns false, and writes nothing, if it has none.
  bool row(FeatureId feature, std::vector<float>& sums, float* weights) const;
  // The features that have a row.
  std::vector<FeatureId> features() const;
  std::uint32_t feature_count() const { return features_; }
  const float* bias() const { return rows_.bias; }
  // The number of stored weights, biases included.
  std::uint64_t weights() const { return weights_ + rows_.columns; }

 private:
  Link link_;
  float scale_;
  CompactRows rows_;
  std::uint32_t features_;
  std::uint64_t weights_;
  std::shared_ptr<const Calibration> calibration_;
  const std::uint8_t* rarities_;  // by child; null if all are 0
};

// Throws std::invalid_argument unless reading any row stays within `bytes` bytes of rows, the columns of a row are
// distinct and exist, and the index leads to every one of the `features` rows, which follow each other without gaps.
// Returns the number of weights in the rows.
std::uint64_t check_compact_rows(const CompactRows& block, std::uint32_t features, std::uint64_t bytes,
                                 const std::string& where);

}  // namespace labelgrove
