// Lines of `labels id:value id:value ...`, as in XMLRepository and svmlight files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace labelgrove {

// What the first field of a line holds: labels such as 3,17; labels, unless it is a feature; or the first feature. A
// line that begins with a blank has no labels.
enum class FirstField : std::uint8_t { labels = 0, labels_or_feature = 1, feature = 2 };

struct LineSyntax {
  FirstField first = FirstField::labels;
  bool values_required = false;  // otherwise `id` alone means id:1
  std::int64_t features = 0;     // ids are below these, and take at most ten digits
  std::int64_t labels = 0;
};

// A value of more digits, or a larger exponent, than can be rounded correctly here: values[place] is still to be read
// from the text, bytes [begin, end), which are a decimal number.
struct HardNumber {
  std::size_t place;
  std::size_t begin;
  std::size_t end;
};

// Compressed sparse rows, one for each line. Feature ids increase within a row; labels are in the order of the line,
// each once.
struct SparseLines {
  std::vector<std::int64_t> indptr = {0};
  std::vector<std::int32_t> ids;
  std::vector<float> values;
  std::vector<std::int64_t> label_indptr = {0};
  std::vector<std::int32_t> labels;
  std::vector<HardNumber> hard;
};

// Reads lines separated by \n; an empty text has none. Values are the float32 nearest to the float64 nearest to the
// decimal number, as in Python. Nothing if any line is malformed, or merely unusual: fields are separated by blanks
// alone, ids are unsigned and no feature occurs twice in a line. A line may be empty only if it has no labels by syntax.
std::optional<SparseLines> parse_sparse_lines(std::string_view text, const LineSyntax& syntax);

}  // namespace labelgrove
