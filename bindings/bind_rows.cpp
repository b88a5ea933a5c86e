#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>

#include "arrays.hpp"
#include "labelgrove/row_check.hpp"
#include "labelgrove/row_scale.hpp"
#include "register.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {

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
}

}  // namespace labelgrove::bindings
