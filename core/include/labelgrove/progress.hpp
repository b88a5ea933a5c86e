// The progress of a long computation, for another thread that watches it and may stop it. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace labelgrove {

// Thrown by a computation that was told to stop.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

class Progress {
 public:
  // Sets the total amount of work; may be corrected later.
  void expect(std::uint64_t total) { total_ = total; }
  void advance(std::uint64_t work) { done_ += work; }
  // Throws Stopped after stop().
  void check() const {
    if (stopped_.load(std::memory_order_relaxed)) throw Stopped();
  }

  void stop() { stopped_ = true; }
  std::uint64_t done() const { return done_; }
  // From 0 to 1; 0 while the total is unknown.
  double share() const {
    const std::uint64_t total = total_;
    return total == 0 ? 0.0 : static_cast<double>(done_) / static_cast<double>(total);
  }

 private:
  std::atomic<std::uint64_t> total_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace labelgrove
