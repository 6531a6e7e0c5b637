// Many narrow floats at once have the bits that one by one have.
#include "base/small_float.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "strata/dtype.h"

using namespace strata;

TEST_CASE("many halves become floats as each does") {
  std::vector<std::uint16_t> from(1 << 16);
  for (std::size_t k = 0; k < from.size(); ++k) from[k] = static_cast<std::uint16_t>(k);
  std::vector<float> half(from.size()), brain(from.size());
  f16_to_f32(from.data(), half.data(), std::ssize(from));
  bf16_to_f32(from.data(), brain.data(), std::ssize(from));
  int wrong = 0;
  for (std::size_t k = 0; k < from.size(); ++k) {
    wrong += std::bit_cast<std::uint32_t>(half[k]) != std::bit_cast<std::uint32_t>(f16_to_f32(from[k]));
    wrong += std::bit_cast<std::uint32_t>(brain[k]) != std::bit_cast<std::uint32_t>(bf16_to_f32(from[k]));
  }
  CHECK(wrong == 0);
}

TEST_CASE("many floats become halves as each does: ties, the smallest, NaN and infinities among them") {
  std::mt19937 random(1);
  std::vector<float> from;
  for (std::uint32_t bits = 0; bits < 65536; ++bits)
    for (const std::uint32_t low : {0u, 1u, 0x0FFFu, 0x1000u, 0x1001u, 0x7FFFu, 0x8000u})
      from.push_back(std::bit_cast<float>(bits << 16 | low));
  for (int k = 0; k < 100003; ++k) from.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  std::vector<std::uint16_t> half(from.size()), brain(from.size());
  f32_to_f16(from.data(), half.data(), std::ssize(from));
  f32_to_bf16(from.data(), brain.data(), std::ssize(from));
  int wrong = 0;
  for (std::size_t k = 0; k < from.size(); ++k)
    wrong += (half[k] != f32_to_f16(from[k])) + (brain[k] != f32_to_bf16(from[k]));
  CHECK(wrong == 0);
}
