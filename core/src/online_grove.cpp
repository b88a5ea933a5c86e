#include "labelgrove/online_grove.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

// Examples between which trees that are tuned together learn what they have taken in.
constexpr std::size_t kWindow = 4096;

OnlinePltOptions options_of(const OnlineGroveOptions& options, std::uint32_t tree) {
  OnlinePltOptions own = options;
  if (tree == 0) return own;
  own.seed = draw(options.seed, Draw::tree, tree);
  if (options.policy == Policy::best_greedy) own.policy = Policy::random;
  return own;
}

// The names of a tree's arrays: those of the first one as if it were alone, before others stands "tree", their number
// and a dot.
std::string array_of(std::uint32_t tree, std::string_view name) {
  return "tree" + std::to_string(tree) + "." + std::string(name);
}

class TreeWriter final : public ArrayWriter {
 public:
  TreeWriter(ArrayWriter& out, std::uint32_t tree) : out_(out), tree_(tree) {}
  std::span<std::uint8_t> bytes(std::string_view name, std::size_t size) override {
    return out_.bytes(array_of(tree_, name), size);
  }
  std::span<std::uint32_t> u32(std::string_view name, std::size_t size) override {
    return out_.u32(array_of(tree_, name), size);
  }
  std::span<std::uint64_t> u64(std::string_view name, std::size_t size) override {
    return out_.u64(array_of(tree_, name), size);
  }
  std::span<float> f32(std::string_view name, std::size_t size) override {
    return out_.f32(array_of(tree_, name), size);
  }
  std::span<double> f64(std::string_view name, std::size_t size) override {
    return out_.f64(array_of(tree_, name), size);
  }
  void u32(std::string_view name, std::size_t size, Source<std::uint32_t> source) override {
    out_.u32(array_of(tree_, name), size, std::move(source));
  }
  void f32(std::string_view name, std::size_t size, Source<float> source) override {
    out_.f32(array_of(tree_, name), size, std::move(source));
  }

 private:
  ArrayWriter& out_;
  std::uint32_t tree_;
};

class TreeReader final : public ArrayReader {
 public:
  TreeReader(const ArrayReader& saved, std::uint32_t tree) : saved_(saved), tree_(tree) {}
  bool has(std::string_view name) const override { return saved_.has(array_of(tree_, name)); }
  std::span<const std::uint8_t> bytes(std::string_view name) const override {
    return saved_.bytes(array_of(tree_, name));
  }
  std::span<const std::uint32_t> u32(std::string_view name) const override { return saved_.u32(array_of(tree_, name)); }
  std::span<const std::uint64_t> u64(std::string_view name) const override { return saved_.u64(array_of(tree_, name)); }
  std::span<const float> f32(std::string_view name) const override { return saved_.f32(array_of(tree_, name)); }
  std::span<const double> f64(std::string_view name) const override { return saved_.f64(array_of(tree_, name)); }
  void let_go() const override { saved_.let_go(); }

 private:
  const ArrayReader& saved_;
  std::uint32_t tree_;
};

bool same_counts(const OnlineThresholds* a, const OnlineThresholds* b) {
  const auto same = [](const OnlineThresholds::Counts& one, const OnlineThresholds::Counts& other) {
    return one.hits == other.hits && one.positives == other.positives && one.predicted == other.predicted;
  };
  return a == nullptr || (a->examples() == b->examples() && std::ranges::equal(a->counts(), b->counts(), same));
}

}  // namespace

OnlineGrove::OnlineGrove(const OnlineGroveOptions& options) : options_(options) {
  for (std::uint32_t t = 0; t < options.trees; ++t) trees_.emplace_back(options_of(options, t));
}

OnlineGrove::OnlineGrove(const OnlineGroveOptions& options, std::span<const LabelTree> trees) : options_(options) {
  for (std::uint32_t t = 0; t < options.trees; ++t) trees_.emplace_back(options_of(options, t), trees[t]);
}

OnlineGrove::OnlineGrove(const OnlineGroveOptions& options, std::span<const TreeView> batch,
                         const std::optional<OnlinePlt::Past>& past)
    : options_(options) {
  for (std::uint32_t t = 0; t < options.trees; ++t) trees_.emplace_back(options_of(options, t), batch[t], past);
}

OnlineGrove::OnlineGrove(const OnlineGroveOptions& options, const ArrayReader& saved, bool borrow, bool check_only)
    : options_(options) {
  trees_.emplace_back(options, saved, borrow, check_only);
  for (std::uint32_t t = 1; t < options.trees; ++t) {
    const OnlinePlt& tree = trees_.emplace_back(options_of(options, t), TreeReader(saved, t), borrow, check_only);
    bool same = tree.tree().label_count() == this->tree().label_count() && tree.examples_seen() == examples_seen() &&
                same_counts(thresholds(), tree.thresholds());
    for (LabelId label = 0; label < tree.tree().label_count() && same; ++label) {
      same = (tree.tree().leaf_of(label) == kNone) == (this->tree().leaf_of(label) == kNone);
    }
    require(same, "tree " + std::to_string(t) + " has learnt from other examples than tree 0");
  }
}

void OnlineGrove::save(ArrayWriter& out, bool for_prediction) const {
  first().save(out, for_prediction);
  for (std::uint32_t t = 1; t < trees_.size(); ++t) {
    TreeWriter further(out, t);
    trees_[t].save(further, for_prediction);
  }
}

void OnlineGrove::learn(const Examples& examples, std::size_t begin, std::size_t end, unsigned threads) {
  usable_ = false;  // until all is done
  if (options_.ofo && trees_.size() > 1) learn_and_tune(examples, begin, end, threads);
  else learn_each(examples, begin, end, std::max(threads, 1U));
  usable_ = true;
}

// A tree a thread, as far as trees go round; those that are left share the threads.
void OnlineGrove::learn_each(const Examples& examples, std::size_t begin, std::size_t end, unsigned threads) {
  const std::size_t left = trees_.size() % threads;
  const std::size_t whole = trees_.size() - left;
  parallel_for(whole, threads, [&](std::size_t t) { trees_[t].learn(examples, begin, end, 1); });
  parallel_for(left, static_cast<unsigned>(left), [&](std::size_t i) {
    const auto share = static_cast<unsigned>(threads / left + (i < threads % left ? 1 : 0));
    trees_[whole + i].learn(examples, begin, end, share);
  });
}

// A label is predicted if the mean of all trees reaches its threshold; then one of them does.
void OnlineGrove::learn_and_tune(const Examples& examples, std::size_t begin, std::size_t end, unsigned threads) {
  std::vector<ExampleId> held(trees_.size());
  std::vector<LabelId> found;
  std::vector<LabelId> candidates;
  while (begin < end) {
    for (const std::size_t stop = std::min(end, begin + kWindow); begin < stop; ++begin) {
      const OnlinePlt::Example example = examples(begin);
      candidates.clear();
      for (std::size_t t = 0; t < trees_.size(); ++t) held[t] = trees_[t].hold(example);
      if (held[0] == kNone) continue;
      for (std::size_t t = 0; t < trees_.size(); ++t) {
        trees_[t].candidates(held[t], found);
        candidates.insert(candidates.end(), found.begin(), found.end());
      }
      std::ranges::sort(candidates);
      candidates.erase(std::ranges::unique(candidates).begin(), candidates.end());
      std::erase_if(candidates, [&](LabelId label) {
        float sum = 0.0F;
        for (std::size_t t = 0; t < trees_.size(); ++t) sum += trees_[t].probability(held[t], label);
        return !thresholds()->predicts(label, sum / static_cast<float>(trees_.size()));
      });
      for (std::size_t t = 0; t < trees_.size(); ++t) trees_[t].teach(held[t], example.labels, candidates);
    }
    parallel_for(trees_.size(), threads, [&](std::size_t t) { trees_[t].settle(); });
  }
}

void OnlineGrove::expect_dense(std::uint32_t features) {
  for (OnlinePlt& tree : trees_) tree.expect_dense(features);
}

void OnlineGrove::remove_labels(std::span<const LabelId> labels) {
  for (OnlinePlt& tree : trees_) tree.remove_labels(labels);  // all have the same labels: the first one throws or none
}

void OnlineGrove::put_weights(std::span<const TreeView> batch) {
  for (std::size_t t = 0; t < trees_.size(); ++t) trees_[t].put_weights(batch[t]);
}

OnlinePlt::Size OnlineGrove::size() const {
  OnlinePlt::Size all;
  for (const OnlinePlt& tree : trees_) {
    const OnlinePlt::Size size = tree.size();
    all.weights += size.weights;
    all.model_bytes += size.model_bytes;
    all.memory_bytes += size.memory_bytes;
  }
  return all;
}

}  // namespace labelgrove
