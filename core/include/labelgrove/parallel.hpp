// Fork-join over independent tasks. Threads live for one call only: nothing survives into a forked process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace labelgrove {

// Calls task(i) once for every i in [0, count), dealt out in order of i to `threads` threads, the caller being one of
// them. The tasks must not touch common state. The first exception is thrown again after all threads have ended.
template <typename Task>
void parallel_for(std::size_t count, unsigned threads, Task&& task) {
  if (threads <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) task(i);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_lock;
  auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        task(i);
      } catch (...) {
        std::lock_guard lock(failure_lock);
        if (!failure) failure = std::current_exception();
        next.store(count);
      }
    }
  };
  std::vector<std::thread> helpers;
  const std::size_t wanted = std::min<std::size_t>(threads, count) - 1;
  helpers.reserve(wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    try {
      helpers.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // the system has no thread left: go on with those that there are
    }
  }
  work();
  for (auto& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace labelgrove
