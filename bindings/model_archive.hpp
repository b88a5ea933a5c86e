// Saving, loading and measuring, the same for every engine.
#pragma once

#include <memory>

#include "arrays.hpp"
#include "dict_archive.hpp"
#include "held.hpp"

namespace labelgrove::bindings {

// What save(ArrayWriter&) writes.
template <typename Save>
nb::dict saved_by(Save&& save) {
  nb::dict out;
  DictWriter writer(out);
  save(writer);
  return out;
}

// Adds `load`, `save` and `size`; options_from(dict) is what the engine is made with. An engine that never learns may
// know one way of loading and saving alone.
template <typename Engine, typename OptionsFrom>
void bind_archive(nb::class_<Held<Engine>>& engine, OptionsFrom options_from) {
  using Model = Held<Engine>;
  engine
      .def_static(
          "load",
          [options_from](const nb::dict& options, const nb::dict& arrays, bool for_prediction) {
            if constexpr (requires(const ArrayReader& saved) { Engine(options_from(options), saved, true); }) {
              return std::make_unique<Model>(arrays, options_from(options), DictReader(arrays), for_prediction);
            } else {
              return std::make_unique<Model>(arrays, options_from(options), DictReader(arrays));
            }
          },
          nb::arg("options"), nb::arg("arrays"), nb::arg("for_prediction"))
      .def(
          "save",
          [](const Model& self, bool for_prediction) {
            return saved_by([&](ArrayWriter& out) {
              if constexpr (requires { self.engine.save(out, true); }) self.whole().save(out, for_prediction);
              else self.whole().save(out);
            });
          },
          nb::arg("for_prediction"))
      .def("size", [](const Model& self) {
        const auto size = self.whole().size();
        nb::dict out;
        out["weights"] = size.weights;
        out["model_bytes"] = size.model_bytes;
        if constexpr (requires { size.memory_bytes; }) out["memory_bytes"] = size.memory_bytes;
        return out;
      });
}

}  // namespace labelgrove::bindings
