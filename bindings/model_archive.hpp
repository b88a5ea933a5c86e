// Saving, loading and measuring, shared by all engines.
#pragma once

#include <memory>

#include "arrays.hpp"
#include "dict_archive.hpp"
#include "held.hpp"

namespace labelgrove::bindings {

// What save(ArrayWriter&) writes; see DictWriter.
template <typename Save>
nb::dict saved_by(Save&& save, nb::object streamed_engine = nb::none()) {
  nb::dict out;
  DictWriter writer(out, std::move(streamed_engine));
  save(writer);
  return out;
}

// The arrays that an engine reads in place even if it learns: those of a batch model.
inline nb::dict inherited_from(const nb::dict& arrays) {
  nb::dict kept;
  for (const auto& [name, array] : arrays) {
    if (nb::cast<std::string>(name).starts_with("batch.")) kept[name] = array;
  }
  return kept;
}

// Adds `load`, `save` and `size`; options_from(dict) returns the engine's options. An engine that never learns may have
// a single way of loading and saving.
template <typename Engine, typename OptionsFrom>
void bind_archive(nb::class_<Held<Engine>>& engine, OptionsFrom options_from) {
  using Model = Held<Engine>;
  engine
      .def_static(
          "load",
          [options_from](const nb::dict& options, const nb::dict& arrays, bool for_prediction, nb::object let_go,
                         bool check_only) {
            const DictReader saved(arrays, std::move(let_go));
            const nb::object kept = for_prediction ? nb::object(arrays) : nb::none();
            if constexpr (requires { Engine(options_from(options), saved, true, true); }) {
              auto model = std::make_unique<Model>(kept, options_from(options), saved, for_prediction, check_only);
              if constexpr (requires { model->engine.inherits(); }) {
                if (model->engine.inherits() && !for_prediction) model->keep = inherited_from(arrays);
              }
              return model;
            } else if constexpr (requires { Engine(options_from(options), saved, true); }) {
              return std::make_unique<Model>(kept, options_from(options), saved, for_prediction);
            } else {
              return std::make_unique<Model>(arrays, options_from(options), saved);
            }
          },
          nb::arg("options"), nb::arg("arrays"), nb::arg("for_prediction"), nb::arg("let_go") = nb::none(),
          nb::arg("check_only") = false,
          "Load what `save` returned. `let_go` is called now and then, when the memory of what was read so far may be "
          "released. With `check_only` the arrays are only checked, and the result need not keep them.")
      .def(
          "save",
          [](nb::handle_t<Model> self, bool for_prediction, bool streamed) {
            const Engine& whole = nb::cast<const Model&>(self).whole();
            const auto save = [&](ArrayWriter& out) {
              if constexpr (requires { whole.save(out, true); }) whole.save(out, for_prediction);
              else whole.save(out);
            };
            return saved_by(save, streamed ? nb::borrow<nb::object>(self) : nb::none());
          },
          nb::arg("for_prediction"), nb::arg("streamed") = false,
          "Arrays by name. With `streamed`, large arrays are produced while they are written, and the engine must not "
          "change until then.")
      .def("size", [](const Model& self) {
        const ModelSize size = self.whole().size();
        nb::dict out;
        out["weights"] = size.weights;
        out["model_bytes"] = size.model_bytes;
        out["memory_bytes"] = size.memory_bytes;
        return out;
      });
}

}  // namespace labelgrove::bindings
