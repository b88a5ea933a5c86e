#include <cmath>
#include <cstdint>
#include <vector>

#include "harness.hpp"
#include "labelgrove/vector_block.hpp"
#include "labelgrove/vector_kernels.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

constexpr std::uint32_t kChildren = 3;
constexpr std::uint32_t kDimension = 4;

VectorBlock random_block(Random& random, bool softmax) {
  VectorBlock block(kChildren, kDimension, softmax);
  for (std::uint32_t i = 0; i < block.vectors(); ++i) {
    for (std::uint32_t k = 0; k <= kDimension; ++k) block.row(i)[k] = random.between(-2.0F, 2.0F);
    block.squares()[i] = 1.0F;
  }
  return block;
}

// An example as the children see it: its vector, 1 for the bias, and zeros.
std::vector<float> random_hidden(Random& random) {
  std::vector<float> hidden(padded(kDimension + std::size_t{1}));
  for (std::uint32_t k = 0; k < kDimension; ++k) hidden[k] = random.between(-1.0F, 1.0F);
  hidden[kDimension] = 1.0F;
  return hidden;
}

TEST("vector block: a reset child has the probability of one that was missing in all examples so far") {
  for (const bool softmax : {false, true}) {
    for (std::uint32_t child = 0; child < kChildren; ++child) {
      Random random(child);
      VectorBlock block = random_block(random, softmax);
      const std::vector<float> hidden = random_hidden(random);
      block.reset_child(child, hidden.data(), 8);
      Workspace work;
      std::vector<float> found(kChildren);
      block.predict({nullptr, hidden.data(), kDimension}, work, found.data());
      CHECK_NEAR(found[child], 0.1, 1e-5);
      CHECK_EQ(work.bytes, block.vectors() * hidden.size() * sizeof(float));
      CHECK(block.bytes() >= sizeof(VectorBlock) + block.vectors() * (hidden.size() + 1) * sizeof(float));
      const bool first = softmax && child == 0;  // it has no vector, so the others' have no mean
      for (std::uint32_t k = 0; k < kDimension; ++k) {
        const float left = first ? block.row(0)[k] + block.row(1)[k] : block.row(child - (softmax ? 1 : 0))[k];
        CHECK_NEAR(left, 0.0, 1e-6);
      }
      for (std::uint32_t i = 0; i < block.vectors(); ++i) {
        CHECK_EQ(block.squares()[i], !first && i + (softmax ? 1 : 0) == child ? 0.0F : 1.0F);
      }
      const LinearBlock linear = block.linear();
      CHECK(linear.link == (softmax ? Link::softmax : Link::logistic));
      for (std::uint32_t c = 0; c < kChildren; ++c) {
        CHECK_EQ(linear.weights[c], softmax && c == 0 ? 0.0F : block.row(c - (softmax ? 1 : 0))[kDimension]);
      }
    }
  }
}

TEST("vector block: vectors stay within their bounds when they lose their mean") {
  Random random(1);
  VectorBlock block = random_block(random, true);
  for (const float sign : {1.0F, -1.0F}) {
    block.row(0)[0] = sign * kLargestCoordinate;
    block.row(1)[0] = -3.0F * sign * kLargestCoordinate;
    block.reset_child(0, random_hidden(random).data(), 8);
    for (const std::uint32_t i : {0U, 1U}) CHECK(std::abs(block.row(i)[0]) <= kLargestCoordinate);
  }
}

}  // namespace
}  // namespace labelgrove::testing
