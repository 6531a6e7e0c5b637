#include "io/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>

#include "strata/error.h"

namespace strata::io {
namespace {

[[noreturn]] void fail(const std::string& verb, const std::string& path, int error, const std::string& fix = "") {
  throw FileError({.what = "cannot " + verb + " '" + path + "'", .got = std::strerror(error), .fix = fix});
}

struct Descriptor {
  int fd = -1;
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

void write_all(int fd, const std::string& text, const std::string& path) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", path, errno, "make room, or write elsewhere");
    done += static_cast<std::size_t>(n);
  }
}

/// Removes the temporary unless the rename happened.
struct Temporary {
  std::string path;
  bool keep = false;
  ~Temporary() {
    if (!keep && !path.empty()) ::unlink(path.c_str());
  }
};

}  // namespace

Buffer read_file(const std::string& path) {
  if (path.find('\0') != std::string::npos)
    throw FileError({.what = "a file name cannot contain a zero byte", .got = path});
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail("open", path, errno);
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) fail("read", path, errno);
  if (S_ISDIR(info.st_mode)) fail("read", path, EISDIR, "name a file in it");
  // One byte more than the file has, so that its end shows without growing. A pipe tells no size.
  std::int64_t capacity = S_ISREG(info.st_mode) ? static_cast<std::int64_t>(info.st_size) + 1 : 1 << 20;
  Buffer text = Buffer::allocate(DType::u8, capacity);
  std::int64_t size = 0;
  for (;;) {
    if (size == capacity) {
      Buffer larger = Buffer::allocate(DType::u8, capacity * 2);
      std::memcpy(larger.data, text.data, static_cast<std::size_t>(size));
      text = larger;
      capacity *= 2;
    }
    const ssize_t n = ::read(file.fd, static_cast<char*>(text.data) + size, static_cast<std::size_t>(capacity - size));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path, errno);
    if (n == 0) break;
    size += n;
  }
  text.size = size;
  return text;
}

void write_file(const std::string& path, const std::function<std::string()>& next) {
  if (path.empty() || path.find('\0') != std::string::npos)
    throw FileError({.what = "no file name", .expected = "a path", .got = path});
  const HoldFileSizeSignal hold;
  struct stat info{};
  std::string target = path;
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) fail("write", path, EISDIR);
    if (!S_ISREG(info.st_mode)) {  // never rename over a device
      Descriptor device{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
      if (device.fd < 0) fail("open", path, errno);
      for (std::string text = next(); !text.empty(); text = next()) write_all(device.fd, text, path);
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
    const std::string name = target + ".tmp" + std::to_string(random());
    file.fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.fd >= 0) temporary.path = name;
    else if (errno != EEXIST || attempt > 100) fail("create a file beside", path, errno);
  }
  for (std::string text = next(); !text.empty(); text = next()) write_all(file.fd, text, path);
  if (::fsync(file.fd) != 0) fail("write", path, errno);
  const int fd = file.fd;
  file.fd = -1;
  if (::close(fd) != 0) fail("write", path, errno);
  if (::rename(temporary.path.c_str(), target.c_str()) != 0) fail("rename a file to", path, errno);
  temporary.keep = true;
}

}  // namespace strata::io
