#include "base/crc32.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

using namespace strata;

TEST_CASE("crc32 gives the published check values") {
  CHECK(crc32("", 0) == 0);
  CHECK(crc32("123456789", 9) == 0xCBF43926);  // the catalogue's check value of CRC-32/ISO-HDLC
  CHECK(crc32("The quick brown fox jumps over the lazy dog", 43) == 0x414FA339);
  const std::string zeros(32, '\0');
  CHECK(crc32(zeros.data(), zeros.size()) == 0x190A55AD);
}

TEST_CASE("crc32 does not depend on how the text was cut, nor where it lies") {
  std::mt19937_64 random(1);
  std::string text(517, ' ');
  for (char& c : text) c = static_cast<char>(random());
  const std::uint32_t whole = crc32(text.data(), text.size());
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::uint32_t first = crc32(text.data(), cut), second = crc32(text.data() + cut, text.size() - cut);
    REQUIRE(crc32(text.data() + cut, text.size() - cut, first) == whole);
    REQUIRE(crc32_combine(first, second, text.size() - cut) == whole);
  }
  for (std::size_t shift = 0; shift < 16; ++shift) {
    const std::string moved = std::string(shift, 'x') + text;
    REQUIRE(crc32(moved.data() + shift, text.size()) == whole);
  }
}

TEST_CASE("crc32 finds every flipped bit") {
  std::string text(100, 'a');
  const std::uint32_t right = crc32(text.data(), text.size());
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    REQUIRE(crc32(text.data(), text.size()) != right);
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
  }
}
