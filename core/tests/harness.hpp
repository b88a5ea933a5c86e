// A minimal test framework: TEST registers a case, CHECK and its variants record failures and continue, REQUIRE ends
// the case. `core_tests [substring...]` runs the cases whose names contain one of the substrings.
#pragma once

#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace labelgrove::testing {

struct Case {
  const char* name;
  void (*run)();
};

// Thrown by REQUIRE after recording the failure.
struct CaseAborted : std::runtime_error {
  CaseAborted() : std::runtime_error("a required condition does not hold") {}
};

// Cases in the order of registration.
std::vector<Case>& cases();

// Prints a failure of the current case, and counts it. Thread-safe.
void fail(const char* file, int line, const std::string& message);
// The same for a value that is not the expected one. `text` is the comparison as it is written.
void fail(const char* file, int line, const char* text, const std::string& actual, const std::string& expected);

struct Registration {
  Registration(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

template <class T>
std::string show(const T& value) {
  if constexpr (requires(std::ostream& out) { out << value; }) {
    std::ostringstream out;
    out.precision(17);
    out << value;
    return out.str();
  } else {
    return "(a value that cannot be printed)";
  }
}

template <class A, class B>
void check_equal(const A& actual, const B& expected, const char* text, const char* file, int line) {
  if (!(actual == expected)) fail(file, line, text, show(actual), show(expected));
}

inline void check_near(double actual, double expected, double tolerance, const char* text, const char* file, int line) {
  const double distance = actual < expected ? expected - actual : actual - expected;
  if (!(distance <= tolerance)) {  // NaN fails, too
    fail(file, line, text, show(actual), show(expected) + " within " + show(tolerance));
  }
}

}  // namespace labelgrove::testing

#define LABELGROVE_JOIN_(a, b) a##b
#define LABELGROVE_JOIN(a, b) LABELGROVE_JOIN_(a, b)

// TEST("block: a copied column equals its source") { ... }
#define TEST(name)                                                                           \
  static void LABELGROVE_JOIN(test_case_, __LINE__)();                                       \
  static const ::labelgrove::testing::Registration LABELGROVE_JOIN(registration_, __LINE__){ \
      name, &LABELGROVE_JOIN(test_case_, __LINE__)};                                         \
  static void LABELGROVE_JOIN(test_case_, __LINE__)()

#define CHECK(...)                                                                     \
  do {                                                                                 \
    if (!(__VA_ARGS__)) ::labelgrove::testing::fail(__FILE__, __LINE__, #__VA_ARGS__); \
  } while (false)

#define REQUIRE(...)                                                 \
  do {                                                               \
    if (!(__VA_ARGS__)) {                                            \
      ::labelgrove::testing::fail(__FILE__, __LINE__, #__VA_ARGS__); \
      throw ::labelgrove::testing::CaseAborted();                    \
    }                                                                \
  } while (false)

#define CHECK_EQ(actual, expected) \
  ::labelgrove::testing::check_equal((actual), (expected), #actual " == " #expected, __FILE__, __LINE__)

#define CHECK_NEAR(actual, expected, tolerance) \
  ::labelgrove::testing::check_near((actual), (expected), (tolerance), #actual " ~ " #expected, __FILE__, __LINE__)

#define CHECK_THROWS(exception, ...)                                                       \
  do {                                                                                     \
    bool thrown = false;                                                                   \
    try {                                                                                  \
      static_cast<void>(__VA_ARGS__);                                                      \
    } catch (const exception&) {                                                           \
      thrown = true;                                                                       \
    }                                                                                      \
    if (!thrown) {                                                                         \
      ::labelgrove::testing::fail(__FILE__, __LINE__, #__VA_ARGS__ " throws " #exception); \
    }                                                                                      \
  } while (false)
