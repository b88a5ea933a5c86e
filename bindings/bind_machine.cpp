#include <nanobind/nanobind.h>

#include <algorithm>

#include "arrays.hpp"
#include "labelgrove/elementary.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/kernels.hpp"
#include "register.hpp"

namespace labelgrove::bindings {

namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "Clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* kCompiler = "GCC " __VERSION__;
#else
constexpr const char* kCompiler = "unknown";
#endif

template <double (*function)(double)>
nb::ndarray<double, nb::numpy> each(const In<double>& numbers) {
  auto found = make_array<double>({numbers.size()});
  std::ranges::transform(view(numbers), found.data(), function);
  return found;
}

}  // namespace

void register_machine(nb::module_& module) {
  kernels();  // an unsupported variant must fail at import, not in the middle of a call
  // CPython never unwinds the frames of daemon threads at exit, so what they hold is never freed. This is not a leak.
  nb::set_leak_warnings(false);
  module.def(
      "report_leaks", [](bool on) { nb::set_leak_warnings(on); }, nb::arg("on"),
      "Turn the report of objects that outlive the interpreter on or off; for tests.");
  module.def(
      "kernel_variant", [] { return kernels().name; },
      "The instruction set that the kernels in use were compiled for.");
  module.def(
      "available_kernels",
      [] {
        nb::list names;
        for (const KernelVariant& variant : available_kernels()) names.append(variant.kernels->name);
        return names;
      },
      "The variants that run on this processor, best last.");
  module.def("compiler", [] { return kCompiler; }, "The compiler that built the engine.");
  module.def(
      "draw",
      [](std::uint64_t seed, std::uint64_t stream, std::uint64_t counter, std::uint64_t sub) {
        return draw(seed, static_cast<Draw>(stream), counter, sub);
      },
      nb::arg("seed"), nb::arg("stream"), nb::arg("counter"), nb::arg("sub") = 0,
      "The hash behind every random choice; the streams are numbered as in core/include/labelgrove/hash.hpp.");
  module.def("exp", &each<fixed_exp>, nb::arg("numbers"),
             "Exponentials with the same bits on every machine; see core/include/labelgrove/elementary.hpp.");
  module.def("log", &each<fixed_log>, nb::arg("numbers"), "Logarithms, likewise.");
}

}  // namespace labelgrove::bindings
