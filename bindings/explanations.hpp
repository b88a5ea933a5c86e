// The paths to labels, for engines whose tree has one leaf per label.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "held.hpp"
#include "labelgrove/explain.hpp"
#include "predictions.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {

// The path to the label's leaf (see LabelPath).
template <typename Engine>
void explain_path(const Engine& engine, const Features& x, LabelId label, nb::dict& out) {
  if (engine.tree().leaf_of(label) == kNone) throw std::invalid_argument("the label has no leaf");
  LabelPath path;
  if constexpr (requires { engine.explain(x, label); }) path = engine.explain(x, label);
  else path = explain_label(engine.tree(), engine.blocks(), x, label);
  out["node"] = to_array(path.nodes);
  out["probability"] = to_array(path.probabilities);
  add_terms(out, x, path.bias, path.contributions);
}

// P(node | parent, x) along the path of every label of every row: (indptr (labels + 1,), values), one path after
// another. The path of a label without a leaf is empty.
template <typename Engine>
nb::tuple paths(const Engine& engine, const Rows& rows, const RowLabels& labels, unsigned threads) {
  const std::size_t n = labels.all().size();
  auto indptr = make_array<std::int64_t>({n + 1});
  std::vector<std::vector<float>> found(rows.size());
  {
    const WithoutGil without_gil;
    const auto follow = [&](Workspace& work, std::size_t row, const Features& given) {
      std::vector<float> made;
      const Features x = as_searched(engine, given, work, made);
      auto length = indptr.data() + labels.ends()[row];
      for (const LabelId label : labels[row]) {
        const std::size_t before = found[row].size();
        append_path(engine.tree(), engine.blocks(), x, label, work, found[row]);
        *++length = static_cast<std::int64_t>(found[row].size() - before);
      }
    };
    for_each_row(rows, engine.options().normalize, threads, [] { return Workspace(); }, follow);
    indptr.data()[0] = 0;
    std::partial_sum(indptr.data(), indptr.data() + n + 1, indptr.data());
  }
  auto values = make_array<float>({static_cast<std::size_t>(indptr.data()[n])});
  auto at = values.data();
  for (const auto& part : found) at = std::ranges::copy(part, at).out;
  return nb::make_tuple(indptr, values);
}

// Adds `explain` and `paths` to an engine.
template <typename Engine>
void bind_explanations(nb::class_<Held<Engine>>& engine) {
  bind_explain(engine, &explain_path<Engine>);
  engine.def(
      "paths",
      [](const Held<Engine>& self, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
         const In<std::int64_t>& label_indptr, const In<LabelId>& labels, unsigned threads) {
        const Rows rows(indptr, ids, values);
        return paths(self.whole(), rows, RowLabels(label_indptr, labels, rows.size()), threads);
      },
      nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("label_indptr"), nb::arg("labels"),
      nb::arg("threads"));
}

}  // namespace labelgrove::bindings
