#include <string>
#include <string_view>
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

TEST("text: words are runs of letters, digits and their marks, in the order of the text") {
  CHECK(words_of("Two words, 3x!") == std::vector<std::string>({"Two", "words", "3x"}));
  CHECK(words_of("soft\u00adhyphen e\u0301t\u0301") ==
        std::vector<std::string>({"soft\u00adhyphen", "e\u0301t\u0301"}));
  CHECK(words_of("\u0301 \u200d -").empty());
  CHECK_EQ(words_of(std::string(1000, 'x')).size(), 1000 / kLongestWord + 1);
}

TEST("text: invalid UTF-8 separates words, and nothing is read beyond the end") {
  for (const std::string_view bad :
       {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xf0\x9f\x98"}) {
    const std::string text = std::string{'a'}.append(bad);
    CHECK(words_of(text).size() == 1);
    CHECK(words_of(std::string(text).append("b")) == std::vector<std::string>({"a", "b"}));
  }
}

TextOptions words_and_pieces() {
  TextOptions options;
  options.columns = 1U << 10;
  options.shortest_piece = 3;
  options.longest_piece = 4;
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
    const SparseRows row = often.learn(often.count({&text, 1}, 2).view(), 2);
    found.append(row);
  }
  CHECK(found.indptr == expected.indptr);
  CHECK(found.ids == expected.ids);
  CHECK(found.values == expected.values);
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
    const SparseRows found = features.fit_transform(texts, threads);
    CHECK(found.indptr == expected.indptr);
    CHECK(found.ids == expected.ids);
    CHECK(found.values == expected.values);
    CHECK(features.transform(texts, 1).values == steps.transform(texts, 1).values);
  }
}

TEST("text: many texts are counted as they are one by one") {
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) texts.push_back("text " + std::to_string(i) + std::string(i % 70, 'x'));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const TextFeatures features(words_and_pieces());
  SparseRows expected;
  for (const std::string_view& text : views) expected.append(features.count({&text, 1}, 1));
  for (const unsigned threads : {1U, 3U}) {
    const SparseRows found = features.count(views, threads);
    CHECK(found.indptr == expected.indptr);
    CHECK(found.ids == expected.ids);
    CHECK(found.values == expected.values);
  }
}

TEST("text: options outside their domains are refused") {
  const auto refused = [](auto&& change) {
    TextOptions options;
    change(options);
    try {
      const TextFeatures features(options);
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  CHECK(refused([](TextOptions& o) { o.longest_run = 0; }));
  CHECK(refused([](TextOptions& o) { o.shortest_run = 2; }));
  CHECK(refused([](TextOptions& o) { o.longest_run = 9; }));
  CHECK(refused([](TextOptions& o) { o.longest_piece = 3; }));
  CHECK(refused([](TextOptions& o) { o.columns = 1; }));
  CHECK(refused([](TextOptions& o) { o.piece_weight = 0.0F; }));
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
  CHECK(Unicode::kind(unicode.entry(0x10ffff)) == CharacterKind::separator);
}

}  // namespace
}  // namespace labelgrove::testing
