// Threads for independent tasks. They live as long as their Crew, which is never longer than one call into the core:
// nothing survives into a forked process.
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

// Works on one batch of tasks at a time, while its owner does something else.
class Crew {
 public:
  // A system that has fewer threads, or too little memory, gives fewer helpers.
  explicit Crew(std::size_t helpers) {
    if (helpers == 0) return;
    std::unique_lock lock(mutex_);
    try {
      // A thread's first exception needs memory, and where there is none the C library aborts. So helpers take it as
      // they begin: it is set aside while they are started, and they wait for the lock.
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
  // Waits for tasks that have begun; tasks that have not are dropped.
  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      next_ = kNoMore;
      closing_ = true;
    }
    begun_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  // Begins task(0), …, task(count - 1), handed out in this order; they must not touch common state. REQUIRES: the batch
  // before is finished.
  void start(std::size_t count, std::function<void(std::size_t)> task) {
    {
      std::unique_lock lock(mutex_);
      rested_.wait(lock, [this] { return busy_ == 0; });  // a helper may have woken too late for the batch before
      task_ = std::move(task);
      count_ = count;
      next_ = 0;
      ++batch_;
    }
    begun_.notify_all();
  }

  // Helps until no task is left, waits for those under way, and throws the first exception that one of them threw.
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
    static_cast<void>(std::uncaught_exceptions());  // takes the memory
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
  std::size_t ready_ = 0;  // helpers that can work
  std::size_t busy_ = 0;   // helpers at work
  bool closing_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

// Calls task(i) once for every i in [0, count), in `threads` threads, the caller being one of them. Throws the first
// exception that a task threw, after all that had begun have ended.
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

// As parallel_for, but calls task(worker, i); every thread makes a worker of its own, by make(). Not thread_local
// variables: where there is no memory for them, the C library aborts.
template <typename Make, typename Task>
void parallel_for(std::size_t count, unsigned threads, Make&& make, Task&& task) {
  const std::size_t workers = std::min<std::size_t>(std::max(threads, 1U), count);
  std::atomic<std::size_t> next{0};
  parallel_for(workers, threads, [&](std::size_t) {
    try {
      auto worker = make();
      for (std::size_t i = next++; i < count; i = next++) task(worker, i);
    } catch (...) {
      next = count;  // the others end with the task at hand
      throw;
    }
  });
}

}  // namespace labelgrove
