#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include "harness.hpp"
#include "labelgrove/row_storage.hpp"

namespace labelgrove::testing {
namespace {

bool counts(const float* data, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (data[i] != static_cast<float>(i)) return false;
  }
  return true;
}

void count_on(float* data, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) data[i] = static_cast<float>(i);
}

TEST("row storage: starts empty") {
  RowStorage storage;
  CHECK_EQ(storage.capacity(), 0U);
  CHECK(storage.data() == nullptr);
  storage.reserve(0);
  CHECK_EQ(storage.capacity(), 0U);
}

// From a cache line, through heap memory, to pages of its own and far beyond.
TEST("row storage: growth keeps what was there, aligned to cache lines") {
  RowStorage storage;
  std::size_t written = 0;
  for (std::size_t wanted = 1; wanted < 3'000'000; wanted += wanted / 3 + 1) {
    storage.reserve(wanted);
    REQUIRE(storage.capacity() >= wanted);
    REQUIRE(reinterpret_cast<std::uintptr_t>(storage.data()) % 64 == 0);
    if (wanted < 100'000 || wanted > 2'000'000) CHECK(counts(storage.data(), written));
    count_on(storage.data(), written, storage.capacity());  // all of it must be usable
    written = storage.capacity();
  }
  CHECK(counts(storage.data(), written));
}

TEST("row storage: reserving less than the capacity changes nothing") {
  RowStorage storage(1000);
  const float* data = storage.data();
  const std::size_t capacity = storage.capacity();
  storage.reserve(10);
  storage.reserve(capacity);
  CHECK(storage.data() == data);
  CHECK_EQ(storage.capacity(), capacity);
}

TEST("row storage: a move transfers the floats, on the heap and in pages") {
  for (const std::size_t floats : {std::size_t{100}, std::size_t{100'000}}) {
    RowStorage source(floats);
    count_on(source.data(), 0, floats);
    RowStorage target(std::move(source));
    CHECK(source.data() == nullptr);
    CHECK_EQ(source.capacity(), 0U);
    source.reserve(floats / 2);  // a moved-from storage can be reused
    RowStorage assigned(7);
    assigned = std::move(target);
    CHECK(assigned.capacity() >= floats);
    CHECK(counts(assigned.data(), floats));
    assigned.reserve(floats * 4);
    CHECK(counts(assigned.data(), floats));
  }
}

TEST("row storage: gives back what is not needed, and keeps the rest") {
  for (const std::size_t floats : {std::size_t{500}, std::size_t{100'000}}) {
    RowStorage storage(floats);
    count_on(storage.data(), 0, floats);
    storage.give_back(floats / 10);
    CHECK(storage.capacity() >= floats / 10 && storage.capacity() < floats / 4);
    CHECK(counts(storage.data(), floats / 10));
  }
}

TEST("row storage: never holds more than the bound, whatever was before") {
  RowStorage storage;
  std::size_t floats = 0;
  for (std::size_t step = 0; step < 4000; ++step) {
    if (step % 37 == 36) {
      floats /= 1 + step % 20;
      storage.give_back(floats);
    }
    const std::uint64_t before = RowStorage::most_bytes(floats * sizeof(float));
    const std::size_t more = step % 3 == 0 ? step : step % 11;
    floats += more;
    storage.reserve(floats);
    const std::uint64_t most = RowStorage::most_bytes(floats * sizeof(float));
    CHECK(storage.bytes(floats) <= std::max<std::uint64_t>(most, 64));  // one float takes a cache line
    CHECK(most - before <= RowStorage::most_growth(more * sizeof(float)));
  }
  CHECK_EQ(RowStorage::most_growth(0), 0U);
}

#if defined(__linux__)
bool has_pages(const RowStorage& storage) { return storage.bytes(1) == 4096; }

TEST("row storage: leaves mappings to others") {
  std::vector<RowStorage> many(40'000);
  for (RowStorage& storage : many) storage.reserve(2000);
  CHECK(has_pages(many.front()));
  CHECK(!has_pages(many.back()));
  CHECK(many.back().capacity() >= 2000);
  many.clear();
  CHECK(has_pages(RowStorage(2000)));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need new mappings themselves
TEST("row storage: without new mappings it takes memory from the heap") {
  std::vector<std::unique_ptr<float[]>> heap;  // which then has enough
  for (int i = 0; i < 30; ++i) heap.push_back(std::make_unique<float[]>(4000));
  RowStorage small(100);
  RowStorage large(2000);
  count_on(small.data(), 0, 100);
  count_on(large.data(), 0, 2000);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 1;
  heap.clear();
  REQUIRE(setrlimit(RLIMIT_AS, &none) == 0);
  bool short_of_memory = false;
  try {
    small.reserve(2000);
    large.reserve(4000);
    for (int i = 0; i < 40'000; ++i) RowStorage(2000);  // they do not count as mappings
  } catch (const std::bad_alloc&) {
    short_of_memory = true;
  }
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(!short_of_memory);
  CHECK(small.capacity() >= 2000 && counts(small.data(), 100));
  CHECK(large.capacity() >= 4000 && counts(large.data(), 2000));
  CHECK_EQ(has_pages(small), has_pages(large));  // emulators ignore the limit
  small.reserve(8000);
  CHECK(has_pages(small));
  CHECK(counts(small.data(), 100));
}
#endif
#endif

}  // namespace
}  // namespace labelgrove::testing
