#include "backend/cpu/run_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "backend/pool.h"

extern char** environ;

namespace strata {

ProcessResult run_process(const std::vector<std::string>& command, int limit_seconds) {
  ProcessResult result;
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int pipe_ends[2];
  if (command.empty() || ::pipe2(pipe_ends, O_CLOEXEC) != 0) return result;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, standard;
  sigemptyset(&none);
  sigfillset(&standard);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &standard);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_ends[1]);
  /// Whatever happens, the child ends and is waited for.
  struct Reading {
    pid_t child;
    int fd;
    bool kill = true;
    int status = 0;
    pid_t waited = -1;
    void finish() {
      if (child > 0 && kill) ::kill(-child, SIGKILL);
      if (child > 0)
        while ((waited = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {}
      child = -1;
    }
    ~Reading() {
      finish();
      ::close(fd);
    }
  } reading{.child = failed == 0 ? child : -1, .fd = pipe_ends[0]};
  if (failed == 0) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(limit_seconds);
    bool late = false;
    for (char buffer[4096];;) {
      poll_interrupt();
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
      pollfd ready{pipe_ends[0], POLLIN, 0};
      constexpr std::int64_t between_polls = 50;
      const int n = left > 0 ? ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, between_polls))) : 0;
      if (n < 0 && errno == EINTR) continue;
      if (n == 0 && left > 0) continue;
      if (n <= 0) {
        late = true;
        break;
      }
      const ssize_t got = ::read(pipe_ends[0], buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      if (result.output.size() < 1 << 20) result.output.append(buffer, static_cast<std::size_t>(got));
    }
    reading.kill = late;
    reading.finish();
    // Where the program ignores SIGCHLD the status is gone: the caller looks at what was produced.
    if (reading.waited < 0) result.status = late ? -1 : 0;
    else if (WIFEXITED(reading.status)) result.status = WEXITSTATUS(reading.status);
    if (late) result.output += "\n(stopped after " + std::to_string(limit_seconds) + " s)";
  }
  return result;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

}  // namespace strata
