#include <limits>
#include <optional>
#include <stdexcept>

#include "harness.hpp"
#include "labelgrove/archive.hpp"
#include "labelgrove/search.hpp"
#include "stream.hpp"

namespace labelgrove::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<Scored> best(const OnlinePlt& model, const Features& x) {
  const Scope scope(model.tree());
  Searcher searcher({model.tree(), model.blocks()}, scope);
  std::vector<Scored> found;
  searcher.top_k(x, 5, found);
  return found;
}

void check_same_answers(const OnlinePlt& a, const OnlinePlt& b, const Stream& stream) {
  for (std::size_t i = 0; i < stream.size(); i += 7) {
    check_same(best(a, stream.x[i].view()), best(b, stream.x[i].view()));
  }
}

// A model with all features in use: removed labels, reused places, replays, examples with and without gaps.
OnlinePlt& grown(OnlinePlt& model, Stream& stream) {
  Random random(1);
  for (std::size_t i = 0; i < stream.size(); i += 5) stream.x[i] = random_example(random, 6, 1.0);
  learn(model, stream, 0, 100);
  const std::vector<LabelId> removed{1, 4};
  model.remove_labels(removed);
  for (auto& labels : stream.labels) std::erase_if(labels, [](LabelId label) { return label == 1 || label == 4; });
  learn(model, stream, 100, 150);
  return model;
}

struct Kept {
  OnlinePltOptions options;
  Stream stream;
  MemoryArchive full;
  MemoryArchive for_prediction;
};

Kept keep(Policy policy, LearnerKind learner, std::uint32_t replay, std::uint64_t memory) {
  Random random(2);
  Kept kept{small_options(policy, learner, replay, memory), random_stream(random, 220, 25), {}, {}};
  OnlinePlt model(kept.options);
  grown(model, kept.stream);
  kept.full = saved(model);
  kept.for_prediction = saved(model, true);
  return kept;
}

TEST("archive: saving, loading and saving again gives the same arrays, and learning resumes unchanged") {
  for (const Policy policy : kGrowing) {
    for (const LearnerKind learner : kEveryLearner) {
      for (const std::uint64_t memory : {0U, 9U}) {
        const std::uint32_t replay = policy == Policy::random ? 0 : 2;
        const OnlinePltOptions options = small_options(policy, learner, replay, memory);
        Random random(3);
        Stream stream = random_stream(random, 220, 25);
        OnlinePlt model(options);
        const MemoryArchive first = saved(grown(model, stream));
        OnlinePlt loaded(options, first, false);
        CHECK(loaded.can_learn());
        CHECK_EQ(loaded.examples_seen(), 150U);
        CHECK(saved(loaded) == first);
        check_same_answers(model, loaded, stream);
        learn(model, stream, 150, 220);
        learn(loaded, stream, 150, 220, 3);
        CHECK(saved(loaded) == saved(model));
      }
    }
  }
}

TEST("archive: a model that has not learnt yet") {
  const OnlinePltOptions options = small_options(Policy::best_greedy, LearnerKind::arow, 1, 5);
  const OnlinePlt model(options);
  const MemoryArchive empty = saved(model);
  OnlinePlt loaded(options, empty, false);
  CHECK(saved(loaded) == empty);
  Random random(4);
  const Stream stream = random_stream(random, 50, 5);
  learn(loaded, stream);
  OnlinePlt fresh(options);
  learn(fresh, stream);
  CHECK(saved(loaded) == saved(fresh));
}

TEST("archive: a model saved for prediction predicts the same, is half as large, and cannot learn") {
  for (const LearnerKind learner : kEveryLearner) {
    Kept kept = keep(Policy::best_greedy, learner, 1, 9);
    const OnlinePlt full(kept.options, kept.full, false);
    const OnlinePlt borrowing(kept.options, kept.for_prediction, true);
    CHECK(!borrowing.can_learn());
    check_same_answers(full, borrowing, kept.stream);
    CHECK(saved(borrowing, true) == kept.for_prediction);
    CHECK(kept.full.arrays().contains("memory.example"));
    CHECK(!kept.for_prediction.arrays().contains("memory.example"));
    CHECK(!kept.for_prediction.arrays().contains("weights.state"));
    CHECK(!kept.for_prediction.arrays().contains("weights.state8"));
    for (NodeId v = 0; v < borrowing.tree().size(); ++v) {
      CHECK(borrowing.block(v) == nullptr || !borrowing.block(v)->has_theta());
    }
  }
}

// --- hostile arrays -------------------------------------------------------------------------------------------------

// Returns whether the arrays are accepted. If so, the model must survive any use, checked by the sanitizers.
bool accepted(const Kept& kept, const MemoryArchive& arrays, bool for_prediction) {
  std::optional<OnlinePlt> model;
  try {
    model.emplace(kept.options, arrays, for_prediction);
  } catch (const std::invalid_argument&) {
    return false;
  }
  for (std::size_t i = 0; i < kept.stream.size(); i += 29) best(*model, kept.stream.x[i].view());
  saved(*model, true);
  if (for_prediction) return true;
  Stream more;
  const LabelId next = model->tree().label_count();
  for (LabelId label = 0; label < 6; ++label) {
    more.x.push_back(kept.stream.x[label]);
    more.labels.push_back({next + label});
    if (const LabelId known = label * 3; model->tree().leaf_of(known) != kNone) more.labels.back().push_back(known);
  }
  learn(*model, more);
  MemoryArchive after;
  model->save(after, false);
  return true;
}

bool refused(const Kept& kept, const MemoryArchive& arrays, bool for_prediction = false) {
  return !accepted(kept, arrays, for_prediction);
}

template <typename Change>
void on_every_array(const MemoryArchive& whole, Change&& change) {
  MemoryArchive copy = whole;
  for (auto& [name, array] : copy.arrays()) {
    const MemoryArchive::Array before = array;
    change(copy, name, array);
    array = before;
  }
}

TEST("archive: arrays that are missing, of another type, too short or too long are refused") {
  const Kept kept = keep(Policy::best_greedy, LearnerKind::arow, 1, 9);
  for (const bool for_prediction : {false, true}) {
    const MemoryArchive& whole = for_prediction ? kept.for_prediction : kept.full;
    CHECK(accepted(kept, whole, for_prediction));
    on_every_array(whole, [&](MemoryArchive& damaged, const std::string& name, MemoryArchive::Array& array) {
      const auto check = [&](const char* what) {
        if (accepted(kept, damaged, for_prediction)) fail(__FILE__, __LINE__, name + " " + what + " was accepted");
      };
      const MemoryArchive::Array before = array;
      MemoryArchive without = damaged;
      without.arrays().erase(name);
      if (accepted(kept, without, for_prediction)) fail(__FILE__, __LINE__, "accepted without " + name);
      if (std::holds_alternative<std::vector<float>>(array)) array = std::vector<std::uint32_t>(3);
      else array = std::vector<float>(3);
      check("of the wrong type");
      array = before;
      std::visit([](auto& numbers) { numbers.push_back(numbers.empty() ? 0 : numbers.back()); }, array);
      check("with one number more");
      array = before;
      if (std::visit([](const auto& numbers) { return numbers.empty(); }, array)) return;
      std::visit([](auto& numbers) { numbers.pop_back(); }, array);
      check("with one number less");
      std::visit([](auto& numbers) { numbers.clear(); }, array);
      check("without numbers");
    });
  }
}

// Any number changed to any other must be refused, or give a model that survives any use.
TEST("archive: one number changed to an extreme one") {
  for (const bool for_prediction : {false, true}) {
    for (const Policy policy : {Policy::best_greedy, Policy::cpet}) {
      const Kept kept = keep(policy, for_prediction ? LearnerKind::adagrad : LearnerKind::arow, 1, 9);
      const MemoryArchive& whole = for_prediction ? kept.for_prediction : kept.full;
      Random random(5);
      on_every_array(whole, [&](MemoryArchive& damaged, const std::string& name, MemoryArchive::Array& array) {
        std::visit(
            [&](auto& numbers) {
              using T = typename std::remove_reference_t<decltype(numbers)>::value_type;
              constexpr T kMost = std::numeric_limits<T>::max();
              for (int i = 0; i < 5 && !numbers.empty(); ++i) {
                const std::size_t at = i == 0 ? 0 : i == 1 ? numbers.size() - 1 : random.below(numbers.size());
                const T before = numbers[at];
                std::vector<T> others{T{0}, T{1}, T{2}, kMost, static_cast<T>(before + 1), static_cast<T>(before - 1)};
                if constexpr (std::is_same_v<T, float>)
                  others.insert(others.end(), {kNan, kInfinity, -kInfinity, -1.0F});
                else others.push_back(static_cast<T>(kMost / 2));
                for (const T other : others) {
                  // The number of labels that ever existed: the core trusts its caller and allocates memory for them.
                  if (name == "counters" && at == 0 && static_cast<double>(other) > 1e6) continue;
                  numbers[at] = other;
                  accepted(kept, damaged, for_prediction);
                }
                numbers[at] = before;
              }
            },
            array);
      });
    }
  }
}

TEST("archive: several numbers changed at once") {
  const Kept kept = keep(Policy::best_greedy, LearnerKind::arow, 2, 9);
  std::size_t taken = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    MemoryArchive damaged = kept.full;
    for (std::uint32_t times = 1 + random.below(3); times > 0; --times) {
      auto at = damaged.arrays().begin();
      std::advance(at, random.below(damaged.arrays().size()));
      if (at->first == "counters") continue;
      std::visit(
          [&](auto& numbers) {
            if (numbers.empty()) return;
            const std::size_t i = random.below(numbers.size());
            const std::size_t j = random.below(numbers.size());
            if (random.chance(0.5)) std::swap(numbers[i], numbers[j]);
            else numbers[i] = numbers[j];
          },
          at->second);
    }
    taken += accepted(kept, damaged, false) ? 1 : 0;
  }
  CHECK(taken > 30);  // many weights may have other values
  CHECK(taken < 470);
}

// By name: values that must be refused however harmless they look.
TEST("archive: each invariant is checked") {
  const Kept kept = keep(Policy::best_greedy, LearnerKind::arow, 1, 9);
  MemoryArchive damaged = kept.full;
  const auto check = [&](const char* name, auto change) {
    MemoryArchive::Array& array = damaged.arrays().at(name);
    const MemoryArchive::Array before = array;
    change(array);
    if (!refused(kept, damaged)) fail(__FILE__, __LINE__, std::string(name) + ": the damage was accepted");
    array = before;
  };
  const auto u8 = [](auto& array) -> auto& { return std::get<std::vector<std::uint8_t>>(array); };
  const auto u32 = [](auto& array) -> auto& { return std::get<std::vector<std::uint32_t>>(array); };
  const auto u64 = [](auto& array) -> auto& { return std::get<std::vector<std::uint64_t>>(array); };
  const auto f32 = [](auto& array) -> auto& { return std::get<std::vector<float>>(array); };
  const auto u16 = [](auto& array) -> auto& { return std::get<std::vector<std::uint16_t>>(array); };
  const auto half = [](float number) { return rounded(number, 0).bits; };
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

  check("counters", [&](auto& a) { u64(a)[0] = kNone - 1; });
  check("counters", [&](auto& a) { u64(a)[0] = huge; });
  check("counters", [&](auto& a) { u64(a)[0] = 0; });  // labels out of range
  check("counters", [&](auto& a) { u64(a)[1] = huge; });
  check("counters", [&](auto& a) { u64(a)[2] = huge; });
  check("tree.parent", [&](auto& a) { u32(a)[2] = 2; });
  check("tree.label", [&](auto& a) { u32(a)[1] = 0; });
  check("block.node", [&](auto& a) { u32(a)[1] = u32(a)[0]; });
  check("block.node", [&](auto& a) { u32(a).back() = kNone; });
  check("block.theta", [&](auto& a) { u8(a)[0] = 1; });  // the node above the root needs none
  check("block.updates", [&](auto& a) { u64(a)[0] = huge; });
  check("weights.feature", [&](auto& a) { u32(a)[1] = u32(a)[0]; });
  check("weights.feature", [&](auto& a) { u32(a)[0] = kNone; });
  check("weights.value16", [&](auto& a) { u16(a)[0] = half(kNan); });
  check("weights.value16", [&](auto& a) { u16(a).back() = half(-kInfinity); });
  check("weights.state8", [&](auto& a) { u8(a).pop_back(); });
  check("memory.reached", [&](auto& a) { u64(a)[0] = huge; });
  check("memory.reached", [&](auto& a) { u64(a)[0] = 3; });  // fewer than there are entries
  check("memory.size", [&](auto& a) { --u32(a)[0]; });
  check("memory.example", [&](auto& a) { u32(a)[0] = kNone; });
  check("memory.child", [&](auto& a) { u32(a)[0] = 100; });
  check("example.feature", [&](auto& a) { std::ranges::reverse(u32(a)); });
  check("example.value", [&](auto& a) { f32(a)[0] = kNan; });
  check("example.features", [&](auto& a) { u32(a)[0] = kNone; });
  check("example.dense", [&](auto& a) { u8(a)[0] = u8(a)[0] == 0 ? 1 : 0; });
  CHECK(saved(OnlinePlt(kept.options, damaged, false)) == kept.full);
}

TEST("archive: a tree without its classifiers is refused") {
  const Kept kept = keep(Policy::best_greedy, LearnerKind::arow, 0, 0);
  for (const bool for_prediction : {false, true}) {
    MemoryArchive damaged = for_prediction ? kept.for_prediction : kept.full;
    for (auto& [name, array] : damaged.arrays()) {
      if (name.starts_with("block.") || name.starts_with("weights."))
        std::visit([](auto& numbers) { numbers.clear(); }, array);
    }
    CHECK(refused(kept, damaged, for_prediction));
  }
}

TEST("archive: a budget that the options do not allow is refused") {
  OnlinePltOptions options = small_options(Policy::best_greedy, LearnerKind::arow, 1, 9);
  options.max_bytes = 1 << 20;
  const MemoryArchive whole = saved(OnlinePlt(options));
  const auto with = [&](std::uint64_t counted, std::uint64_t remembered) {
    MemoryArchive archive = whole;
    archive.arrays().at("budget") = std::vector<std::uint64_t>{counted, remembered};
    return archive;
  };
  for (const std::uint64_t remembered : {1U, 9U}) OnlinePlt(options, with(1 << 20, remembered), false);
  CHECK_THROWS(std::invalid_argument, OnlinePlt(options, with((1 << 20) + 1, 9), false));
  CHECK_THROWS(std::invalid_argument, OnlinePlt(options, with(0, 10), false));
  CHECK_THROWS(std::invalid_argument, OnlinePlt(options, with(0, 0), false));
}

TEST("archive: options that do not belong to the arrays are refused") {
  const Kept kept = keep(Policy::best_greedy, LearnerKind::arow, 1, 9);
  const auto with = [&](auto change) {
    Kept other = kept;
    change(other.options);
    return refused(other, other.full);
  };
  CHECK(with([](OnlinePltOptions& o) { o.policy = Policy::fixed; }));  // has no auxiliary classifiers
  CHECK(with([](OnlinePltOptions& o) { o.policy = Policy::cpet; }));   // has different ones
  CHECK(with([](OnlinePltOptions& o) { o.replay_memory = 8; }));
  CHECK(!with([](OnlinePltOptions& o) { o.replay = 3; }));
  CHECK(refused(kept, kept.for_prediction, false));
  const Kept plain = keep(Policy::best_greedy, LearnerKind::sgd, 0, 0);
  Kept stateful = plain;
  stateful.options.learner.kind = LearnerKind::adagrad;
  CHECK(refused(stateful, stateful.full));
}

}  // namespace
}  // namespace labelgrove::testing
