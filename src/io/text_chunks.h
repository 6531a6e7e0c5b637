#pragma once
// A long text in pieces that are parsed in parallel.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "backend/pool.h"
#include "io/file_text.h"

namespace strata::io {

/// A piece of the text that starts and ends at lines.
struct TextChunk {
  const char* begin = nullptr;
  const char* end = nullptr;
  std::int64_t first = 0, count = 0;  ///< its entries
  std::exception_ptr error = {};
};

template <class Chunk>
std::vector<Chunk> cut_lines(const FileText& source, const char* data) {
  constexpr std::ptrdiff_t target = 1 << 20;
  std::vector<Chunk> chunks;
  for (const char* p = data; p != source.end();) {
    const char* q = source.end() - p > target ? next_line(p + target, source.end()) : source.end();
    Chunk& chunk = chunks.emplace_back();
    chunk.begin = p, chunk.end = q;
    p = q;
  }
  return chunks;
}

/// Counts the lines of data in each chunk, and gives all of them.
template <class Chunk>
std::int64_t count_lines(std::vector<Chunk>& chunks, char comment) {
  parallel_for(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t c) {
    Chunk& chunk = chunks[static_cast<std::size_t>(c)];
    for (const char* p = chunk.begin; p != chunk.end; p = next_line(p, chunk.end))
      chunk.count += has_data(p, chunk.end, comment);
  });
  std::int64_t total = 0;
  for (Chunk& chunk : chunks) chunk.first = total, total += chunk.count;
  return total;
}

/// Runs f over the chunks, a few megabytes at a time, so that progress is told from the caller's thread; the first
/// error in the text wins.
template <class Chunk, class F>
void for_chunks(std::vector<Chunk>& chunks, const std::function<void(double)>& progress, F f) {
  const std::size_t group = progress ? 32 : chunks.size() + 1;
  for (std::size_t first = 0; first < chunks.size(); first += group) {
    const std::size_t n = std::min(group, chunks.size() - first);
    parallel_for(static_cast<std::int64_t>(n), [&](std::int64_t c) {
      Chunk& chunk = chunks[first + static_cast<std::size_t>(c)];
      try {
        f(chunk);
      } catch (...) { chunk.error = std::current_exception(); }
    });
    for (std::size_t c = first; c < first + n; ++c)
      if (chunks[c].error) std::rethrow_exception(chunks[c].error);
    if (progress) progress(0.1 + 0.7 * static_cast<double>(first + n) / static_cast<double>(chunks.size()));
  }
}

}  // namespace strata::io
