// The same text through the machine's C compiler: text -> shared library -> dlopen. Slower (40-120 ms a kernel), needs
// no LLVM.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>

#include "backend/compile_gate.h"
#include "backend/cpu/run_process.h"
#include "backend/module.h"
#include "strata/error.h"

namespace strata {
namespace {

/// A folder of mode 0700 with a name nobody can guess, gone with everything in it when the object goes.
class ScratchFolder {
 public:
  ScratchFolder() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base && *base ? base : "/tmp") + "/strata-XXXXXX";
    source_ = path_ + "/kernel.c", library_ = path_ + "/kernel.so";
    if (!mkdtemp(path_.data()))
      throw RuntimeFailure("no temporary folder for the C compiler in " + path_.substr(0, path_.rfind('/')));
    for (std::string* name : {&source_, &library_}) path_.copy(name->data(), path_.size());  // nothing that could fail
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    ::unlink(source_.c_str());
    ::unlink(library_.c_str());
    ::rmdir(path_.c_str());
  }
  const std::string& path() const { return path_; }
  const std::string& source() const { return source_; }
  const std::string& library() const { return library_; }

 private:
  std::string path_, source_, library_;
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return in ? all.str() : "";
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  if (!out.flush()) throw RuntimeFailure("cannot write " + path);
}

class SharedLibrary final : public Module {
 public:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;
  ~SharedLibrary() override {
    const CompileGate::Pass pass;
    dlclose(handle_);
  }
  KernelFunction find(const std::string& symbol, std::string& why) const override {
    void* address = dlsym(handle_, symbol.c_str());
    if (!address) why = "symbol not found";
    return reinterpret_cast<KernelFunction>(address);
  }

 private:
  void* handle_;
};

/// Opens exactly the bytes that were verified, from a file that has no name on any disk; null where this system does
/// not allow it.
void* open_from_memory(const std::string& image) {
  const int fd = memfd_create("strata-kernel", MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  const std::unique_ptr<const int, void (*)(const int*)> closes(&fd, [](const int* open) { ::close(*open); });
  void* handle = nullptr;
  if (::write(fd, image.data(), image.size()) == static_cast<ssize_t>(image.size())) {
    // The loader knows libraries by path, and descriptors are used again: spell the path differently each time.
    static std::atomic<unsigned> counter{0};
    std::string path = "/proc/self/fd";
    for (unsigned n = counter++; n != 0; n >>= 1) path += (n & 1) ? "/." : "//.";
    path += "/" + std::to_string(fd);
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  return handle;
}

/// Processor and its features as the kernel names them: -march=native makes code for these.
std::string processor() {
  std::string result;
  utsname system{};
  if (::uname(&system) == 0) result = system.machine;
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line) && !line.empty();)  // the first processor's block
    for (const char* field : {"vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU "})
      if (line.starts_with(field)) result += "\n" + line;
  return result;
}

const std::vector<std::string> flags = {"-x",
                                        "c",
                                        "-std=gnu17",
                                        "-O3",
                                        "-ffp-contract=off",
                                        "-fwrapv",
                                        "-fno-math-errno",
                                        "-fno-trapping-math",
                                        "-fno-sanitize=all",
                                        "-fPIC",
                                        "-w"};

class Subprocess final : public Compiler {
 public:
  Subprocess(std::vector<std::string> command, std::string program) : command_(std::move(command)) {
    identity_ = processor();
    for (const auto& word : command_) identity_ += "\n" + word;
    for (const auto& flag : flags) identity_ += " " + flag;
    char resolved[PATH_MAX];
    struct stat s{};
    if (realpath(program.c_str(), resolved) && ::stat(resolved, &s) == 0)
      identity_ += std::string("\n") + resolved + " " + std::to_string(s.st_size) + " " +
                   std::to_string(s.st_mtim.tv_sec) + "." + std::to_string(s.st_mtim.tv_nsec);
  }

  std::string description() const override {
    const ProcessResult r = run_process(with({"--version"}), 20);
    std::string name;
    for (const auto& word : command_) name += (name.empty() ? "" : " ") + word;
    return name + " (" + r.output.substr(0, r.output.find('\n')) + ")";
  }
  std::string identity() const override { return identity_; }

  std::string compile(const std::string& source) const override {
    return compile_with(source, {"-march=native", "-shared", "-lm"});
  }
  std::string compile_for(const std::string& source, const std::string& cpu) const override {
    return compile_with(source, {"-march=" + cpu, "-c"});
  }

  ModulePtr load(const std::string& image) const override {
    void* handle = open_from_memory(image);
    if (!handle) {
      const ScratchFolder folder;
      write_file(folder.library(), image);
      handle = dlopen(folder.library().c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (!handle) throw RuntimeFailure(std::string("a compiled kernel cannot be loaded: ") + dlerror());
    return std::make_shared<SharedLibrary>(handle);
  }

 private:
  std::string compile_with(const std::string& source, const std::vector<std::string>& more) const {
    const ScratchFolder folder;
    write_file(folder.source(), source);
    auto command = with(flags);
    command.insert(command.end(), {"-o", folder.library(), folder.source(), "-x", "none"});
    command.insert(command.end(), more.begin(), more.end());
    const ProcessResult r = run_process(command, 120);
    std::string image = r.status == 0 ? read_file(folder.library()) : "";
    if (image.empty()) {
      std::string messages = r.output;
      const std::string path = folder.path() + "/";
      for (std::size_t at; (at = messages.find(path)) != std::string::npos;) messages.erase(at, path.size());
      throw RuntimeFailure(compile_error(command_[0], messages, source));
    }
    return image;
  }
  std::vector<std::string> with(const std::vector<std::string>& arguments) const {
    auto all = command_;
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }
  std::vector<std::string> command_;
  std::string identity_;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// Null and the reason where this compiler is not there or cannot build the smallest library.
CompilerPtr try_command(const std::string& command, std::string& why) {
  const auto words = words_of(command);
  if (words.empty()) return nullptr;
  const std::string program = find_program(words[0]);
  if (program.empty()) {
    why += (why.empty() ? "" : "; ") + words[0] + " is not installed";
    return nullptr;
  }
  auto compiler = std::make_shared<Subprocess>(words, program);
  try {
    if (compiler->load(compiler->compile("int strata_probe(void) { return 7; }\n"))->find("strata_probe", why))
      return compiler;
    why += (why.empty() ? "" : "; ") + command + " does not make usable libraries";
  } catch (const RuntimeFailure& failure) {
    const std::string text = failure.what();
    why += (why.empty() ? "" : "; ") + command + " does not work (" +
           text.substr(0, text.find('\n', text.find('\n') + 1)) + ")";
  }
  return nullptr;
}

}  // namespace

CompilerPtr subprocess_compiler(const std::string& command, std::string& why) {
  static auto* mutex = new std::mutex;
  static auto* known = new std::map<std::string, FoundCompiler>;
  const std::lock_guard lock(*mutex);
  auto at = known->find(command);
  if (at == known->end()) {
    FoundCompiler found;
    if (!command.empty()) {
      found.compiler = try_command(command, found.why);
    } else {
      for (const char* candidate : {"cc", "gcc", "clang", "python3 -m ziglang cc"})
        if ((found.compiler = try_command(candidate, found.why))) break;
    }
    at = known->emplace(command, std::move(found)).first;
  }
  why = at->second.why;
  return at->second.compiler;
}

}  // namespace strata
