// The core's enumerations. Their numbers are part of the model file format; Python reads them here.
#include <nanobind/nanobind.h>

#include "labelgrove/batch_solver.hpp"
#include "labelgrove/compact_rows.hpp"
#include "labelgrove/forest_tree.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/link.hpp"
#include "labelgrove/online_plt.hpp"
#include "labelgrove/row_check.hpp"
#include "labelgrove/sparse_lines.hpp"
#include "register.hpp"

namespace labelgrove::bindings {

namespace nb = nanobind;

void register_enumerations(nb::module_& module) {
  nb::enum_<LearnerKind>(module, "LearnerKind")
      .value("adagrad", LearnerKind::adagrad)
      .value("sgd", LearnerKind::sgd)
      .value("arow", LearnerKind::arow)
      .value("nag", LearnerKind::nag);
  nb::enum_<Loss>(module, "Loss").value("logistic", Loss::logistic).value("squared", Loss::squared);
  nb::enum_<Policy>(module, "Policy")
      .value("fixed", Policy::fixed)
      .value("best_greedy", Policy::best_greedy)
      .value("random", Policy::random)
      .value("cpet", Policy::cpet)
      .value("complete", Policy::complete);
  nb::enum_<BatchLoss>(module, "BatchLoss")
      .value("squared_hinge", BatchLoss::squared_hinge)
      .value("log", BatchLoss::log)
      .value("softmax", BatchLoss::softmax);
  nb::enum_<Link>(module, "Link")
      .value("logistic", Link::logistic)
      .value("squared_hinge", Link::squared_hinge)
      .value("softmax", Link::softmax)
      .value("cubic_hinge", Link::cubic_hinge)
      .value("calibrated", Link::calibrated);
  nb::enum_<LeafShare>(module, "LeafShare").value("examples", LeafShare::examples).value("labels", LeafShare::labels);
  nb::enum_<WeightType>(module, "WeightType")
      .value("float32", WeightType::float32)
      .value("float16", WeightType::float16)
      .value("int8", WeightType::int8);
  nb::enum_<FirstField>(module, "FirstField")
      .value("labels", FirstField::labels)
      .value("labels_or_feature", FirstField::labels_or_feature)
      .value("feature", FirstField::feature);
  nb::enum_<RowFault>(module, "RowFault")
      .value("none", RowFault::none)
      .value("indptr", RowFault::indptr)
      .value("range", RowFault::range)
      .value("order", RowFault::order)
      .value("not_finite", RowFault::not_finite);
}

}  // namespace labelgrove::bindings
