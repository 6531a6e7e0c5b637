#include "backend/disk_cache.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

using namespace strata;
namespace fs = std::filesystem;

namespace {

struct Folder {
  std::string path;
  Folder() {
    std::string name = fs::temp_directory_path() / "strata-test-XXXXXX";
    REQUIRE(mkdtemp(name.data()));
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  std::string cache() const { return path + "/a/v1"; }
};

std::string only_file(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& e : fs::directory_iterator(directory)) names.push_back(e.path());
  REQUIRE(names.size() == 1);
  return names[0];
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

const Digest key = sha256("key"), other = sha256("other");
const std::string payload = std::string(
                                "\x7f"
                                "ELF and \0 more",
                                15) +
                            std::string(10000, 'p');

}  // namespace

TEST_CASE("what is stored comes back, with private permissions") {
  const Folder f;
  CHECK(!read_cache_entry(f.cache(), key));
  REQUIRE(write_cache_entry(f.cache(), key, payload));
  CHECK(read_cache_entry(f.cache(), key) == payload);
  CHECK(!read_cache_entry(f.cache(), other));
  struct stat s{};
  REQUIRE(stat(f.cache().c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0700);
  REQUIRE(stat(only_file(f.cache()).c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0600);
  REQUIRE(write_cache_entry(f.cache(), key, "newer"));
  CHECK(read_cache_entry(f.cache(), key) == "newer");
}

TEST_CASE("every flipped byte and every truncation is a miss") {
  const Folder f;
  REQUIRE(write_cache_entry(f.cache(), key, payload));
  const std::string file = only_file(f.cache()), good = contents(file);
  for (std::size_t at = 0; at < good.size(); at += at < 100 ? 1 : 97) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    overwrite(file, bad);
    REQUIRE(!read_cache_entry(f.cache(), key));
  }
  for (std::size_t size = 0; size < good.size(); size += size < 100 ? 1 : 97) {
    overwrite(file, good.substr(0, size));
    REQUIRE(!read_cache_entry(f.cache(), key));
  }
  overwrite(file, good + "x");
  CHECK(!read_cache_entry(f.cache(), key));
  overwrite(file, "garbage");
  CHECK(!read_cache_entry(f.cache(), key));
  overwrite(file, good);
  CHECK(read_cache_entry(f.cache(), key) == payload);
}

TEST_CASE("a valid entry under another key's name is a miss") {
  const Folder f;
  REQUIRE(write_cache_entry(f.cache(), key, payload));
  fs::rename(only_file(f.cache()), f.cache() + "/" + to_hex(other) + ".kernel");
  CHECK(!read_cache_entry(f.cache(), other));
}

TEST_CASE("a folder that others may write to is not used") {
  const Folder f;
  REQUIRE(write_cache_entry(f.cache(), key, payload));
  for (const mode_t mode : {0777, 0770, 0702}) {
    chmod(f.cache().c_str(), mode);
    CHECK(!read_cache_entry(f.cache(), key));
    CHECK(!write_cache_entry(f.cache(), other, payload));
  }
  chmod(f.cache().c_str(), 0700);
  CHECK(read_cache_entry(f.cache(), key) == payload);
}

TEST_CASE("a file that others may write to is not used") {
  const Folder f;
  REQUIRE(write_cache_entry(f.cache(), key, payload));
  chmod(only_file(f.cache()).c_str(), 0622);
  CHECK(!read_cache_entry(f.cache(), key));
}

TEST_CASE("a foreign owner's folder or file is not used") {
  if (geteuid() != 0) return;  // only root can give files away
  const Folder f;
  REQUIRE(write_cache_entry(f.cache(), key, payload));
  REQUIRE(chown(only_file(f.cache()).c_str(), 12345, 12345) == 0);
  CHECK(!read_cache_entry(f.cache(), key));
  REQUIRE(chown(only_file(f.cache()).c_str(), 0, 0) == 0);
  CHECK(read_cache_entry(f.cache(), key));
  REQUIRE(chown(f.cache().c_str(), 12345, 12345) == 0);
  CHECK(!read_cache_entry(f.cache(), key));
  CHECK(!write_cache_entry(f.cache(), other, payload));
}

TEST_CASE("links, pipes and folders in the place of an entry or of the cache") {
  const Folder f;
  REQUIRE(write_cache_entry(f.cache(), key, payload));
  const std::string file = only_file(f.cache()), elsewhere = f.path + "/entry";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  CHECK(!read_cache_entry(f.cache(), key));
  fs::remove(file);
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  CHECK(!read_cache_entry(f.cache(), key));  // and does not wait for a writer
  fs::remove(file);
  fs::create_directory(file);
  CHECK(!read_cache_entry(f.cache(), key));
  CHECK(!write_cache_entry(f.cache(), key, payload));
  fs::remove(file);
  fs::rename(elsewhere, file);
  fs::rename(f.cache(), f.path + "/real");
  fs::create_symlink(f.path + "/real", f.cache());
  CHECK(!read_cache_entry(f.cache(), key));
  CHECK(!write_cache_entry(f.cache(), key, payload));
}

TEST_CASE("a place that cannot be written to is silently none") {
  const Folder f;
  overwrite(f.path + "/a", "a file where a folder should be");
  CHECK(!write_cache_entry(f.cache(), key, payload));
  CHECK(!read_cache_entry(f.cache(), key));
  CHECK(!write_cache_entry("", key, payload));
  CHECK(!write_cache_entry("/proc/strata/v1", key, payload));
}

TEST_CASE("a full disk leaves no half entry and does not end the process") {
  const Folder f;
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    const bool stored = write_cache_entry(f.cache(), key, payload);
    _exit(stored ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(fs::is_empty(f.cache()));
}

TEST_CASE("a writer that is killed leaves no half entry, and in time nothing at all") {
  const Folder f;
  const std::string large(std::size_t{4} << 20, 'L');
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0)
      for (;;) write_cache_entry(f.cache(), key, large);
    usleep(static_cast<useconds_t>(500 + 700 * round));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
    const auto got = read_cache_entry(f.cache(), key);
    CHECK((!got || *got == large));
  }
  // What killed writers left is an hour old when it is removed, at one of the next 64 writes.
  overwrite(f.cache() + "/.new-1-2-3", "half");
  overwrite(f.cache() + "/.new-4-5-6", "being written");
  const timespec old[] = {{0, 0}, {0, 0}};
  REQUIRE(utimensat(AT_FDCWD, (f.cache() + "/.new-1-2-3").c_str(), old, 0) == 0);
  for (int k = 0; k < 64; ++k) REQUIRE(write_cache_entry(f.cache(), other, payload));
  CHECK(!fs::exists(f.cache() + "/.new-1-2-3"));
  CHECK(fs::exists(f.cache() + "/.new-4-5-6"));
}

TEST_CASE("beyond 64 MB what was longest unused leaves") {
  const Folder f;
  REQUIRE(write_cache_entry(f.cache(), key, payload));
  const auto name = [&](int k) { return f.cache() + "/" + to_hex(sha256(std::to_string(k))) + ".kernel"; };
  const std::time_t now = std::time(nullptr);
  for (int k = 0; k < 10; ++k) {  // 10 of 7.5 MB (without blocks on the disk), the first one the oldest
    overwrite(name(k), "");
    fs::resize_file(name(k), std::uintmax_t{15} << 19);
    const timespec used[] = {{now - 1000 + k, 0}, {now - 1000 + k, 0}};
    REQUIRE(utimensat(AT_FDCWD, name(k).c_str(), used, 0) == 0);
  }
  for (int k = 0; k < 64; ++k) REQUIRE(write_cache_entry(f.cache(), other, payload));
  CHECK(!fs::exists(name(0)));
  CHECK(!fs::exists(name(1)));
  for (int k = 2; k < 10; ++k) CHECK(fs::exists(name(k)));
  CHECK(read_cache_entry(f.cache(), key) == payload);
  CHECK(read_cache_entry(f.cache(), other) == payload);
}

TEST_CASE("four processes write and read the same entry") {
  const Folder f;
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    const pid_t child = fork();
    if (child == 0) {
      int wrong = 0;
      for (int repeat = 0; repeat < 50; ++repeat) {
        write_cache_entry(f.cache(), key, payload);
        const auto got = read_cache_entry(f.cache(), key);
        wrong += !got || *got != payload;
      }
      _exit(wrong == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  CHECK(contents(only_file(f.cache())).size() > payload.size());
}
