#pragma once
// CRC-32 (ISO-HDLC, as zlib, PNG and zip compute it): finds damage in files. Source: W. W. Peterson, D. T. Brown,
// "Cyclic Codes for Error Detection", Proc. IRE 49(1), 1961.
#include <cstddef>
#include <cstdint>

namespace strata {

/// Of `size` bytes that follow those of which `before` is the checksum (0: none). Equal to zlib.crc32(data, before).
std::uint32_t crc32(const void* data, std::size_t size, std::uint32_t before = 0);
/// Of two texts, one behind the other, from the checksum of each: pieces can be looked at in parallel.
std::uint32_t crc32_combine(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);

}  // namespace strata
