#include "labelgrove/compact_plt.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

constexpr std::size_t kMostTrees = 1000;
constexpr const char* kRarityArray = "weights.rarity";

std::vector<const NodeBlock*> inner_blocks(std::span<const TreeView> trees) {
  std::vector<const NodeBlock*> blocks;
  for (const TreeView& one : trees) {
    for (NodeId v = 0; v < one.tree().size(); ++v) {
      if (!one.tree()[v].is_leaf()) blocks.push_back(one.blocks()[v]);
    }
  }
  return blocks;
}

void write_trees(std::span<const LabelTree* const> trees, std::uint64_t examples_seen, WeightType type,
                 ArrayWriter& out) {
  std::size_t nodes = 0;
  for (const LabelTree* tree : trees) nodes += tree->size();
  auto counters = out.u64("counters", 3);
  counters[0] = trees.front()->label_count();
  counters[1] = examples_seen;
  counters[2] = static_cast<std::uint64_t>(type);
  auto sizes = out.u32("tree.nodes", trees.size());
  auto parents = out.u32("tree.parent", nodes);
  auto labels = out.u32("tree.label", nodes);
  auto silent = out.bytes("tree.silent", nodes);
  for (std::size_t t = 0, begin = 0; t < trees.size(); begin += sizes[t++]) {
    const NodeId n = sizes[t] = trees[t]->size();
    trees[t]->store(parents.subspan(begin, n), labels.subspan(begin, n), silent.subspan(begin, n));
  }
}

void write_margins(const Calibration* calibration, ArrayWriter& out) {
  if (calibration == nullptr) return;
  const MarginCounts& counts = calibration->counts();
  std::ranges::copy(counts.negatives(), out.u64("margins.negative", counts.negatives().size()).begin());
  std::ranges::copy(counts.positives(), out.u64("margins.positive", counts.positives().size()).begin());
}

std::shared_ptr<const Calibration> read_calibration(const ArrayReader& saved) {
  if (!saved.has("margins.negative")) return {};
  const auto negatives = saved.u64("margins.negative");
  const auto positives = saved.u64("margins.positive");
  constexpr std::size_t kBins = MarginCounts::kBins;
  constexpr std::size_t kAll = kRarities * kBins;  // or kBins in a file that does not tell rarities
  require((negatives.size() == kAll || negatives.size() == kBins) && positives.size() == negatives.size(),
          "arrays 'margins.negative' and 'margins.positive' must hold ", kAll, " or ", kBins, " counts each");
  const auto is_count = [](std::uint64_t count) { return count <= kMostExamples; };
  require(std::ranges::all_of(negatives, is_count) && std::ranges::all_of(positives, is_count),
          "arrays 'margins.negative' and 'margins.positive' hold a count that is too large");
  MarginCounts counts;
  counts.add(negatives, positives);
  return std::make_shared<const Calibration>(counts);
}

// The total size of one of the blocks' arrays.
template <typename T>
std::size_t total(std::span<const CompactedBlock> blocks, std::vector<T> CompactedBlock::* array) {
  std::size_t size = 0;
  for (const CompactedBlock& block : blocks) size += (block.*array).size();
  return size;
}

template <typename T>
void join(std::span<const CompactedBlock> blocks, std::vector<T> CompactedBlock::* array, std::span<T> to) {
  auto next = to.begin();
  for (const CompactedBlock& block : blocks) next = std::ranges::copy(block.*array, next).out;
}

}  // namespace

void write_blocks(std::span<const LabelTree* const> trees, std::uint64_t examples_seen, WeightType type,
                  std::span<const CompactedBlock> blocks, ArrayWriter& out) {
  write_trees(trees, examples_seen, type, out);
  write_blocks(blocks, out);
}

void write_blocks(std::span<const CompactedBlock> blocks, ArrayWriter& out) {
  using Block = CompactedBlock;
  const std::size_t n = blocks.size();
  const auto size = [](const auto& array) { return static_cast<std::uint32_t>(array.size()); };
  const auto number = [](Link link) { return static_cast<std::uint8_t>(link); };
  std::ranges::transform(blocks, out.bytes("block.link", n).begin(), number, &Block::link);
  std::ranges::transform(blocks, out.f32("block.scale", n).begin(), &Block::link_scale);
  std::ranges::transform(blocks, out.u32("block.features", n).begin(), &Block::features);
  std::ranges::transform(blocks, out.u32("block.pairs", n).begin(), size, &Block::index);
  std::ranges::transform(blocks, out.u32("block.multiplier", n).begin(), &Block::multiplier);
  std::ranges::transform(blocks, out.u32("block.bytes", n).begin(), size, &Block::rows);
  auto next = out.u32("index.pair", 2 * total(blocks, &Block::index)).begin();
  for (const CompactedBlock& block : blocks) {
    for (const CompactRows::Pair& pair : block.index) {
      *next++ = pair.first;
      *next++ = pair.second;
    }
  }
  join(blocks, &Block::offsets, out.u32("index.offset", total(blocks, &Block::offsets)));
  join(blocks, &Block::bias, out.f32("weights.bias", total(blocks, &Block::bias)));
  join(blocks, &Block::scale, out.f32("weights.scale", total(blocks, &Block::scale)));
  auto all_rows = out.bytes("weights.row", total(blocks, &Block::rows) + kBytesBehind);
  join(blocks, &Block::rows, all_rows);
  std::ranges::fill(all_rows.last(kBytesBehind), std::uint8_t{0});
  const std::size_t rarities = total(blocks, &Block::rarities);
  if (rarities > 0) join(blocks, &Block::rarities, out.bytes(kRarityArray, rarities));
  const auto calibrated = std::ranges::find_if(blocks, [](const auto& block) { return block.calibration != nullptr; });
  if (calibrated != blocks.end()) write_margins(calibrated->calibration.get(), out);
}

void write_compact(std::span<const TreeView> trees, std::uint64_t examples_seen, const Compaction& how,
                   ArrayWriter& out) {
  std::vector<const LabelTree*> label_trees;
  for (const TreeView& one : trees) label_trees.push_back(&one.tree());
  std::vector<CompactedBlock> blocks;
  for (const NodeBlock* block : inner_blocks(trees)) blocks.push_back(compacted(sparse(block->linear()), how));
  write_blocks(label_trees, examples_seen, how.type, blocks, out);
}

float threshold_for(std::span<const TreeView> trees, WeightType type, std::uint64_t most_bytes, unsigned threads) {
  const auto blocks = inner_blocks(trees);
  const auto fits = [&](float threshold) {
    std::atomic<std::uint64_t> bytes = 0;
    parallel_for(blocks.size(), threads, [&](std::size_t i) {
      if (bytes <= most_bytes) bytes += compacted_bytes(sparse(blocks[i]->linear()), {type, threshold});
    });
    return bytes <= most_bytes;
  };
  if (fits(0.0F)) return 0.0F;
  // Positive floats are ordered as their bits are. The lowest bits are not searched.
  constexpr unsigned kLeftOut = 12;
  std::uint32_t fails = 0;
  std::uint32_t holds = std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity()) >> kLeftOut;
  while (holds - fails > 1) {
    const std::uint32_t middle = (fails + holds) / 2;
    (fits(std::bit_cast<float>(middle << kLeftOut)) ? holds : fails) = middle;
  }
  return std::bit_cast<float>(holds << kLeftOut);
}

// --- the model ------------------------------------------------------------------------------------------------------

CompactTree::CompactTree(LabelTree tree, std::vector<std::unique_ptr<CompactBlock>> blocks)
    : tree_(std::move(tree)), owned_(std::move(blocks)) {
  for (const auto& block : owned_) blocks_.push_back(block.get());
}

CompactPlt::CompactPlt(bool normalize, const ArrayReader& saved) : normalize_(normalize) {
  require(std::endian::native == std::endian::little, "compact models need a little-endian machine");
  const auto counters = saved.u64("counters");
  require(counters.size() == 3 && counters[0] < kNone - 1 && counters[1] <= kMostExamples && counters[2] <= 2,
          "array 'counters' must hold the number of labels, the number of examples and the type of weights");
  examples_seen_ = counters[1];
  type_ = static_cast<WeightType>(counters[2]);
  Pieces<std::uint8_t> links(saved, "block.link");
  Pieces<float> link_scales(saved, "block.scale");
  Pieces<std::uint32_t> features(saved, "block.features");
  Pieces<std::uint32_t> pairs(saved, "block.pairs");
  Pieces<std::uint32_t> multipliers(saved, "block.multiplier");
  Pieces<std::uint32_t> row_bytes(saved, "block.bytes");
  Pieces<std::uint32_t> index(saved, "index.pair");
  Pieces<std::uint32_t> offsets(saved, "index.offset");
  Pieces<float> biases(saved, "weights.bias");
  Pieces<float> scales(saved, "weights.scale");
  Pieces<std::uint8_t> rows(saved, "weights.row");
  const bool tells_rarities = saved.has(kRarityArray);
  Pieces<std::uint8_t> rarities(saved, kRarityArray, tells_rarities);
  const auto keep = [this](const auto&... pieces) { (arrays_.emplace_back(pieces.name(), pieces.all()), ...); };
  keep(links, link_scales, features, pairs, multipliers, row_bytes, index, offsets, biases, scales, rows);
  if (tells_rarities) keep(rarities);
  require(std::ranges::all_of(rarities.all(), [](std::uint8_t rarity) { return rarity < kRarities; }), "array '",
          kRarityArray, "' must hold numbers below ", kRarities);
  weight_bytes_ = index.all().size_bytes() + offsets.all().size_bytes() + biases.all().size_bytes() +
                  scales.all().size_bytes() + rarities.all().size_bytes() + rows.all().size_bytes();
  calibration_ = read_calibration(saved);
  require(all_finite(link_scales.all()) && all_within(biases.all(), kLargestWeight) &&
              all_within(scales.all(), kLargestWeight / kMostInt8),
          "arrays 'block.scale', 'weights.bias' and 'weights.scale' must hold finite numbers within range");
  Reading reading(saved);
  const auto block = [&](std::uint32_t columns, const std::string& where) {
    const std::uint8_t link = links.one();
    require(link <= static_cast<std::uint8_t>(Link::calibrated), where, ": unknown link");
    const bool calibrated = link == static_cast<std::uint8_t>(Link::calibrated);
    require(!calibrated || calibration_ != nullptr, where, ": the link needs array 'margins.negative'");
    CompactRows view;
    view.columns = columns;
    view.type = type_;
    view.multiplier = multipliers.one();
    view.pairs = pairs.one();
    const std::uint32_t known = features.one();
    const std::uint32_t bytes = row_bytes.one();
    view.index = reinterpret_cast<const CompactRows::Pair*>(index.take(std::uint64_t{2} * view.pairs).data());
    if (view.multiplier == kBitmap) view.offsets = offsets.take(known).data();
    view.rows = rows.take(bytes).data();
    view.bias = biases.take(columns).data();
    if (type_ == WeightType::int8) view.scale = scales.take(columns).data();
    const std::uint8_t* const rarity = tells_rarities ? rarities.take(columns).data() : nullptr;
    const std::uint64_t kept = check_compact_rows(view, known, bytes, where);
    reading.went_over(bytes + view.pairs * sizeof(CompactRows::Pair));
    return std::make_unique<CompactBlock>(static_cast<Link>(link), link_scales.one(), view, known, kept,
                                          calibrated ? calibration_ : nullptr, rarity);
  };

  const auto sizes = saved.u32("tree.nodes");
  require(!sizes.empty() && sizes.size() <= kMostTrees, "array 'tree.nodes' must hold 1 to 1,000 trees");
  Pieces<std::uint32_t> parents(saved, "tree.parent");
  Pieces<std::uint32_t> labels(saved, "tree.label");
  Pieces<std::uint8_t> silent(saved, "tree.silent");
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    LabelTree tree(parents.take(sizes[t]), labels.take(sizes[t]), silent.take(sizes[t]),
                   static_cast<LabelId>(counters[0]));
    std::vector<std::unique_ptr<CompactBlock>> blocks(tree.size());
    for (NodeId v = 0; v < tree.size(); ++v) {
      const auto columns = static_cast<std::uint32_t>(tree[v].children.size());
      if (columns > 0) blocks[v] = block(columns, "tree " + std::to_string(t) + ", node " + std::to_string(v));
    }
    require(t == 0 || tree.has_labels_of(this->tree()), "tree ", t, " has different labels from tree 0");
    trees_.emplace_back(std::move(tree), std::move(blocks));
  }
  finish_all(parents, labels, silent, links, link_scales, features, pairs, multipliers, row_bytes, index, offsets,
             biases, scales, rarities);
  rows.take(kBytesBehind);
  rows.finish();
}

void CompactPlt::save(ArrayWriter& out) const {
  std::vector<const LabelTree*> label_trees;
  for (const CompactTree& one : trees_) label_trees.push_back(&one.tree());
  write_trees(label_trees, examples_seen_, type_, out);
  for (const auto& [name, array] : arrays_) out.lend(name, array);
  write_margins(calibration_.get(), out);
}

void CompactPlt::remove_labels(std::span<const LabelId> labels) {
  const std::vector<LabelId> sorted = tree().removable(labels);  // in all trees, since they have the same labels
  for (CompactTree& one : trees_) {
    for (const LabelId label : sorted) one.remove_label(label);
  }
}

ModelSize CompactPlt::size() const {
  ModelSize size;
  size.model_bytes = weight_bytes_;
  for (const CompactTree& one : trees_) {
    size.model_bytes += one.tree().bytes() + 2 * sizeof(void*) * one.blocks().size();
    for (NodeId v = 0; v < one.tree().size(); ++v) {
      if (one.block(v) == nullptr) continue;
      size.weights += one.block(v)->weights();
      size.model_bytes += sizeof(CompactBlock);
    }
  }
  return size;
}

}  // namespace labelgrove
