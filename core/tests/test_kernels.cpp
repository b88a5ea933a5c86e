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
    for (auto& row : rows_) pointers_.push_back(row.data() + 1);
  }
  Table(const Table& other) : Table(other.rows_.size(), other.columns_) { rows_copied_from(other); }
  Table& operator=(const Table&) = delete;

  // Weights in [-1, 1], states in (0, 1].
  static Table random(Random& random, std::size_t n, std::size_t columns) {
    Table table(n, columns);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t c = 0; c < columns; ++c) {
        table.weight(j, c) = random.between(-1.0F, 1.0F);
        table.state(j, c) = 1.0F - random.between(0.0F, 0.999F);
      }
    }
    return table;
  }
  // A selection of the columns, in the given order.
  Table select(std::span<const std::size_t> columns) const {
    Table chosen(rows_.size(), columns.size());
    for (std::size_t j = 0; j < rows_.size(); ++j) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        chosen.weight(j, c) = pointers_[j][columns[c]];
        chosen.state(j, c) = pointers_[j][columns_ + columns[c]];
      }
    }
    return chosen;
  }
  Table negated() const {
    Table opposite(*this);
    for (std::size_t j = 0; j < rows_.size(); ++j) {
      for (std::size_t c = 0; c < columns_; ++c) opposite.weight(j, c) = 0.0F - opposite.weight(j, c);
    }
    return opposite;
  }

  float& weight(std::size_t row, std::size_t column) { return pointers_[row][column]; }
  float& state(std::size_t row, std::size_t column) { return pointers_[row][columns_ + column]; }
  std::size_t columns() const { return columns_; }
  std::size_t size() const { return rows_.size(); }
  float* const* rows() const { return pointers_.data(); }

 private:
  void rows_copied_from(const Table& other) {
    for (std::size_t j = 0; j < rows_.size(); ++j) std::ranges::copy(other.rows_[j], rows_[j].begin());
  }

  std::size_t columns_;
  std::vector<std::vector<float>> rows_;
  std::vector<float*> pointers_;
};

std::vector<float> negated(std::vector<float> numbers) {
  for (float& number : numbers) number = 0.0F - number;
  return numbers;
}

void within(double found, double expected, double tolerance, const Kernels& kernel, std::size_t columns) {
  if (std::abs(found - expected) <= tolerance) return;
  fail(__FILE__, __LINE__,
       std::string(kernel.name) + ", " + show(columns) + " columns: found " + show(found) + ", expected " +
           show(expected));
}

enum class Update { adagrad, add_scaled };
constexpr Update kUpdates[] = {Update::adagrad, Update::add_scaled};

constexpr float kRate = 0.7F;
constexpr float kEpsilon = 0.01F;

void apply(const Kernels& kernel, Update update, Table& table, const std::vector<float>& x,
           const std::vector<float>& steps) {
  const std::size_t columns = table.columns();
  switch (update) {
    case Update::adagrad:
      kernel.adagrad(table.rows(), x.data(), x.size(), columns, columns, steps.data(), kRate, kEpsilon);
      break;
    case Update::add_scaled:
      kernel.add_scaled(table.rows(), x.data(), x.size(), columns, steps.data());
      break;
  }
}

// --- values ---------------------------------------------------------------------------------------------------------

TEST("kernels: margins are correct sums, at every width") {
  Random random(1);
  for (const Kernels* kernel : variants()) {
    for (std::size_t columns = 0; columns <= kMostColumns; ++columns) {
      const std::size_t n = columns % 12;
      Table table = Table::random(random, n, columns);
      const std::vector<float> x = random_floats(random, n);
      std::vector<float> alone(columns + 1, kUntouched);
      kernel->margins(table.rows(), x.data(), n, columns, alone.data());
      for (std::size_t c = 0; c < columns; ++c) {
        double margin = 0.0;
        for (std::size_t j = 0; j < n; ++j) {
          margin += double{x[j]} * table.weight(j, c);
        }
        within(alone[c], margin, 1e-6, *kernel, columns);
      }
      CHECK_EQ(alone[columns], kUntouched);
    }
  }
}

TEST("kernels: updates follow their formulas, at every width") {
  Random random(2);
  for (const Kernels* kernel : variants()) {
    for (std::size_t columns = 0; columns <= kMostColumns; ++columns) {
      const std::size_t n = 1 + columns % 7;
      const Table before = Table::random(random, n, columns);
      const std::vector<float> x = random_floats(random, n);
      const std::vector<float> steps = random_steps(random, columns);
      for (const Update update : kUpdates) {
        Table old(before);
        Table table(before);
        apply(*kernel, update, table, x, steps);
        for (std::size_t j = 0; j < n; ++j) {
          for (std::size_t c = 0; c < columns; ++c) {
            const double xj = x[j];
            const double step = steps[c];
            double weight = old.weight(j, c);
            double state = old.state(j, c);
            if (update == Update::adagrad) {
              state += step * xj * step * xj;
              weight -= double{kRate} * step * xj / std::sqrt(double{kEpsilon} + state);
            } else {
              weight += step * xj;
            }
            within(table.weight(j, c), weight, 1e-6, *kernel, columns);
            within(table.state(j, c), state, 1e-6, *kernel, columns);
          }
        }
      }
    }
  }
}

// The results of all of a kernel's functions for random rows.
std::vector<float> everything(const Kernels& kernel, std::size_t columns) {
  Random random(columns);
  const std::size_t n = 1 + columns % 12;
  const std::vector<float> x = random_floats(random, n);
  const std::vector<float> steps = random_steps(random, columns);
  std::vector<float> made(columns);
  const auto keep = [&made](const auto& numbers) { made.insert(made.end(), numbers.begin(), numbers.end()); };
  Table table = Table::random(random, n, columns);
  kernel.margins(table.rows(), x.data(), n, columns, made.data());
  for (const Update update : kUpdates) {
    apply(kernel, update, table, x, steps);
    for (std::size_t j = 0; j < n; ++j) keep(std::span(table.rows()[j], 2 * columns));
  }
  std::vector<float> numbered = random_floats(random, n * columns);
  std::vector<std::uint32_t> numbers(n);
  for (std::size_t j = 0; j < n; ++j) numbers[j] = static_cast<std::uint32_t>(n - 1 - j);
  kernel.table_add_scaled(numbered.data(), columns, numbers.data(), x.data(), n, columns, steps.data());
  keep(numbered);
  std::vector<float> sums(columns);
  kernel.table_margins(numbered.data(), columns, numbers.data(), x.data(), n, columns, sums.data());
  keep(sums);
  std::vector<float> run = random_floats(random, 2 * columns, 0.001F);
  float two[2];
  kernel.run_margin_and_variance(run.data(), steps.data(), columns, columns, &two[0], &two[1]);
  keep(std::span(two));
  made.push_back(kernel.run_margin(run.data(), steps.data(), columns));
  kernel.run_arow(run.data(), steps.data(), columns, columns, 0.3F, 0.7F);
  keep(run);
  std::vector<float> in(columns);
  std::vector<float> out(columns);
  for (float& margin : in) margin = random.between(-100.0F, 100.0F);
  kernel.sigmoid(in.data(), columns, out.data());
  keep(out);
  for (float& margin : in) margin = -std::abs(margin);
  kernel.exponential(in.data(), columns, out.data());
  keep(out);
  return made;
}

TEST("kernels: every variant gives the same bits, at every width") {
  for (const Kernels* kernel : variants()) {
    for (std::size_t columns = 0; columns <= kMostColumns; ++columns)
      CHECK(same_bits(everything(*kernel, columns), everything(*variants().front(), columns)));
  }
}

// --- the two properties that make OPLT proper to the last bit -------------------------------------------------------

TEST("kernels: a column's result depends neither on its place nor on its neighbours, to the last bit") {
  Random random(3);
  for (const Kernels* kernel : variants()) {
    for (std::size_t columns = 1; columns <= kMostColumns; ++columns) {
      const std::size_t n = 1 + columns % 9;
      const Table all = Table::random(random, n, columns);
      const std::vector<float> x = random_floats(random, n);
      const std::vector<float> steps = random_steps(random, columns);
      // Fewer columns, in other positions.
      std::vector<std::size_t> chosen;
      for (std::size_t c = 0; c < columns; ++c) {
        if (random.chance(0.3)) chosen.push_back(c);
      }
      random.shuffle(chosen);
      Table some = all.select(chosen);
      std::vector<float> some_steps;
      for (const std::size_t c : chosen) some_steps.push_back(steps[c]);

      std::vector<float> margins(columns);
      std::vector<float> some_margins(chosen.size());
      kernel->margins(all.rows(), x.data(), n, columns, margins.data());
      kernel->margins(some.rows(), x.data(), n, chosen.size(), some_margins.data());
      for (std::size_t i = 0; i < chosen.size(); ++i) CHECK(same_bits(some_margins[i], margins[chosen[i]]));
      for (const Update update : kUpdates) {
        Table wide(all);
        Table narrow(some);
        apply(*kernel, update, wide, x, steps);
        apply(*kernel, update, narrow, x, some_steps);
        std::size_t different = 0;
        for (std::size_t j = 0; j < n; ++j) {
          for (std::size_t i = 0; i < chosen.size(); ++i) {
            different += same_bits(narrow.weight(j, i), wide.weight(j, chosen[i])) ? 0 : 1;
            different += same_bits(narrow.state(j, i), wide.state(j, chosen[i])) ? 0 : 1;
          }
        }
        CHECK_EQ(different, 0U);
      }
    }
  }
}

TEST("kernels: negated weights give negated margins, and learn the negated weights, to the last bit") {
  Random random(4);
  for (const Kernels* kernel : variants()) {
    for (std::size_t columns = 1; columns <= kMostColumns; ++columns) {
      const std::size_t n = 1 + columns % 9;
      const Table table = Table::random(random, n, columns);
      const Table opposite = table.negated();
      const std::vector<float> x = random_floats(random, n);
      const std::vector<float> steps = random_steps(random, columns);
      std::vector<float> margins(columns);
      std::vector<float> opposite_margins(columns);
      kernel->margins(table.rows(), x.data(), n, columns, margins.data());
      kernel->margins(opposite.rows(), x.data(), n, columns, opposite_margins.data());
      CHECK(same_bits(opposite_margins, negated(margins)));
      for (const Update update : kUpdates) {
        Table learnt(table);
        Table opposite_learnt(opposite);
        apply(*kernel, update, learnt, x, steps);
        apply(*kernel, update, opposite_learnt, x, negated(steps));
        std::size_t different = 0;
        for (std::size_t j = 0; j < n; ++j) {
          for (std::size_t c = 0; c < columns; ++c) {
            different += opposite_learnt.weight(j, c) == -learnt.weight(j, c) ? 0 : 1;
            different += same_bits(opposite_learnt.state(j, c), learnt.state(j, c)) ? 0 : 1;
          }
        }
        CHECK_EQ(different, 0U);
      }
    }
  }
}

TEST("kernels: a column whose step is 0 stays as it is") {
  Random random(5);
  for (const Kernels* kernel : variants()) {
    for (std::size_t columns = 1; columns <= 40; ++columns) {
      const Table before = Table::random(random, 5, columns);
      const std::vector<float> x = random_floats(random, 5);
      const std::vector<float> steps = random_steps(random, columns);
      for (const Update update : kUpdates) {
        Table old(before);
        Table table(before);
        apply(*kernel, update, table, x, steps);
        for (std::size_t j = 0; j < 5; ++j) {
          for (std::size_t c = 0; c < columns; ++c) {
            if (steps[c] != 0.0F) continue;
            CHECK(same_bits(table.weight(j, c), old.weight(j, c)));
            CHECK(same_bits(table.state(j, c), old.state(j, c)));
          }
        }
      }
    }
  }
}

// --- functions ------------------------------------------------------------------------------------------------------

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
