#include <algorithm>
#include <vector>

#include "harness.hpp"
#include "labelgrove/half_kernels.hpp"
#include "labelgrove/kernels.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/variance.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

constexpr std::size_t kMostColumns = 140;  // all tile widths and remainders
constexpr float kUntouched = 12345.0F;

std::vector<const HalfKernels*> variants() {
  std::vector<const HalfKernels*> all;
  for (const KernelVariant& variant : available_kernels()) all.push_back(variant.half_kernels);
  return all;
}

// Rows of weights and variances as in a sibling block. Each has an allocation of its own that ends with the row, so
// that the sanitizers detect overruns, at an address that is only a multiple of 2.
class Rows {
 public:
  Rows(Random& random, std::size_t n, std::size_t columns) : rows_(n, std::vector<std::uint8_t>(2 + 3 * columns)) {
    point();
    for (BFloat16* row : pointers_) {
      for (std::size_t c = 0; c < columns; ++c) {
        row[c] = rounded(random.between(-1.0F, 1.0F), kToNearest);
        variances(row, columns)[c] = rounded_variance(random.between(0.0F, 1.0F), kToNearest);
      }
    }
  }
  Rows(const Rows& other) : rows_(other.rows_) { point(); }
  Rows& operator=(const Rows&) = delete;

  static Variance* variances(BFloat16* row, std::size_t columns) { return reinterpret_cast<Variance*>(row + columns); }
  BFloat16* const* get() const { return pointers_.data(); }
  friend bool operator==(const Rows& a, const Rows& b) { return a.rows_ == b.rows_; }

 private:
  void point() {
    for (auto& row : rows_) pointers_.push_back(reinterpret_cast<BFloat16*>(row.data() + 2));
  }

  std::vector<std::vector<std::uint8_t>> rows_;
  std::vector<BFloat16*> pointers_;
};

// A column thus depends neither on its position or neighbours nor on the processor.
TEST("half kernels: every variant sums and steps as plain loops do, to the last bit, at every width") {
  Random random(1);
  for (std::size_t columns = 0; columns <= kMostColumns; ++columns) {
    const std::size_t n = columns % 12;
    const Rows rows(random, n, columns);
    const std::vector<float> x = random_floats(random, n);
    const float r = random.between(0.01F, 2.0F);
    std::vector<float> margins(columns + 1, kUntouched);
    std::vector<float> steps(columns + 1, kUntouched);
    std::vector<float> wanted(columns + 1, kUntouched);
    std::vector<float> losses(columns);
    for (std::size_t c = 0; c < columns; ++c) {
      wanted[c] = random.chance(0.1) ? random.chance(0.5) ? -1.0F : 1.0F : 0.0F;
      losses[c] = random.between(0.0F, random.chance(0.2) ? 1e8F : 3.0F);  // some reach the trust region
      float sums[2] = {0.0F, 0.0F};                                        // of even and odd rows
      float spreads[2] = {0.0F, 0.0F};
      for (std::size_t j = 0; j < n; ++j) {
        sums[j % 2] += x[j] * widened(rows.get()[j][c]);
        spreads[j % 2] += (x[j] * x[j]) * widened(Rows::variances(rows.get()[j], columns)[c]);
      }
      margins[c] = sums[0] + sums[1];
      steps[c] = wanted[c] == 0.0F ? 0.0F : wanted[c] * arow_step(losses[c], spreads[0] + spreads[1], r);
    }
    for (const HalfKernels* kernel : variants()) {
      std::vector<float> found(columns + 1, kUntouched);
      kernel->margins(rows.get(), x.data(), n, columns, found.data());
      CHECK(same_bits(found, margins));
      found = wanted;
      kernel->arow_steps(rows.get(), x.data(), n, columns, columns, losses.data(), r, found.data());
      CHECK(same_bits(found, steps));
    }
  }
}

TEST("half kernels: every variant learns as plain loops do, to the last bit, at every width") {
  Random random(2);
  for (std::size_t columns = 0; columns <= kMostColumns; ++columns) {
    const std::size_t n = 1 + columns % 7;
    const Rows before(random, n, columns);
    const std::vector<float> x = random_floats(random, n);
    std::vector<float> steps = random_steps(random, columns);
    std::vector<std::uint32_t> noise(n);
    for (auto& number : noise) number = random.below(0xFFFFFFFF);
    const bool shrinks = columns % 2 == 0;
    std::vector<float> evidence(columns);
    for (float& one : evidence) one = random.between(0.1F, 2.0F);
    Rows expected(before);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t c = 0; c < columns; ++c) {
        if (steps[c] == 0.0F) continue;
        BFloat16& weight = expected.get()[j][c];
        Variance& state = Rows::variances(expected.get()[j], columns)[c];
        const float variance = widened(state);
        const float sx = variance * x[j];
        weight = rounded(widened(weight) + steps[c] * sx, noise[j] & 0xFFFF);
        if (shrinks) state = rounded_variance(variance / (1.0F + (sx * x[j]) * evidence[c]), noise[j] >> 16);
      }
    }
    for (const HalfKernels* kernel : variants()) {
      Rows found(before);
      kernel->arow(found.get(), x.data(), noise.data(), n, columns, columns, steps.data(),
                   shrinks ? evidence.data() : nullptr);
      CHECK(found == expected);
    }
  }
}

TEST("half kernels: every variant fades as plain loops do, to the last bit, at every width") {
  Random random(3);
  for (std::size_t columns = 0; columns <= kMostColumns; ++columns) {
    const std::size_t n = 1 + columns % 7;
    const Rows before(random, n, columns);
    std::vector<float> x = random_floats(random, n);
    if (columns % 5 == 0) x[0] = 1e20F;  // its square overflows a float
    std::vector<float> shares(columns);
    for (float& share : shares) share = random.chance(0.5) ? 0.0F : random.between(0.0F, 3.0F);
    std::vector<std::uint32_t> noise(n);
    for (auto& number : noise) number = random.below(0xFFFFFFFF);
    Rows expected(before);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t c = 0; c < columns; ++c) {
        if (shares[c] == 0.0F) continue;
        BFloat16& weight = expected.get()[j][c];
        const float variance = widened(Rows::variances(expected.get()[j], columns)[c]);
        const float sx = variance * x[j];
        const float lost = std::min(0.5F, shares[c] * sx * sx / std::max(1.0F - variance, 0x1p-8F));
        weight = rounded(widened(weight) - widened(weight) * lost, noise[j] & 0xFFFF);
      }
    }
    for (const HalfKernels* kernel : variants()) {
      Rows found(before);
      kernel->fade(found.get(), x.data(), noise.data(), n, columns, columns, shares.data());
      CHECK(found == expected);
    }
  }
}

TEST("half kernels: every variant takes a share as plain loops do, to the last bit, at every width") {
  Random random(4);
  for (std::size_t columns = 0; columns <= kMostColumns; ++columns) {
    const Rows before(random, 2, columns);
    const float share = columns % 9 == 0 ? -1.0F : random.between(-1.0F, 1.0F);
    const std::uint32_t noise = random.below(0xFFFFFFFF);
    for (const std::size_t to : {0U, 1U}) {
      Rows expected(before);
      for (std::size_t c = 0; c < columns; ++c) {
        BFloat16* row = expected.get()[0];
        const float variance = 1.0F - share * share * (1.0F - widened(Rows::variances(row, columns)[c]));
        expected.get()[to][c] = rounded(widened(row[c]) * share, noise & 0xFFFF);
        Rows::variances(expected.get()[to], columns)[c] = rounded_variance(variance, noise >> 16);
      }
      for (const HalfKernels* kernel : variants()) {
        Rows found(before);
        kernel->take_share(found.get()[0], share, noise, columns, columns, found.get()[to]);
        CHECK(found == expected);
      }
    }
  }
}

TEST("bfloat16: noise rounds to either neighbour, so that the mean is the number") {
  const float number = 1.0F + 0.3F * 0x1p-7F;
  std::uint32_t up = 0;
  for (std::uint32_t noise = 0; noise < 0x10000; ++noise) {
    const float found = widened(rounded(number, noise));
    CHECK(found == 1.0F || found == 1.0F + 0x1p-7F);
    up += found > 1.0F ? 1 : 0;
    CHECK_EQ(widened(rounded(-number, noise)), -found);
  }
  CHECK(up > 0.2999 * 0x10000 && up < 0.3001 * 0x10000);
  CHECK_EQ(widened(rounded(number, kToNearest)), 1.0F);
}

TEST("variance: noise rounds to either neighbour, so that the mean of the roots is the root") {
  const float root = 100.3F / 256.0F;
  double sum = 0.0;
  for (std::uint32_t noise = 0; noise < 0x10000; ++noise) {
    const Variance found = rounded_variance(root * root, noise);
    CHECK(found.root == 99 || found.root == 100);
    sum += found.root + 1.0;
  }
  CHECK_NEAR(sum / 0x10000, 100.3, 1e-4);
  CHECK_EQ(rounded_variance(root * root, kToNearest).root, 99);
}

TEST("variance: representable values are unchanged, and none is 0") {
  for (int root = 0; root < 256; ++root) {
    const Variance variance{static_cast<std::uint8_t>(root)};
    for (const std::uint32_t noise : {0U, kToNearest, 0xFFFFU}) {
      CHECK(rounded_variance(widened(variance), noise) == variance);
    }
  }
  CHECK_EQ(widened(rounded_variance(1.0F, 0xFFFF)), 1.0F);
  CHECK_EQ(widened(rounded_variance(0.0F, 0)), 0x1p-16F);
}

TEST("bfloat16: representable numbers are unchanged, and zero has no sign") {
  for (std::uint32_t bits = 0; bits < 0x7F80; ++bits) {
    for (const std::uint32_t sign : {0U, 0x8000U}) {
      const BFloat16 number{static_cast<std::uint16_t>(bits | sign)};
      for (const std::uint32_t noise : {0U, 1U, 0x8000U, 0xFFFFU}) {
        CHECK_EQ(rounded(widened(number), noise).bits, bits == 0 ? 0 : number.bits);
      }
    }
  }
  CHECK_EQ(rounded(-1e-45F, 0).bits, 0);
}

}  // namespace
}  // namespace labelgrove::testing
