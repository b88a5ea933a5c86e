#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>

#include "arrays.hpp"
#include "labelgrove/reranking.hpp"
#include "register.hpp"

namespace labelgrove::bindings {
namespace {

nb::ndarray<double, nb::numpy> learn(Reranking& self, const InMatrix<float>& probabilities,
                                     const InMatrix<double>& cosines, const InMatrix<double>& worth,
                                     const InMatrix<bool>& right) {
  const std::size_t n = probabilities.shape(0), k = probabilities.shape(1);
  for (const auto& [rows, columns] :
       {std::pair(cosines.shape(0), cosines.shape(1)), std::pair(worth.shape(0), worth.shape(1)),
        std::pair(right.shape(0), right.shape(1))})
    if (rows != n || columns != k) throw std::invalid_argument("expected matrices of the same shape");
  auto logits = make_array<double>({n, k});
  for (std::size_t row = 0; row < n; ++row) {
    const std::size_t at = row * k;
    self.learn({probabilities.data() + at, k}, {cosines.data() + at, k}, {worth.data() + at, k}, right.data() + at,
               logits.data() + at);
  }
  return logits;
}

nb::ndarray<double, nb::numpy> logits(const Reranking& self, const In<float>& probabilities,
                                      const In<double>& cosines) {
  if (cosines.size() != probabilities.size()) throw std::invalid_argument("expected as many cosines as probabilities");
  auto found = make_array<double>({probabilities.size()});
  std::ranges::transform(view(probabilities), view(cosines), found.data(),
                         [&](float probability, double cosine) { return self.logit(probability, cosine); });
  return found;
}

}  // namespace

void register_reranking(nb::module_& module) {
  nb::class_<Reranking>(module, "Reranking",
                        "The re-ranking of a second stage; see core/include/labelgrove/reranking.hpp.")
      .def(nb::init<>())
      .def_static(
          "load", [](const In<double>& numbers) { return std::make_unique<Reranking>(view(numbers)); },
          nb::arg("numbers"))
      .def(
          "save", [](const Reranking& self) { return to_array(self.numbers()); },
          "The complete state: gain, weights and the precision matrix.")
      .def_prop_ro(
          "gain", [](const Reranking& self) { return to_array(self.gain()); }, nb::rv_policy::move,
          "The sum of what its ranking would have gained, and the sum of squares.")
      .def_prop_ro(
          "weights", [](const Reranking& self) { return to_array(self.weights()); }, nb::rv_policy::move)
      .def("learn", &learn, nb::arg("probabilities"), nb::arg("cosines"), nb::arg("worth"), nb::arg("right"),
           "Learn from the labels of examples, best first; return their log-odds from before.")
      .def("logits", &logits, nb::arg("probabilities"), nb::arg("cosines"));
}

}  // namespace labelgrove::bindings
