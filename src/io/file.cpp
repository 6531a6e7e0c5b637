#include "io/file.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>
#include <utility>

#include "backend/steps.h"
#include "strata/error.h"

namespace strata::io {
namespace {

[[noreturn]] void fail(const std::string& verb, const std::string& path, int error, const std::string& fix = "") {
  throw FileError({.what = "cannot " + verb + " '" + path + "'", .got = std::strerror(error), .fix = fix});
}

struct Descriptor {
  int fd = -1;
  explicit Descriptor(int opened = -1) : fd(opened) {}
  Descriptor(Descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

/// A file beyond the size limit of the process should fail like a full disk, not kill us: SIGXFSZ is held back
/// meanwhile.
class HoldFileSizeSignal {
 public:
  HoldFileSizeSignal() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set_, &old_);
  }
  ~HoldFileSizeSignal() {
    if (!was_pending_) {
      const timespec now{};
      while (sigtimedwait(&set_, nullptr, &now) == -1 && errno == EINTR) {}
    }
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }
  HoldFileSizeSignal(const HoldFileSizeSignal&) = delete;
  HoldFileSizeSignal& operator=(const HoldFileSizeSignal&) = delete;

 private:
  sigset_t set_, old_;
  bool was_pending_ = false;
};

constexpr int wait_ms = 50;  ///< between two looks at Ctrl-C

/// Until a pipe or a device has something for us, or room. (Files always have.)
void wait_for(int fd, short events) {
  for (;;) {
    pollfd one{fd, events, 0};
    const int n = ::poll(&one, 1, wait_ms);
    if (n > 0 || (n < 0 && errno != EINTR)) return;  // an error shows when it is read or written
    poll_interrupt();
  }
}

/// Opens without waiting: a pipe waits for its other end.
int open_for_writing(const std::string& path) {
  for (;;) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 || errno != ENXIO) return fd;  // ENXIO: a pipe that nobody reads yet
    ::poll(nullptr, 0, wait_ms);
    poll_interrupt();
  }
}

void write_all(int fd, std::string_view text, const std::string& path) {
  constexpr std::size_t piece = std::size_t{16} << 20;
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, std::min(piece, text.size() - done));
    if (n < 0 && errno == EAGAIN) {
      wait_for(fd, POLLOUT);
      continue;
    }
    poll_interrupt();
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", path, errno, "make room, or write elsewhere");
    done += static_cast<std::size_t>(n);
  }
}

Descriptor open_for_reading(const std::string& path, struct stat& info) {
  if (path.find('\0') != std::string::npos)
    throw FileError({.what = "a file name cannot contain a zero byte", .got = path});
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) fail("open", path, errno);
  if (::fstat(file.fd, &info) != 0) fail("read", path, errno);
  if (S_ISDIR(info.st_mode)) fail("read", path, EISDIR, "name a file in it");
  return file;
}

/// What is written takes the owner and permissions of what it replaces, as far as we may give them.
void keep_permissions(int fd, const struct stat& old) {
  if (old.st_uid != ::geteuid() || old.st_gid != ::getegid())
    if (::fchown(fd, old.st_uid, old.st_gid) != 0) errno = 0;  // not ours to give: the file becomes ours
  if (::fchmod(fd, old.st_mode & 0777) != 0) errno = 0;
}

/// The name itself should survive a crash too; not every file system can promise it.
void sync_folder(const std::string& target) {
  const std::size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : target.substr(0, slash);
  const Descriptor file{::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY)};
  if (file.fd >= 0 && ::fsync(file.fd) != 0) errno = 0;
}

/// Removes the temporary unless the rename happened.
struct Temporary {
  std::string path;
  bool made = false;
  ~Temporary() {
    if (made) ::unlink(path.c_str());
  }
};

}  // namespace

Buffer read_file(const std::string& path) {
  struct stat info{};
  const Descriptor file = open_for_reading(path, info);
  // One byte more than the file has, so that its end shows without growing. A pipe tells no size.
  std::int64_t capacity = S_ISREG(info.st_mode) ? static_cast<std::int64_t>(info.st_size) + 1 : 1 << 20;
  Buffer text = Buffer::allocate(DType::u8, capacity);
  std::int64_t size = 0;
  constexpr std::int64_t piece = std::int64_t{16} << 20;
  for (;;) {
    poll_interrupt();
    if (size == capacity) {
      Buffer larger = Buffer::allocate(DType::u8, capacity * 2);
      copy_in_steps(larger.data, text.data, size);
      text = larger;
      capacity *= 2;
    }
    if (!S_ISREG(info.st_mode)) wait_for(file.fd, POLLIN);
    const ssize_t n = ::read(file.fd, static_cast<char*>(text.data) + size,
                             static_cast<std::size_t>(std::min(piece, capacity - size)));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) fail("read", path, errno);
    if (n == 0) break;
    size += n;
  }
  text.size = size;
  return text;
}

Buffer map_file(const std::string& path) {
  struct stat info{};
  {
    const Descriptor file = open_for_reading(path, info);
    const auto size = static_cast<std::size_t>(info.st_size);
    if (S_ISREG(info.st_mode) && size > 0) {
      void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
      if (address == MAP_FAILED) fail("map", path, errno);
      std::shared_ptr<void> owner;
      owner.reset(address, [size](void* p) { ::munmap(p, size); });  // also where it finds no memory of its own
      Buffer bytes = Buffer::borrow(DType::u8, address, static_cast<std::int64_t>(size), std::move(owner));
      bytes.read_only = true;
      return bytes;
    }
  }
  return read_file(path);
}

void write_file(const std::string& path, const std::function<std::string_view()>& next) {
  if (path.empty() || path.find('\0') != std::string::npos)
    throw FileError({.what = "no file name", .expected = "a path", .got = path});
  const HoldFileSizeSignal hold;
  struct stat info{};
  std::string target = path;
  const bool replaces = ::stat(path.c_str(), &info) == 0;
  if (replaces) {
    if (S_ISDIR(info.st_mode)) fail("write", path, EISDIR);
    if (!S_ISREG(info.st_mode)) {  // never rename over a device
      Descriptor device{open_for_writing(path)};
      if (device.fd < 0) fail("open", path, errno);
      for (std::string_view text = next(); !text.empty(); text = next()) write_all(device.fd, text, path);
      return;
    }
    // A link stays a link: what it names is replaced.
    if (char* real = ::realpath(path.c_str(), nullptr)) {
      target = real;
      std::free(real);
    }
  }
  Temporary temporary;
  Descriptor file;
  std::random_device random;
  for (int attempt = 0; file.fd < 0; ++attempt) {
    temporary.path = target + ".tmp" + std::to_string(random());
    file.fd = ::open(temporary.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.fd >= 0) temporary.made = true;
    else if (errno != EEXIST || attempt > 100) fail("create a file beside", path, errno);
  }
  if (replaces) keep_permissions(file.fd, info);  // first: what is private stays so while it is written
  for (std::string_view text = next(); !text.empty(); text = next()) write_all(file.fd, text, path);
  if (::fsync(file.fd) != 0) fail("write", path, errno);
  const int fd = file.fd;
  file.fd = -1;
  if (::close(fd) != 0) fail("write", path, errno);
  if (::rename(temporary.path.c_str(), target.c_str()) != 0) fail("rename a file to", path, errno);
  temporary.made = false;
  sync_folder(target);
}

}  // namespace strata::io
