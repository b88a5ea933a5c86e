#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "labelgrove/compact_rows.hpp"
#include "labelgrove/half_kernels.hpp"
#include "labelgrove/kernels.hpp"
#include "labelgrove/vector_kernels.hpp"

namespace labelgrove {

extern const Kernels kernels_baseline;
extern const CompactKernels compact_kernels_baseline;
extern const HalfKernels half_kernels_baseline;
extern const VectorKernels vector_kernels_baseline;
#if defined(LABELGROVE_HAVE_AVX2)
extern const Kernels kernels_avx2;
extern const CompactKernels compact_kernels_avx2;
extern const HalfKernels half_kernels_avx2;
extern const VectorKernels vector_kernels_avx2;
#endif
#if defined(LABELGROVE_HAVE_AVX512)
extern const Kernels kernels_avx512;
extern const CompactKernels compact_kernels_avx512;
extern const HalfKernels half_kernels_avx512;
extern const VectorKernels vector_kernels_avx512;
#endif

std::vector<KernelVariant> available_kernels() {
  std::vector<KernelVariant> found{
      {&kernels_baseline, &compact_kernels_baseline, &half_kernels_baseline, &vector_kernels_baseline}};
#if defined(LABELGROVE_HAVE_AVX2)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) {
    found.push_back({&kernels_avx2, &compact_kernels_avx2, &half_kernels_avx2, &vector_kernels_avx2});
#if defined(LABELGROVE_HAVE_AVX512)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw")) {
      found.push_back({&kernels_avx512, &compact_kernels_avx512, &half_kernels_avx512, &vector_kernels_avx512});
    }
#endif
  }
#endif
  return found;
}

namespace {

KernelVariant choose() {
  const std::vector<KernelVariant> found = available_kernels();
  const char* value = std::getenv("LABELGROVE_KERNELS");
  const std::string_view wanted = value == nullptr ? "" : value;
  if (wanted.empty()) return found.back();
  std::string names;
  for (const KernelVariant& variant : found) {
    if (wanted == variant.kernels->name) return variant;
    names += (names.empty() ? "" : ", ") + std::string(variant.kernels->name);
  }
  throw std::runtime_error("the environment variable LABELGROVE_KERNELS is '" + std::string(wanted) +
                           "'; expected a variant that this processor can run: " + names);
}

const KernelVariant& chosen() {
  static const KernelVariant variant = choose();
  return variant;
}

}  // namespace

const Kernels& kernels() { return *chosen().kernels; }
const CompactKernels& compact_kernels() { return *chosen().compact_kernels; }
const HalfKernels& half_kernels() { return *chosen().half_kernels; }
const VectorKernels& vector_kernels() { return *chosen().vector_kernels; }

}  // namespace labelgrove
