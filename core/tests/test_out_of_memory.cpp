// Memory runs out at every allocation in turn. Nothing crashes or hangs, and a model that is still usable afterwards is
// what it was before or what it would have become.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "harness.hpp"
#include "labelgrove/batch_trainer.hpp"
#include "labelgrove/clustering.hpp"
#include "labelgrove/compact_plt.hpp"
#include "labelgrove/embedding_plt.hpp"
#include "labelgrove/forest.hpp"
#include "labelgrove/grove_search.hpp"
#include "labelgrove/label_sums.hpp"
#include "labelgrove/lom_tree.hpp"
#include "labelgrove/memory_tree.hpp"
#include "labelgrove/online_grove.hpp"
#include "labelgrove/text_features.hpp"
#include "sparse_rows.hpp"
#include "stream.hpp"

namespace labelgrove::testing {
namespace {

enum class Shortage { none, once, lasting };
std::atomic<Shortage> shortage{Shortage::none};
std::atomic<std::int64_t> left{0};  // allocations before the first that fails
std::atomic<bool> ran_out{false};

bool runs_out() {
  const Shortage kind = shortage;
  if (kind == Shortage::none) return false;
  const std::int64_t before = left--;
  if (before > 0 || (before < 0 && kind == Shortage::once)) return false;
  ran_out = true;
  return true;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t rounded = (std::max(bytes, std::size_t{1}) + alignment - 1) / alignment * alignment;
  void* memory = runs_out() ? nullptr : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace
}  // namespace labelgrove::testing

// Not inlined: compilers would warn of memory that is allocated by `new` and freed by `free`.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return labelgrove::testing::allocate(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return labelgrove::testing::allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return ::operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace labelgrove::testing {
namespace {

// Calls attempt(n, try_to) for every n until nothing fails; try_to(act) calls act() without memory after n allocations
// and returns whether it threw std::bad_alloc. With several threads only every few allocations fail.
template <typename Attempt>
void at_every_allocation(unsigned threads, Attempt&& attempt) {
  for (const Shortage kind : {Shortage::once, Shortage::lasting}) {
    ran_out = true;
    for (std::int64_t n = 0; ran_out; n += threads > 1 ? 5 : 1) {
      attempt(std::to_string(n), [kind, n](auto&& act) {
        bool thrown = false;
        ran_out = false;
        left = n;
        shortage = kind;
        try {
          act();
        } catch (const std::bad_alloc&) {
          thrown = true;
        }
        shortage = Shortage::none;
        return thrown;
      });
    }
  }
}

// For act(model) that changes the model that make() returns.
template <typename Make, typename Act>
void check_change(const std::string& name, unsigned threads, Make&& make, Act&& act) {
  const auto whole = make();
  const MemoryArchive before = saved(*whole);
  act(*whole);
  const MemoryArchive after = saved(*whole);
  at_every_allocation(threads, [&](const std::string& n, auto&& try_to) {
    const auto model = make();
    const bool thrown = try_to([&] { act(*model); });
    if constexpr (requires { model->usable(); }) {
      if (!model->usable() && thrown) return;
    }
    const MemoryArchive now = saved(*model);
    if (!(now == after) && !(thrown && now == before)) fail(__FILE__, __LINE__, name + ", allocation " + n);
  });
}

// For act() that only returns something.
template <typename Act>
void check_result(const std::string& name, unsigned threads, Act&& act) {
  const auto expected = act();
  at_every_allocation(threads, [&](const std::string& n, auto&& try_to) {
    std::optional<std::decay_t<decltype(expected)>> found;
    const bool thrown = try_to([&] { found.emplace(act()); });
    if (!thrown && !(*found == expected)) fail(__FILE__, __LINE__, name + ", allocation " + n);
  });
}

constexpr std::size_t kFirst = 30;  // examples learnt with enough memory
constexpr std::size_t kAll = 40;
constexpr LabelId kLabels = 10;

const Stream& stream() {
  static const Stream all = [] {
    Random random(3);
    return random_stream(random, kAll, kLabels);
  }();
  return all;
}

OnlineGroveOptions grove_options(std::uint32_t trees, bool thresholds) {
  OnlineGroveOptions options{small_options(Policy::best_greedy, LearnerKind::arow, 1, 20)};
  options.replay_most = 3;
  options.trees = trees;
  if (thresholds) options.ofo = OfoOptions{.a = 1, .b = 2, .every = 2};
  return options;
}

void learn(OnlineGrove& grove, std::size_t begin, std::size_t end, unsigned threads = 1) {
  grove.learn([](std::size_t i) { return stream()[i]; }, begin, end, threads);
}

std::unique_ptr<OnlineGrove> grown(const OnlineGroveOptions& options) {
  auto grove = std::make_unique<OnlineGrove>(options);
  learn(*grove, 0, kFirst);
  return grove;
}

TEST("out of memory: online trees learn, and remove labels") {
  for (const unsigned threads : {1U, 2U}) {
    for (const std::uint32_t trees : {1U, 2U}) {
      for (const std::uint64_t max_bytes : {0U, 45'000U}) {
        OnlineGroveOptions options = grove_options(trees, max_bytes > 0);
        options.max_bytes = trees * max_bytes;
        const auto make = [&] { return grown(options); };
        check_change("learn", threads, make, [&](OnlineGrove& grove) { learn(grove, kFirst, kAll, threads); });
        const std::vector<LabelId> gone{3, 1, 5};
        check_change("remove", threads, make, [&](OnlineGrove& grove) { grove.remove_labels(gone); });
      }
    }
  }
}

TEST("out of memory: online trees are saved, loaded, compacted and searched") {
  const OnlineGroveOptions options = grove_options(2, true);
  const auto grove = grown(options);
  const MemoryArchive all = saved(*grove);
  const MemoryArchive some = saved(*grove, true);
  const auto views = views_of(*grove);
  check_result("save", 1, [&] { return saved(*grove); });
  check_result("load", 1, [&] { return OnlineGrove(options, all, false).examples_seen(); });
  check_result("borrow", 1, [&] { return OnlineGrove(options, some, true).examples_seen(); });
  check_result("compact", 1, [&] {
    MemoryArchive out;
    write_compact(views, kFirst, {WeightType::float16, 0.01F}, out);
    return out;
  });
  check_result("threshold", 2, [&] { return threshold_for(views, WeightType::int8, 3000, 2); });
  check_result("search", 1, [&] {
    const GroveScope scope(views);
    GroveSearcher searcher(views, scope);
    std::vector<LabelId> labels;
    std::vector<Scored> found;
    for (const Example& x : stream().x) {
      searcher.top_k(x.view(), 5, found);
      for (const Scored& one : found) labels.push_back(one.label);
    }
    return labels;
  });
}

TEST("out of memory: batch training, and learning on from it") {
  std::vector<LabelTree> trees(1);
  trees[0].give_label(kRoot, 0);
  trees[0].insert_node(kRoot);
  for (LabelId label = 1; label < kLabels; ++label) trees[0].add_leaf(kRoot, label);
  TrainingOptions options;
  options.link = Link::calibrated;
  options.solver.held_out = 0.25F;
  const TrainingSet data = training_set(stream());
  for (const unsigned threads : {1U, 2U}) {
    check_result("train", threads, [&] { return trained(options, trees, data, threads); });
  }
  const MemoryArchive batch = trained(options, trees, data);
  check_result("load", 1, [&] { return CompactPlt(true, batch).examples_seen(); });
  const auto resumed = [&] { return std::make_unique<OnlineGrove>(grove_options(1, true), batch, std::nullopt); };
  check_change("learn on", 1, resumed, [](OnlineGrove& grove) { learn(grove, 0, 10); });
}

TEST("out of memory: embeddings") {
  EmbeddingOptions options;
  options.dimension = 8;
  options.arity = 2;
  options.max_leaves = 4;
  options.replay = 1;
  options.replay_memory = 10;
  options.learner.kind = LearnerKind::adagrad;
  const auto example = [](std::size_t i) { return stream()[i]; };
  const auto make = [&] {
    auto model = std::make_unique<EmbeddingPlt>(options, LabelTree());
    model->learn(example, 0, kFirst);
    return model;
  };
  check_change("learn", 1, make, [&](EmbeddingPlt& model) { model.learn(example, kFirst, kAll); });
  for (const unsigned threads : {1U, 2U}) {
    check_change("fit", threads, make, [&](EmbeddingPlt& model) {
      Progress progress;
      model.fit(example, kFirst, 2, threads, progress);
    });
  }
  const MemoryArchive all = saved(*make());
  check_result("load", 1, [&] { return EmbeddingPlt(options, all, false).examples_seen(); });
}

TEST("out of memory: trees that route examples") {
  const auto check = [](const std::string& name, const auto& options, auto type, const auto& teach) {
    using Tree = typename decltype(type)::type;
    const auto make = [&] {
      auto tree = std::make_unique<Tree>(options);
      for (std::size_t i = 0; i < kFirst; ++i) teach(*tree, i);
      return tree;
    };
    check_change(name, 1, make, [&](Tree& tree) {
      for (std::size_t i = kFirst; i < kAll; ++i) teach(tree, i);
    });
    const MemoryArchive all = saved(*make());
    check_result(name + " load", 1, [&] { return Tree(options, all, false).examples_seen(); });
  };
  for (const std::uint64_t max_bytes : {0U, 9000U}) {
    LomTreeOptions lom;
    lom.learner.loss = Loss::squared;
    lom.max_nodes = 20;
    lom.max_bytes = max_bytes;
    check("LOMtree", lom, std::type_identity<LomTree>(), [](LomTree& tree, std::size_t i) {
      tree.learn(stream().x[i].view(), stream().labels[i].empty() ? 0 : stream().labels[i].front());
    });
    MemoryTreeOptions memory;
    memory.leaf_multiplier = 1;
    memory.max_bytes = 2 * max_bytes;
    check("memory tree", memory, std::type_identity<MemoryTree>(),
          [](MemoryTree& tree, std::size_t i) { tree.learn(stream().x[i].view(), stream().labels[i]); });
  }
}

TEST("out of memory: forests") {
  const ForestExamples data = forest_examples(stream(), kLabels);
  LdsmOptions growth;
  growth.epochs = 1;
  growth.learner.kind = LearnerKind::adagrad;
  growth.learner.loss = Loss::squared;
  ForestOptions ldsm;
  ldsm.growth = growth;
  ldsm.children = 3;
  ldsm.trees = 2;
  ldsm.max_nodes = 20;
  ldsm.tail_weight = 0.3;
  ForestOptions fastxml;
  fastxml.growth = FastxmlOptions{.cost = 8.0, .max_rounds = 2};
  fastxml.children = 2;
  fastxml.trees = 2;
  fastxml.min_examples = 20;
  for (const ForestOptions& options : {ldsm, fastxml}) {
    for (const unsigned threads : {1U, 3U}) {
      check_result("grow", threads, [&] {
        Forest forest(options);
        forest.grow(data, threads);
        return saved(forest);
      });
    }
  }
}

TEST("out of memory: trees over labels") {
  const SparseRows vectors = random_vectors(40, 30, 0.3);
  ClusteringOptions options;
  options.max_leaf_size = 4;
  for (const unsigned threads : {1U, 2U}) {
    check_result("cluster", threads, [&] { return cluster_labels(vectors.view(), 30, {}, options, threads).parents; });
  }
}

TEST("out of memory: texts are counted, or they are not") {
  const std::vector<std::string_view> texts{"a broken parcel", "refund the parcel, please", "the a a a the a",
                                            "log in"};
  TextOptions options;
  options.columns = 1U << 12;
  options.longest_run = 2;
  options.shortest_piece = 2;
  options.longest_piece = 4;
  const auto make = [&] {
    auto features = std::make_unique<TextFeatures>(options);
    features->fit_transform(texts, 1);
    return features;
  };
  const SparseRows counts = make()->count(texts, 1);
  for (const unsigned threads : {1U, 2U}) {
    check_change("learn", threads, make, [&](TextFeatures& features) { features.learn(counts.view(), threads); });
    check_result("transform", threads, [&] { return make()->transform(texts, threads).values; });
  }
}

TEST("out of memory: sums of labels stay consistent") {
  for (const std::uint64_t max_bytes : {0U, 1000U}) {
    const auto add = [](LabelSums& sums, std::size_t i) { sums.add(stream().x[i].view(), stream().labels[i], 1.0F); };
    at_every_allocation(1, [&](const std::string& n, auto&& try_to) {
      LabelSums sums(4, max_bytes);
      static_cast<void>(try_to([&] {
        for (std::size_t i = 0; i < kFirst; ++i) add(sums, i);
      }));
      LabelSums loaded(saved(sums), max_bytes);
      for (std::size_t i = kFirst; i < kAll; ++i) add(sums, i), add(loaded, i);
      if (!(saved(loaded) == saved(sums))) fail(__FILE__, __LINE__, "allocation " + n);
    });
  }
}

}  // namespace
}  // namespace labelgrove::testing
