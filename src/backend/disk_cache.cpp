#include "backend/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <vector>

namespace strata {
namespace {

constexpr std::uint64_t max_entry = std::uint64_t{16} << 20, max_total = 64'000'000;
constexpr std::uint64_t block = 4096;  // what file systems give out: most kernels take one or two
constexpr std::string_view suffix = ".kernel";

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// What stands in front of the payload. Numbers in the machine's own byte order: entries do not travel.
struct Header {
  char magic[8] = {'S', 'T', 'R', 'A', 'T', 'A', 'K', '1'};
  std::uint64_t size = 0;
  Digest key{}, digest{};
};
static_assert(sizeof(Header) == 80);

Header header_of(const Digest& key, std::string_view payload) {
  Header h;
  h.size = payload.size();
  h.key = key;
  Sha256 hash;
  hash.add(key.data(), key.size());
  hash.add_field(payload);
  h.digest = hash.finish();
  return h;
}

bool ours_alone(const struct stat& s) { return s.st_uid == ::geteuid() && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0; }

bool make_directories(const std::string& path) {
  for (std::size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    if (::mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST) return false;
  }
  return true;
}

/// The directory, held by its descriptor: what happens to its path afterwards does not matter.
int open_directory(const std::string& path, bool create) {
  if (path.empty() || ::getuid() != ::geteuid()) return -1;
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int fd = ::open(path.c_str(), flags);
  if (fd < 0 && errno == ENOENT && create && make_directories(path)) fd = ::open(path.c_str(), flags);
  struct stat s;
  if (fd >= 0 && (::fstat(fd, &s) != 0 || !ours_alone(s))) {
    ::close(fd);
    return -1;
  }
  return fd;
}

bool read_all(int fd, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::read(fd, to, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool write_all(int fd, const void* data, std::size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(fd, from, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

/// A write beyond the limit on file sizes raises a signal that ends the process: here it is an ordinary error.
class WithoutFileSizeSignal {
 public:
  WithoutFileSizeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~WithoutFileSizeSignal() {
    const timespec now{};
    if (!sigismember(&before_, SIGXFSZ)) sigtimedwait(&set_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t set_{}, before_{};
};

/// Removes the longest unused entries beyond the budget, and what killed writers left.
void prune(int directory) {
  struct CacheEntry {
    time_t used;
    std::uint64_t bytes;
    std::string name;
  };
  std::vector<CacheEntry> entries;
  std::uint64_t total = 0;
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = copy >= 0 ? ::fdopendir(copy) : nullptr;
  if (!listing) {
    if (copy >= 0) ::close(copy);
    return;
  }
  while (const dirent* e = ::readdir(listing)) {
    const std::string name = e->d_name;
    struct stat s;
    if (::fstatat(directory, name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode)) continue;
    if (name.starts_with(".new-")) {
      if (s.st_mtime < std::time(nullptr) - 3600) ::unlinkat(directory, name.c_str(), 0);
    } else if (name.ends_with(suffix)) {
      entries.push_back({s.st_mtime, (static_cast<std::uint64_t>(s.st_size) + block - 1) / block * block, name});
      total += entries.back().bytes;
    }
  }
  ::closedir(listing);
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) { return a.used < b.used; });
  for (const CacheEntry& e : entries) {
    if (total <= max_total) return;
    ::unlinkat(directory, e.name.c_str(), 0);
    total -= e.bytes;
  }
}

}  // namespace

std::optional<std::string> read_cache_entry(const std::string& directory, const Digest& key) {
  const FileDescriptor dir(open_directory(directory, false));
  if (!dir) return std::nullopt;
  const std::string name = to_hex(key).append(suffix);
  // Not blocking: somebody may have put a pipe there.
  const FileDescriptor file(
      ::openat(dir.fd(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat s;
  if (!file || ::fstat(file.fd(), &s) != 0 || !S_ISREG(s.st_mode) || !ours_alone(s)) return std::nullopt;
  Header h;
  const auto size = static_cast<std::uint64_t>(s.st_size);
  if (size < sizeof h || size > max_entry || !read_all(file.fd(), reinterpret_cast<char*>(&h), sizeof h))
    return std::nullopt;
  std::string payload(size - sizeof h, '\0');
  if (!read_all(file.fd(), payload.data(), payload.size())) return std::nullopt;
  const Header expected = header_of(key, payload);
  if (std::memcmp(&h, &expected, sizeof h) != 0) return std::nullopt;
  // The time of change is the time of last use, to the day: prune() removes the oldest.
  if (s.st_mtime < std::time(nullptr) - 86400) ::futimens(file.fd(), nullptr);
  return payload;
}

bool write_cache_entry(const std::string& directory, const Digest& key, const std::string& payload) {
  if (payload.size() > max_entry - sizeof(Header)) return false;
  const FileDescriptor dir(open_directory(directory, true));
  if (!dir) return false;
  static std::atomic<unsigned> counter{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::string temporary =
      ".new-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) + "-" + std::to_string(now.tv_nsec);
  const std::string name = to_hex(key).append(suffix);  // before there is a file: nothing below may throw
  const Header h = header_of(key, payload);
  bool stored = false;
  {
    const WithoutFileSizeSignal quiet;
    const FileDescriptor file(
        ::openat(dir.fd(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return false;
    stored = write_all(file.fd(), &h, sizeof h) && write_all(file.fd(), payload.data(), payload.size()) &&
             ::fsync(file.fd()) == 0;
  }
  stored = stored && ::renameat(dir.fd(), temporary.c_str(), dir.fd(), name.c_str()) == 0;
  if (!stored) ::unlinkat(dir.fd(), temporary.c_str(), 0);
  // Listing the folder takes milliseconds: at the first write of a process, and then for every 64 or every 4 MB.
  static std::atomic<unsigned> writes{0};
  static std::atomic<std::uint64_t> bytes{0};
  const bool much = (bytes += payload.size()) >= std::uint64_t{4} << 20;
  if (much) bytes = 0;
  if (stored && (writes++ % 64 == 0 || much)) prune(dir.fd());
  return stored;
}

}  // namespace strata
