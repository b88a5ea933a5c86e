#include <cstdint>
#include <span>
#include <stdexcept>

#include "arrays.hpp"
#include "dict_archive.hpp"
#include "labelgrove/label_sums.hpp"
#include "model_archive.hpp"
#include "predictions.hpp"
#include "register.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {
namespace {

void add(LabelSums& self, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
         const In<std::int64_t>& label_indptr, const In<LabelId>& labels, std::size_t begin, std::size_t end,
         const nb::object& weights) {
  const TakenExamples given(indptr, ids, values, label_indptr, labels, weights, begin, end);
  const WithoutGil without_gil;
  std::vector<float> unit;
  for (std::size_t row = begin; row < end; ++row) {
    if (given.weights[row] <= 0.0F) continue;
    self.add(of_unit_length(given.rows[row], unit), given.labels[row], given.weights[row]);
  }
}

nb::ndarray<float, nb::numpy> cosines(const LabelSums& self, const In<std::int64_t>& indptr, const In<FeatureId>& ids,
                                      const In<float>& values, const In<LabelId>& candidates, unsigned threads) {
  const Rows rows(indptr, ids, values);
  const std::size_t n = rows.size();
  if (n > 0 && candidates.size() % n != 0)
    throw std::invalid_argument("expected the same number of candidates for every row");
  const std::size_t k = n == 0 ? 0 : candidates.size() / n;
  auto found = make_array<float>({n, k});
  const std::span<const LabelId> of(view(candidates));
  const WithoutGil without_gil;
  for_each_row(
      rows, true, threads, [] { return 0; },
      [&](int, std::size_t row, const Features& x) {
        for (std::size_t i = row * k; i < (row + 1) * k; ++i) found.data()[i] = self.cosine(x, of[i]);
      });
  return found;
}

}  // namespace

void register_label_sums(nb::module_& module) {
  nb::class_<LabelSums>(module, "LabelSums",
                        "Sums of every label's examples; see core/include/labelgrove/label_sums.hpp.")
      .def(nb::init<std::uint32_t, std::uint64_t>(), nb::arg("budget"), nb::arg("max_bytes") = 0)
      .def_static(
          "load",
          [](const nb::dict& arrays, std::uint64_t max_bytes) { return LabelSums(DictReader(arrays), max_bytes); },
          nb::arg("arrays"), nb::arg("max_bytes") = 0)
      .def("save", [](const LabelSums& self) { return saved_by([&](ArrayWriter& out) { self.save(out); }); })
      .def("add", &add, nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("label_indptr"),
           nb::arg("labels"), nb::arg("begin"), nb::arg("end"), nb::arg("weights").none())
      .def(
          "forget",
          [](LabelSums& self, const In<LabelId>& labels) {
            for (const LabelId label : view(labels)) self.forget(label);
          },
          nb::arg("labels"))
      .def("cosines", &cosines, nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("candidates"),
           nb::arg("threads"))
      .def(
          "counts",
          [](const LabelSums& self, const In<LabelId>& labels) {
            auto counts = make_array<std::int64_t>({labels.size()});
            for (std::size_t i = 0; i < labels.size(); ++i)
              counts.data()[i] = static_cast<std::int64_t>(self.count(labels.data()[i]));
            return counts;
          },
          nb::arg("labels"), "The number of examples that had each of the labels.")
      .def_prop_ro("examples", &LabelSums::examples)
      .def_prop_ro("bytes", &LabelSums::bytes);
}

}  // namespace labelgrove::bindings
