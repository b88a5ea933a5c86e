// Threads for independent tasks. They live as long as their Crew, which is never longer than one call into the core:
// nothing survives into a forked process.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace labelgrove {

// Works on one batch of tasks at a time, while its owner does something else.
class Crew {
 public:
  // A system that has fewer threads left gives fewer helpers.
  explicit Crew(std::size_t helpers) {
    threads_.reserve(helpers);
    for (std::size_t i = 0; i < helpers; ++i) {
      try {
        threads_.emplace_back([this] { help(); });
      } catch (const std::system_error&) {
        break;
      }
    }
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  // Waits for tasks that have begun; tasks that have not are dropped.
  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      next_ = count_;
      closing_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  // Begins task(0), …, task(count - 1), handed out in this order; they must not touch common state. REQUIRES: the batch
  // before is finished.
  void start(std::size_t count, std::function<void(std::size_t)> task) {
    {
      const std::lock_guard lock(mutex_);
      task_ = std::move(task);
      count_ = count;
      next_ = 0;
    }
    changed_.notify_all();
  }

  // Helps until no task is left, waits for those under way, and throws the first exception that one of them threw.
  void finish() {
    std::unique_lock lock(mutex_);
    while (next_ < count_) run_next(lock);
    changed_.wait(lock, [this] { return running_ == 0; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closing_ || next_ < count_; });
      if (closing_) return;
      while (next_ < count_) run_next(lock);
    }
  }

  // REQUIRES: the lock is held and a task is left.
  void run_next(std::unique_lock<std::mutex>& lock) {
    const std::size_t i = next_++;
    ++running_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      task_(i);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
      if (!failure_) failure_ = failure;
      next_ = count_;
    }
    if (--running_ == 0) changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void(std::size_t)> task_;
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  std::size_t running_ = 0;
  bool closing_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

// Calls task(i) once for every i in [0, count), in `threads` threads, the caller being one of them.
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

}  // namespace labelgrove
