#include <algorithm>
#include <set>
#include <stdexcept>

#include "harness.hpp"
#include "labelgrove/online_grove.hpp"
#include "labelgrove/online_plt.hpp"
#include "labelgrove/search.hpp"
#include "stream.hpp"

namespace labelgrove::testing {
namespace {

// The weights of v's children, without theta: by feature, then by child.
std::vector<float> classifiers(const OnlinePlt& model, NodeId v) {
  const RowBlock& block = *model.block(v);
  std::vector<float> weights;
  for (std::uint32_t r = 0; r < block.rows(); ++r) {
    for (std::uint32_t c = 0; c < block.children(); ++c) weights.push_back(block.weight(r, c));
  }
  return weights;
}

// Checks that inner nodes have the same children and, to the last bit, the same classifiers for them.
void check_same_classifiers(const OnlinePlt& model, const OnlinePlt& other) {
  REQUIRE(model.tree().size() == other.tree().size());
  for (NodeId v = 0; v < model.tree().size(); ++v) {
    REQUIRE(std::ranges::equal(model.tree()[v].children, other.tree()[v].children));
    if (model.tree()[v].is_leaf()) continue;
    CHECK(std::ranges::equal(model.block(v)->features().features(), other.block(v)->features().features()));
    CHECK(same_bits(classifiers(model, v), classifiers(other, v)));
  }
}

// --- proper trees: Definition 1 of the paper -------------------------------------------------------------------------

TEST("online plt: equals the incremental tree that had its final shape from the start, to the last bit") {
  for (const Policy policy : kGrowing) {
    for (const LearnerKind learner : kEveryLearner) {
      for (const std::uint32_t replay : {0U, 2U}) {
        Random random(static_cast<std::uint64_t>(policy) * 8 + static_cast<std::uint64_t>(learner));
        const Stream stream = random_stream(random, 150, 30);
        OnlinePltOptions options = small_options(policy, learner, replay, replay == 0 ? 0 : 5);
        options.arity = 2 + random.below(3);
        OnlinePlt grown(options);
        learn(grown, stream);
        options.policy = Policy::fixed;
        OnlinePlt given(options, grown.tree());
        learn(given, stream);
        check_same_classifiers(grown, given);
        CHECK_EQ(grown.examples_seen(), stream.size());
      }
    }
  }
}

TEST("online plt: may grow from a given tree") {
  for (const Policy policy : kGrowing) {
    Random random(5);
    const Stream stream = random_stream(random, 200, 40);
    // The root has a leaf and an inner node with two leaves: such nodes never grow, but may be given.
    const LabelTree start({{kNone, 0, 1, 1, 3, 3}}, {{kNone, kNone, 0, kNone, 1, 2}}, std::vector<std::uint8_t>(6), 3);
    OnlinePltOptions options = small_options(policy, LearnerKind::arow, 1, 8);
    OnlinePlt grown(options, start);
    learn(grown, stream);
    options.policy = Policy::fixed;
    OnlinePlt given(options, grown.tree());
    learn(given, stream);
    check_same_classifiers(grown, given);
  }
}

// --- the same result, however the work is divided --------------------------------------------------------------------

TEST("online plt: the same bytes from any number of threads") {
  std::size_t round = 0;
  for (const Policy policy : kGrowing) {
    const LearnerKind learner = kEveryLearner[round++ % 3];
    Random random(round);
    const Stream stream = random_stream(random, 2500, 120);  // several windows
    const OnlinePltOptions options = small_options(policy, learner, 1, 20);
    OnlinePlt alone(options);
    learn(alone, stream);
    const MemoryArchive expected = saved(alone);
    for (const unsigned threads : {2U, 3U, 8U}) {
      OnlinePlt shared(options);
      learn(shared, stream, 0, stream.size(), threads);
      CHECK(shared.usable());
      CHECK(saved(shared) == expected);
    }
  }
}

TEST("online plt: the same bytes wherever the stream is cut, with labels removed in between") {
  for (const Policy policy : kGrowing) {
    Random random(static_cast<std::uint64_t>(policy));
    const Stream stream = random_stream(random, 1300, 100);
    const OnlinePltOptions options = small_options(policy, LearnerKind::arow, 1, 30);
    const auto result = [&](std::uint64_t seed, unsigned threads) {
      Random cuts(seed);
      OnlinePlt model(options);
      Stream spared = stream;
      std::set<LabelId> gone;
      for (std::size_t begin = 0; begin < stream.size();) {
        // Labels are removed after 400 and 900 examples, whatever the cuts.
        std::size_t end = std::min(stream.size(), begin + 1 + cuts.below(700));
        for (const std::size_t stop : {std::size_t{400}, std::size_t{900}}) {
          if (begin < stop) end = std::min(end, stop);
        }
        learn(model, spared, begin, end, threads);
        begin = end;
        if (end != 400 && end != 900) continue;
        std::vector<LabelId> leaving;
        for (LabelId label = end == 400 ? 0 : 1; label < model.tree().label_count(); label += 3) {
          if (model.tree().leaf_of(label) != kNone) leaving.push_back(label);
        }
        model.remove_labels(leaving);
        gone.insert(leaving.begin(), leaving.end());
        for (auto& labels : spared.labels) std::erase_if(labels, [&](LabelId label) { return gone.contains(label); });
      }
      return saved(model);
    };
    const MemoryArchive expected = result(0, 1);
    for (const std::uint64_t seed : {1U, 2U, 3U}) CHECK(result(seed, seed == 1 ? 1 : 4) == expected);
  }
}

// The bytes counted towards the budget are saved, too.
TEST("online plt: the same bytes within a budget, wherever the stream is cut") {
  for (const Policy policy : kGrowing) {
    Random random(20 + static_cast<std::uint64_t>(policy));
    const Stream stream = random_stream(random, 300, 30, 200);
    OnlinePltOptions options = small_options(policy, LearnerKind::arow, 1, 30);
    options.max_bytes = 10'000'000;
    OnlinePlt roomy(options);
    learn(roomy, stream);
    const std::uint64_t counted = saved(roomy).array<std::uint64_t>("budget")[0];
    for (const std::uint64_t max_bytes : {counted * 6 / 10, counted * 8 / 10, counted + 1000}) {
      options.max_bytes = max_bytes;
      const auto result = [&](std::size_t cut, unsigned threads) {
        OnlinePlt model(options);
        for (std::size_t begin = 0; begin < stream.size(); begin += cut) {
          learn(model, stream, begin, std::min(stream.size(), begin + cut), threads);
        }
        return saved(model);
      };
      const MemoryArchive expected = result(1, 1);
      CHECK(result(stream.size(), 1) == expected);
      CHECK(result(stream.size(), 3) == expected);
      CHECK(result(17, 2) == expected);
    }
  }
}

TEST("online plt: the seed matters if choices are random") {
  Random random(3);
  const Stream stream = random_stream(random, 300, 30);
  OnlinePltOptions options = small_options(Policy::random, LearnerKind::adagrad);
  OnlinePlt one(options);
  learn(one, stream);
  options.seed = 18;
  OnlinePlt other(options);
  learn(other, stream);
  CHECK(!(saved(one) == saved(other)));
}

TEST("online plt: scales examples to unit length if asked to") {
  Random random(4);
  const Stream stream = random_stream(random, 200, 20);
  Stream longer = stream;
  for (Example& x : longer.x) {
    for (float& value : x.values) value *= 1024.0F;  // exact in floats
  }
  for (const bool normalize : {true, false}) {
    OnlinePltOptions options = small_options(Policy::best_greedy, LearnerKind::adagrad);
    options.normalize = normalize;
    OnlinePlt one(options);
    OnlinePlt other(options);
    learn(one, stream);
    learn(other, longer);
    CHECK_EQ(saved(one) == saved(other), normalize);
  }
}

// --- trees ----------------------------------------------------------------------------------------------------------

TEST("online plt: no node has more children than the policy allows") {
  for (const Policy policy : kGrowing) {
    for (const std::uint32_t arity : {2U, 5U}) {
      Random random(7);
      const Stream stream = random_stream(random, 400, 80);
      OnlinePltOptions options = small_options(policy, LearnerKind::sgd);
      options.arity = arity;
      options.max_leaves = 6;
      OnlinePlt model(options);
      learn(model, stream);
      const LabelTree& tree = model.tree();
      CHECK_EQ(tree[kRoot].live, tree.label_count());
      for (NodeId v = 1; v < tree.size(); ++v) {
        const std::size_t children = tree[v].children.size();
        if (policy == Policy::cpet) CHECK(children == 0 || children == 2);
        else CHECK(children <= (tree.shape(v).is_pre_leaf() ? 6U : arity));
      }
    }
  }
}

TEST("online plt: with the complete policy, depth is logarithmic") {
  Random random(8);
  Stream stream = random_stream(random, 256, 0, 4);
  for (LabelId label = 0; label < 256; ++label) stream.labels[label] = {label};
  OnlinePltOptions options = small_options(Policy::complete, LearnerKind::sgd);
  options.max_leaves = 2;
  OnlinePlt model(options);
  learn(model, stream);
  std::uint32_t deepest = 0;
  for (LabelId label = 0; label < 256; ++label) {
    std::uint32_t depth = 0;
    for (NodeId v = model.tree().leaf_of(label); v != kRoot; v = model.tree().parent(v)) ++depth;
    deepest = std::max(deepest, depth);
  }
  CHECK(deepest <= 10);
}

TEST("online plt: reuses the places of removed labels") {
  for (const Policy policy : {Policy::best_greedy, Policy::random, Policy::complete}) {
    OnlinePltOptions options = small_options(policy, LearnerKind::arow, 1, 10);
    options.max_leaves = 100;  // a single pre-leaf node, in which every vacant place is found
    OnlinePlt model(options);
    Stream stream;
    for (LabelId label = 0; label < 300; ++label) {
      stream.x.push_back({{label % 5}, {1.0F}});
      stream.labels.push_back({label});
    }
    for (LabelId label = 0; label < 300; ++label) {
      learn(model, stream, label, label + 1);
      if (label < 10) continue;
      const LabelId old = label - 10;
      model.remove_labels(std::span(&old, 1));
    }
    CHECK(model.tree().size() <= 2 + 12);
    CHECK_EQ(model.tree()[kRoot].live, 10U);
  }
}

// --- what was learnt -------------------------------------------------------------------------------------------------

TEST("online plt: learns what there is to learn") {
  for (const Policy policy : kGrowing) {
    for (const LearnerKind learner : kEveryLearner) {
      Random random(9);
      Stream stream;
      for (int i = 0; i < 3000; ++i) {  // a feature for every label, and one of examples without labels
        const std::uint32_t which = random.below(11);
        stream.x.push_back({{which}, {1.0F}});
        stream.labels.emplace_back();
        if (which < 10) stream.labels.back().push_back(which);
      }
      // Labels must arrive in order of their numbers.
      for (LabelId label = 0; label < 10; ++label) {
        stream.x[label] = {{label}, {1.0F}};
        stream.labels[label] = {label};
      }
      OnlinePltOptions options = small_options(policy, learner);
      options.learner.l2 = 0.0F;
      OnlinePlt model(options);
      learn(model, stream);
      const Scope scope(model.tree());
      Searcher searcher({model.tree(), model.blocks()}, scope);
      std::vector<Scored> found;
      for (LabelId label = 0; label < 10; ++label) {
        searcher.top_k(stream.x[label].view(), 1, found);
        REQUIRE(found.size() == 1);
        CHECK_EQ(found[0].label, label);
        CHECK(found[0].probability > 0.5F);
      }
      const Example nothing{{10}, {1.0F}};
      searcher.top_k(nothing.view(), 1, found);
      CHECK(found[0].probability < 0.3F);  // the root has learnt that an example may have no label
    }
  }
}

TEST("online plt: an empty stream, and an empty example") {
  OnlinePlt model(small_options(Policy::best_greedy, LearnerKind::arow, 1));
  const Stream none;
  learn(model, none);
  learn(model, none, 0, 0, 4);
  CHECK(model.usable());
  CHECK_EQ(model.examples_seen(), 0U);
  Stream empty;
  empty.x.resize(3);
  empty.labels = {{}, {0}, {1, 2}};
  learn(model, empty);
  CHECK_EQ(model.tree()[kRoot].live, 3U);
  CHECK_EQ(model.examples_seen(), 3U);
}

TEST("online plt: size() is the memory held") {
  Random random(10);
  const Stream stream = random_stream(random, 300, 30);
  OnlinePlt forgetful(small_options(Policy::best_greedy, LearnerKind::arow));
  OnlinePlt remembering(small_options(Policy::best_greedy, LearnerKind::arow, 1));
  learn(forgetful, stream);
  learn(remembering, stream);
  std::uint64_t weights = 0;
  for (NodeId v = 0; v < forgetful.tree().size(); ++v) {
    const RowBlock* block = forgetful.block(v);
    if (block != nullptr) weights += std::uint64_t{block->rows()} * block->columns();
  }
  CHECK_EQ(forgetful.size().weights, weights);
  CHECK(forgetful.size().model_bytes > weights * 2 * sizeof(BFloat16));
  std::size_t payload = 0;
  for (const Example& x : stream.x) payload += x.ids.size() * (sizeof(float) + sizeof(FeatureId));
  CHECK(remembering.size().memory_bytes > payload);
  CHECK(remembering.size().memory_bytes > forgetful.size().memory_bytes + payload);
}

// --- weights --------------------------------------------------------------------------------------------------------

// The stream without examples of weight 0, whose labels must have occurred before.
Stream without_weightless(const Stream& stream) {
  Stream left;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (stream.weights[i] == 0.0F) continue;
    left.x.push_back(stream.x[i]);
    left.labels.push_back(stream.labels[i]);
    left.weights.push_back(stream.weights[i]);
  }
  return left;
}

TEST("online plt: with weights, too, it is proper, the same for any number of threads, and resumes unchanged") {
  for (const LearnerKind learner : kEveryLearner) {
    Random random(12);
    Stream stream = random_stream(random, 300, 40);
    weigh(stream, random);
    OnlinePltOptions options = small_options(Policy::best_greedy, learner, 2, 7);
    OnlinePlt grown(options);
    learn(grown, stream);
    OnlinePlt threaded(options);
    learn(threaded, stream, 0, stream.size(), 3);
    CHECK(saved(threaded) == saved(grown));
    OnlinePlt half(options);
    learn(half, stream, 0, 150);
    const MemoryArchive archive = saved(half);
    CHECK(archive.has("example.weight"));
    OnlinePlt other(options, archive, false);
    learn(other, stream, 150, stream.size());
    CHECK(saved(other) == saved(grown));
    options.policy = Policy::fixed;
    OnlinePlt given(options, grown.tree());
    const Stream left = without_weightless(stream);
    learn(given, left);
    check_same_classifiers(grown, given);
    CHECK_EQ(grown.examples_seen(), stream.size());
    CHECK_EQ(given.examples_seen(), left.size());
  }
}

TEST("online plt: thresholds are tuned without examples of weight 0, also after loading") {
  Random random(15);
  Stream stream = random_stream(random, 300, 20);
  weigh(stream, random);
  OnlinePltOptions options = small_options(Policy::best_greedy, LearnerKind::arow);
  options.ofo = OfoOptions{};
  OnlinePlt model(options);
  learn(model, stream, 0, 150);
  const MemoryArchive archive = saved(model);
  const auto counted = static_cast<std::uint64_t>(
      std::count_if(stream.weights.begin(), stream.weights.begin() + 150, [](float weight) { return weight > 0.0F; }));
  CHECK(counted < 150);
  OnlinePlt loaded(options, archive, false);
  for (const OnlinePlt* one : {&model, &loaded}) CHECK_EQ(one->thresholds()->examples(), counted);
  for (LabelId label = 0; label < model.tree().label_count(); ++label) {
    CHECK_EQ(loaded.thresholds()->threshold(label), model.thresholds()->threshold(label));
  }
  for (OnlinePlt* one : {&model, &loaded}) learn(*one, stream, 150, stream.size());
  CHECK(saved(loaded) == saved(model));

  const auto refused = [&](const MemoryArchive& wrong) {
    CHECK_THROWS(std::invalid_argument, OnlinePlt(options, wrong, false));
  };
  const auto longer = [](auto& numbers) { numbers.push_back(0); };
  const auto set = [&](const MemoryArchive& from, const char* name, std::uint64_t value) {
    return changed(from, name, set_first(static_cast<double>(value)));
  };
  refused(changed(archive, "ofo.examples", longer));
  refused(set(archive, "ofo.examples", 151));
  refused(set(archive, "ofo.examples", 1));
  // A label was at most as often true as there were examples, and at most as often true or predicted.
  const MemoryArchive never = set(set(set(archive, "ofo.hits", 0), "ofo.positives", 0), "ofo.predicted", 0);
  CHECK_EQ(OnlinePlt(options, set(never, "ofo.positives", counted), false).thresholds()->counts()[0].positives,
           counted);
  refused(set(never, "ofo.positives", counted + 1));
  refused(set(set(never, "ofo.positives", counted), "ofo.predicted", 1));
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;  // twice as many are 0
  refused(set(set(never, "ofo.positives", kHalf), "ofo.predicted", kHalf));
  MemoryArchive unknown = archive;
  while (std::get<std::vector<std::uint64_t>>(unknown.arrays()["ofo.hits"]).size() <= model.tree().label_count()) {
    for (const char* name : {"ofo.hits", "ofo.positives", "ofo.predicted"}) unknown = changed(unknown, name, longer);
  }
  refused(unknown);
}

TEST("online plt: examples that all count once leave no weights in the archive") {
  Random random(13);
  Stream stream = random_stream(random, 60, 10);
  OnlinePlt plain(small_options(Policy::best_greedy, LearnerKind::arow, 1));
  learn(plain, stream);
  stream.weights.assign(stream.size(), 1.0F);
  OnlinePlt weighted(small_options(Policy::best_greedy, LearnerKind::arow, 1));
  learn(weighted, stream);
  CHECK(!saved(plain).has("example.weight"));
  CHECK(saved(plain) == saved(weighted));
}

TEST("online plt: invalid weights are refused") {
  Random random(14);
  Stream stream = random_stream(random, 60, 10);
  weigh(stream, random);
  const OnlinePltOptions options = small_options(Policy::best_greedy, LearnerKind::arow, 1);
  OnlinePlt model(options);
  learn(model, stream);
  for (const float wrong : {0.0F, -1.0F, 1e7F, std::nanf("")}) {
    MemoryArchive archive = saved(model);
    std::get<std::vector<float>>(archive.arrays()["example.weight"]).back() = wrong;
    CHECK_THROWS(std::invalid_argument, OnlinePlt(options, archive, false));
  }
  MemoryArchive archive = saved(model);
  std::get<std::vector<float>>(archive.arrays()["example.weight"]).pop_back();
  CHECK_THROWS(std::invalid_argument, OnlinePlt(options, archive, false));
}

// --- refused input ---------------------------------------------------------------------------------------------------

TEST("online grove: removing an unknown label is refused, and removes none") {
  Random random(11);
  const Stream stream = random_stream(random, 100, 10);
  OnlineGroveOptions options{small_options(Policy::best_greedy, LearnerKind::arow)};
  options.trees = 2;
  OnlineGrove model(options);
  model.learn([&](std::size_t i) { return stream[i]; }, 0, stream.size(), 1);
  const MemoryArchive before = saved(model);
  const auto refused = [&](std::vector<LabelId> labels) {
    CHECK_THROWS(std::invalid_argument, model.remove_labels(labels));
    CHECK(saved(model) == before);
  };
  refused({0, 1, 99});
  refused({2, 2});
  refused({kNone});
  const std::vector<LabelId> first{0};
  model.remove_labels(first);
  for (const OnlinePlt& one : model.trees()) CHECK_EQ(one.tree().leaf_of(0), kNone);
  CHECK_THROWS(std::invalid_argument, model.remove_labels(first));
}

TEST("online plt: a fixed tree takes no new label") {
  const LabelTree tree({{kNone, 0, 1, 1}}, {{kNone, kNone, 0, 1}}, std::vector<std::uint8_t>(4), 2);
  for (const unsigned threads : {1U, 4U}) {
    OnlinePlt model(small_options(Policy::fixed, LearnerKind::arow), tree);
    Stream stream;
    stream.x.push_back({{1}, {1.0F}});
    stream.labels.push_back({2});
    CHECK_THROWS(std::invalid_argument, learn(model, stream, 0, 1, threads));
    CHECK(!model.usable());
  }
}

}  // namespace
}  // namespace labelgrove::testing
