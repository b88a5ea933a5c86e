// Checks that are shared by everything that loads from an archive.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/kernels.hpp"
#include "labelgrove/learner.hpp"

namespace labelgrove {

// More examples than anyone will ever learn from, and few enough that no counter overflows.
inline constexpr std::uint64_t kMostExamples = std::uint64_t{1} << 40;

// Throws std::invalid_argument unless `holds`. The message is the concatenation of `otherwise`, built only if needed.
template <typename... Parts>
void require(bool holds, const Parts&... otherwise) {
  if (holds) return;
  const auto text = []<typename Part>(const Part& part) {
    if constexpr (std::is_integral_v<Part>) return std::to_string(part);
    else return std::string(part);
  };
  throw std::invalid_argument((text(otherwise) + ...));
}

// A node's name in error messages.
inline std::string node_name(NodeId v) { return "node " + std::to_string(v); }

// Larger than any weight that can be learnt, whatever the options and examples, and small enough that no step
// overflows.
inline constexpr float kLargestWeight = 1e25F;

// Whether all numbers are in [-most, most]; NaN is not. There is no branch for each number, so that compilers vectorise
// the loop: it reads all weights of large mapped files.
template <typename Number>
bool all_within(std::span<const Number> values, float most) {
  std::uint32_t bad = 0;
  for (const Number value : values) bad |= std::abs(widened(value)) <= most ? 0U : 1U;
  return bad == 0;
}
inline bool all_finite(std::span<const float> values) { return all_within(values, std::numeric_limits<float>::max()); }

// Whether the numbers, such as the features of an example, strictly increase and are below `end`.
inline bool increases_below(std::span<const std::uint32_t> numbers, std::uint64_t end) {
  return std::ranges::adjacent_find(numbers, std::ranges::greater_equal()) == numbers.end() &&
         (numbers.empty() || numbers.back() < end);
}

// Throws std::invalid_argument unless learning can resume from these weights and their state.
template <typename Number, typename State>
void require_learnable(const LearnerOptions& learner, std::span<const Number> weights, std::span<const State> state,
                       const std::string& where) {
  require(all_within(weights, kLargestWeight), where,
          ": a weight is not finite, or is larger than any that can be learnt");
  const float most = learner.kind == LearnerKind::arow ? 1.0F : kLargestSquareSum;
  require(std::ranges::all_of(state, [most](State value) { return widened(value) >= 0.0F && widened(value) <= most; }),
          where, ": the state of a weight is not finite, or is out of range");
}

// Hands out an array piece by piece, and checks that all of it is used.
template <typename T>
class Pieces {
 public:
  Pieces(std::string name, std::span<const T> all) : name_(std::move(name)), all_(all) {}
  // The array of this name; an empty one unless it `is_needed`.
  Pieces(const ArrayReader& saved, const std::string& name, bool is_needed = true)
      : Pieces(name, is_needed ? saved.array<T>(name) : std::span<const T>()) {}
  const std::string& name() const { return name_; }
  std::span<const T> all() const { return all_; }
  std::span<const T> take(std::uint64_t n) {
    require(n <= all_.size() - at_, "array '", name_, "' is too short");
    const auto piece = all_.subspan(at_, static_cast<std::size_t>(n));
    at_ += static_cast<std::size_t>(n);
    return piece;
  }
  T one() { return take(1)[0]; }
  void finish() const { require(at_ == all_.size(), "array '", name_, "' is too long"); }

 private:
  std::string name_;
  std::span<const T> all_;
  std::size_t at_ = 0;
};

// Throws std::invalid_argument unless all of these arrays have been used up.
template <typename... AnyPieces>
void finish_all(const AnyPieces&... pieces) {
  (pieces.finish(), ...);
}

// Calls let_go() once every few megabytes read.
class Reading {
 public:
  explicit Reading(const ArrayReader& saved) : saved_(saved) {}
  void went_over(std::size_t bytes) {
    bytes_ += bytes;
    if (bytes_ < kMostHeld) return;
    saved_.let_go();
    bytes_ = 0;
  }

 private:
  static constexpr std::size_t kMostHeld = std::size_t{1} << 22;

  const ArrayReader& saved_;
  std::size_t bytes_ = 0;
};

}  // namespace labelgrove
