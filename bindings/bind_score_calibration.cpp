#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "labelgrove/elementary.hpp"
#include "labelgrove/score_calibration.hpp"
#include "register.hpp"

namespace labelgrove::bindings {
namespace {

template <typename T>
std::span<const T> row_of(const InMatrix<T>& matrix, std::size_t row) {
  return {matrix.data() + row * matrix.shape(1), matrix.shape(1)};
}

void add(ScoreCalibration& self, const InMatrix<double>& logits, const In<bool>& right, const In<double>& keeps) {
  if (right.size() != logits.size() || keeps.size() != logits.shape(0))
    throw std::invalid_argument("expected as many outcomes as labels, and one factor for each example");
  for (std::size_t row = 0; row < keeps.size(); ++row)
    self.add(row_of(logits, row), right.data() + row * logits.shape(1), keeps.data()[row]);
}

nb::ndarray<double, nb::numpy> apply(const ScoreCalibration& self, const In<double>& logits) {
  auto found = make_array<double>({logits.size()});
  self.apply(view(logits), std::vector<std::size_t>(logits.size()), found.data());
  return found;
}

// A label is as many places down as its row of `best` has probabilities above its own.
nb::ndarray<float, nb::numpy> calibrated(const ScoreCalibration& self, const In<float>& probabilities,
                                         const In<std::int64_t>& rows, const InMatrix<float>& best) {
  const std::size_t n = probabilities.size();
  if (rows.size() != n) throw std::invalid_argument("expected the row of every label");
  auto found = make_array<float>({n});
  const WithoutGil released;
  std::vector<double> logits(n), estimates(n);
  std::vector<std::size_t> places(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(rows.data()[i]);
    if (row >= best.shape(0)) throw std::invalid_argument("a label's row does not exist");
    const float own = probabilities.data()[i];
    logits[i] = log_odds(static_cast<double>(own));
    const auto above = [&](float one) { return one > own; };
    places[i] = static_cast<std::size_t>(std::ranges::count_if(row_of(best, row), above));
  }
  self.apply(logits, places, estimates.data());
  std::ranges::transform(estimates, found.data(), [](double one) { return static_cast<float>(one); });
  return found;
}

}  // namespace

void register_score_calibration(nb::module_& module) {
  nb::class_<ScoreCalibration>(
      module, "ScoreCalibration",
      "How often labels of a given score are right; see core/include/labelgrove/score_calibration.hpp.")
      .def(nb::init<std::size_t>(), nb::arg("places"))
      .def_static(
          "load",
          [](const In<double>& numbers) {
            const std::span<const double> all(view(numbers));
            ScoreCalibration::Losses losses;
            if (all.size() <= losses.size() || (all.size() - losses.size()) % 2 == 0)
              throw std::invalid_argument("a calibration has a weight, as many hits as counts, and its losses");
            std::ranges::copy(all.last(losses.size()), losses.begin());
            const auto parts = all.first(all.size() - losses.size()).subspan(1);
            const auto middle = parts.begin() + static_cast<std::ptrdiff_t>(parts.size() / 2);
            return std::make_unique<ScoreCalibration>(all[0], std::vector(parts.begin(), middle),
                                                      std::vector(middle, parts.end()), losses);
          },
          nb::arg("numbers"))
      .def(
          "save",
          [](const ScoreCalibration& self) {
            std::vector<double> numbers(1, self.weight());
            numbers.insert(numbers.end(), self.counts().begin(), self.counts().end());
            numbers.insert(numbers.end(), self.hits().begin(), self.hits().end());
            numbers.insert(numbers.end(), self.losses().begin(), self.losses().end());
            return to_array(std::move(numbers));
          },
          "The complete state: the weight, the counts, the hits and the losses.")
      .def("add", &add, nb::arg("logits"), nb::arg("right"), nb::arg("keeps"))
      .def("apply", &apply, nb::arg("logits"), "The probabilities of labels that are ranked first.")
      .def("calibrated", &calibrated, nb::arg("probabilities"), nb::arg("rows"), nb::arg("best"))
      .def(
          "uncalibrate",
          [](const ScoreCalibration& self, const In<float>& thresholds, std::size_t place) {
            auto least = make_array<float>({thresholds.size()});
            self.uncalibrate(view(thresholds), place, least.data());
            return least;
          },
          nb::arg("thresholds"), nb::arg("place"))
      .def(
          "uncalibrate_by_place",
          [](const ScoreCalibration& self, float threshold, std::size_t places) {
            auto least = make_array<float>({places});
            self.uncalibrate_by_place(threshold, {least.data(), places});
            return least;
          },
          nb::arg("threshold"), nb::arg("places"))
      .def("power", &ScoreCalibration::power, nb::arg("expected"), "The power of the odds of labels that compete.")
      .def(
          "curve",
          [](const ScoreCalibration& self) {
            const ScoreCalibration::Curve curve = self.curve();
            return std::tuple(curve.fall, to_array(curve.logits));
          },
          "The effect of a place on the log-odds, and the log-odds at the knots.");
  module.def(
      "log_odds",
      [](const In<float>& probabilities) {
        auto found = make_array<double>({probabilities.size()});
        std::ranges::transform(view(probabilities), found.data(),
                               [](float p) { return log_odds(static_cast<double>(p)); });
        return found;
      },
      nb::arg("probabilities"), "The log-odds of probabilities.");
}

}  // namespace labelgrove::bindings
