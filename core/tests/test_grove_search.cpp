#include <cstdint>
#include <map>

#include "harness.hpp"
#include "labelgrove/grove_search.hpp"
#include "labelgrove/hash.hpp"

namespace labelgrove::testing {

TEST("few places: agrees with a map, and clears all places at once") {
  FewPlaces places;
  for (std::uint64_t round = 0; round < 50; ++round) {
    places.clear();
    std::map<std::uint32_t, std::uint32_t> expected;
    for (std::uint64_t i = 0; i < 3 * round; ++i) {
      const auto id = static_cast<std::uint32_t>(mix(round << 32 | i) % 100) << 20;
      const auto known = expected.find(id);
      CHECK_EQ(places.find(id), known == expected.end() ? kNone : known->second);
      if (known != expected.end()) continue;
      const auto next = static_cast<std::uint32_t>(expected.size());
      CHECK_EQ(places.add(id), next);
      expected.emplace(id, next);
    }
    for (const auto& [id, place] : expected) CHECK_EQ(places.find(id), place);
  }
}

}  // namespace labelgrove::testing
