#include <cstdlib>
#include <string_view>

#include "labelgrove/compact_rows.hpp"
#include "labelgrove/kernels.hpp"

namespace labelgrove {

extern const Kernels kernels_baseline;
extern const CompactKernels compact_kernels_baseline;
#if defined(LABELGROVE_HAVE_AVX2)
extern const Kernels kernels_avx2;
extern const CompactKernels compact_kernels_avx2;
#endif
#if defined(LABELGROVE_HAVE_AVX512)
extern const Kernels kernels_avx512;
extern const CompactKernels compact_kernels_avx512;
#endif

namespace {

struct Variant {
  const Kernels& kernels;
  const CompactKernels& compact_kernels;
};

Variant choose() {
  const char* value = std::getenv("LABELGROVE_CPU");
  [[maybe_unused]] const std::string_view most = value == nullptr ? "avx512" : value;
#if defined(LABELGROVE_HAVE_AVX512)
  if (most == "avx512" && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("popcnt")) {
    return {kernels_avx512, compact_kernels_avx512};
  }
#endif
#if defined(LABELGROVE_HAVE_AVX2)
  if (most != "baseline" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("popcnt")) {
    return {kernels_avx2, compact_kernels_avx2};
  }
#endif
  return {kernels_baseline, compact_kernels_baseline};
}

const Variant& chosen() {
  static const Variant variant = choose();
  return variant;
}

}  // namespace

const Kernels& kernels() { return chosen().kernels; }
const CompactKernels& compact_kernels() { return chosen().compact_kernels; }

}  // namespace labelgrove
