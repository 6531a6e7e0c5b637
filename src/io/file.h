#pragma once
// Whole files in and out.
#include <functional>
#include <string>

#include "strata/buffer.h"

namespace strata::io {

/// The bytes of a file (also a pipe), in memory of ours: a mapped file that another process cuts short would kill us.
/// FileError.
Buffer read_file(const std::string& path);

/// Writes what `next` gives until it returns an empty string. The file appears whole or not at all: written beside the
/// target, synced, renamed over it; a device or pipe is written in place. FileError, also for a full disk; no trace is
/// left then.
void write_file(const std::string& path, const std::function<std::string()>& next);

}  // namespace strata::io
