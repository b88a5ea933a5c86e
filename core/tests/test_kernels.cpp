#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "harness.hpp"
#include "labelgrove/kernels.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

constexpr std::size_t kMostColumns = 140;  // all tile widths and remainders
constexpr float kUntouched = 12345.0F;

std::vector<const Kernels*> variants() {
  std::vector<const Kernels*> all;
  for (const KernelVariant& variant : available_kernels()) all.push_back(variant.kernels);
  return all;
}

// Rows of weights and states as in a sibling block. Each has an allocation of its own that ends with the row, so that
// the sanitizers detect overruns, at an address that is only a multiple of 4.
class Table {
 public:
  Table(std::size_t n, std::size_t columns) : columns_(columns), rows_(n, std::vector<float>(1 + 2 * columns)) {
    point();
  }
  // Weights in [-1, 1], states in (0, 1].
  Table(Random& random, std::size_t n, std::size_t columns) : Table(n, columns) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t c = 0; c < columns; ++c) {
        weight(j, c) = random.between(-1.0F, 1.0F);
        state(j, c) = 1.0F - random.between(0.0F, 0.999F);
      }
    }
  }
  Table(const Table& other) : columns_(other.columns_), rows_(other.rows_) { point(); }
  Table& operator=(const Table&) = delete;

  float& weight(std::size_t row, std::size_t column) { return pointers_[row][column]; }
  float& state(std::size_t row, std::size_t column) { return pointers_[row][columns_ + column]; }
  float* const* rows() const { return pointers_.data(); }
  friend bool same_bits(const Table& a, const Table& b) {
    return std::ranges::equal(a.rows_, b.rows_, [](const auto& x, const auto& y) { return testing::same_bits(x, y); });
  }

 private:
  void point() {
    for (auto& row : rows_) pointers_.push_back(row.data() + 1);
  }

  std::size_t columns_;
  std::vector<std::vector<float>> rows_;
  std::vector<float*> pointers_;
};

void within(double found, double expected, double tolerance, const Kernels& kernel, std::size_t columns) {
  if (std::abs(found - expected) <= tolerance) return;
  fail(__FILE__, __LINE__,
       std::string(kernel.name) + ", " + show(columns) + " columns: found " + show(found) + ", expected " +
           show(expected));
}

// --- rows ------------------------------------------------------------------------------------------------------------

// A column thus depends neither on its position or neighbours nor on the processor, and a negated one learns the
// negated weights: OPLT is proper to the last bit.
TEST("kernels: every variant sums and learns as plain loops do, to the last bit, at every width") {
  constexpr float kRate = 0.7F;
  constexpr float kEpsilon = 0.01F;
  Random random(1);
  for (std::size_t columns = 0; columns <= kMostColumns; ++columns) {
    const std::size_t n = columns % 12;
    const Table before(random, n, columns);
    const std::vector<float> x = random_floats(random, n);
    const std::vector<float> steps = random_steps(random, columns);
    Table descended(before);
    Table added(before);
    std::vector<float> margins(columns + 1, kUntouched);
    for (std::size_t c = 0; c < columns; ++c) {
      float sums[2] = {0.0F, 0.0F};  // of even and odd rows
      for (std::size_t j = 0; j < n; ++j) {
        sums[j % 2] += x[j] * before.rows()[j][c];
        added.weight(j, c) += steps[c] * x[j];
        const float gradient = steps[c] * x[j];
        float& sum = descended.state(j, c);
        sum += gradient * gradient;
        descended.weight(j, c) -= kRate * gradient / std::sqrt(kEpsilon + sum);
      }
      margins[c] = sums[0] + sums[1];
    }
    for (const Kernels* kernel : variants()) {
      std::vector<float> found(columns + 1, kUntouched);
      kernel->margins(before.rows(), x.data(), n, columns, found.data());
      CHECK(same_bits(found, margins));
      Table table(before);
      kernel->adagrad(table.rows(), x.data(), n, columns, columns, steps.data(), kRate, kEpsilon);
      CHECK(same_bits(table, descended));
      Table other(before);
      kernel->add_scaled(other.rows(), x.data(), n, columns, steps.data());
      CHECK(same_bits(other, added));
    }
  }
}

TEST("kernels: rows given by number are summed and moved like rows given by address") {
  Random random(2);
  for (std::size_t columns = 0; columns <= kMostColumns; ++columns) {
    const std::size_t n = columns % 12;
    const std::vector<float> x = random_floats(random, n);
    const std::vector<float> steps = random_steps(random, columns);
    const std::vector<float> before = random_floats(random, n * columns);
    std::vector<std::uint32_t> numbers;
    for (std::size_t j = n; j-- > 0;) numbers.push_back(static_cast<std::uint32_t>(j));
    for (const Kernels* kernel : variants()) {
      std::vector<float> table = before;
      std::vector<float> same = before;
      std::vector<float*> rows;
      for (const std::uint32_t number : numbers) rows.push_back(same.data() + number * columns);
      kernel->table_add_scaled(table.data(), columns, numbers.data(), x.data(), n, columns, steps.data());
      kernel->add_scaled(rows.data(), x.data(), n, columns, steps.data());
      CHECK(same_bits(table, same));
      std::vector<float> found(columns);
      std::vector<float> margins(columns);
      kernel->table_margins(table.data(), columns, numbers.data(), x.data(), n, columns, found.data());
      kernel->margins(rows.data(), x.data(), n, columns, margins.data());
      CHECK(same_bits(found, margins));
    }
  }
}

// --- functions ------------------------------------------------------------------------------------------------------

// The results of a kernel's functions of runs and of single numbers.
std::vector<float> functions(const Kernels& kernel, std::size_t n) {
  Random random(n);
  const std::vector<float> x = random_floats(random, n);
  std::vector<float> made = random_floats(random, 2 * n, 0.001F);  // a run
  made.resize(4 * n + 3);
  kernel.run_margin_and_variance(made.data(), x.data(), n, n, &made[4 * n], &made[4 * n + 1]);
  made[4 * n + 2] = kernel.run_margin(made.data(), x.data(), n);
  kernel.run_arow(made.data(), x.data(), n, n, 0.3F, 0.7F);
  std::vector<float> in = random_floats(random, n, -100.0F, 100.0F);
  kernel.sigmoid(in.data(), n, &made[2 * n]);
  for (float& margin : in) margin = -std::abs(margin);
  kernel.exponential(in.data(), n, &made[3 * n]);
  return made;
}

TEST("kernels: every variant gives the same bits, at every length") {
  for (const Kernels* kernel : variants()) {
    for (std::size_t n = 0; n <= kMostColumns; ++n)
      CHECK(same_bits(functions(*kernel, n), functions(*variants().front(), n)));
  }
}

TEST("kernels: AdaGrad's step is exact to a few units in the last place over the whole range of sums") {
  for (const Kernels* kernel : variants()) {
    for (double exponent = -29.0; exponent <= 31.99; exponent += 0.0137) {
      for (const std::size_t columns : {1U, 2U, 4U, 8U, 16U}) {
        Table table(1, columns);
        for (std::size_t c = 0; c < columns; ++c) table.state(0, c) = static_cast<float>(std::pow(10.0, exponent));
        const double sum = table.state(0, 0);
        const float one = 1.0F;
        const std::vector<float> gradient(columns, 1e-16F);  // too small to matter in the sum
        kernel->adagrad(table.rows(), &one, 1, columns, columns, gradient.data(), 1.0F, 1e-30F);
        const double g = gradient[0];
        const double expected = -g / std::sqrt(sum + g * g + 1e-30);
        within(table.weight(0, columns - 1) / expected, 1.0, 1e-6, *kernel, columns);
      }
    }
  }
}

TEST("kernels: AdaGrad's sums stop before an overflow, and steps never exceed the rate") {
  for (const Kernels* kernel : variants()) {
    Table table(1, 1);
    table.state(0, 0) = 0.9F * kLargestSquareSum;
    const float one = 1.0F;
    const float gradient = 9e15F;
    for (int i = 0; i < 10; ++i) {
      const float before = table.weight(0, 0);
      kernel->adagrad(table.rows(), &one, 1, 1, 1, &gradient, 1.0F, 1e-30F);
      CHECK(table.state(0, 0) <= kLargestSquareSum);
      CHECK(std::abs(table.weight(0, 0) - before) <= 1.0F);
    }
    CHECK_EQ(table.state(0, 0), kLargestSquareSum);
  }
}

TEST("kernels: one column, its weights and states in runs, learns by the formulas") {
  Random random(11);
  for (const Kernels* kernel : variants()) {
    for (std::size_t n = 0; n <= kMostColumns; ++n) {
      std::vector<float> x(n);
      std::vector<float> run(2 * n);  // ends with the states
      for (std::size_t j = 0; j < n; ++j) {
        x[j] = random.between(-1.0F, 1.0F);
        run[j] = random.between(-1.0F, 1.0F);
        run[n + j] = random.between(0.001F, 1.0F);
      }
      float margin;
      float variance;
      kernel->run_margin_and_variance(run.data(), x.data(), n, n, &margin, &variance);
      double expected_margin = 0.0;
      double expected_variance = 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        expected_margin += double{x[j]} * run[j];
        expected_variance += double{x[j]} * x[j] * run[n + j];
      }
      within(margin, expected_margin, 1e-4, *kernel, n);
      within(variance, expected_variance, 1e-4, *kernel, n);
      CHECK(same_bits(kernel->run_margin(run.data(), x.data(), n), margin));
      const std::vector<float> before = run;
      kernel->run_arow(run.data(), x.data(), n, n, 0.3F, 0.7F);
      for (std::size_t j = 0; j < n; ++j) {
        const double state = before[n + j];
        within(run[j], before[j] + double{0.3F} * x[j] * state, 1e-6, *kernel, n);
        within(run[n + j], state / (1.0 + state * x[j] * x[j] * double{0.7F}), 1e-6, *kernel, n);
      }
    }
  }
}

double true_sigmoid(double z) { return 1.0 / (1.0 + std::exp(-z)); }

TEST("kernels: every variant moves dual variables as a plain loop does, to the last bit, at every width") {
  Random random(3);
  for (std::size_t columns = 0; columns <= kMostColumns; ++columns) {
    const float square = random.between(0.0F, 2.0F);
    const std::vector<float> margins = random_floats(random, columns);
    std::vector<float> targets(columns);
    std::vector<float> softness(columns);
    std::vector<float> duals(columns);
    for (std::size_t c = 0; c < columns; ++c) {
      targets[c] = random.chance(0.2) ? 1.0F : -1.0F;
      softness[c] = random.between(0.1F, 1.0F);
      duals[c] = random.chance(0.5) ? 0.0F : random.between(0.0F, 2.0F);
    }
    std::vector<float> changes(columns + 1, kUntouched);
    std::vector<float> steps(columns + 1, kUntouched);
    float worst = 0.0F;
    for (std::size_t c = 0; c < columns; ++c) {
      const float gain = (1.0F - targets[c] * margins[c]) - duals[c] * softness[c];
      changes[c] = std::max(-duals[c], gain / (square + softness[c]));
      steps[c] = changes[c] * targets[c];
      worst = std::max(worst, duals[c] > 0.0F ? std::abs(gain) : gain);
    }
    for (const Kernels* kernel : variants()) {
      std::vector<float> changed(columns + 1, kUntouched);
      std::vector<float> stepped(columns + 1, kUntouched);
      CHECK_EQ(kernel->hinge_steps(margins.data(), targets.data(), softness.data(), duals.data(), square, columns,
                                   changed.data(), stepped.data()),
               worst);
      CHECK(same_bits(changed, changes));
      CHECK(same_bits(stepped, steps));
    }
  }
}

TEST("kernels: the sigmoid is accurate to seven digits, at every width") {
  for (const Kernels* kernel : variants()) {
    std::vector<float> in;
    for (float z = -87.0F; z <= 87.0F; z += 0.00173F) in.push_back(z);
    for (float z = 1e-45F; z < 100.0F; z *= 1.7F) in.insert(in.end(), {z, -z});
    std::vector<float> out(in.size());
    kernel->sigmoid(in.data(), in.size(), out.data());
    double worst = 0.0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double z = std::clamp(static_cast<double>(in[i]), -87.0, 87.0);
      worst = std::max(worst, std::abs(static_cast<double>(out[i]) / true_sigmoid(z) - 1.0));
    }
    CHECK(worst < 4e-7);
    for (std::size_t n = 0; n <= kMostColumns; ++n) {
      std::vector<float> part(n + 1, kUntouched);
      kernel->sigmoid(in.data() + n, n, part.data());
      CHECK(same_bits(std::span(part).first(n), std::span(out).subspan(n, n)));
      CHECK_EQ(part[n], kUntouched);
    }
  }
}

TEST("kernels: the sigmoid of extreme arguments") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Kernels* kernel : variants()) {
    const std::vector<float> in{0.0F, -0.0F, 87.0F, 1e30F, kInfinity, -87.0F, -1e30F, -kInfinity};
    std::vector<float> out(in.size());
    kernel->sigmoid(in.data(), in.size(), out.data());
    CHECK_EQ(out[0], 0.5F);
    CHECK_EQ(out[1], 0.5F);
    CHECK_EQ(out[2], 1.0F);
    CHECK_EQ(out[3], 1.0F);
    CHECK_EQ(out[4], 1.0F);
    CHECK(out[5] > 0.0F && out[5] < 2e-38F);
    CHECK_EQ(out[6], out[5]);
    CHECK_EQ(out[7], out[5]);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    float result = 0.0F;
    kernel->sigmoid(&nan, 1, &result);
    CHECK(std::isnan(result));
  }
}

TEST("kernels: the sigmoid may be written over its argument") {
  for (const Kernels* kernel : variants()) {
    std::vector<float> numbers{-2.0F, -1.0F, 0.0F, 1.0F, 2.0F, 3.0F, 4.0F};
    std::vector<float> apart(numbers.size());
    kernel->sigmoid(numbers.data(), numbers.size(), apart.data());
    kernel->sigmoid(numbers.data(), numbers.size(), numbers.data());
    CHECK(same_bits(numbers, apart));
  }
}

TEST("kernels: every variant has its name, and the one in use is among them") {
  bool found = false;
  for (const Kernels* kernel : variants()) {
    found = found || kernel == &kernels();
    CHECK(std::string_view(kernel->name) == "baseline" || std::string_view(kernel->name) == "avx2" ||
          std::string_view(kernel->name) == "avx512");
  }
  CHECK(found);
  CHECK(&kernels() == &kernels());
}

}  // namespace
}  // namespace labelgrove::testing
