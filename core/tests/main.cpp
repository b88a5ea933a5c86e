#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string_view>

#include "harness.hpp"

namespace labelgrove::testing {
namespace {

std::atomic<std::size_t> failures{0};
std::mutex printing;

bool wanted(std::string_view name, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (name.find(argv[i]) != std::string_view::npos) return true;
  }
  return argc <= 1;
}

void run(const Case& test) {
  try {
    test.run();
  } catch (const CaseAborted&) {
    return;  // REQUIRE has recorded it
  } catch (const std::exception& error) {
    fail(test.name, 0, std::string("exception: ") + error.what());
  }
}

}  // namespace

std::vector<Case>& cases() {
  static std::vector<Case> all;  // inside the function: registration runs before main
  return all;
}

void fail(const char* file, int line, const std::string& message) {
  const std::lock_guard lock(printing);
  std::printf("%s:%d: %s\n", file, line, message.c_str());
  ++failures;
}

void fail(const char* file, int line, const char* text, const std::string& actual, const std::string& expected) {
  fail(file, line, std::string(text) + ": found " + actual + ", expected " + expected);
}

}  // namespace labelgrove::testing

int main(int argc, char** argv) {
  using namespace labelgrove::testing;
  std::size_t run_count = 0;
  std::size_t failed_count = 0;
  for (const Case& test : cases()) {
    if (!wanted(test.name, argc, argv)) continue;
    const std::size_t before = failures;
    run(test);
    ++run_count;
    if (failures != before) {
      ++failed_count;
      std::printf("FAILED: %s\n", test.name);
    }
  }
  std::printf("%zu C++ cases run, %zu failed\n", run_count, failed_count);
  // A filter that matches nothing is a mistake; a run without any cases is not.
  const bool nothing_matched = run_count == 0 && argc > 1;
  return failed_count != 0 || nothing_matched ? 1 : 0;
}
