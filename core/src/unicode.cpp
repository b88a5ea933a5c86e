#include "labelgrove/unicode.hpp"

#include <algorithm>
#include <cstddef>

namespace labelgrove {
namespace {

#include "unicode_tables.inc"

constexpr std::uint32_t kEnd = 0x32400;  // above all letters and marks
constexpr int kOrderShift = 3;
constexpr int kTargetShift = 11;

// Calls use(point, value) for every code point to which a table of changes assigns a value other than 0.
template <typename Use>
void each_value(std::span<const std::int32_t> changes, Use&& use) {
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < changes.size(); i += 2) {
    begin += static_cast<std::uint32_t>(changes[i]);
    const auto value = static_cast<std::uint32_t>(changes[i + 1]);
    std::uint32_t end = begin;
    if (i + 2 < changes.size()) end += static_cast<std::uint32_t>(changes[i + 2]);
    if (value == 0) continue;
    for (std::uint32_t point = begin; point < std::min(end, kEnd); ++point) use(point, value);
  }
}

}  // namespace

Unicode::Unicode() : entries_(kEnd), targets_{0} {
  each_value(kKinds, [&](std::uint32_t point, std::uint32_t kind) { entries_[point] |= kind; });
  each_value(kOrders, [&](std::uint32_t point, std::uint32_t order) { entries_[point] |= order << kOrderShift; });
  const auto map = [&](std::uint32_t point, std::span<const std::int32_t> to) {
    entries_[point] |= static_cast<std::uint32_t>(targets_.size()) << kTargetShift;
    targets_.push_back(static_cast<std::uint32_t>(to.size()));
    for (const std::int32_t one : to) targets_.push_back(static_cast<std::uint32_t>(one));
  };
  const std::span runs(kRuns);
  std::int32_t begin = 0;
  for (std::size_t i = 0; i < runs.size(); i += 4) {
    begin += runs[i];
    for (std::int32_t j = 0; j < runs[i + 1]; ++j) {
      const std::int32_t point = begin + j * runs[i + 2];
      const std::int32_t to = point + runs[i + 3];
      map(static_cast<std::uint32_t>(point), {&to, 1});
    }
  }
  const std::span several(kSeveral);
  std::uint32_t point = 0;
  for (std::size_t i = 0; i < several.size();) {
    point += static_cast<std::uint32_t>(several[i]);
    const auto number = static_cast<std::size_t>(several[i + 1]);
    map(point, several.subspan(i + 2, number));
    i += 2 + number;
  }
}

const Unicode& Unicode::tables() {
  static const Unicode unicode;
  return unicode;
}

}  // namespace labelgrove
