#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "harness.hpp"
#include "labelgrove/parallel.hpp"

namespace labelgrove::testing {
namespace {

TEST("parallel: runs cover all numbers once, and only the last may be shorter") {
  for (const unsigned threads : {1U, 3U}) {
    std::vector<int> calls(10);
    const auto make = [] { return std::size_t{0}; };
    parallel_for_runs(calls.size(), 4, threads, make, [&](std::size_t&, std::size_t begin, std::size_t end) {
      CHECK(begin % 4 == 0 && end == std::min(begin + 4, calls.size()));
      for (std::size_t i = begin; i < end; ++i) ++calls[i];
    });
    parallel_for_runs(calls.size(), 3, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++calls[i];
    });
    CHECK(std::ranges::count(calls, 2) == 10);
    parallel_for_runs(0, 4, threads, [&](std::size_t, std::size_t) { ++calls[0]; });
    CHECK_EQ(calls[0], 2);
  }
}

TEST("parallel: every task runs once, whatever the number of threads") {
  for (const unsigned threads : {0U, 1U, 2U, 3U, 8U, 64U}) {
    for (const std::size_t count : {0U, 1U, 2U, 7U, 1000U}) {
      std::vector<int> runs(count);  // ThreadSanitizer would find a race here
      parallel_for(count, threads, [&](std::size_t i) { ++runs[i]; });
      CHECK(std::ranges::all_of(runs, [](int n) { return n == 1; }));
    }
  }
}

TEST("parallel: an exception is rethrown after all threads have ended, and no task starts after it") {
  for (const unsigned threads : {1U, 2U, 8U}) {
    std::atomic<std::size_t> begun{0};
    std::string message;
    try {
      parallel_for(100'000, threads, [&](std::size_t i) {
        ++begun;
        if (i == 17) throw std::runtime_error("task 17");
      });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    CHECK_EQ(message, std::string("task 17"));
    CHECK(begun >= 18);
    CHECK(threads > 1 || begun == 18);
  }
}

TEST("parallel: after an exception the other threads do not finish the batch") {
  constexpr std::size_t kCount = 3000;
  std::atomic<std::size_t> done{0};
  const auto task = [&](std::size_t i) {
    for (int n = 0; i == 0 && done == 0 && n < 1000; ++n) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (i == 0) throw std::runtime_error("task 0");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++done;
  };
  CHECK_THROWS(std::runtime_error, parallel_for(kCount, 2, task));
  CHECK(done < kCount - 1);
  done = 0;
  const auto with_worker = [&](int, std::size_t i) { task(i); };
  CHECK_THROWS(std::runtime_error, parallel_for(kCount, 2, [] { return 0; }, with_worker));
  CHECK(done < kCount - 1);
  Crew alone(0);
  alone.start(kCount, [&](std::size_t) { throw std::runtime_error(std::to_string(++done)); });
  done = 0;
  CHECK_THROWS(std::runtime_error, alone.finish());
  CHECK_EQ(done, 1U);
}

TEST("parallel: one of many exceptions is rethrown") {
  for (int round = 0; round < 20; ++round) {
    CHECK_THROWS(std::logic_error,
                 parallel_for(64, 8, [](std::size_t i) { throw std::logic_error(std::to_string(i)); }));
  }
}

TEST("parallel: every thread works with a worker of its own") {
  for (const unsigned threads : {0U, 1U, 3U}) {
    std::atomic<unsigned> made{0};
    std::vector<int> runs(500);
    const auto make = [&] { return ++made; };
    parallel_for(runs.size(), threads, make, [&](unsigned& worker, std::size_t i) { runs[i] += worker > 0 ? 1 : 0; });
    CHECK(std::ranges::all_of(runs, [](int n) { return n == 1; }));
    CHECK(made >= 1 && made <= std::max(threads, 1U));
    const auto throwing = [](unsigned, std::size_t i) {
      if (i == 7) throw std::runtime_error("task 7");
    };
    CHECK_THROWS(std::runtime_error, parallel_for(runs.size(), threads, make, throwing));
  }
}

TEST("crew: batch after batch, with the owner at work in between") {
  for (const std::size_t helpers : {0U, 1U, 3U, 7U}) {
    Crew crew(helpers);
    std::vector<int> done(100);
    std::size_t own = 0;
    for (int batch = 0; batch < 50; ++batch) {
      const std::size_t count = static_cast<std::size_t>(batch) % (done.size() + 1);
      crew.start(count, [&done](std::size_t i) { ++done[i]; });
      ++own;
      crew.finish();
      const int sum = std::accumulate(done.begin(), done.end(), 0);
      CHECK_EQ(sum, batch * (batch + 1) / 2);
    }
    CHECK_EQ(own, 50U);
  }
}

TEST("crew: finishing without a batch, and twice") {
  Crew crew(2);
  crew.finish();
  std::array<int, 3> done{};
  crew.start(done.size(), [&done](std::size_t i) { done[i] = 1; });
  crew.finish();
  crew.finish();
  CHECK_EQ(done[0] + done[1] + done[2], 3);
}

TEST("crew: a batch that failed does not spoil the next one") {
  Crew crew(3);
  for (int round = 0; round < 20; ++round) {
    crew.start(10, [](std::size_t i) {
      if (i % 2 == 0) throw std::runtime_error("even");
    });
    CHECK_THROWS(std::runtime_error, crew.finish());
    std::vector<int> done(10);
    crew.start(done.size(), [&done](std::size_t i) { done[i] = 1; });
    crew.finish();
    CHECK_EQ(std::accumulate(done.begin(), done.end(), 0), 10);
  }
}

TEST("crew: the destructor waits for running tasks and drops the rest") {
  for (int round = 0; round < 20; ++round) {
    std::vector<int> done(2000);  // outlives the crew; the tasks must not outlive it
    std::atomic<int> under_way{0};
    {
      Crew crew(3);
      crew.start(done.size(), [&](std::size_t i) {
        ++under_way;
        done[i] = 1;
        --under_way;
      });
    }
    CHECK_EQ(under_way.load(), 0);
  }
}

}  // namespace
}  // namespace labelgrove::testing
