#include "labelgrove/sparse_lines.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_set>
#include <utility>

namespace labelgrove {

namespace {

constexpr std::size_t kMostDigitsOfId = 10;
constexpr int kMostExponent = 22;  // powers of ten up to this one are exact in float64
constexpr std::array<double, kMostExponent + 1> kPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// |mantissa 10^exponent| as a float32, rounded like a float64 that is rounded correctly; nothing if that is not certain.
std::optional<float> to_float(std::uint64_t mantissa, int exponent) {
  if (mantissa == 0) return 0.0F;
  if (exponent < -kMostExponent || exponent > kMostExponent) return std::nullopt;
  const auto power = kPowersOfTen[static_cast<std::size_t>(std::abs(exponent))];
  const auto whole = static_cast<double>(mantissa);
  const double number = exponent < 0 ? whole / power : whole * power;  // rounded once, if the mantissa is exact
  if (mantissa > std::uint64_t{1} << 53) {
    // Rounded twice, the number is off by less than two units in the last of its 52 places. This matters for a float32,
    // which keeps 23 of them, only near the middle between two of these.
    constexpr std::int64_t kMiddle = std::int64_t{1} << 28;
    const auto dropped = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(number) & (2 * kMiddle - 1));
    if (std::abs(dropped - kMiddle) <= 4) return std::nullopt;
  }
  constexpr double kOverflow = 0x1.ffffffp127;  // the middle between the largest float32 and the one that would follow
  return number < kOverflow ? static_cast<float>(number) : std::numeric_limits<float>::infinity();
}

class LineParser {
 public:
  LineParser(std::string_view text, const LineSyntax& syntax)
      : syntax_(syntax), begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {
    const std::size_t expected = text.size() / 8;
    found_.ids.reserve(expected);
    found_.values.reserve(expected);
  }

  std::optional<SparseLines> parse() {
    if (at_ == end_) return std::move(found_);
    for (;;) {
      if (!parse_line()) return std::nullopt;
      if (at_ == end_) return std::move(found_);
      ++at_;
    }
  }

 private:
  bool ends() const { return at_ == end_ || *at_ == '\n'; }
  bool field_ends() const { return ends() || *at_ == ' '; }

  bool parse_line() {
    if (syntax_.first != FirstField::feature && (ends() || !parse_labels())) return false;
    found_.label_indptr.push_back(static_cast<std::int64_t>(found_.labels.size()));
    const std::size_t row = found_.ids.size();
    bool increases = true;
    std::int64_t last = -1;
    for (;;) {
      while (at_ != end_ && *at_ == ' ') ++at_;
      if (ends()) break;
      std::int32_t id = 0;
      if (!parse_id(syntax_.features, id) || !parse_value()) return false;
      increases = increases && id > last;
      last = id;
      found_.ids.push_back(id);
    }
    if (!increases && !sort_row(row)) return false;
    found_.indptr.push_back(static_cast<std::int64_t>(found_.ids.size()));
    return true;
  }

  bool parse_labels() {
    if (*at_ == ' ') return true;
    if (syntax_.first == FirstField::labels_or_feature) {
      const char* field = at_;
      while (field != end_ && *field != ' ' && *field != '\n' && *field != ':') ++field;
      if (field != end_ && *field == ':') return true;
    }
    const std::size_t row = found_.labels.size();
    for (;;) {
      std::int32_t label = 0;
      if (!parse_id(syntax_.labels, label)) return false;
      found_.labels.push_back(label);
      if (field_ends()) break;
      if (*at_++ != ',') return false;
    }
    if (found_.labels.size() - row > 1) drop_repeated_labels(row);
    return true;
  }

  bool parse_id(std::int64_t limit, std::int32_t& id) {
    const char* const first = at_;
    std::int64_t number = 0;
    while (at_ != end_ && is_digit(*at_)) {
      if (static_cast<std::size_t>(at_ - first) == kMostDigitsOfId) return false;
      number = 10 * number + (*at_++ - '0');
    }
    id = static_cast<std::int32_t>(number);
    return at_ != first && number < limit;
  }

  // Reads `:value`, or nothing, up to the end of the field.
  bool parse_value() {
    if (field_ends()) {
      found_.values.push_back(1.0F);
      return !syntax_.values_required;
    }
    if (*at_++ != ':') return false;
    const char* const first = at_;
    const bool negative = at_ != end_ && *at_ == '-';
    if (at_ != end_ && (*at_ == '-' || *at_ == '+')) ++at_;
    constexpr std::uint64_t kFull = 1'000'000'000'000'000'000;  // one more digit fits, not two
    std::uint64_t mantissa = 0;
    int exponent = 0;
    bool digits = false, point = false, exact = true;
    for (; at_ != end_; ++at_) {
      if (is_digit(*at_)) {
        digits = true;
        exact = exact && mantissa < kFull;
        if (!exact) continue;
        mantissa = 10 * mantissa + static_cast<std::uint64_t>(*at_ - '0');
        exponent -= point ? 1 : 0;
      } else if (*at_ == '.' && !point) {
        point = true;
      } else {
        break;
      }
    }
    if (!digits || !parse_exponent(exponent) || !field_ends()) return false;
    const std::optional<float> number = exact ? to_float(mantissa, exponent) : std::nullopt;
    if (!number) {
      const auto offset = [&](const char* place) { return static_cast<std::size_t>(place - begin_); };
      found_.hard.push_back({found_.values.size(), offset(first), offset(at_)});
    }
    const float value = number.value_or(0.0F);
    found_.values.push_back(negative ? -value : value);
    return std::isfinite(value);
  }

  bool parse_exponent(int& exponent) {
    if (at_ == end_ || (*at_ != 'e' && *at_ != 'E')) return true;
    ++at_;
    const bool negative = at_ != end_ && *at_ == '-';
    if (at_ != end_ && (*at_ == '-' || *at_ == '+')) ++at_;
    if (at_ == end_ || !is_digit(*at_)) return false;
    int number = 0;
    for (; at_ != end_ && is_digit(*at_); ++at_) number = std::min(10 * number + (*at_ - '0'), 100'000);
    exponent += negative ? -number : number;
    return true;
  }

  // Sorts the features of the last row by id; false if an id occurs twice.
  bool sort_row(std::size_t row) {
    std::vector<std::pair<std::int32_t, std::size_t>> order;
    for (std::size_t i = row; i < found_.ids.size(); ++i) order.emplace_back(found_.ids[i], i);
    std::ranges::sort(order);
    const auto same_id = [](const auto& a, const auto& b) { return a.first == b.first; };
    if (std::ranges::adjacent_find(order, same_id) != order.end()) return false;
    const std::vector<float> values(found_.values.begin() + static_cast<std::ptrdiff_t>(row), found_.values.end());
    std::vector<std::size_t> moved(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t from = order[i].second - row;
      found_.ids[row + i] = order[i].first;
      found_.values[row + i] = values[from];
      moved[from] = row + i;
    }
    for (auto hard = found_.hard.rbegin(); hard != found_.hard.rend() && hard->place >= row; ++hard) {
      hard->place = moved[hard->place - row];
    }
    return true;
  }

  void drop_repeated_labels(std::size_t row) {
    const auto first = found_.labels.begin() + static_cast<std::ptrdiff_t>(row);
    sorted_labels_.assign(first, found_.labels.end());
    std::ranges::sort(sorted_labels_);
    if (std::ranges::adjacent_find(sorted_labels_) == sorted_labels_.end()) return;
    std::unordered_set<std::int32_t> seen;
    const auto repeated =
        std::remove_if(first, found_.labels.end(), [&](auto label) { return !seen.insert(label).second; });
    found_.labels.erase(repeated, found_.labels.end());
  }

  const LineSyntax& syntax_;
  const char* begin_;
  const char* at_;
  const char* end_;
  SparseLines found_;
  std::vector<std::int32_t> sorted_labels_;
};

}  // namespace

std::optional<SparseLines> parse_sparse_lines(std::string_view text, const LineSyntax& syntax) {
  return LineParser(text, syntax).parse();
}

}  // namespace labelgrove
