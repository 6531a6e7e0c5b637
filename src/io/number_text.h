#pragma once
// Numbers as text that reads back to the same bits, and lines of them formatted in parallel.
#include <algorithm>
#include <charconv>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/pool.h"
#include "strata/dtype.h"

namespace strata::io {

inline void append_integer(std::string& out, auto value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}
/// The shortest text that reads back to the same bits. NaN other than the usual one keeps its payload in parentheses,
/// which C's grammar of numbers allows and other readers ignore.
void append_real(std::string& out, double value);
/// An element of any dtype; complex ones are two words.
void append_value(std::string& out, DType dtype, const void* address);

/// A header and lines [0, count) as text, handed out in pieces of some megabytes that live until the next is asked for.
template <class Line>
std::function<std::string_view()> lines_of(std::string header, std::int64_t count, Line line) {
  return [=, all = std::move(header), next = std::int64_t{-1}]() mutable -> std::string_view {
    if (next < 0) {
      next = 0;
      if (!all.empty()) return all;
    }
    constexpr std::int64_t per_chunk = 1 << 14, chunks = 32;
    std::vector<std::string> texts(chunks);
    const std::int64_t first = next;
    parallel_for(chunks, [&](std::int64_t c) {
      const std::int64_t begin = std::min(count, first + c * per_chunk), end = std::min(count, begin + per_chunk);
      for (std::int64_t k = begin; k < end; ++k) line(texts[static_cast<std::size_t>(c)], k);
    });
    next = std::min(count, first + chunks * per_chunk);
    all.clear();
    for (const std::string& text : texts) all += text;
    return all;
  };
}

}  // namespace strata::io
