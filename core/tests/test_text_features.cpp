#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "labelgrove/text_features.hpp"
#include "labelgrove/text_words.hpp"
#include "labelgrove/unicode.hpp"
#include "memory_archive.hpp"

namespace labelgrove::testing {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> found;
  WordReader(false).read(text,
                         [&](const Word& word) { found.emplace_back(text.substr(word.begin, word.end - word.begin)); });
  return found;
}

// The letters of all words.
std::vector<Unit> units_of(std::string_view text) {
  std::vector<Unit> found;
  WordReader(false).read(text,
                         [&](const Word& word) { found.insert(found.end(), word.units.begin(), word.units.end()); });
  return found;
}

void check_same(const SparseRows& found, const SparseRows& expected) {
  CHECK(found.indptr == expected.indptr);
  CHECK(found.ids == expected.ids);
  CHECK(found.values == expected.values);
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST("text: words are runs of letters, digits and their marks, in the order of the text") {
  CHECK(words_of("Two words, 3x!") == std::vector<std::string>({"Two", "words", "3x"}));
  CHECK(words_of("soft\u00adhyphen e\u0301t\u0301") ==
        std::vector<std::string>({"soft\u00adhyphen", "e\u0301t\u0301"}));
  CHECK(words_of("\u0301 \u200d -").empty());
  CHECK_EQ(words_of(std::string(1000, 'x')).size(), 1000 / kLongestWord + 1);
  CHECK(words_of("\u5929\u6c17x \u5929") == std::vector<std::string>({"\u5929\u6c17", "x", "\u5929"}));
}

TEST("text: symbols form words on request, emoji each its own") {
  const auto expect = [](std::string_view text, const std::vector<std::string>& words) {
    std::vector<std::string> found;
    WordReader(false, true).read(text, [&](const Word& word) {
      found.emplace_back(text.substr(word.begin, word.end - word.begin));
    });
    CHECK(found == words);
  };
  expect("if(a->b!=1){c++;}", {"if", "(", "a", "->", "b", "!=", "1", "){", "c", "++;}"});
  expect(" , \t;\n\u00a0\u3000\u200b.", {",", ";", "."});
  expect("!\u263a\ufe0f\U0001f600\U0001f600!!", {"!", "\u263a", "\U0001f600", "\U0001f600", "!!"});
  expect("\U0001f1e9\U0001f1ea", {"\U0001f1e9\U0001f1ea"});
  expect("=\u0338 \u2260", {"=\u0338", "\u2260"});
  expect("a\xff\xfe-\ufffd", {"a", "-"});
  expect("\u5929\u3002x", {"\u5929", "\u3002", "x"});
}

TEST("text: the parts of a word are two neighbouring letters if its script has no spaces, else the word") {
  const auto parts_of = [](std::string_view text) {
    std::vector<std::string> found;
    WordReader(false).read(text, [&](const Word& word) {
      for_each_part(word, [&](const Word& part) {
        CHECK(part.units.size() <= 2 || !part.unspaced());
        found.emplace_back(text.substr(part.begin, part.end - part.begin));
      });
    });
    return found;
  };
  const auto expect = [&](std::string_view text, const std::vector<std::string>& parts) {
    CHECK(parts_of(text) == parts);
  };
  expect("two words", {"two", "words"});
  expect("\u5929", {"\u5929"});
  expect("\u660e\u65e5\u306fx\u5929", {"\u660e\u65e5", "\u65e5\u306f", "x", "\u5929"});
  // Marks belong to the letter before them.
  expect("\u304b\u3099\u304d\u3099\u304f", {"\u304b\u3099\u304d\u3099", "\u304d\u3099\u304f"});
  // One character stands for four letters.
  expect("\u337f\u3060", {"\u337f", "\u337f", "\u337f", "\u337f\u3060"});
  // A mark that becomes a letter begins where its letter does.
  expect("\u0e01\u0e02\u0345\u0e03", {"\u0e01\u0e02\u0345", "\u0e02\u0345", "\u0e02\u0345\u0e03"});
  CHECK_EQ(parts_of(repeated("\u5929", kLongestWord + 2)).size(), kLongestWord);
}

TEST("text: a letter has its marks, up to a limit, and a syllable its parts") {
  CHECK(units_of("e\u0301t") == std::vector<Unit>({with_mark('e', 0x301), 't'}));
  CHECK(units_of("e" + repeated("\u0301", kMostMarks)) == units_of("e" + repeated("\u0301", kMostMarks + 1)));
  CHECK(units_of("e" + repeated("\u0301", kMostMarks)) != units_of("e" + repeated("\u0301", kMostMarks - 1)));
  for (const char* dotted : {"\u0130", "I\u0307", "i\u0307\u0307"}) CHECK(units_of(dotted) == std::vector<Unit>({'i'}));
  CHECK(units_of("i\u0307\u0323") == std::vector<Unit>({with_mark(with_mark('i', 0x323), 0x307)}));
  for (const auto& [syllable, parts] : {std::pair("\uac01", "\u1100\u1161\u11a8"), {"\ud7a3", "\u1112\u1175\u11c2"}}) {
    CHECK_EQ(units_of(syllable).size(), 1U);
    CHECK(units_of(parts) == units_of(syllable));
    CHECK(words_of(parts) == std::vector<std::string>({parts}));
  }
  for (const char* apart : {"\uac01\u11a8", "\uac00\u11a7", "\uac00\u11c3", "\u1100\u1176", "\u1113\u1161"}) {
    CHECK_EQ(units_of(apart).size(), 2U);
  }
}

TEST("text: invalid UTF-8 separates words, and nothing is read beyond the end") {
  for (const std::string_view bad :
       {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xf0\x9f\x98"}) {
    const std::string text = std::string{'a'}.append(bad);
    CHECK(words_of(text).size() == 1);
    CHECK(words_of(std::string(text).append("b")) == std::vector<std::string>({"a", "b"}));
  }
}

TEST("text: the first and the last code points of every length are read, and nothing beyond") {
  using namespace std::string_view_literals;
  for (const auto& [bytes, point] : {std::pair("\x7f"sv, 0x7fU),
                                     {"\xc2\x80"sv, 0x80U},
                                     {"\xdf\xbf"sv, 0x7ffU},
                                     {"\xe0\xa0\x80"sv, 0x800U},
                                     {"\xed\x9f\xbf"sv, 0xd7ffU},
                                     {"\xee\x80\x80"sv, 0xe000U},
                                     {"\xef\xbf\xbf"sv, 0xffffU},
                                     {"\xf0\x90\x80\x80"sv, 0x10000U},
                                     {"\xf4\x8f\xbf\xbf"sv, 0x10ffffU}}) {
    std::string_view left = bytes;
    CHECK_EQ(next_point(left), point);
    CHECK(left.empty());
  }
  for (const std::string_view bytes :
       {"\x80"sv, "\xc1\xbf"sv, "\xc3\xc0"sv, "\xe0\x9f\xbf"sv, "\xed\xa0\x80"sv, "\xed\xbf\xbf"sv,
        "\xf0\x8f\xbf\xbf"sv, "\xf4\x90\x80\x80"sv, "\xf9\x80\x80\x80"sv}) {
    std::string_view left = bytes;
    CHECK_EQ(next_point(left), kReplacement);
    CHECK_EQ(left.size(), bytes.size() - 1);
  }
}

TextOptions words_and_pieces() {
  TextOptions options;
  options.columns = 1U << 10;
  options.shortest_piece = 3;
  options.longest_piece = 4;
  options.short_words = 2;
  return options;
}

TEST("text: document frequencies do not depend on threads or calls") {
  const std::vector<std::string_view> texts{"one text", "another text", "", "one more text of one"};
  const TextOptions options = words_and_pieces();
  TextFeatures once(options);
  const SparseRows counts = once.count(texts, 1);
  CHECK(once.count(texts, 3).ids == counts.ids);
  const SparseRows expected = once.learn(counts.view(), 1);
  TextFeatures often(options);
  SparseRows found;
  for (const std::string_view text : texts) {
    found.append(often.learn(often.count({&text, 1}, 2).view(), 2));
  }
  check_same(found, expected);
  const TextFeatures again(options, saved(once));
  CHECK_EQ(again.documents(), 4U);
  CHECK(again.transform(texts, 1).values == often.transform(texts, 2).values);
}

TEST("text: the rows of all texts are those of counting, adding and weighting them") {
  const std::vector<std::string_view> texts{"one text", "another text", "", "one more text of one"};
  const TextOptions options = words_and_pieces();
  TextFeatures steps(options);
  const SparseRows counts = steps.count(texts, 1);
  steps.add(counts.view());
  const RowView view = counts.view();
  const SparseRows expected = steps.weighted({&view, 1}, false, 1);
  for (const unsigned threads : {1U, 3U}) {
    TextFeatures features(options);
    check_same(features.fit_transform(texts, threads), expected);
    CHECK(features.transform(texts, 1).values == steps.transform(texts, 1).values);
  }
}

TEST("text: many texts are counted as they are one by one") {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 5000; ++i) texts.push_back("text " + std::to_string(i) + std::string(i % 70, 'x'));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const TextFeatures features(words_and_pieces());
  SparseRows expected;
  for (const std::string_view& text : views) expected.append(features.count({&text, 1}, 1));
  for (const unsigned threads : {1U, 3U}) {
    check_same(features.count(views, threads), expected);
  }
}

TEST("text: options outside their domains are refused") {
  const auto refused = [](auto&& change) {
    TextOptions options;
    change(options);
    CHECK_THROWS(std::invalid_argument, TextFeatures(options));
  };
  TextOptions most;
  most.longest_run = 8;
  most.shortest_piece = most.longest_piece = 16;
  most.columns = 2;
  CHECK_EQ(TextFeatures(most).documents(), 0U);
  refused([](TextOptions& o) { o.longest_run = 0; });
  refused([](TextOptions& o) { o.shortest_run = 0; });
  refused([](TextOptions& o) { o.shortest_run = 2; });
  refused([](TextOptions& o) { o.longest_run = 9; });
  refused([](TextOptions& o) { o.longest_piece = 3; });
  refused([](TextOptions& o) { o.shortest_piece = 4, o.longest_piece = 3; });
  refused([](TextOptions& o) { o.shortest_piece = o.longest_piece = 17; });
  refused([](TextOptions& o) { o.short_words = 9; });
  refused([](TextOptions& o) { o.columns = 1; });
  refused([](TextOptions& o) { o.columns = kNone / 2; });
  refused([](TextOptions& o) { o.piece_weight = 0.0F; });
  refused([](TextOptions& o) { o.piece_weight = 1e6F; });
  refused([](TextOptions& o) { o.most_features = 0; });
}

TEST("text: words of too few documents have no weight, even if rarity does not count") {
  TextOptions options;
  options.rare_count_more = false;
  const std::vector<std::string_view> texts{"one two", "two three"};
  CHECK(TextFeatures(options).fit_transform(texts, 1).indptr == std::vector<std::int64_t>({0, 1, 2}));
}

TEST("text: words of no document so far have no weight") {
  TextOptions options;
  options.least_documents = 1;
  TextFeatures features(options);
  const std::vector<std::string_view> texts{"one two", "two three"};
  CHECK(features.fit_transform(texts, 1).indptr == std::vector<std::int64_t>({0, 2, 4}));
  const std::string_view text = "two four";
  CHECK(features.transform({&text, 1}, 1).indptr == std::vector<std::int64_t>({0, 1}));
}

TEST("text: a part of new features alone keeps its length") {
  TextOptions options;
  options.least_documents = 1;
  options.short_words = 1;
  TextFeatures features(options);
  const std::vector<std::string_view> texts{"redo", "undo"};
  const auto squared = [](const SparseRows& row) {
    double sum = 0.0;
    for (const float value : row.values) sum += static_cast<double>(value) * value;
    return std::round(1000.0 * sum);
  };
  CHECK_EQ(squared(features.fit_transform({texts.data(), 1}, 1)), 2000.0);
  CHECK_EQ(squared(features.transform({texts.data() + 1, 1}, 1)), 2000.0);
}

TEST("text: counts that are none are refused") {
  TextOptions options;
  options.columns = 1U << 10;
  const TextFeatures features(options);
  const SparseRows beyond{.indptr = {0, 1}, .ids = {1U << 10}, .values = {1.0F}};
  const SparseRows last{.indptr = {0, 1}, .ids = {(1U << 10) - 1}, .values = {1.0F}};
  const auto weighted = [&](const RowView& counts) { return features.weighted({&counts, 1}, true, 1); };
  CHECK_EQ(weighted(last.view()).indptr.size(), 2U);
  CHECK_THROWS(std::invalid_argument, weighted(beyond.view()));
  CHECK_THROWS(std::invalid_argument, weighted({{}, last.ids, last.values}));
}

TEST("text: a saved number takes as few groups as it can") {
  TextOptions options;
  options.columns = 1U << 10;
  MemoryArchive archive;
  archive.arrays()["documents"] = std::vector<std::uint8_t>{0x7f, 0x7f, 0x80, 0x01, 0x80, 0x01};
  archive.arrays()["counters"] = std::vector<std::uint64_t>{1000};
  CHECK(saved(TextFeatures(options, archive)) == archive);
}

TEST("text: damaged document frequencies are refused") {
  TextOptions options;
  options.columns = 1U << 10;
  const auto load = [&](std::vector<std::uint8_t> documents, std::vector<std::uint64_t> counters) {
    MemoryArchive archive;
    archive.arrays()["documents"] = std::move(documents);
    archive.arrays()["counters"] = std::move(counters);
    return TextFeatures(options, archive).documents();
  };
  CHECK_EQ(load({0, 1, 5, 3, 0xfa, 0x07, 1}, {3}), 3U);  // columns 0, 5 and 1023
  using Bad = std::invalid_argument;
  CHECK_THROWS(Bad, load({}, {}));
  CHECK_THROWS(Bad, load({}, {3, 3}));
  CHECK_THROWS(Bad, load({}, {std::uint64_t{1} << 60}));
  CHECK_THROWS(Bad, load({5}, {3}));                                         // cut short
  CHECK_THROWS(Bad, load({0x81, 0x80, 0x80, 0x80, 0x80, 0x00, 1}, {3}));     // a number of too many groups
  CHECK_THROWS(Bad, load({0, 1, 0, 1}, {3}));                                // the same column again
  CHECK_THROWS(Bad, load({0x80, 0x08, 1}, {3}));                             // column 1024
  CHECK_THROWS(Bad, load({1, 0}, {3}));                                      // in no document
  CHECK_THROWS(Bad, load({1, 4}, {3}));                                      // in more than there are
  CHECK_THROWS(Bad, load({1, 0xff, 0xff, 0xff, 0xff, 0x0f}, {1ULL << 40}));  // in more than can be counted
}

TEST("unicode: characters are decomposed and case-folded") {
  const Unicode& unicode = Unicode::tables();
  const auto becomes = [&](std::uint32_t point) {
    const auto mapped = unicode.mapped(unicode.entry(point));
    return std::vector<std::uint32_t>(mapped.begin(), mapped.end());
  };
  CHECK(becomes('A') == std::vector<std::uint32_t>({'a'}));
  CHECK(becomes(0xe4) == std::vector<std::uint32_t>({'a', 0x308}));
  CHECK(becomes(0xdf) == std::vector<std::uint32_t>({'s', 's'}));
  CHECK(becomes('a').empty());
  CHECK(Unicode::kind(unicode.entry(0x5929)) == CharacterKind::unspaced);
  CHECK(Unicode::kind(unicode.entry(0x308)) == CharacterKind::mark);
  CHECK_EQ(static_cast<int>(Unicode::order(unicode.entry(0x308))), 230);
  CHECK(Unicode::kind(unicode.entry(0xe0100)) == CharacterKind::ignorable);
  CHECK(Unicode::kind(unicode.entry(0x10ffff)) == CharacterKind::separator);
}

}  // namespace
}  // namespace labelgrove::testing
