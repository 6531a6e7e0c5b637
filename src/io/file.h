#pragma once
// Whole files in and out.
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "strata/buffer.h"

namespace strata::io {

/// The bytes of a file (also a pipe), in memory of ours: a mapped file that another process cuts short would kill us.
/// FileError.
Buffer read_file(const std::string& path);

/// The bytes of a plain file where the system maps them: read-only, page by page when they are looked at, there as long
/// as the buffer lives, whatever becomes of the name. Whoever shortens the file in place meanwhile kills the reader
/// (SIGBUS); files that are replaced, as write_file does it, stay whole. What is no plain file is read. FileError.
Buffer map_file(const std::string& path);

/// Writes what `next` gives until it returns an empty text. The file appears whole or not at all: written beside the
/// target with its permissions, synced, renamed over it; a device or pipe is written in place. FileError, also for a
/// full disk; no trace is left then.
void write_file(const std::string& path, const std::function<std::string_view()>& next);

/// The same of one text.
inline void write_text(const std::string& path, std::string_view text) {
  write_file(path, [&] { return std::exchange(text, {}); });
}

}  // namespace strata::io
