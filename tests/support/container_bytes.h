#pragma once
// .st files put together by hand, with a prologue that fits their header.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/crc32.h"
#include "io/container.h"

namespace strata::testing {

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int k = 0; k < bytes; ++k) out += static_cast<char>(value >> (8 * k) & 0xFF);
  return out;
}

inline std::string container_bytes(std::string_view header, std::string_view data) {
  std::string text(header);
  const std::int64_t end = io::container_start + static_cast<std::int64_t>(text.size());
  text.append(static_cast<std::size_t>(io::align_up(end) - end), ' ');
  std::string out(io::container_magic);
  out += io::container_version;
  out += little_endian(text.size(), 8);
  out += little_endian(crc32(text.data(), text.size(), crc32(out.data(), out.size())), 8);
  return out.append(text).append(data);
}

/// The same file with another header in front of its arrays.
inline std::string with_header(std::string_view file, std::string_view header) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data() + 8, 8);
  return container_bytes(header, file.substr(static_cast<std::size_t>(io::container_start) + length));
}
inline std::string header_of(std::string_view file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data() + 8, 8);
  return std::string(file.substr(static_cast<std::size_t>(io::container_start), length));
}

}  // namespace strata::testing
