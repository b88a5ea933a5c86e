#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "labelgrove/online_plt.hpp"
#include "labelgrove/parallel.hpp"
#include "labelgrove/search.hpp"
#include "register.hpp"

namespace labelgrove::bindings {
namespace {

constexpr std::size_t kRowsPerTask = 32;

class DictWriter final : public ArrayWriter {
 public:
  explicit DictWriter(nb::dict& out) : out_(out) {}
  std::span<std::uint8_t> bytes(std::string_view name, std::size_t size) override {
    return make<std::uint8_t>(name, size);
  }
  std::span<std::uint32_t> u32(std::string_view name, std::size_t size) override {
    return make<std::uint32_t>(name, size);
  }
  std::span<std::uint64_t> u64(std::string_view name, std::size_t size) override {
    return make<std::uint64_t>(name, size);
  }
  std::span<float> f32(std::string_view name, std::size_t size) override { return make<float>(name, size); }

 private:
  template <typename T>
  std::span<T> make(std::string_view name, std::size_t size) {
    auto array = make_array<T>({size});
    out_[nb::str(name.data(), name.size())] = array;
    return {array.data(), size};
  }
  nb::dict& out_;
};

class DictReader final : public ArrayReader {
 public:
  explicit DictReader(const nb::dict& in) : in_(in) {}
  std::span<const std::uint8_t> bytes(std::string_view name) const override { return get<std::uint8_t>(name); }
  std::span<const std::uint32_t> u32(std::string_view name) const override { return get<std::uint32_t>(name); }
  std::span<const std::uint64_t> u64(std::string_view name) const override { return get<std::uint64_t>(name); }
  std::span<const float> f32(std::string_view name) const override { return get<float>(name); }

 private:
  template <typename T>
  std::span<const T> get(std::string_view name) const {
    const nb::str key(name.data(), name.size());
    In<T> array;
    if (!in_.contains(key) || !nb::try_cast(in_[key], array, false)) {
      throw std::invalid_argument("array '" + std::string(name) + "' is missing or of the wrong type");
    }
    if (reinterpret_cast<std::uintptr_t>(array.data()) % alignof(T) != 0) {
      throw std::invalid_argument("array '" + std::string(name) + "' lies at an address that its numbers cannot have");
    }
    return view(array);
  }
  const nb::dict& in_;
};

// Rows as Python has validated them: CSR, or dense rows when indptr is empty, each with the features 0, 1, 2, … of `ids`.
struct Rows {
  std::span<const std::int64_t> indptr;
  std::span<const FeatureId> ids;
  std::span<const float> values;

  Rows(const In<std::int64_t>& p, const In<FeatureId>& i, const In<float>& v)
      : indptr(view(p)), ids(view(i)), values(view(v)) {
    const bool fits = indptr.empty() ? !ids.empty() && values.size() % ids.size() == 0
                                     : ids.size() == values.size() && indptr.front() == 0 &&
                                           static_cast<std::size_t>(indptr.back()) == ids.size();
    if (!fits) throw std::invalid_argument("the arrays of the rows do not fit together");
  }
  std::size_t size() const { return indptr.empty() ? values.size() / ids.size() : indptr.size() - 1; }
  Features operator[](std::size_t row) const {
    if (indptr.empty()) return {ids.data(), values.data() + row * ids.size(), static_cast<std::uint32_t>(ids.size())};
    const auto begin = static_cast<std::size_t>(indptr[row]);
    return {ids.data() + begin, values.data() + begin, static_cast<std::uint32_t>(indptr[row + 1] - indptr[row])};
  }
};

// The engine, and the arrays that borrowed weights live in. The estimator lets nobody in while it changes.
struct Model {
  template <typename... Args>
  explicit Model(nb::object kept, Args&&... args) : keep(std::move(kept)), engine(std::forward<Args>(args)...) {}

  // The engine, unless it has run out of memory while learning.
  OnlinePlt& whole() {
    require_whole();
    return engine;
  }
  const OnlinePlt& whole() const {
    require_whole();
    return engine;
  }

  nb::object keep;
  OnlinePlt engine;

 private:
  void require_whole() const {
    if (!engine.usable()) throw std::runtime_error("the model ran out of memory while learning; load it as last saved");
  }
};

OnlinePltOptions options_from(const nb::dict& given) {
  OnlinePltOptions options;
  const auto integer = [&](const char* name) { return nb::cast<std::uint64_t>(given[name]); };
  const auto real = [&](const char* name) { return nb::cast<double>(given[name]); };
  options.learner.kind = static_cast<LearnerKind>(integer("learner"));
  options.learner.rate = static_cast<float>(real("rate"));
  options.learner.epsilon = static_cast<float>(real("epsilon"));
  options.learner.l2 = static_cast<float>(real("l2"));
  options.learner.r = static_cast<float>(real("r"));
  options.policy = static_cast<Policy>(integer("policy"));
  options.alpha = real("alpha");
  options.arity = static_cast<std::uint32_t>(integer("arity"));
  options.max_leaves = static_cast<std::uint32_t>(integer("max_leaves"));
  options.replay = static_cast<std::uint32_t>(integer("replay"));
  options.replay_memory = integer("replay_memory");
  options.normalize = nb::cast<bool>(given["normalize"]);
  options.seed = integer("seed");
  return options;
}

void learn(Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
           const In<std::int64_t>& label_indptr, const In<LabelId>& labels, std::size_t begin, std::size_t end,
           unsigned threads) {
  const Rows rows(indptr, ids, values);
  if (end > rows.size() || begin > end || label_indptr.size() != rows.size() + 1) {
    throw std::invalid_argument("examples and labels do not fit together");
  }
  const auto label_ends = view(label_indptr);
  if (label_ends.front() != 0 || !std::ranges::is_sorted(label_ends) ||
      static_cast<std::size_t>(label_ends.back()) != labels.size() ||
      std::ranges::any_of(view(labels), [](LabelId label) { return label >= kNone / 2; })) {
    throw std::invalid_argument("the labels' arrays do not fit together");
  }
  if (!model.whole().can_learn()) throw std::runtime_error("this model was loaded for prediction only");
  const nb::gil_scoped_release no_gil;
  const auto example = [&](std::size_t row) {
    const auto first = static_cast<std::size_t>(label_indptr.data()[row]);
    const auto last = static_cast<std::size_t>(label_indptr.data()[row + 1]);
    return OnlinePlt::Example{rows[row], view(labels).subspan(first, last - first)};
  };
  if (rows.indptr.empty()) model.engine.expect_dense(static_cast<std::uint32_t>(rows.ids.size()));
  model.engine.learn(example, begin, end, threads);
}

// Runs search(searcher, row, x) for all rows, x scaled as in learning.
template <typename Search>
void search_rows(const Model& model, const Rows& rows, const Scope& scope, unsigned threads, Search&& search) {
  const std::size_t tasks = (rows.size() + kRowsPerTask - 1) / kRowsPerTask;
  parallel_for(tasks, threads, [&](std::size_t task) {
    Searcher searcher(model.engine.tree(), model.engine.blocks(), scope);
    std::vector<float> unit;
    for (std::size_t row = task * kRowsPerTask; row < std::min(rows.size(), (task + 1) * kRowsPerTask); ++row) {
      Features x = rows[row];
      if (model.engine.options().normalize) {
        const double scale = unit_scale(x);
        unit.resize(x.size);
        for (std::uint32_t j = 0; j < x.size; ++j) unit[j] = scaled(x.values[j], scale);
        x.values = unit.data();
      }
      search(searcher, row, x);
    }
  });
}

Scope make_scope(const Model& model, const nb::object& allowed) {
  const LabelTree& tree = model.whole().tree();
  if (allowed.is_none()) return Scope(tree);
  return Scope(tree, view(nb::cast<In<LabelId>>(allowed)));
}

nb::tuple top_k(const Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
                std::size_t k, std::size_t beam_width, const nb::object& allowed, unsigned threads) {
  const Rows rows(indptr, ids, values);
  const std::size_t n = rows.size();
  auto labels = make_array<LabelId>({n, k});
  auto scores = make_array<float>({n, k});
  auto classifiers = make_array<std::uint32_t>({n});
  auto depths = make_array<std::uint32_t>({n});
  const Scope scope = make_scope(model, allowed);
  {
    const nb::gil_scoped_release no_gil;
    search_rows(model, rows, scope, threads, [&](Searcher& searcher, std::size_t row, const Features& x) {
      std::vector<Scored> found;
      if (beam_width > 0) searcher.beam(x, k, beam_width, found);
      else searcher.top_k(x, k, found);
      for (std::size_t i = 0; i < k; ++i) {
        const bool there = i < found.size();
        labels.data()[row * k + i] = there ? found[i].label : kNone;
        scores.data()[row * k + i] = there ? found[i].probability : std::numeric_limits<float>::quiet_NaN();
      }
      classifiers.data()[row] = searcher.stats().classifiers;
      depths.data()[row] = searcher.stats().depth;
    });
  }
  return nb::make_tuple(labels, scores, classifiers, depths);
}

nb::tuple above_threshold(const Model& model, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                          const In<float>& values, const In<float>& thresholds, const nb::object& allowed,
                          unsigned threads) {
  const Rows rows(indptr, ids, values);
  const std::size_t n = rows.size();
  auto classifiers = make_array<std::uint32_t>({n});
  auto depths = make_array<std::uint32_t>({n});
  auto found_indptr = make_array<std::int64_t>({n + 1});
  std::vector<std::vector<Scored>> found(n);
  Scope scope = make_scope(model, allowed);
  scope.set_thresholds(view(thresholds));
  {
    const nb::gil_scoped_release no_gil;
    search_rows(model, rows, scope, threads, [&](Searcher& searcher, std::size_t row, const Features& x) {
      searcher.above_threshold(x, found[row]);
      classifiers.data()[row] = searcher.stats().classifiers;
      depths.data()[row] = searcher.stats().depth;
    });
  }
  found_indptr.data()[0] = 0;
  for (std::size_t i = 0; i < n; ++i)
    found_indptr.data()[i + 1] = found_indptr.data()[i] + static_cast<std::int64_t>(found[i].size());
  const auto total = static_cast<std::size_t>(found_indptr.data()[n]);
  auto labels = make_array<LabelId>({total});
  auto scores = make_array<float>({total});
  std::size_t at = 0;
  for (const auto& row : found) {
    for (const Scored& one : row) {
      labels.data()[at] = one.label;
      scores.data()[at++] = one.probability;
    }
  }
  return nb::make_tuple(found_indptr, labels, scores, classifiers, depths);
}

nb::dict tree_arrays(const Model& model) {
  const LabelTree& tree = model.whole().tree();
  const std::size_t n = tree.size();
  auto parents = make_array<NodeId>({n});
  auto labels = make_array<LabelId>({n});
  auto silent = make_array<std::uint8_t>({n});
  for (NodeId v = 0; v < n; ++v) {
    parents.data()[v] = tree[v].parent;
    labels.data()[v] = tree[v].label;
    silent.data()[v] = tree[v].silent ? 1 : 0;
  }
  nb::dict out;
  out["parent"] = parents;
  out["label"] = labels;
  out["silent"] = silent;
  return out;
}

}  // namespace

void register_online_plt(nb::module_& module) {
  nb::class_<Model>(module, "OnlinePlt", "OPLT or IPLT; see core/include/labelgrove/online_plt.hpp.")
      .def(
          "__init__", [](Model* self, const nb::dict& options) { new (self) Model(nb::none(), options_from(options)); },
          nb::arg("options"))
      .def_static(
          "on_tree",
          [](const nb::dict& options, const In<NodeId>& parents, const In<LabelId>& labels, LabelId label_count) {
            const std::vector<std::uint8_t> silent(parents.size());
            return std::make_unique<Model>(nb::none(), options_from(options),
                                           LabelTree(view(parents), view(labels), silent, label_count));
          },
          nb::arg("options"), nb::arg("parents").noconvert(), nb::arg("labels").noconvert(), nb::arg("label_count"))
      .def_static(
          "load",
          [](const nb::dict& options, const nb::dict& arrays, bool for_prediction) {
            return std::make_unique<Model>(arrays, options_from(options), DictReader(arrays), for_prediction);
          },
          nb::arg("options"), nb::arg("arrays"), nb::arg("for_prediction"))
      .def(
          "save",
          [](const Model& self, bool for_prediction) {
            nb::dict out;
            DictWriter writer(out);
            self.whole().save(writer, for_prediction);
            return out;
          },
          nb::arg("for_prediction"))
      .def("learn", &learn, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
           nb::arg("label_indptr").noconvert(), nb::arg("labels").noconvert(), nb::arg("begin"), nb::arg("end"),
           nb::arg("threads"))
      .def(
          "remove_labels", [](Model& self, const In<LabelId>& labels) { self.whole().remove_labels(view(labels)); },
          nb::arg("labels").noconvert())
      .def("top_k", &top_k, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
           nb::arg("k"), nb::arg("beam_width"), nb::arg("allowed").none(), nb::arg("threads"))
      .def("above_threshold", &above_threshold, nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(),
           nb::arg("values").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("allowed").none(),
           nb::arg("threads"))
      .def("tree", &tree_arrays)
      .def_prop_ro("examples_seen", [](const Model& self) { return self.engine.examples_seen(); })
      .def_prop_ro("label_count", [](const Model& self) { return self.engine.tree().label_count(); })
      .def_prop_ro("can_learn", [](const Model& self) { return self.engine.can_learn(); })
      .def("size", [](const Model& self) {
        const auto size = self.whole().size();
        nb::dict out;
        out["weights"] = size.weights;
        out["model_bytes"] = size.model_bytes;
        out["memory_bytes"] = size.memory_bytes;
        return out;
      });
}

}  // namespace labelgrove::bindings
