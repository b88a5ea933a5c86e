// The Python object that owns an engine.
#pragma once

#include <stdexcept>
#include <utility>

#include "arrays.hpp"

namespace labelgrove::bindings {

// An engine, together with the arrays that its borrowed weights are in. The estimator's guard excludes other threads
// while the engine changes.
template <typename Engine>
struct Held {
  template <typename... Args>
  explicit Held(nb::object kept, Args&&... args) : keep(std::move(kept)), engine(std::forward<Args>(args)...) {}

  // The engine. Throws std::runtime_error if learning was cut short by a lack of memory or budget.
  Engine& whole() {
    require_whole();
    return engine;
  }
  const Engine& whole() const {
    require_whole();
    return engine;
  }

  nb::object keep;
  Engine engine;

 private:
  void require_whole() const {
    if (!engine.usable())
      throw std::runtime_error("learning was cut short by a lack of memory; load the last saved model");
  }
};

// Adds the constructor of an engine that has learnt nothing.
template <typename Engine, typename OptionsFrom>
void bind_init(nb::class_<Held<Engine>>& engine, OptionsFrom options_from) {
  engine.def(
      "__init__",
      [options_from](Held<Engine>* self, const nb::dict& options) {
        new (self) Held<Engine>(nb::none(), options_from(options));
      },
      nb::arg("options"));
}

}  // namespace labelgrove::bindings
