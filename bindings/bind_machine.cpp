#include <nanobind/nanobind.h>

#include "labelgrove/hash.hpp"
#include "labelgrove/kernels.hpp"
#include "register.hpp"

namespace labelgrove::bindings {

namespace nb = nanobind;

void register_machine(nb::module_& module) {
  module.def(
      "kernel_variant", [] { return kernels().name; },
      "The instruction set that the kernels in use were compiled for.");
  module.def(
      "draw",
      [](std::uint64_t seed, std::uint64_t stream, std::uint64_t counter, std::uint64_t sub) {
        return draw(seed, static_cast<Draw>(stream), counter, sub);
      },
      nb::arg("seed"), nb::arg("stream"), nb::arg("counter"), nb::arg("sub") = 0,
      "The hash behind every random choice: streams are 1 policy, 2 replay, 3 reservoir, 4 shuffle, 5 clustering, "
      "6 weights, 7 places, 8 tree, 9 solver.");
}

}  // namespace labelgrove::bindings
