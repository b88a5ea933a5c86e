#include "register.hpp"
#include "streamed_array.hpp"

namespace labelgrove::bindings {
namespace {

struct StreamedPieces {
  StreamedArray array;  // keeps the engine alive
};

nb::object numpy_type(const StreamedArray& array) { return nb::module_::import_("numpy").attr("dtype")(array.type()); }

}  // namespace

void register_streamed_array(nb::module_& module) {
  nb::class_<StreamedPieces>(module, "StreamedPieces", "An iterator over the pieces of a `StreamedArray`.")
      .def("__iter__", [](nb::handle_t<StreamedPieces> self) { return nb::borrow<nb::object>(self); })
      .def("__next__", [](StreamedPieces& self) {
        nb::object piece = StreamedArray::next(self.array.numbers);
        if (piece.is_none()) throw nb::stop_iteration();
        return piece;
      });
  nb::class_<StreamedArray>(module, "StreamedArray",
                            "A one-dimensional array that is produced piece by piece while iterating over it.")
      .def_prop_ro("dtype", &numpy_type)
      .def_prop_ro("shape", [](const StreamedArray& self) { return nb::make_tuple(self.size); })
      .def_prop_ro("ndim", [](const StreamedArray&) { return 1; })
      .def_prop_ro("nbytes", [](const StreamedArray& self) { return self.bytes(); })
      .def("__iter__", [](const StreamedArray& self) { return StreamedPieces{self}; })
      .def(
          "__array__", [](const StreamedArray& self, const nb::object&, const nb::object&) { return self.whole(); },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none());
}

}  // namespace labelgrove::bindings
