// How Python holds an engine.
#pragma once

#include <stdexcept>
#include <utility>

#include "arrays.hpp"

namespace labelgrove::bindings {

// An engine, and the arrays that borrowed weights live in. The estimator lets nobody in while it changes.
template <typename Engine>
struct Held {
  template <typename... Args>
  explicit Held(nb::object kept, Args&&... args) : keep(std::move(kept)), engine(std::forward<Args>(args)...) {}

  // The engine, unless it has run out of memory while learning.
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
    if (!engine.usable()) throw std::runtime_error("the model ran out of memory while learning; load it as last saved");
  }
};

}  // namespace labelgrove::bindings
