// Learnt vectors of features under a label tree: an example is the mean of its features' vectors, weighted by their
// values, and every node of the tree scores it by a vector of its own (hierarchical softmax: Baharav et al. 2021,
// section 5.2, after Joulin et al. 2016; one loss for every child: extreme fastText, Wydmuch et al. 2018).
//
// Nodes can be updated independently of each other, and so can the vectors of features. fit() learns in small batches,
// during which the vectors of features do not change: first all examples become means, then the nodes learn, each from
// its examples in order, and then the vectors of features are updated, each from its examples in order. Threads divide
// first the nodes and then the features among themselves, and the result is the same to the last bit for any number of
// them. It is also the same on every processor: see vector_kernels.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/embedding.hpp"
#include "labelgrove/example_store.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/progress.hpp"
#include "labelgrove/replay_memory.hpp"
#include "labelgrove/tree_policy.hpp"
#include "labelgrove/vector_block.hpp"

namespace labelgrove {

struct EmbeddingOptions : GrowthOptions {
  LearnerOptions learner;  // AdaGrad with one sum for each vector, or SGD
  std::uint32_t dimension = 100;
  bool softmax = false;    // siblings compete, and one of an example's labels is drawn
  bool normalize = false;  // no effect: the weighted mean does not depend on an example's length
  std::uint64_t seed = 0;
  std::uint32_t replay = 0;         // earlier examples that learn() repeats after each new one
  std::uint64_t replay_memory = 0;  // size of the random sample they come from; 0: all
};

class EmbeddingPlt final : public Embedding {
 public:
  // Starts from a tree, which grows for labels that it does not have.
  EmbeddingPlt(const EmbeddingOptions& options, LabelTree tree) : EmbeddingPlt(options, std::move(tree), true) {}
  // Loads what save() wrote. Throws std::invalid_argument, naming the first invariant that does not hold. With
  // `check_only` everything is checked but no vectors are kept, and the model must not be used.
  EmbeddingPlt(const EmbeddingOptions& options, const ArrayReader& saved, bool for_prediction, bool check_only = false);

  void save(ArrayWriter& out, bool for_prediction) const;

  // Sets the initial vectors of features, (features, dimension); all others are drawn. REQUIRES: nothing was learnt.
  void start_with(std::span<const FeatureId> features, std::span<const float> vectors);
  // Makes `epochs` passes over n examples, each in an order of its own, with a learning rate that falls to 0. REQUIRES:
  // as for learn(), and every label has a leaf.
  void fit(const LabelledExamples& examples, std::size_t n, std::uint32_t epochs, unsigned threads, Progress& progress);
  // Learns from examples [begin, end) of a stream, one after another, at the full rate, and after each repeats earlier
  // ones, including those of fit(). A label without a leaf is new. REQUIRES: can_learn(); ids increase, values are
  // finite; labels are distinct.
  void learn(const LabelledExamples& examples, std::size_t begin, std::size_t end);

  bool can_learn() const { return can_learn_; }
  bool usable() const { return usable_; }
  const EmbeddingOptions& options() const { return options_; }

  ModelSize size() const;

 private:
  class Batches;
  // The nodes that an example teaches; their positive children are slots[first], …, slots[end - 1].
  struct Visit {
    NodeId node;
    std::uint32_t first;
    std::uint32_t end;
  };
  struct Visits {
    std::vector<Visit> all;
    std::vector<std::uint32_t> slots;
    std::vector<std::uint64_t> reached;  // of the current example: nodes, and slots of their positive children

    void take(std::size_t labels);
    void clear() {
      all.clear();
      slots.clear();
    }
  };
  // Scratch space for learning the examples of a stream.
  struct Scratch {
    std::vector<std::uint32_t> rows;
    std::vector<float> shares;
    std::vector<float> hidden;
    std::vector<float> gradient;
    std::vector<float> apart;
    std::vector<float> scores;
    std::vector<LabelId> labels;
    Visits visits;
  };

  EmbeddingPlt(const EmbeddingOptions& options, LabelTree tree, bool with_blocks);
  // The number of vectors in a node's block: in a softmax the first child has none.
  std::uint32_t vectors_of(NodeId v) const {
    const auto children = static_cast<std::uint32_t>(tree_[v].children.size());
    return children > 0 && options_.softmax ? children - 1 : children;
  }
  float* vector(std::uint32_t row) { return vectors_.data() + row * stride_; }
  const float* vector(std::uint32_t row) const { return vectors_.data() + row * stride_; }
  std::uint32_t row_of(FeatureId feature);
  void mean(const Parts& parts, float* hidden) const override;
  float mean_square(const float* vector) const;
  // Gives v the vectors of its children, none of which has learnt yet.
  void start_block(NodeId v);
  void set_block(NodeId v, std::unique_ptr<VectorBlock> block);
  void grow(const float* hidden, LabelId label, NodeId& selected);
  void visit(std::span<const LabelId> labels, Visits& visits) const;
  std::span<const LabelId> drawn(std::span<const LabelId> labels, std::uint64_t pass, std::uint64_t example) const;
  void count(const Visits& visits);
  void learn_at(const Visit& visit, const Visits& visits, const float* hidden, float square, float weight,
                const VectorStep& step, std::vector<float>& scores, float* gradient);
  void meet(const LabelledExample& example, Scratch& work);
  void embed_all(const Features& x, Scratch& work);
  void learn_one(const LabelledExample& example, std::uint64_t pass, Scratch& work);
  void replay(Scratch& work);
  void remember(const LabelledExample& example);
  void load_memory(const ArrayReader& saved, bool check_only);
  void move(std::uint32_t row, float share, const float* gradient, float square, const VectorStep& step);

  EmbeddingOptions options_;
  TreePolicy policy_;
  std::vector<float> vectors_;  // by row of features_, stride_ numbers each
  std::vector<float> squares_;  // by row: the sum of the mean squares of its gradients
  std::vector<std::unique_ptr<VectorBlock>> blocks_;
  std::vector<std::uint64_t> reached_;  // by node: the number of examples with a label at or below it
  ExampleStore examples_;
  ReplayMemory memory_;  // of examples_, with their labels
  bool can_learn_ = true;
  bool usable_ = true;
};

}  // namespace labelgrove
