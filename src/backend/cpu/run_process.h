#pragma once
#include <string>
#include <vector>

namespace strata {

struct ProcessResult {
  int status = -1;     ///< exit status; -1: it could not be started, was killed, or took longer than the limit
  std::string output;  ///< stdout and stderr together
};

/// Runs a program (found in PATH) without a shell, with no input, in a process group of its own (Ctrl-C is for us, not
/// for it), and waits for it.
ProcessResult run_process(const std::vector<std::string>& command, int limit_seconds);

/// The file that a program name stands for, as the shell would find it; empty where there is none.
std::string find_program(const std::string& name);

}  // namespace strata
