#include <nanobind/stl/tuple.h>

#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "dict_archive.hpp"
#include "labelgrove/text_features.hpp"
#include "labelgrove/text_words.hpp"
#include "model_archive.hpp"
#include "register.hpp"
#include "rows.hpp"

namespace labelgrove::bindings {
namespace {

// Python strings, kept alive while they are read. Lone surrogates, which UTF-8 cannot encode, become question marks.
class Texts {
 public:
  explicit Texts(const nb::list& texts) {
    const std::size_t n = nb::len(texts);
    held_.reserve(n);
    views_.reserve(n);
    for (nb::handle text : texts) add(text);
  }
  std::span<const std::string_view> views() const { return views_; }

 private:
  void add(nb::handle text) {
    Py_ssize_t size = 0;
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("expected strings");
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data != nullptr) {
      held_.push_back(nb::borrow(text));
    } else {
      PyErr_Clear();
      nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "replace"));
      if (!bytes.is_valid()) throw nb::python_error();
      data = PyBytes_AsString(bytes.ptr());
      size = PyBytes_Size(bytes.ptr());
      held_.push_back(std::move(bytes));
    }
    views_.emplace_back(data, static_cast<std::size_t>(size));
  }
  std::vector<nb::object> held_;
  std::vector<std::string_view> views_;
};

TextOptions options_from(const nb::dict& given) {
  TextOptions options;
  take_option(given, "shortest_run", options.shortest_run);
  take_option(given, "longest_run", options.longest_run);
  take_option(given, "shortest_piece", options.shortest_piece);
  take_option(given, "longest_piece", options.longest_piece);
  take_option(given, "beginnings", options.beginnings);
  take_option(given, "short_words", options.short_words);
  take_option(given, "piece_weight", options.piece_weight);
  take_option(given, "most_features", options.most_features);
  take_option(given, "columns", options.columns);
  take_option(given, "least_documents", options.least_documents);
  take_option(given, "first_documents", options.first_documents);
  take_option(given, "rare_count_more", options.rare_count_more);
  take_option(given, "fold_accents", options.fold_accents);
  take_option(given, "symbols", options.symbols);
  return options;
}

// A method that makes rows of texts: make(features, texts, threads).
template <typename Make>
auto rows_of_texts(Make make) {
  return [make](TextFeatures& self, const nb::list& given, unsigned threads) {
    const Texts texts(given);
    return as_tuple(without_gil([&] { return make(self, texts.views(), threads); }));
  };
}

}  // namespace

void register_text(nb::module_& module) {
  nb::class_<TextFeatures>(module, "TextFeatures",
                           "Turns texts into rows; see core/include/labelgrove/text_features.hpp.")
      .def(
          "__init__",
          [](TextFeatures* self, const nb::dict& options) { new (self) TextFeatures(options_from(options)); },
          nb::arg("options"))
      .def_static(
          "load",
          [](const nb::dict& options, const nb::dict& arrays) {
            return TextFeatures(options_from(options), DictReader(arrays));
          },
          nb::arg("options"), nb::arg("arrays"))
      .def("save", [](const TextFeatures& self) { return saved_by([&](ArrayWriter& out) { self.save(out); }); })
      .def_prop_ro("documents", &TextFeatures::documents)
      .def("count", rows_of_texts([](TextFeatures& self, auto... given) { return self.count(given...); }),
           nb::arg("texts"), nb::arg("threads"), "Rows (indptr, ids, values) of raw counts.")
      .def("transform", rows_of_texts([](TextFeatures& self, auto... given) { return self.transform(given...); }),
           nb::arg("texts"), nb::arg("threads"))
      .def("fit_transform",
           rows_of_texts([](TextFeatures& self, auto... given) { return self.fit_transform(given...); }),
           nb::arg("texts"), nb::arg("threads"))
      .def(
          "add",
          [](TextFeatures& self, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values) {
            Rows counts(indptr, ids, values);
            counts.take_ids(self.options().columns);
            const WithoutGil without_gil;
            self.add(counts);
          },
          nb::arg("indptr"), nb::arg("ids"), nb::arg("values"))
      .def(
          "weighted",
          [](const TextFeatures& self, const nb::list& given, bool as_next, unsigned threads) {
            std::vector<std::unique_ptr<Rows>> held;
            std::vector<RowView> counts;
            for (nb::handle part : given) {
              const auto arrays = nb::cast<std::tuple<In<std::int64_t>, In<FeatureId>, In<float>>>(part, false);
              held.push_back(std::apply([](const auto&... one) { return std::make_unique<Rows>(one...); }, arrays));
              counts.push_back(*held.back());
            }
            return as_tuple(without_gil([&] { return self.weighted(counts, as_next, threads); }));
          },
          nb::arg("counts"), nb::arg("as_next"), nb::arg("threads"),
          "Weighted rows of counts, all parts concatenated, as documents already counted or as the next ones.")
      .def(
          "learn",
          [](TextFeatures& self, const In<std::int64_t>& indptr, const In<FeatureId>& ids, const In<float>& values,
             unsigned threads) {
            Rows counts(indptr, ids, values);
            counts.take_ids(self.options().columns);
            return as_tuple(without_gil([&] { return self.learn(counts, threads); }));
          },
          nb::arg("indptr"), nb::arg("ids"), nb::arg("values"), nb::arg("threads"));
  module.def(
      "words_of",
      [](const nb::str& text, bool symbols) {
        nb::list one;
        one.append(text);
        const Texts texts(one);
        std::vector<std::uint64_t> ends;
        WordReader(false, symbols).read(texts.views()[0], [&](const Word& word) {
          for_each_part(word, [&](const Word& part) {
            ends.push_back(part.begin);
            ends.push_back(part.end);
          });
        });
        return to_array(ends);
      },
      nb::arg("text"), nb::arg("symbols"),
      "Where, in bytes of UTF-8, each word begins and ends, or each two letters in scripts without spaces.");
}

}  // namespace labelgrove::bindings
