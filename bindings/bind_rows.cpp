#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "labelgrove/row_check.hpp"
#include "labelgrove/row_scale.hpp"
#include "labelgrove/sparse_lines.hpp"
#include "register.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {

namespace {

template <typename T>
using Array = nb::ndarray<T, nb::numpy>;

using ParsedLines = std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<std::int64_t>, Array<std::int32_t>,
                               Array<float>, std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>>;

std::optional<ParsedLines> parsed_lines(const nb::bytes& text, FirstField first, bool values_required,
                                        std::int64_t features, std::int64_t labels) {
  const std::string_view given(text.c_str(), text.size());
  auto found = without_gil([&] { return parse_sparse_lines(given, {first, values_required, features, labels}); });
  if (!found) return std::nullopt;
  std::vector<std::tuple<std::size_t, std::size_t, std::size_t>> hard;
  for (const HardNumber& number : found->hard) hard.emplace_back(number.place, number.begin, number.end);
  return ParsedLines(to_array(std::move(found->label_indptr)), to_array(std::move(found->labels)),
                     to_array(std::move(found->indptr)), to_array(std::move(found->ids)),
                     to_array(std::move(found->values)), std::move(hard));
}

}  // namespace

void register_rows(nb::module_& module) {
  module.def(
      "check_rows",
      [](const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
         std::uint64_t columns) -> std::optional<std::tuple<RowFault, std::size_t, std::size_t>> {
        const RowCheck found = without_gil([&] { return check_rows(view(indptr), view(ids), view(values), columns); });
        if (found.fault == RowFault::none) return std::nullopt;
        return std::tuple(found.fault, found.row, found.position);
      },
      nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("columns"),
      "(fault, row, position) of the first fault; None if there is none.");
  module.def(
      "row_scale",
      [](const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values, const nb::object& weights) {
        const Rows rows(indptr, ids, values);
        const auto counts = view_or_empty<float>(weights, rows.size());
        return without_gil([&] { return row_scale(rows, counts); });
      },
      nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("weights").none(),
      "See core/include/labelgrove/row_scale.hpp.");
  module.def("parse_sparse_lines", &parsed_lines, nb::arg("text"), nb::arg("first"), nb::arg("values_required"),
             nb::arg("features"), nb::arg("labels"),
             "(label_indptr, labels, indptr, ids, values, hard), or None; see "
             "core/include/labelgrove/sparse_lines.hpp.");
}

}  // namespace labelgrove::bindings
