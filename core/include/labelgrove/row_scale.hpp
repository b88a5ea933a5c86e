// The factor that all rows share where they are not scaled to unit length one by one.
#pragma once

#include <span>

#include "labelgrove/row_view.hpp"

namespace labelgrove {

// The power of two that makes the median row about 1 long, from √½ to √2: what a solver's defaults suit. Powers of two
// round nothing, and the median is not moved by a few rows of enormous length. Rows of zeros say nothing of the length,
// and are not counted; the others count by weight, so that two identical ones count like one of twice the weight. 1 if
// no row counts. At most 2^30, so that weights of rows shorter than that still fit into a model file.
double row_scale(const RowView& rows, std::span<const float> weights = {});

}  // namespace labelgrove
