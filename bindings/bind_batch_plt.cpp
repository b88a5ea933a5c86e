#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "labelgrove/batch_trainer.hpp"
#include "labelgrove/compact_plt.hpp"
#include "labelgrove/room.hpp"
#include "model_archive.hpp"
#include "register.hpp"
#include "rows.hpp"
#include "tree_arrays.hpp"

namespace labelgrove::bindings {

namespace {

TrainingOptions training_options_from(const nb::dict& given) {
  TrainingOptions options;
  take_option(given, "loss", options.solver.loss);
  take_option(given, "cost", options.solver.cost);
  take_option(given, "plenty", options.solver.plenty);
  take_option(given, "bias", options.solver.bias);
  take_option(given, "tolerance", options.solver.tolerance);
  take_option(given, "max_passes", options.solver.max_passes);
  take_option(given, "seed", options.solver.seed);
  take_option(given, "link", options.link);
  if (options.link == Link::calibrated) take_option(given, "held_out", options.solver.held_out);
  take_option(given, "weight_threshold", options.weight_threshold);
  return options;
}

// `rows` and `labels` must outlive the result.
TrainingSet training_set_of(const nb::dict& options, std::span<const LabelTree> trees, LabelId label_count,
                            const Rows& rows, const RowLabels& labels, const nb::object& example_costs,
                            const nb::object& label_costs) {
  for (const LabelId label : labels.all()) {
    if (std::ranges::any_of(trees, [=](const LabelTree& tree) { return tree.leaf_of(label) == kNone; })) {
      throw std::invalid_argument("a label is not in every tree");
    }
  }
  TrainingSet set;
  set.size = rows.size();
  set.example = [&rows, &labels](std::size_t row) { return LabelledExample{rows[row], labels[row]}; };
  set.normalize = nb::cast<bool>(options["normalize"]);
  set.scale = nb::cast<double>(options["row_scale"]);
  set.example_costs = view_or_empty<float>(example_costs, rows.size());
  set.label_costs = view_or_empty<float>(label_costs, label_count);
  return set;
}

nb::dict train(const nb::dict& options, const nb::list& trees, LabelId label_count, const In<std::int64_t>& indptr,
               const In<FeatureId>& ids, const In<float>& values, const In<std::int64_t>& label_indptr,
               const In<LabelId>& labels, const nb::object& example_costs, const nb::object& label_costs,
               unsigned threads, Progress& progress) {
  const std::vector<LabelTree> label_trees = trees_from(trees, label_count);
  const Rows rows(indptr, ids, values);
  const RowLabels row_labels(label_indptr, labels, rows.size());
  const TrainingSet set =
      training_set_of(options, label_trees, label_count, rows, row_labels, example_costs, label_costs);
  const TrainingOptions training = training_options_from(options);
  const auto blocks = without_gil([&] { return train_blocks(training, label_trees, set, threads, progress); });
  std::vector<const LabelTree*> learnt;
  for (const LabelTree& tree : label_trees) learnt.push_back(&tree);
  return saved_by([&](ArrayWriter& out) { write_blocks(learnt, set.size, WeightType::float32, blocks, out); });
}

// Memory in arrays made by a Python function; small requests get ordinary memory.
class PythonRoom final : public Room {
 public:
  explicit PythonRoom(nb::object make) : make_(std::move(make)) {}
  PythonRoom(const PythonRoom&) = delete;
  PythonRoom& operator=(const PythonRoom&) = delete;

  void* take(std::size_t bytes) override {
    if (bytes < kSmall) return ::operator new(bytes);
    const nb::gil_scoped_acquire with_gil;
    auto array = nb::cast<Bytes>(make_(bytes), false);
    if (array.size() < bytes) throw std::invalid_argument("make_room returned an array that is too small");
    void* begin = array.data();
    arrays_.emplace(begin, std::move(array));
    return begin;
  }
  void give_back(void* begin, std::size_t bytes) noexcept override {
    if (bytes < kSmall) return ::operator delete(begin);
    const nb::gil_scoped_acquire with_gil;
    arrays_.erase(begin);
  }

 private:
  using Bytes = nb::ndarray<std::uint8_t, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  static constexpr std::size_t kSmall = std::size_t{1} << 16;
  nb::object make_;
  std::map<void*, Bytes> arrays_;  // protected by the interpreter's lock
};

nb::dict train_some(const nb::dict& options, const nb::tuple& tree, const In<NodeId>& nodes, LabelId label_count,
                    const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
                    const In<std::int64_t>& label_indptr, const In<LabelId>& labels, const nb::object& label_costs,
                    unsigned threads, Progress& progress, const nb::object& make_room) {
  const LabelTree own = tree_from(tree, label_count);
  const auto is_inner = [&](NodeId v) { return v < own.size() && !own[v].is_leaf(); };
  if (!std::ranges::all_of(view(nodes), is_inner) ||
      std::ranges::adjacent_find(view(nodes), std::greater_equal<>()) != view(nodes).end()) {
    throw std::invalid_argument("expected inner nodes, in ascending order");
  }
  const Rows rows(indptr, ids, values);
  const RowLabels row_labels(label_indptr, labels, rows.size());
  const TrainingSet set = training_set_of(options, {&own, 1}, label_count, rows, row_labels, nb::none(), label_costs);
  const TrainingOptions training = training_options_from(options);
  PythonRoom room(make_room);
  Room* const given = make_room.is_none() ? nullptr : &room;
  const auto blocks =
      without_gil([&] { return train_nodes(training, own, view(nodes), set, threads, progress, given); });
  return saved_by([&](ArrayWriter& out) { write_blocks(blocks, out); });
}

}  // namespace

void register_batch_plt(nb::module_& module) {
  nb::exception<Stopped>(module, "Stopped", PyExc_KeyboardInterrupt);
  nb::class_<Progress>(module, "Progress", "See core/include/labelgrove/progress.hpp.")
      .def(nb::init<>())
      .def("stop", &Progress::stop)
      .def_prop_ro("share", &Progress::share);
  module.def("train_batch_plt", &train, nb::arg("options"), nb::arg("trees"), nb::arg("label_count"), nb::arg("indptr"),
             nb::arg("ids"), nb::arg("values"), nb::arg("label_indptr"), nb::arg("labels"),
             nb::arg("example_costs").none(), nb::arg("label_costs").none(), nb::arg("threads"), nb::arg("progress"),
             "Train trees in batch, and return the arrays that CompactPlt loads; see "
             "core/include/labelgrove/batch_trainer.hpp.");
  module.def("train_batch_nodes", &train_some, nb::arg("options"), nb::arg("tree"), nb::arg("nodes"),
             nb::arg("label_count"), nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("label_indptr"),
             nb::arg("labels"), nb::arg("label_costs").none(), nb::arg("threads"), nb::arg("progress"),
             nb::arg("make_room").none(),
             "The blocks of some inner nodes of a tree, in the form of `train_batch_plt`. `make_room(bytes)`, if "
             "given, returns the arrays of uint8 in which large buffers are stored.");
}

}  // namespace labelgrove::bindings
