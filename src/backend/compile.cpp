// compile_c: memory -> ahead of time -> disk -> compiler. One thread compiles a text, others that want the same one
// wait.
#include <future>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>

#include "backend/compile_gate.h"
#include "backend/disk_cache.h"
#include "backend/kernel.h"
#include "backend/module.h"
#include "base/sha256.h"
#include "strata/error.h"
#include "strata/settings.h"
#include "strata/version.h"

namespace strata {
namespace {

class CompiledKernel final : public Kernel {
 public:
  CompiledKernel(ModulePtr module, KernelFunction code, std::string engine_name)
      : module_(std::move(module)), function_(code), engine_(std::move(engine_name)) {}
  std::int32_t run(const KernelArgs& args, std::int64_t begin, std::int64_t end, std::int64_t chunk) const override {
    return function_(args.buffers, args.scalars, begin, end, chunk);
  }
  std::string engine() const override { return engine_; }
  KernelFunction function() const override { return function_; }

 private:
  ModulePtr module_;  // keeps the code alive; null where it lives as long as the process
  KernelFunction function_;
  std::string engine_;
};

/// The least recently used modules go first; kernels in use keep theirs alive.
class ModuleCache {
 public:
  ModulePtr find(const std::string& key) {
    const auto at = index_.find(key);
    if (at == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return at->second->second;
  }
  /// Returns what fell out, to be released without the lock.
  ModulePtr insert(const std::string& key, ModulePtr module) {
    order_.emplace_front(key, std::move(module));
    index_[key] = order_.begin();
    if (order_.size() <= 1024) return nullptr;
    ModulePtr oldest = std::move(order_.back().second);
    index_.erase(order_.back().first);
    order_.pop_back();
    return oldest;
  }

 private:
  std::list<std::pair<std::string, ModulePtr>> order_;
  std::unordered_map<std::string, std::list<std::pair<std::string, ModulePtr>>::iterator> index_;
};

struct CompileState {
  std::mutex mutex;
  ModuleCache modules;
  std::map<std::string, std::shared_future<ModulePtr>> running;
  std::unordered_map<std::string, KernelFunction> ahead;  // "<text hash>.<symbol>"
};

CompileState& state() {
  static auto* s = new CompileState;  // used by initialisers before main and by destructors after it
  return *s;
}

/// The compiler that settings().jit asks for; null and the reason where there is none.
CompilerPtr choose_compiler(std::string& why) {
  const Settings& s = settings();
  if (s.jit == "off") {
    why = "compiling is switched off (STRATA_JIT=off)";
    return nullptr;
  }
  std::string no_clang, no_cc;
  if (s.jit != "subprocess")
    if (auto clang = in_process_clang(no_clang)) return clang;
  if (s.jit != "clang")
    if (auto cc = subprocess_compiler(s.cc, no_cc)) return cc;
  why = no_clang + (no_clang.empty() || no_cc.empty() ? "" : "; ") + no_cc;
  return nullptr;
}

Digest disk_key(const std::string& source, const std::string& identity) {
  Sha256 hash;
  hash.add_field("strata " STRATA_VERSION " kernel abi 1");
  hash.add_field(identity);
  hash.add_field(source);
  return hash.finish();
}

ModulePtr build(const Compiler& compiler, const std::string& source) {
  if (settings().cache == "off") return compiler.load(compiler.compile(source));
  const Digest key = disk_key(source, compiler.identity());
  if (const auto image = read_cache_entry(settings().cache_dir, key)) try {
      return compiler.load(*image);
    } catch (const RuntimeFailure&) {  // an entry that cannot be linked is as good as none
    }
  const std::string image = compiler.compile(source);
  ModulePtr module = compiler.load(image);
  write_cache_entry(settings().cache_dir, key, image);
  return module;
}

ModulePtr module_for(const Compiler& compiler, const std::string& source) {
  CompileState& s = state();
  const std::string key =
      std::to_string(reinterpret_cast<std::uintptr_t>(&compiler)) + " " + text_hash(source);  // compilers live forever
  std::promise<ModulePtr> mine;
  std::shared_future<ModulePtr> theirs;
  {
    const std::lock_guard lock(s.mutex);
    if (auto module = s.modules.find(key)) return module;
    if (const auto at = s.running.find(key); at != s.running.end()) theirs = at->second;
    else s.running.emplace(key, mine.get_future().share());
  }
  if (theirs.valid()) return theirs.get();
  ModulePtr module, evicted;
  std::exception_ptr failure;
  try {
    module = build(compiler, source);
  } catch (...) { failure = std::current_exception(); }
  {
    const std::lock_guard lock(s.mutex);
    s.running.erase(key);
    if (module) evicted = s.modules.insert(key, module);
  }
  if (failure) {
    mine.set_exception(failure);
    std::rethrow_exception(failure);
  }
  mine.set_value(module);
  return module;
}

/// Null where there is none, or the settings want a compiler's.
KernelFunction compiled_ahead(const std::string& source, const std::string& symbol) {
  if (settings().jit != "auto" && settings().jit != "off") return nullptr;
  const std::lock_guard lock(state().mutex);
  const auto& ahead = state().ahead;
  if (ahead.empty()) return nullptr;
  const auto at = ahead.find(text_hash(source) + "." + symbol);
  return at == ahead.end() ? nullptr : at->second;
}

}  // namespace

bool is_compiled_ahead(const std::string& source, const std::string& symbol) {
  const CompileGate::Pass pass;
  return compiled_ahead(source, symbol) != nullptr;
}

KernelPtr compile_c(const std::string& source, const std::string& symbol, std::string* why) {
  // The gate keeps forks out: a child never finds these tables, LLVM or the loader locked.
  const CompileGate::Pass pass;
  if (const KernelFunction function = compiled_ahead(source, symbol)) return wrap_function(function, "ahead of time");
  std::string reason;
  const CompilerPtr compiler = choose_compiler(reason);
  if (!compiler) {
    if (why) *why = reason;
    return nullptr;
  }
  ModulePtr module = module_for(*compiler, source);
  const KernelFunction function = module->find(symbol, reason);
  if (!function) throw RuntimeFailure("the compiled text has no usable function '" + symbol + "': " + reason);
  return std::make_shared<CompiledKernel>(std::move(module), function, "compiled");
}

KernelPtr wrap_function(KernelFunction function, std::string engine) {
  return std::make_shared<CompiledKernel>(nullptr, function, std::move(engine));
}

std::string compiler_description() {
  const CompileGate::Pass pass;
  std::string why;
  const CompilerPtr compiler = choose_compiler(why);
  return compiler ? compiler->description() : "none: " + why;
}

bool has_compiler() {
  const CompileGate::Pass pass;
  std::string why;
  return choose_compiler(why) != nullptr;
}

std::string text_hash(const std::string& source) { return to_hex(sha256(source)); }

void register_compiled(const char* text_hash_and_symbol, KernelFunction function) {
  const std::lock_guard lock(state().mutex);
  state().ahead[text_hash_and_symbol] = function;
}

std::string compile_error(const std::string& compiler, const std::string& messages, const std::string& source) {
  std::string text = compiler + " refuses a kernel:\n" + messages + "\n";
  std::size_t line = 0, begin = 0;
  while (begin < source.size() && line < 500) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    const std::string number = std::to_string(++line);
    text += std::string(number.size() < 4 ? 4 - number.size() : 0, ' ') + number + " | " +
            source.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  if (begin < source.size()) text += "     | (and more)\n";
  return text;
}

}  // namespace strata
