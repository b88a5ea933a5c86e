#include <cstdlib>
#include <string_view>

#include "labelgrove/kernels.hpp"

namespace labelgrove {

extern const Kernels kernels_baseline;
#if defined(LABELGROVE_HAVE_AVX2)
extern const Kernels kernels_avx2;
#endif
#if defined(LABELGROVE_HAVE_AVX512)
extern const Kernels kernels_avx512;
#endif

namespace {

const Kernels& choose() {
  const char* value = std::getenv("LABELGROVE_CPU");
  [[maybe_unused]] const std::string_view most = value == nullptr ? "avx512" : value;
#if defined(LABELGROVE_HAVE_AVX512)
  if (most == "avx512" && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("fma")) {
    return kernels_avx512;
  }
#endif
#if defined(LABELGROVE_HAVE_AVX2)
  if (most != "baseline" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kernels_avx2;
#endif
  return kernels_baseline;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace labelgrove
