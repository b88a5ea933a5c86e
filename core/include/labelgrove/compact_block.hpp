// The classifiers of a node's children, read from where a compact model keeps them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/compact_rows.hpp"
#include "labelgrove/link.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

class CompactBlock final : public NodeBlock {
 public:
  // The arrays of `rows` must outlive the block. REQUIRES: check_compact_rows() has passed them and counted `weights`.
  CompactBlock(Link link, float scale, const CompactRows& rows, std::uint32_t features, std::uint64_t weights)
      : link_(link), scale_(scale), rows_(rows), features_(features), weights_(weights) {}

  std::uint32_t children() const override { return rows_.columns; }
  void predict(const Features& x, Workspace& work, float* probabilities) const override;
  void prefetch(const Features& x) const override;
  void locate(const Features& x, Workspace& work) const override;
  void predict_located(const Features& x, Workspace& work, float* probabilities) const override;
  float contributions(const Features& x, std::uint32_t child, float* added) const override;
  LinearBlock linear() const override;
  // The weights of a feature that has a row; false, and nothing else, if it has none.
  bool row(FeatureId feature, std::vector<float>& sums, float* weights) const;
  // Those that have one.
  std::vector<FeatureId> features() const;
  std::uint32_t feature_count() const { return features_; }
  const float* bias() const { return rows_.bias; }
  // Stored ones, and biases.
  std::uint64_t weights() const { return weights_ + rows_.columns; }

 private:
  Link link_;
  float scale_;
  CompactRows rows_;
  std::uint32_t features_;
  std::uint64_t weights_;
};

// Throws std::invalid_argument unless reading any row stays within `bytes` of rows, the columns of a row are distinct
// and exist, and the index leads to every one of the `features` rows, one behind the other. Returns how many weights
// they hold.
std::uint64_t check_compact_rows(const CompactRows& block, std::uint32_t features, std::uint64_t bytes,
                                 const std::string& where);

}  // namespace labelgrove
