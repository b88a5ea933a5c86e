#include "labelgrove/online_grove.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/grove_search.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

// Trees that are tuned together drain their queues after this many examples.
constexpr std::size_t kWindow = 4096;

// Starting threads takes longer than learning so few examples.
constexpr std::size_t kFew = 64;

// The trees share the budget evenly, after deducting the inherited arrays.
OnlinePltOptions options_of(const OnlineGroveOptions& options, std::uint32_t tree, const CompactPlt* batch = nullptr) {
  OnlinePltOptions own = options;
  if (options.max_bytes > 0) {
    const std::uint64_t inherited = batch != nullptr ? batch->size().model_bytes : 0;
    own.max_bytes = (options.max_bytes - std::min(options.max_bytes - options.trees, inherited)) / options.trees;
  }
  if (tree == 0) return own;
  own.seed = draw(options.seed, Draw::tree, tree);
  if (options.policy == Policy::best_greedy) own.policy = Policy::random;
  return own;
}

// The first tree's arrays are named as if it were alone; those of other trees have this prefix.
std::string prefix_of(std::uint32_t tree) { return "tree" + std::to_string(tree) + "."; }
// The prefix of the batch model that all trees resumed from.
constexpr std::string_view kBatch = "batch.";

class PrefixedWriter final : public ArrayWriter {
 public:
  PrefixedWriter(ArrayWriter& out, std::string_view prefix) : out_(out), prefix_(prefix) {}
  void make(std::string_view name, std::size_t size, Space& space) override { out_.make(named(name), size, space); }
  void stream(std::string_view name, std::size_t size, AnySource source) override {
    out_.stream(named(name), size, std::move(source));
  }
  void lend(std::string_view name, Lent array) override { out_.lend(named(name), array); }

 private:
  std::string named(std::string_view name) const { return prefix_ + std::string(name); }

  ArrayWriter& out_;
  std::string prefix_;
};

class PrefixedReader final : public ArrayReader {
 public:
  PrefixedReader(const ArrayReader& saved, std::string_view prefix) : saved_(saved), prefix_(prefix) {}
  bool has(std::string_view name) const override { return saved_.has(named(name)); }
  void find(std::string_view name, Array& array) const override { saved_.find(named(name), array); }
  void let_go() const override { saved_.let_go(); }

 private:
  std::string named(std::string_view name) const { return prefix_ + std::string(name); }

  const ArrayReader& saved_;
  std::string prefix_;
};

std::uint64_t saved_labels(const ArrayReader& saved) {
  const auto counters = saved.u64("counters");
  require(!counters.empty(), "array 'counters' must hold the number of labels");
  return counters[0];
}

bool same_counts(const OnlineThresholds* a, const OnlineThresholds* b) {
  return a == nullptr || (a->examples() == b->examples() && std::ranges::equal(a->counts(), b->counts()));
}

}  // namespace

OnlineGrove::OnlineGrove(const OnlineGroveOptions& options) : options_(options) {
  for (std::uint32_t t = 0; t < options.trees; ++t) trees_.emplace_back(options_of(options, t));
}

OnlineGrove::OnlineGrove(const OnlineGroveOptions& options, std::span<const LabelTree> trees) : options_(options) {
  for (std::uint32_t t = 0; t < options.trees; ++t) trees_.emplace_back(options_of(options, t), trees[t]);
}

OnlineGrove::OnlineGrove(const OnlineGroveOptions& options, const ArrayReader& batch,
                         const std::optional<std::span<const std::uint64_t>>& of_labels)
    : options_(options), batch_(std::make_unique<CompactPlt>(options.normalize, batch)) {
  require(batch_->trees().size() == options.trees, "the number of trees must match the options");
  std::optional<OnlinePlt::Past> past;
  if (of_labels) past = {batch_->examples_seen(), *of_labels};
  for (std::uint32_t t = 0; t < options.trees; ++t)
    trees_.emplace_back(options_of(options, t, batch_.get()), batch_->trees()[t], past);
}

OnlineGrove::OnlineGrove(const OnlineGroveOptions& options, const ArrayReader& saved, bool borrow, bool check_only)
    : options_(options) {
  // The caller has checked the first tree's number of labels; no other tree may allocate more.
  const std::uint64_t labels = saved_labels(saved);
  const PrefixedReader batch(saved, kBatch);
  if (batch.has("counters")) {
    require(saved_labels(batch) <= labels, "the batch model that learning resumes from has different labels");
    batch_ = std::make_unique<CompactPlt>(options.normalize, batch);
    require(batch_->trees().size() == options.trees,
            "the batch model that learning resumes from has a different number of trees");
  }
  const auto tree_of_batch = [&](std::uint32_t t) { return batch_ ? &batch_->trees()[t] : nullptr; };
  trees_.emplace_back(options_of(options, 0, batch_.get()), saved, borrow, check_only, tree_of_batch(0));
  for (std::uint32_t t = 1; t < options.trees; ++t) {
    const PrefixedReader own(saved, prefix_of(t));
    const std::string differs = "tree " + std::to_string(t) + " has learnt different examples from tree 0";
    require(saved_labels(own) == labels, differs);
    const OnlinePlt& tree =
        trees_.emplace_back(options_of(options, t, batch_.get()), own, borrow, check_only, tree_of_batch(t));
    require(tree.examples_seen() == examples_seen() && same_counts(thresholds(), tree.thresholds()) &&
                tree.tree().has_labels_of(this->tree()),
            differs);
  }
}

void OnlineGrove::save(ArrayWriter& out, bool for_prediction) const {
  first().save(out, for_prediction);
  for (std::uint32_t t = 1; t < trees_.size(); ++t) {
    PrefixedWriter further(out, prefix_of(t));
    trees_[t].save(further, for_prediction);
  }
  if (!batch_) return;
  PrefixedWriter batch(out, kBatch);
  batch_->save(batch);
}

void OnlineGrove::learn(const LabelledExamples& examples, std::size_t begin, std::size_t end, unsigned threads,
                        const Questions& questions) {
  usable_ = false;  // until all is done
  try {
    if (trees_.size() == 1) {
      trees_.front().learn(examples, begin, end, std::max(threads, 1U), questions);
    } else {
      for (std::size_t i = 0; i < questions.examples.size(); ++i) {
        const auto asked = static_cast<std::size_t>(questions.examples[i]);
        learn_together(examples, begin, asked, asked - begin < kFew ? 1 : threads);
        questions.answer(i, ask(examples(asked).x, questions.k));
        begin = asked;
      }
      learn_together(examples, begin, end, threads);
    }
  } catch (const BudgetExceeded&) {
    usable_ = trees_.size() == 1;  // other trees may have learnt more examples than this one
    throw;
  }
  usable_ = true;
}

void OnlineGrove::learn_together(const LabelledExamples& examples, std::size_t begin, std::size_t end,
                                 unsigned threads) {
  if (options_.ofo) learn_and_tune(examples, begin, end, threads);
  else learn_each(examples, begin, end, std::max(threads, 1U));
}

std::vector<Scored> OnlineGrove::ask(const Features& x, std::size_t k) const {
  std::vector<float> values;
  const std::vector<TreeView> views = views_of(*this);
  const GroveScope scope(views);
  std::vector<Scored> found;
  GroveSearcher(views, scope).top_k(options_.normalize ? of_unit_length(x, values) : x, k, found);
  return found;
}

// One tree per thread while there are enough trees; the remaining trees share the threads.
void OnlineGrove::learn_each(const LabelledExamples& examples, std::size_t begin, std::size_t end, unsigned threads) {
  const std::size_t left = trees_.size() % threads;
  const std::size_t whole = trees_.size() - left;
  parallel_for(whole, threads, [&](std::size_t t) { trees_[t].learn(examples, begin, end, 1); });
  parallel_for(left, static_cast<unsigned>(left), [&](std::size_t i) {
    const auto share = static_cast<unsigned>(threads / left + (i < threads % left ? 1 : 0));
    trees_[whole + i].learn(examples, begin, end, share);
  });
}

// A label is predicted if the mean of all trees reaches its threshold. At least one tree then reaches it by itself.
void OnlineGrove::learn_and_tune(const LabelledExamples& examples, std::size_t begin, std::size_t end,
                                 unsigned threads) {
  std::vector<ExampleId> held(trees_.size());
  std::vector<LabelId> found;
  std::vector<LabelId> candidates;
  while (begin < end) {
    for (const std::size_t stop = std::min(end, begin + kWindow); begin < stop; ++begin) {
      const LabelledExample example = examples(begin);
      candidates.clear();
      for (std::size_t t = 0; t < trees_.size(); ++t) held[t] = trees_[t].hold(example);
      if (held[0] == kNone) continue;
      if (!trees_.front().asks()) {
        for (std::size_t t = 0; t < trees_.size(); ++t) trees_[t].teach(held[t], example.labels, std::nullopt);
        continue;
      }
      for (std::size_t t = 0; t < trees_.size(); ++t) {
        trees_[t].candidates(held[t], found);
        candidates.insert(candidates.end(), found.begin(), found.end());
      }
      std::ranges::sort(candidates);
      candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
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

void OnlineGrove::remove_labels(std::span<const LabelId> labels) {
  const std::vector<LabelId> sorted = tree().removable(labels);  // in all trees, since they have the same labels
  for (OnlinePlt& one : trees_) one.remove_labels(sorted);
}

void OnlineGrove::restore_inherited() {
  for (OnlinePlt& tree : trees_) tree.restore_inherited();
  batch_.reset();
}

ModelSize OnlineGrove::size() const {
  ModelSize all;
  for (const OnlinePlt& tree : trees_) {
    const ModelSize size = tree.size();
    all.weights += size.weights;
    all.model_bytes += size.model_bytes;
    all.memory_bytes += size.memory_bytes;
  }
  if (batch_) {
    const ModelSize inherited = batch_->size();
    all.weights += inherited.weights;
    all.model_bytes += inherited.model_bytes;
  }
  return all;
}

}  // namespace labelgrove
