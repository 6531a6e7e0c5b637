#pragma once
// The bytes of a .st file. All numbers are little-endian.
//
//   0   8   magic: 0x89 "STRATA", and the version, '1'
//   8   8   length of the header
//   16  4   CRC-32 of bytes 0..15 and the header
//   20  4   zero
//   24      the header: JSON, filled up with blanks so that it ends at a multiple of 64
//   then    the arrays, in the order in which the header names them, each at the next multiple of 64, zeros between
//           them; the file ends with the last one
#include <cstdint>
#include <string_view>

#include "strata/buffer.h"

namespace strata::io {

constexpr std::string_view container_magic = "\x89STRATA";
constexpr char container_version = '1';
constexpr std::int64_t container_start = 24;  ///< of the header
constexpr std::int64_t container_alignment = 64;
/// A header of more is refused: 64 MB name some 200,000 tensors.
constexpr std::int64_t largest_header = std::int64_t{64} << 20;

constexpr std::int64_t align_up(std::int64_t n) {
  return (n + container_alignment - 1) / container_alignment * container_alignment;
}

/// CRC-32 of memory of any size, in parallel.
std::uint32_t checksum(const void* data, std::int64_t size, std::uint32_t before = 0);

}  // namespace strata::io
