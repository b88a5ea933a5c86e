#include <nanobind/nanobind.h>

NB_MODULE(_core, module) { module.doc() = "The compiled engine of LabelGrove; private."; }
