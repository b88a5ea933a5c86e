// Compiled once per CPU variant, like kernels.cpp; see compact_rows.hpp for the contracts. Library functions from
// headers must not be used, only built-in ones: they would be compiled for this CPU, and the linker might use that copy
// on CPUs that cannot run it.
#include <cstring>

#include "labelgrove/compact_rows.hpp"
#include "lanes.hpp"

namespace labelgrove {
namespace {

constexpr std::uint32_t kMaskBits = (1U << kLanes) - 1;

using Floats = V<kLanes>;

// --- finding features ------------------------------------------------------------------------------------------------

constexpr std::size_t kAhead = 16;  // look-ahead of prefetching, in features

// Without a branch on whether a feature has a row, which would be unpredictable.
std::size_t locate_in_bitmap(const CompactRows& block, const Features& x, const std::uint8_t** rows, float* values) {
  std::size_t n = x.size;
  while (n > 0 && x.ids[n - 1] / 32 >= block.pairs) --n;
  std::size_t found = 0;
  for (std::size_t j = 0; j < n; ++j) {
    if (j + kAhead < n) __builtin_prefetch(&block.index[x.ids[j + kAhead] / 32]);
    const CompactRows::Pair group = block.index[x.ids[j] / 32];
    const std::uint32_t bit = 1U << (x.ids[j] % 32);
    const std::uint32_t rank = group.second + static_cast<std::uint32_t>(__builtin_popcount(group.first & (bit - 1)));
    rows[found] = reinterpret_cast<const std::uint8_t*>(block.offsets + rank);
    values[found] = x.values[j];
    __builtin_prefetch(rows[found]);
    found += (group.first & bit) != 0 ? 1 : 0;
  }
  for (std::size_t i = 0; i < found; ++i) {
    rows[i] = block.rows + read<std::uint32_t>(rows[i]);
    __builtin_prefetch(rows[i]);
  }
  return found;
}

std::size_t locate_in_table(const CompactRows& block, const Features& x, const std::uint8_t** rows, float* values) {
  const std::uint32_t homes = block.pairs - kPlacesBehind;
  const auto home = [&](std::size_t j) { return block.index + home_of(hash_of(x.ids[j], block.multiplier), homes); };
  for (std::size_t j = 0; j < kAhead && j < x.size; ++j) __builtin_prefetch(home(j));
  std::size_t found = 0;
  for (std::size_t j = 0; j < x.size; ++j) {
    if (j + kAhead < x.size) __builtin_prefetch(home(j + kAhead));
    const std::uint32_t hash = hash_of(x.ids[j], block.multiplier);
    const CompactRows::Pair* place = home(j);
    while (place->first != kNone && hash_of(place->first, block.multiplier) < hash) ++place;
    if (place->first != x.ids[j]) continue;
    rows[found] = block.rows + place->second;
    values[found] = x.values[j];
    __builtin_prefetch(rows[found++]);
  }
  return found;
}

// The features of both x and the list increase, so each search starts where the previous one ended.
std::size_t locate_in_list(const CompactRows& block, const Features& x, const std::uint8_t** rows, float* values) {
  const CompactRows::Pair* from = block.index;
  const CompactRows::Pair* const end = block.index + block.pairs;
  std::size_t found = 0;
  for (std::size_t j = 0; j < x.size; ++j) {
    for (auto left = static_cast<std::size_t>(end - from); left > 0;) {
      const std::size_t half = left / 2;
      const bool beyond = from[half].first < x.ids[j];
      from += beyond ? half + 1 : 0;
      left = beyond ? left - half - 1 : half;
    }
    if (from == end) break;
    if (from->first != x.ids[j]) continue;
    rows[found] = block.rows + from->second;
    values[found++] = x.values[j];
  }
  return found;
}

std::size_t locate(const CompactRows& block, const Features& x, const std::uint8_t** rows, float* values) {
  if (block.multiplier == kBitmap) return locate_in_bitmap(block, x, rows, values);
  if (block.multiplier == kSortedList) return locate_in_list(block, x, rows, values);
  return locate_in_table(block, x, rows, values);
}

// --- sums ------------------------------------------------------------------------------------------------------------

constexpr std::size_t padded(std::size_t columns) { return (columns + kLanes - 1) / kLanes * kLanes; }

// The lanes of v that belong to columns from c on; whatever lies beyond a row is masked out.
inline Floats first_lanes(Floats v, std::uint32_t columns, std::uint32_t c) {
  if (columns - c >= kLanes) return v;
  Pack<kLanes>::Int lane;
  for (int i = 0; i < kLanes; ++i) lane[i] = i;
  return (Floats)((Pack<kLanes>::Int)v & (lane < static_cast<std::int32_t>(columns - c)));
}

// Distributes the first values to the lanes whose bit is set; the other lanes are 0.
inline Floats spread(Floats values, std::uint32_t mask) {
#if defined(__AVX512F__)
  return (Floats)_mm512_maskz_expand_ps(static_cast<__mmask16>(mask), (__m512)values);
#elif defined(__AVX2__)
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i set = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(mask)), bit), bit);
  // For each lane, the number of bits set below it: one byte of the mask per lane, summed by a multiplication.
  std::uint64_t bytes = (mask & 0xFFULL) * 0x0101010101010101ULL & 0x8040201008040201ULL;
  bytes = (bytes + 0x7F7F7F7F7F7F7F7FULL) >> 7 & 0x0101010101010101ULL;
  bytes = bytes * 0x0101010101010100ULL;
  const __m256i rank = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(bytes)));
  return (Floats)_mm256_and_ps(_mm256_permutevar8x32_ps((__m256)values, rank), _mm256_castsi256_ps(set));
#else
  Floats out{};
  for (int lane = 0, next = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) != 0) out[lane] = values[next++];
  }
  return out;
#endif
}

inline std::uint32_t read_mask(const std::uint8_t* from) {
  if constexpr (kLanes == 16) return read<std::uint16_t>(from);
  else return *from;
}

// Adds x times a row to the sums, which are padded to whole vectors; returns the row's length in bytes.
template <typename Column, typename Value>
inline std::size_t add_row(const std::uint8_t* row, std::uint32_t columns, float x, float* sums) {
  const Column count = read<Column>(row);
  const std::uint8_t* at = row + sizeof(Column);
  const auto add = [&](std::uint32_t c, Floats values) {
    Floats sum;
    std::memcpy(&sum, sums + c, sizeof sum);
    sum += x * values;
    std::memcpy(sums + c, &sum, sizeof sum);
  };
  if (count == dense_row<Column>()) {
    for (std::uint32_t c = 0; c < columns; c += kLanes)
      add(c, first_lanes(Value::many(at + c * Value::kBytes), columns, c));
    return sizeof(Column) + columns * Value::kBytes;
  }
  if (count == masked_row<Column>()) {
    const std::uint8_t* mask = at;
    const std::uint8_t* value = at + mask_bytes(columns);
    for (std::uint32_t c = 0; c < columns; c += kLanes) {
      const std::uint32_t bits =
          kLanes == 4 && c % 8 != 0 ? read_mask(mask + c / 8) >> 4 : read_mask(mask + c / 8) & kMaskBits;
      add(c, spread(Value::many(value), bits));
      value += static_cast<std::size_t>(__builtin_popcount(bits)) * Value::kBytes;
    }
    return static_cast<std::size_t>(value - row);
  }
  const std::uint8_t* value = at + count * sizeof(Column);
  for (Column i = 0; i < count; ++i) {
    float& sum = sums[read<Column>(at + i * sizeof(Column))];
    sum += x * Value::one(value + i * Value::kBytes);
  }
  return sizeof(Column) + count * (sizeof(Column) + Value::kBytes);
}

// Blocks with few columns: all sums stay in registers, M vectors for even features and M for odd ones.
template <int M, typename Value>
std::uint64_t sum_narrow_rows(std::uint32_t columns, const std::uint8_t* const* rows, const float* values,
                              std::size_t n, float* even, float* odd) {
  std::uint64_t bytes = 0;
  const auto add = [&](const std::uint8_t* row, float x, Floats(&sum)[M]) {
    const std::uint8_t count = *row;
    const std::uint8_t* value = row + 1;
    if (count == dense_row<std::uint8_t>()) {
      for (int k = 0; k < M; ++k) {
        const auto c = static_cast<std::uint32_t>(k * kLanes);
        const Floats weights = first_lanes(Value::many(value + c * Value::kBytes), columns, c);
        sum[k] += x * weights;
      }
      bytes += 1 + columns * Value::kBytes;
      return;
    }
    std::uint64_t mask = 0;
    if (count == masked_row<std::uint8_t>()) {
      mask = read<std::uint64_t>(value) & ~std::uint64_t{0} >> (64 - columns);
      value += mask_bytes(columns);
    } else {
      for (std::uint8_t i = 0; i < count; ++i) mask |= std::uint64_t{1} << value[i];
      value += count;
    }
    for (int k = 0; k < M; ++k) {
      const std::uint32_t bits = static_cast<std::uint32_t>(mask >> (k * kLanes)) & kMaskBits;
      sum[k] += x * spread(Value::many(value), bits);
      value += static_cast<std::size_t>(__builtin_popcount(bits)) * Value::kBytes;
    }
    bytes += static_cast<std::uint64_t>(value - row);
  };
  Floats first[M];
  Floats second[M];
  std::memcpy(first, odd, sizeof first);
  std::memcpy(second, even, sizeof second);
  std::size_t j = 0;
  for (; j + 1 < n; j += 2) {
    add(rows[j], values[j], first);
    add(rows[j + 1], values[j + 1], second);
  }
  if (j < n) add(rows[j], values[j], first);
  std::memcpy(odd, first, sizeof first);
  std::memcpy(even, second, sizeof second);
  return bytes;
}

// Sums even and odd features separately, starting with the bias, as Kernels::margins does. A weight that is not stored
// would have added 0.
template <typename Column, typename Value>
std::uint64_t sum_rows(const CompactRows& block, const std::uint8_t* const* rows, const float* values, std::size_t n,
                       float* even, float* odd) {
  switch (padded(block.columns) / kLanes) {
    case 1:
      return sum_narrow_rows<1, Value>(block.columns, rows, values, n, even, odd);
    case 2:
      return sum_narrow_rows<2, Value>(block.columns, rows, values, n, even, odd);
    case 3:
      return sum_narrow_rows<3, Value>(block.columns, rows, values, n, even, odd);
    case 4:
      return sum_narrow_rows<4, Value>(block.columns, rows, values, n, even, odd);
    default:
      break;
  }
  std::uint64_t bytes = 0;
  for (std::size_t j = 0; j < n; ++j)
    bytes += add_row<Column, Value>(rows[j], block.columns, values[j], j % 2 == 0 ? odd : even);
  return bytes;
}

// Calls body.template operator()<Column, Value>() for the types of the block.
template <typename Body>
auto with_types(const CompactRows& block, Body&& body) {
  const auto with_values = [&]<typename Column>(Column) {
    switch (block.type) {
      case WeightType::float32:
        return body.template operator()<Column, Float32>();
      case WeightType::float16:
        return body.template operator()<Column, Float16>();
      default:
        return body.template operator()<Column, Int8>();
    }
  };
  switch (column_bytes(block.columns)) {
    case 1:
      return with_values(std::uint8_t{});
    case 2:
      return with_values(std::uint16_t{});
    default:
      return with_values(std::uint32_t{});
  }
}

std::uint64_t margins(const CompactRows& block, const std::uint8_t* const* rows, const float* values, std::size_t n,
                      float* sums, float* out) {
  const std::size_t stride = padded(block.columns);
  float* const even = sums;
  float* const odd = sums + stride;
  for (std::size_t c = 0; c < 2 * stride; ++c) sums[c] = 0.0F;
  const bool whole = block.scale == nullptr;
  for (std::uint32_t c = 0; c < block.columns && whole; ++c) even[c] += block.bias[c];
  const std::uint64_t bytes = with_types(block, [&]<typename Column, typename Value>() {
    return sum_rows<Column, Value>(block, rows, values, n, even, odd);
  });
  for (std::uint32_t c = 0; c < block.columns; ++c) {
    out[c] = whole ? even[c] + odd[c] : block.bias[c] + (even[c] + odd[c]) * block.scale[c];
  }
  return bytes + block.columns * sizeof(float);
}

void expand(const CompactRows& block, const std::uint8_t* row, float* sums, float* weights) {
  for (std::size_t c = 0; c < padded(block.columns); ++c) sums[c] = 0.0F;
  with_types(block,
             [&]<typename Column, typename Value>() { return add_row<Column, Value>(row, block.columns, 1.0F, sums); });
  for (std::uint32_t c = 0; c < block.columns; ++c)
    weights[c] = block.scale == nullptr ? sums[c] : sums[c] * block.scale[c];
}

}  // namespace

extern const CompactKernels LABELGROVE_CONCAT(compact_kernels_, LABELGROVE_KERNEL_VARIANT);
const CompactKernels LABELGROVE_CONCAT(compact_kernels_, LABELGROVE_KERNEL_VARIANT){locate, margins, expand};

}  // namespace labelgrove
