// Compiled once per CPU variant: see half_kernels.hpp.
#include "labelgrove/half_kernels.hpp"

#include "labelgrove/learner.hpp"
#include "lanes.hpp"

namespace labelgrove {
namespace {

// Whether any of the N numbers at p is not 0. Most tiles have no column that learns, and the others few.
template <int N, typename Numbers>
inline bool any(const Numbers& p) {
  bool found = false;
  for (int i = 0; i < N; ++i) found |= p[i] != 0;
  return found;
}

// Row j's variances, starting at column `at`.
inline const Variance* variances_of(const BFloat16* row, std::size_t state, std::size_t at) {
  return reinterpret_cast<const Variance*>(row + state) + at;
}

void margins(const BFloat16* const* rows, const float* x, std::size_t n, std::size_t columns, float* out) {
  margins_of(rows, x, n, columns, out);
}

void arow_steps(const BFloat16* const* rows, const float* x, std::size_t n, std::size_t columns, std::size_t state,
                const float* losses, float r, float* steps) {
  for_each_tile(columns, [=]<int N, int M>(std::size_t at) {
    for (const std::size_t end = at + N * M; at < end; at += N) {
      if (!any<N>(steps + at)) continue;
      V<N> even{};
      V<N> odd{};
      std::size_t j = 0;
      for (; j + 1 < n; j += 2) {
        even += all<N>(x[j] * x[j]) * load<N>(variances_of(rows[j], state, at));
        odd += all<N>(x[j + 1] * x[j + 1]) * load<N>(variances_of(rows[j + 1], state, at));
      }
      if (j < n) even += all<N>(x[j] * x[j]) * load<N>(variances_of(rows[j], state, at));
      const V<N> variance = even + odd;
      V<N> step = load<N>(losses + at) / (variance + r);
      const typename Pack<N>::Int far = !(step * step * variance <= kLargestStep * kLargestStep);
      if (any<N>(far)) step = far ? kLargestStep / square_root<N>(variance + 1e-30F) : step;
      const V<N> wanted = load<N>(steps + at);
      store<N>(steps + at, wanted != 0.0F ? wanted * step : wanted);
    }
  });
}

template <bool kShrinks>  // whether variances shrink
inline void move_by_arow(BFloat16* const* rows, const float* x, const std::uint32_t* noise, std::size_t n,
                         std::size_t columns, std::size_t state, const float* step, const float* evidence) {
  for_each_tile(columns, [=]<int N, int M>(std::size_t at) {
    for (const std::size_t end = at + N * M; at < end; at += N) {
      if (!any<N>(step + at)) continue;
      const V<N> s = load<N>(step + at);
      V<N> weight = {};  // 0 for columns that do not learn
      if constexpr (kShrinks) weight = (V<N>)((s != 0.0F) & (typename Pack<N>::Int)load<N>(evidence + at));
      for (std::size_t j = 0; j < n; ++j) {
        const V<N> xj = all<N>(x[j]);
        BFloat16* w = rows[j] + at;
        auto* its = const_cast<Variance*>(variances_of(rows[j], state, at));
        const V<N> variance = load<N>(its);
        const V<N> sx = variance * xj;
        const typename Pack<N>::Bits drawn = noise[j] - typename Pack<N>::Bits{};
        store<N>(w, load<N>(w) + s * sx, drawn & 0xFFFFU);
        if constexpr (kShrinks) store<N>(its, variance / (1.0F + (sx * xj) * weight), rounding_up(noise[j] >> 16));
      }
    }
  });
}

void arow(BFloat16* const* rows, const float* x, const std::uint32_t* noise, std::size_t n, std::size_t columns,
          std::size_t state, const float* step, const float* evidence) {
  if (evidence != nullptr) move_by_arow<true>(rows, x, noise, n, columns, state, step, evidence);
  else move_by_arow<false>(rows, x, noise, n, columns, state, step, evidence);
}

void fade(BFloat16* const* rows, const float* x, const std::uint32_t* noise, std::size_t n, std::size_t columns,
          std::size_t state, const float* share) {
  for_each_tile(columns, [=]<int N, int M>(std::size_t at) {
    for (const std::size_t end = at + N * M; at < end; at += N) {
      if (!any<N>(share + at)) continue;
      const V<N> s = load<N>(share + at);
      for (std::size_t j = 0; j < n; ++j) {
        BFloat16* w = rows[j] + at;
        const V<N> variance = load<N>(variances_of(rows[j], state, at));
        const V<N> sx = variance * all<N>(x[j]);
        const V<N> learnt = 1.0F - variance;
        const V<N> lost = s * sx * sx / (learnt < 0x1p-8F ? all<N>(0x1p-8F) : learnt);
        const V<N> weight = load<N>(w);
        const typename Pack<N>::Bits drawn = noise[j] - typename Pack<N>::Bits{};
        store<N>(w, weight - weight * (lost > 0.5F ? all<N>(0.5F) : lost), drawn & 0xFFFFU);
      }
    }
  });
}

void take_share(const BFloat16* row, float share, std::uint32_t noise, std::size_t columns, std::size_t state,
                BFloat16* to) {
  for_each_tile(columns, [=]<int N, int M>(std::size_t at) {
    const typename Pack<N>::Bits drawn = noise - typename Pack<N>::Bits{};
    for (const std::size_t end = at + N * M; at < end; at += N) {
      const V<N> variance = 1.0F - share * share * (1.0F - load<N>(variances_of(row, state, at)));
      store<N>(to + at, load<N>(row + at) * share, drawn & 0xFFFFU);
      store<N>(const_cast<Variance*>(variances_of(to, state, at)), variance, rounding_up(noise >> 16));
    }
  });
}

}  // namespace

extern const HalfKernels LABELGROVE_CONCAT(half_kernels_, LABELGROVE_KERNEL_VARIANT);
const HalfKernels LABELGROVE_CONCAT(half_kernels_, LABELGROVE_KERNEL_VARIANT){margins, arow_steps, arow, fade,
                                                                              take_share};

}  // namespace labelgrove
