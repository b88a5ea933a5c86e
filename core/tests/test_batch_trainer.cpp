#include <algorithm>
#include <cmath>

#include "harness.hpp"
#include "labelgrove/batch_trainer.hpp"
#include "labelgrove/compact_plt.hpp"
#include "labelgrove/grove_search.hpp"
#include "memory_archive.hpp"
#include "stream.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

constexpr LabelId kLabels = 12;

// A random tree over all labels.
LabelTree random_tree(Random& random) {
  LabelTree tree;
  tree.give_label(kRoot, 0);
  for (LabelId label = 1; label < kLabels; ++label) {
    const NodeId v = 1 + random.below(tree.size() - 1);
    if (tree[v].is_leaf()) tree.insert_node(v);
    tree.add_leaf(v, label);
  }
  return tree;
}

LabelTree flat_tree(LabelId labels) {
  LabelTree tree;
  tree.give_label(kRoot, 0);
  tree.insert_node(kRoot);
  for (LabelId label = 1; label < labels; ++label) tree.add_leaf(kRoot, label);
  return tree;
}

TrainingOptions options_for(BatchLoss loss) {
  TrainingOptions options;
  options.solver.loss = loss;
  options.link = loss == BatchLoss::log ? Link::logistic : Link::calibrated;
  if (options.link == Link::calibrated) options.solver.held_out = 0.25F;
  return options;
}

MemoryArchive grown(Random& random, const TrainingSet& data, std::size_t trees, unsigned threads) {
  std::vector<LabelTree> all;
  for (std::size_t t = 0; t < trees; ++t) all.push_back(random_tree(random));
  return trained(options_for(BatchLoss::squared_hinge), all, data, threads);
}

// --- whole models ----------------------------------------------------------------------------------------------------

TEST("batch plt: the same for any number of threads, and after saving and loading") {
  Random random(5);
  const Stream stream = random_stream(random, 200, kLabels);
  const TrainingSet data = training_set(stream);
  Random first(7);
  Random second(7);
  const MemoryArchive alone = grown(first, data, 2, 1);
  CHECK(alone == grown(second, data, 2, 4));
  const CompactPlt model(data.normalize, alone);
  CHECK(saved(model) == alone);
  CHECK_EQ(model.examples_seen(), std::uint64_t{200});
  const CompactTree& tree = model.trees().front();
  CHECK(tree.block(kAboveRoot)->linear().calibration == nullptr);  // its child is constant
  CHECK(tree.block(kRoot)->linear().calibration != nullptr);
}

MemoryArchive archived(std::span<const CompactedBlock> blocks) {
  MemoryArchive archive;
  write_blocks(blocks, archive);
  return archive;
}

TEST("batch plt: threads divide the children of a wide node") {
  constexpr LabelId kMany = 100;  // four tiles
  Random random(6);
  const Stream stream = random_stream(random, 150, kMany);
  const TrainingSet data = training_set(stream);
  const std::vector<LabelTree> flat{flat_tree(kMany)};
  const auto learnt = [&](unsigned threads) {
    Progress progress;
    return archived(train_blocks(options_for(BatchLoss::squared_hinge), flat, data, threads, progress));
  };
  const MemoryArchive alone = learnt(1);
  CHECK(alone == learnt(2));
  CHECK(alone == learnt(16));
}

TEST("batch plt: of many examples, 16 children learn together, and others change nothing for these") {
  const auto bias = [](std::size_t examples, LabelId labels) {
    Random random(3);
    Stream stream;
    for (std::size_t i = 0; i < examples; ++i) {
      stream.x.push_back(random_example(random, 4, 0.5));
      const LabelId label = random.below(32);
      stream.labels.push_back(label < labels ? std::vector{label} : std::vector<LabelId>());
    }
    const std::vector<LabelTree> flat{flat_tree(labels)};
    Progress progress;
    std::vector<float> learnt = train_blocks({}, flat, training_set(stream), 1, progress).back().bias;
    learnt.resize(16);
    return learnt;
  };
  CHECK(bias(8192, 32) == bias(8192, 16));
  CHECK(bias(8191, 32) != bias(8191, 16));
}

TEST("batch plt: examples without features, or with values of 0, teach the bias alone") {
  Stream stream;
  stream.x.resize(20);
  for (std::size_t i = 0; i < stream.size(); ++i) stream.labels.push_back({i % 4 == 0 ? 1U : 0U});
  const std::vector<LabelTree> flat{flat_tree(2)};
  TrainingOptions options;
  options.weight_threshold = 0.0F;
  for (const Example& x : {Example{}, Example{{3}, {0.0F}}}) {
    stream.x.front() = x;
    Progress progress;
    const CompactedBlock block = train_blocks(options, flat, training_set(stream), 2, progress).back();
    CHECK_EQ(block.features, 0U);
    CHECK(block.bias[0] > 0.4F && block.bias[1] < -0.4F);
  }
}

// A room in memory that counts the bytes taken.
class CountedRoom final : public Room {
 public:
  void* take(std::size_t bytes) override {
    held += bytes;
    taken += bytes;
    return ::operator new(bytes);
  }
  void give_back(void* begin, std::size_t bytes) noexcept override {
    held -= bytes;
    ::operator delete(begin);
  }
  std::size_t held = 0;
  std::size_t taken = 0;
};

MemoryArchive without_counts(MemoryArchive archive) {
  for (const char* name : {"margins.negative", "margins.positive"}) archive.arrays().erase(name);
  return archive;
}

TEST("batch plt: a node trained alone, from its own examples and in any room, is the same") {
  Random random(8);
  const Stream stream = random_stream(random, 120, kLabels);
  const TrainingSet data = training_set(stream);
  const std::vector<LabelTree> trees{random_tree(random)};
  const LabelTree& tree = trees.front();
  Progress progress;
  const TrainingOptions options = options_for(BatchLoss::squared_hinge);
  const auto whole = train_blocks(options, trees, data, 1, progress);
  const std::vector<NodeId> nodes = inner_nodes(tree);
  CHECK_EQ(nodes.size(), whole.size());
  MarginCounts counts;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::size_t> own;
    for (std::size_t row = 0; row < data.size; ++row) {
      const auto below = [&](LabelId label) {
        NodeId v = tree.leaf_of(label);
        while (v != nodes[i] && v != kAboveRoot) v = tree[v].parent;
        return v == nodes[i];
      };
      if (std::ranges::any_of(data.example(row).labels, below) || nodes[i] <= kRoot) own.push_back(row);
    }
    TrainingSet some = data;
    some.size = own.size();
    some.example = [&](std::size_t row) { return data.example(own[row]); };
    CountedRoom room;
    Progress of_node;
    const auto alone = train_nodes(options, tree, std::span(nodes).subspan(i, 1), some, 2, of_node, &room);
    CHECK(of_node.share() == 1.0 || of_node.done() == 0);
    CHECK_EQ(room.held, std::size_t{0});
    CHECK(without_counts(archived(alone)) == without_counts(archived(std::span(whole).subspan(i, 1))));
    if (alone.front().calibration) counts.add(alone.front().calibration->counts());
  }
  const MarginCounts& all = whole.back().calibration->counts();
  CHECK(counts.negatives() == all.negatives() && counts.positives() == all.positives());
  CHECK(std::ranges::any_of(all.positives(), [](std::uint64_t count) { return count > 0; }));
  const std::vector<LabelTree> twins{tree, tree};
  counts.add(all);
  CHECK(train_blocks(options, twins, data, 1, progress).back().calibration->counts().negatives() == counts.negatives());
}

TEST("batch plt: training stops soon when told to, with any number of threads") {
  Random random(4);
  const Stream stream = random_stream(random, 60, kLabels);
  const std::vector<LabelTree> trees{random_tree(random)};
  for (const unsigned threads : {1U, 3U}) {
    Progress progress;
    CHECK_EQ(progress.share(), 0.0);
    progress.stop();
    CHECK_THROWS(Stopped, train_blocks(options_for(BatchLoss::log), trees, training_set(stream), threads, progress));
  }
}

TEST("batch plt: removes labels from all trees or from none") {
  Random random(6);
  const Stream stream = random_stream(random, 60, kLabels);
  const MemoryArchive archive = grown(random, training_set(stream), 3, 1);
  CompactPlt model(true, archive);
  const std::vector<LabelId> twice{3, 3};
  CHECK_THROWS(std::invalid_argument, model.remove_labels(twice));
  const std::vector<LabelId> gone{3, 5};
  model.remove_labels(gone);
  for (const CompactTree& one : model.trees()) CHECK(one.tree().leaf_of(3) == kNone && one.tree().leaf_of(4) != kNone);
  const std::vector<TreeView> views = views_of(model);
  const GroveScope scope(views);
  GroveSearcher searcher(views, scope);
  std::vector<Scored> found;
  searcher.top_k(stream.x[0].view(), 100, found);
  CHECK_EQ(found.size(), std::size_t{kLabels - 2});
}

// --- hostile arrays --------------------------------------------------------------------------------------------------

TEST("batch plt: refuses inconsistent arrays, and names them") {
  Random random(9);
  const Stream stream = random_stream(random, 60, kLabels);
  MemoryArchive whole = grown(random, training_set(stream), 2, 1);
  const auto refused = [&](auto&& change) {
    MemoryArchive archive = whole;
    change(archive);
    CHECK_THROWS(std::invalid_argument, CompactPlt(true, archive));
  };
  refused([](MemoryArchive& a) { a.arrays()["counters"] = std::vector<std::uint64_t>(2); });
  refused([](MemoryArchive& a) { a.arrays()["tree.nodes"] = std::vector<std::uint32_t>(0); });
  refused([](MemoryArchive& a) { a.arrays()["margins.positive"] = std::vector<std::uint64_t>(255); });
  refused([](MemoryArchive& a) {
    for (const char* name : {"margins.negative", "margins.positive"})
      a.arrays()[name] = std::vector<std::uint64_t>(512);
  });
  for (const char* name : {"margins.negative", "margins.positive"}) {
    refused([&](MemoryArchive& a) {
      std::get<std::vector<std::uint64_t>>(a.arrays()[name]).back() = (std::uint64_t{1} << 40) + 1;
    });
  }
  refused([](MemoryArchive& a) { a.arrays().erase("margins.positive"); });
  refused([](MemoryArchive& a) { a.arrays()["weights.rarity"] = std::vector<std::uint8_t>(1); });
  refused([](MemoryArchive& a) { std::get<std::vector<std::uint8_t>>(a.arrays()["weights.rarity"]).back() = 5; });
  refused([](MemoryArchive& a) { a = without_counts(a); });
  for (const char* name : {"block.scale", "weights.bias"}) {
    refused([&](MemoryArchive& a) { std::get<std::vector<float>>(a.arrays()[name]).back() = std::nanf(""); });
  }
  refused([](MemoryArchive& a) { a.arrays()["tree.nodes"] = std::vector<std::uint32_t>(1, 1U << 30); });
  refused([](MemoryArchive& a) {  // no tree, and nothing else
    a = without_counts(a);
    for (auto& [name, array] : a.arrays()) {
      if (name != "counters") std::visit([](auto& numbers) { numbers.clear(); }, array);
    }
    a.arrays()["weights.row"] = std::vector<std::uint8_t>(kBytesBehind);
  });
  refused([](MemoryArchive& a) {  // a label that only the last tree has
    ++std::get<std::vector<std::uint64_t>>(a.arrays()["counters"]).front();
    auto& labels = std::get<std::vector<std::uint32_t>>(a.arrays()["tree.label"]);
    *std::find_if(labels.rbegin(), labels.rend(), [](LabelId label) { return label != kNone; }) = kLabels;
  });
  for (const auto& array : whole.arrays()) {
    refused(
        [&](MemoryArchive& a) { std::visit([](auto& numbers) { numbers.push_back({}); }, a.arrays()[array.first]); });
  }
  refused([](MemoryArchive& a) { a.arrays()["block.features"] = std::vector<std::uint32_t>(1, 1U << 30); });
  refused([](MemoryArchive& a) { a.arrays()["weights.bias"] = std::vector<float>(1, 0.0F); });
}

}  // namespace
}  // namespace labelgrove::testing
