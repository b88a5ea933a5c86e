// The boundary to Python. Arrays are one-dimensional and contiguous; they are never converted, and never copied on the
// way in. All handling of the interpreter's lock is on this side.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace labelgrove::bindings {

namespace nb = nanobind;

// Releases the interpreter's lock, so that Python's other threads can run. A thread's first exception needs memory, and
// the C library aborts if there is none; so it is allocated before the work begins.
//
// Before 3.14, a thread that returns after the interpreter has shut down is ended by unwinding its stack, which no
// destructor survives. Here the thread waits for the end of the process instead, as it does in 3.14.
class WithoutGil {
 public:
  WithoutGil() : state_((static_cast<void>(std::uncaught_exceptions()), PyEval_SaveThread())) {}
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// The result of work() done without the interpreter's lock.
template <typename Work>
auto without_gil(Work&& work) {
  const WithoutGil released;
  return work();
}

// Sets an option to the dict's entry of this name: a number, a bool, or the number of an enumeration's value.
template <typename T>
void take_option(const nb::dict& given, const char* name, T& option) {
  if constexpr (std::is_enum_v<T>) option = static_cast<T>(nb::cast<std::underlying_type_t<T>>(given[name]));
  else option = nb::cast<T>(given[name]);
}

// An array from Python. One of another type or layout is refused; nanobind alone would pass a converted copy of it.
template <typename T, int kDimensions = 1>
struct In : nb::ndarray<const T, nb::numpy, nb::ndim<kDimensions>, nb::c_contig, nb::device::cpu> {};

template <typename T>
using InMatrix = In<T, 2>;

template <typename T>
std::span<const T> view(const In<T>& array) {
  return {array.data(), array.size()};
}

// The numbers of an array of this size; none for None.
template <typename T>
std::span<const T> view_or_empty(const nb::object& given, std::size_t size) {
  if (given.is_none()) return {};
  const auto numbers = view(nb::cast<In<T>>(given, false));  // the caller's array keeps the memory
  if (numbers.size() != size) throw std::invalid_argument("expected one number for every example, or for every label");
  return numbers;
}

// A new NumPy array of the given shape that owns its memory.
template <typename T>
nb::ndarray<T, nb::numpy> make_array(std::initializer_list<std::size_t> shape) {
  std::size_t size = 1;
  for (const std::size_t extent : shape) size *= extent;
  auto data = std::make_unique_for_overwrite<T[]>(size);
  nb::capsule owner(data.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<T, nb::numpy>(data.release(), shape.size(), shape.begin(), owner);
}

// An array that takes over the memory of a vector.
template <typename T>
nb::ndarray<T, nb::numpy> to_array(std::vector<T>&& values) {
  auto held = std::make_unique<std::vector<T>>(std::move(values));
  nb::capsule owner(held.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  std::vector<T>& vector = *held.release();
  return nb::ndarray<T, nb::numpy>(vector.data(), {vector.size()}, owner);
}

// An array with a copy of the values.
template <std::ranges::contiguous_range Values>
auto to_array(const Values& values) {
  auto array = make_array<std::ranges::range_value_t<Values>>({std::ranges::size(values)});
  std::ranges::copy(values, array.data());
  return array;
}

}  // namespace labelgrove::bindings

template <typename T, int kDimensions>
struct nanobind::detail::type_caster<labelgrove::bindings::In<T, kDimensions>> {
  using Array = labelgrove::bindings::In<T, kDimensions>;
  using Converting = make_caster<typename Array::ndarray>;
  NB_TYPE_CASTER(Array, Converting::Name)

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    Converting caster;
    if (!caster.from_python(source, flags & ~std::uint32_t{cast_flags::convert}, cleanup)) return false;
    static_cast<typename Array::ndarray&>(value) = std::move(caster.value);
    return true;
  }
};
