#include "arrays.hpp"
#include "labelgrove/row_check.hpp"
#include "register.hpp"

namespace labelgrove::bindings {

void register_rows(nb::module_& module) {
  module.def(
      "check_rows",
      [](const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values, std::uint64_t columns) {
        RowCheck found;
        {
          const WithoutGil without_gil;
          found = check_rows(view(indptr), view(ids), view(values), columns);
        }
        return nb::make_tuple(found.fault, found.row, found.position);
      },
      nb::arg("indptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(), nb::arg("columns"),
      "(fault, row, position) of the first fault.");
}

}  // namespace labelgrove::bindings
