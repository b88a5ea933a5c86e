// Threads for independent tasks. They live as long as their Crew, and no Crew outlives a call into the core, so a
// forked process never inherits threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace labelgrove {

// Runs one batch of tasks at a time, while its owner does something else. Only the owner may call its methods.
class Crew {
 public:
  // Starts as many helpers as the system allows, perhaps fewer than asked for, or none.
  explicit Crew(std::size_t helpers) {
    if (helpers == 0) return;
    std::unique_lock lock(mutex_);
    try {
      // A thread's first exception needs memory, and the C library aborts if there is none. Helpers therefore allocate
      // it as they start. Some memory is set aside while they are created and freed before they run; they wait for the
      // lock.
      const auto aside = std::make_unique<std::byte[]>(helpers * kAside);
      threads_.reserve(helpers);
      while (threads_.size() < helpers) threads_.emplace_back([this] { help(); });
    } catch (const std::exception&) {
      helpers = threads_.size();
    }
    rested_.wait(lock, [&] { return ready_ == helpers; });
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  // Waits for tasks that have started, and drops the others.
  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      next_ = kNoMore;
      closing_ = true;
    }
    begun_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  // Starts task(0), …, task(count - 1), handed out in this order. Tasks must not share mutable state. REQUIRES: the
  // previous batch is finished.
  void start(std::size_t count, std::function<void(std::size_t)> task) {
    {
      std::unique_lock lock(mutex_);
      rested_.wait(lock, [this] { return busy_ == 0; });  // a helper may have woken too late for the previous batch
      task_ = std::move(task);
      count_ = count;
      next_ = 0;
      ++batch_;
    }
    begun_.notify_all();
  }

  // Helps until no task is left, waits for those still running, and rethrows the first exception thrown by a task.
  void finish() {
    work();
    std::unique_lock lock(mutex_);
    rested_.wait(lock, [this] { return busy_ == 0; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  static constexpr std::size_t kAside = std::size_t{1} << 15;
  static constexpr std::size_t kNoMore = std::numeric_limits<std::size_t>::max() / 2;

  void help() {
    std::unique_lock lock(mutex_);
    static_cast<void>(std::uncaught_exceptions());  // allocates the memory
    ++ready_;
    rested_.notify_all();
    for (std::uint64_t seen = 0;;) {
      begun_.wait(lock, [&] { return closing_ || batch_ != seen; });
      if (closing_) return;
      seen = batch_;
      ++busy_;
      lock.unlock();
      work();
      lock.lock();
      if (--busy_ == 0) rested_.notify_all();
    }
  }

  void work() {
    for (std::size_t i = next_++; i < count_; i = next_++) {
      try {
        task_(i);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        next_ = kNoMore;
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable rested_;
  std::function<void(std::size_t)> task_;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
  std::uint64_t batch_ = 0;
  std::size_t ready_ = 0;  // helpers that have started
  std::size_t busy_ = 0;   // helpers that are working
  bool closing_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

// Calls task(i) once for every i in [0, count), in `threads` threads including the caller's. After an exception no more
// tasks start; once all running ones have ended, the first exception is rethrown.
template <typename Task>
void parallel_for(std::size_t count, unsigned threads, Task&& task) {
  if (threads <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) task(i);
    return;
  }
  Crew crew(std::min<std::size_t>(threads, count) - 1);
  crew.start(count, task);
  crew.finish();
}

// As above, but calls task(worker, i), where each thread creates its own worker with make(). This replaces thread_local
// variables: if there is no memory for those, the C library aborts.
template <typename Make, typename Task>
void parallel_for(std::size_t count, unsigned threads, Make&& make, Task&& task) {
  const std::size_t workers = std::min<std::size_t>(std::max(threads, 1U), count);
  std::atomic<std::size_t> next{0};
  parallel_for(workers, threads, [&](std::size_t) {
    try {
      auto worker = make();
      for (std::size_t i = next++; i < count; i = next++) task(worker, i);
    } catch (...) {
      next = count;  // the other threads stop after their current task
      throw;
    }
  });
}

// Divides [0, count) into runs of `size`, the last one perhaps shorter, and calls task(begin, end) for each.
template <typename Task>
void parallel_for_runs(std::size_t count, std::size_t size, unsigned threads, Task&& task) {
  parallel_for((count + size - 1) / size, threads,
               [&](std::size_t run) { task(run * size, std::min(count, (run + 1) * size)); });
}

// The same with task(worker, begin, end).
template <typename Make, typename Task>
void parallel_for_runs(std::size_t count, std::size_t size, unsigned threads, Make&& make, Task&& task) {
  parallel_for((count + size - 1) / size, threads, make,
               [&](auto& worker, std::size_t run) { task(worker, run * size, std::min(count, (run + 1) * size)); });
}

}  // namespace labelgrove
