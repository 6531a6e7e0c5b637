#pragma once
// Compiled kernels on disk, in a directory of the user's own. Any doubt about an entry is a miss, and nothing here
// throws: a cache that cannot be used costs a compile, never a wrong kernel.
#include <optional>
#include <string>

#include "base/sha256.h"

namespace strata {

/// The entry `key` in `directory`, or nothing. Read only where the directory and the file, looked at through their
/// opened descriptors and without following links, belong to us and to nobody else's write permission, and where the
/// entry carries this key and its digest is right.
std::optional<std::string> read_cache_entry(const std::string& directory, const Digest& key);

/// Stores an entry (temporary file, fsync, rename), so that a reader or a killed writer never meets half of one.
/// Creates the directory with mode 0700. From time to time removes the entries that were longest unused, beyond 64 MB
/// in all. False where it could not be stored.
bool write_cache_entry(const std::string& directory, const Digest& key, const std::string& payload);

}  // namespace strata
