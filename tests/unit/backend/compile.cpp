#include "backend/kernel.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "backend/compile_gate.h"
#include "strata/error.h"
#include "strata/settings.h"

using namespace strata;
namespace fs = std::filesystem;

namespace {

/// Settings of one test, on a cache folder of its own.
struct Scope {
  Settings before = settings();
  std::string folder;
  explicit Scope(const std::string& jit) {
    std::string name = fs::temp_directory_path() / "strata-test-XXXXXX";
    REQUIRE(mkdtemp(name.data()));
    folder = name;
    settings().jit = jit;
    settings().cc = "";
    settings().cache = "auto";
    settings().cache_dir = folder + "/v1";
  }
  ~Scope() {
    settings() = before;
    fs::remove_all(folder);
  }
};

/// Modes that this build and machine have; at least one of them must be there for the tests to mean anything.
std::vector<std::string> modes() {
  std::vector<std::string> found;
  for (const std::string mode : {"clang", "subprocess"}) {
    const Scope scope(mode);
    if (compiler_description().starts_with("none")) {
      MESSAGE("not tested here: " << mode << ": " << compiler_description());
      CHECK_MESSAGE(std::getenv("STRATA_TEST_ALL_COMPILERS") == nullptr, mode, " must be there");
    } else {
      found.push_back(mode);
    }
  }
  return found;
}

/// y[i] = a * x[i] + number. Texts differ by the number, so that nothing is cached from another test.
std::string text_of(int number, const std::string& name = "kernel") {
  return "int " + name +
         "(void* const* buffers, const long long* scalars, long long begin, long long end, long long chunk) {\n" +
         "  const double* restrict x = buffers[0];\n  double* restrict y = buffers[1];\n  (void)chunk;\n" +
         "  for (long long i = begin; i < end; i++) y[i] = (double)scalars[0] * x[i] + " + std::to_string(number) +
         ".0;\n" + "  return 0;\n}\n";
}

int fresh_number() {
  static std::atomic<int> number{static_cast<int>(getpid() * std::int64_t{100000} % 1000000000)};
  return ++number;
}

bool works(const KernelPtr& kernel, int number) {
  double x[5] = {1, 2, 3, 4, 5}, y[5] = {};
  void* buffers[] = {x, y};
  const std::int64_t scalars[] = {3};
  if (!kernel || kernel->run({buffers, scalars}, 1, 4, 0) != 0) return false;
  return y[0] == 0 && y[1] == 6.0 + number && y[2] == 9.0 + number && y[3] == 12.0 + number && y[4] == 0;
}

/// Processor time of this thread: what a busy neighbour takes is not ours.
double milliseconds(const std::function<void()>& f) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
  };
  const double start = now();
  f();
  return now() - start;
}

std::size_t entries(const Scope& scope) {
  std::size_t n = 0;
  if (fs::exists(settings().cache_dir))
    for (const auto& e : fs::directory_iterator(scope.folder + "/v1")) n += e.path().extension() == ".kernel";
  return n;
}

}  // namespace

TEST_CASE("a kernel compiles and runs, in every mode") {
  for (const auto& mode : modes()) {
    CAPTURE(mode);
    const Scope scope(mode);
    const int number = fresh_number();
    const KernelPtr kernel = compile_c(text_of(number), "kernel");
    CHECK(works(kernel, number));
    CHECK(kernel->engine() == "compiled");
    CHECK(static_cast<bool>(kernel->function()));
    CHECK(entries(scope) == 1);
    CHECK((compile_c(text_of(number), "kernel")->function() == kernel->function()));
    CHECK_THROWS_WITH_AS(compile_c(text_of(number), "absent"), doctest::Contains("no usable function 'absent'"),
                         RuntimeFailure);
  }
}

TEST_CASE("without a compiler there is no kernel, and a reason") {
  const Scope scope("off");
  std::string why;
  CHECK(compile_c(text_of(fresh_number()), "kernel", &why) == nullptr);
  CHECK(why == "compiling is switched off (STRATA_JIT=off)");
  settings().jit = "subprocess";
  settings().cc = "no-such-compiler";
  CHECK(compile_c(text_of(fresh_number()), "kernel", &why) == nullptr);
  CHECK(why == "no-such-compiler is not installed");
  CHECK(compiler_description() == "none: no-such-compiler is not installed");
  settings().cc = "false";
  CHECK(compile_c(text_of(fresh_number()), "kernel", &why) == nullptr);
  CHECK(why.starts_with("false does not work"));
}

TEST_CASE("the reason of a refused text, with the numbered source") {
  for (const auto& mode : modes()) {
    CAPTURE(mode);
    const Scope scope(mode);
    std::string message;
    try {
      compile_c("int kernel(void) {\n  return undeclared_thing;\n}\n", "kernel");
    } catch (const RuntimeFailure& failure) { message = failure.what(); }
    CHECK(message.find("undeclared_thing") != std::string::npos);
    CHECK(message.find("refuses a kernel") != std::string::npos);
    CHECK(message.find("   2 |   return undeclared_thing;\n") != std::string::npos);
    CHECK(message.find(fs::temp_directory_path().string() + "/strata-") == std::string::npos);
    CHECK(entries(scope) == 0);
    const int number = fresh_number();  // and nothing is broken afterwards
    CHECK(works(compile_c(text_of(number), "kernel"), number));
  }
}

TEST_CASE("math functions are there, and nothing else of the process") {
  for (const auto& mode : modes()) {
    CAPTURE(mode);
    const Scope scope(mode);
    std::string text = "typedef long long i64;\n";
    const char* one[] = {"exp",   "log",  "sin",   "cos",   "tanh",  "erf", "sqrt",
                         "floor", "ceil", "log1p", "expm1", "trunc", "rint"};
    for (const char* f : one) text += std::string("double ") + f + "(double); float " + f + "f(float);\n";
    text +=
        "double fmod(double, double); float fmodf(float, float); double pow(double, double);\n"
        "int kernel(void* const* b, const i64* s, i64 begin, i64 end, i64 chunk) {\n"
        "  double* d = b[0]; float* f = b[1]; (void)s; (void)begin; (void)end; (void)chunk;\n";
    int slot = 0;
    for (const char* f : one) {
      text += "  d[" + std::to_string(slot) + "] = " + f + "(d[99]); f[" + std::to_string(slot) + "] = " + f +
              "f(f[99]);\n";
      ++slot;
    }
    text +=
        "  d[50] = fmod(d[98], d[99]); f[50] = fmodf(f[98], f[99]); d[51] = pow(d[98], d[99]);\n"
        "  d[52] = (double)__builtin_popcountll((unsigned long long)s[0]);\n"
        "  __builtin_memset(d + 60, 0, (unsigned long)s[1]); __builtin_memcpy(d + 70, d + 90, (unsigned long)s[1]);\n"
        "  d[53] = (double)(i64)(((__int128)s[0] * s[0]) / s[1]);\n"
        "  f[52] = (float)(_Float16)f[99];\n  return 0;\n}\n// " +
        std::to_string(fresh_number()) + "\n";
    const KernelPtr kernel = compile_c(text, "kernel");
    std::vector<double> d(128, 0.5);
    std::vector<float> f(128, 0.5f);
    d[99] = 0.7, d[98] = 2.6, f[99] = 0.7f, f[98] = 2.6f;
    void* buffers[] = {d.data(), f.data()};
    const std::int64_t scalars[] = {0xFF00FF, 64};
    REQUIRE(kernel->run({buffers, scalars}, 0, 0, 0) == 0);
    const double expected[] = {std::exp(0.7),
                               std::log(0.7),
                               std::sin(0.7),
                               std::cos(0.7),
                               std::tanh(0.7),
                               std::erf(0.7),
                               std::sqrt(0.7),
                               0,
                               1,
                               std::log1p(0.7),
                               std::expm1(0.7),
                               0,
                               1};
    for (std::size_t k = 0; k < 13; ++k) CHECK(d[k] == doctest::Approx(expected[k]).epsilon(1e-15));
    for (std::size_t k = 0; k < 13; ++k) CHECK(f[k] == doctest::Approx(expected[k]).epsilon(1e-6));
    CHECK(d[50] == std::fmod(2.6, 0.7));
    CHECK(f[50] == std::fmod(2.6f, 0.7f));
    CHECK(d[51] == doctest::Approx(std::pow(2.6, 0.7)));
    CHECK(d[52] == 16);
    CHECK(d[60] == 0);
    CHECK(d[67] == 0);
    CHECK(d[53] == static_cast<double>(0xFF00FFLL * 0xFF00FFLL / 64));
    CHECK(f[52] == doctest::Approx(0.7).epsilon(1e-3));
    if (mode == "clang")
      CHECK_THROWS_AS(compile_c("int system(const char*);\nint kernel(void) { return system(\"true\"); }\n", "kernel"),
                      RuntimeFailure);
  }
}

TEST_CASE("integers wrap and products are not contracted") {
  for (const auto& mode : modes()) {
    CAPTURE(mode);
    const Scope scope(mode);
    const KernelPtr kernel = compile_c(
        "int kernel(void* const* b, const long long* s, long long begin, long long end, long long chunk) {\n"
        "  double* d = b[0]; int* n = b[1]; (void)s; (void)begin; (void)end; (void)chunk;\n"
        "  d[3] = d[0] * d[1] + d[2]; n[1] = n[0] + 1; n[2] = n[1] < n[0]; d[4] = -0.0 + d[5] * 0.0; return 0;\n}\n",
        "kernel");
    const double x = 1.0 + 0x1p-30;
    double d[6] = {x, x, -(x * x), 9, 9, -1};
    std::int32_t n[3] = {2147483647, 0, 0};
    void* buffers[] = {d, n};
    REQUIRE(kernel->run({buffers, nullptr}, 0, 0, 0) == 0);
    CHECK(d[3] == 0.0);  // a fused multiply-add would keep the rounding error
    CHECK(n[1] == INT32_MIN);
    CHECK(n[2] == 1);
    CHECK(std::signbit(d[4]));
  }
}

TEST_CASE("several functions in one text") {
  for (const auto& mode : modes()) {
    const Scope scope(mode);
    const int number = fresh_number();
    const std::string text = text_of(number, "first") + text_of(number + 1, "second");
    CHECK(works(compile_c(text, "first"), number));
    CHECK(works(compile_c(text, "second"), number + 1));
    CHECK(entries(scope) == 1);
  }
}

TEST_CASE("eight threads, the same cold text: compiled once; and different ones") {
  for (const auto& mode : modes()) {
    CAPTURE(mode);
    const Scope scope(mode);
    const int same = fresh_number();
    std::vector<int> own;
    for (int t = 0; t < 8; ++t) own.push_back(fresh_number());
    std::vector<KernelFunction> functions(8);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        const KernelPtr shared = compile_c(text_of(same), "kernel");
        functions[t] = shared->function();
        wrong += !works(shared, same);
        wrong += !works(compile_c(text_of(own[t]), "kernel"), own[t]);
        try {
          compile_c("int kernel(void) { return nonsense; }", "kernel");
          wrong++;
        } catch (const RuntimeFailure&) {}
      });
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
    for (const auto f : functions) CHECK((f == functions[0]));
    CHECK(entries(scope) == 9);
  }
}

TEST_CASE("kernels outlive every cache") {
  for (const auto& mode : modes()) {
    const Scope scope(mode);
    settings().cache = "off";
    const int number = fresh_number();
    const KernelPtr kernel = compile_c(text_of(number), "kernel");
    if (mode == "clang")  // more than the memory cache holds
      for (int k = 0; k < 1100; ++k)
        compile_c("int kernel(void) { return " + std::to_string(fresh_number()) + "; }", "kernel");
    CHECK(works(kernel, number));
  }
}

TEST_CASE("the disk cache serves a new process, and hostile entries never run") {
  for (const auto& mode : modes()) {
    CAPTURE(mode);
    const Scope scope(mode);
    const int number = fresh_number();
    const auto in_new_process = [&](int expected) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);
        // A child has its parent's memory cache: the text must not have been compiled in the parent.
        _exit(works(compile_c(text_of(number), "kernel"), expected) ? 0 : 1);
      }
      int status = 0;
      waitpid(child, &status, 0);
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    };
    REQUIRE(in_new_process(number));
    REQUIRE(entries(scope) == 1);
    const std::string file = fs::directory_iterator(settings().cache_dir)->path();
    const auto written = fs::last_write_time(file);
    CHECK(in_new_process(number));
    CHECK(fs::last_write_time(file) == written);  // read, not written again

    // The entry of another text under this name: its key does not fit.
    const int foreign = fresh_number();
    compile_c(text_of(foreign), "kernel");
    std::string foreign_file;
    for (const auto& e : fs::directory_iterator(settings().cache_dir))
      if (e.path() != file) foreign_file = e.path();
    fs::copy_file(foreign_file, file, fs::copy_options::overwrite_existing);
    CHECK(in_new_process(number));

    std::ofstream(file, std::ios::trunc) << "garbage";
    CHECK(in_new_process(number));
    fs::resize_file(file, fs::file_size(file) / 2);
    CHECK(in_new_process(number));
    chmod(settings().cache_dir.c_str(), 0777);
    CHECK(in_new_process(number));
    chmod(settings().cache_dir.c_str(), 0700);
    settings().cache = "off";
    fs::remove_all(settings().cache_dir);
    CHECK(in_new_process(number));
    CHECK(!fs::exists(settings().cache_dir));
  }
}

TEST_CASE("fork while other threads compile: the child compiles too") {
  for (const auto& mode : modes()) {
    CAPTURE(mode);
    const Scope scope(mode);
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&] {
        while (!stop) {
          const int number = fresh_number();
          wrong += !works(compile_c(text_of(number), "kernel"), number);
        }
      });
    for (int repeat = 0; repeat < 5; ++repeat) {
      const int number = fresh_number();
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);
        _exit(works(compile_c(text_of(number), "kernel"), number) ? 0 : 1);
      }
      int status = 0;
      waitpid(child, &status, 0);
      CHECK(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == 0);
    }
    stop = true;
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("a thread that forks with a pass does not wait for itself, nor does its child") {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const CompileGate::Pass pass;
    const pid_t second = fork();
    if (second == 0) {
      alarm(10);
      const pid_t third = fork();
      if (third == 0) _exit(0);
      int status = 1;
      waitpid(third, &status, 0);
      _exit(status == 0 ? 0 : 1);
    }
    int status = 1;
    waitpid(second, &status, 0);
    _exit(status == 0 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("kernels compiled ahead of time come first, unless a compiler is asked for by name") {
  const Scope scope("auto");
  const std::string text = text_of(fresh_number());
  register_compiled((text_hash(text) + ".kernel").c_str(), [](void* const*, const std::int64_t*, std::int64_t,
                                                              std::int64_t, std::int64_t) { return std::int32_t{42}; });
  const KernelPtr ahead = compile_c(text, "kernel");
  REQUIRE(ahead);
  CHECK(ahead->engine() == "ahead of time");
  CHECK(ahead->run({}, 0, 0, 0) == 42);
  settings().jit = "off";  // needs no compiler
  CHECK(compile_c(text, "kernel")->engine() == "ahead of time");
  for (const auto& mode : modes()) {
    settings().jit = mode;
    CHECK(compile_c(text, "kernel")->engine() == "compiled");
  }
}

TEST_CASE("latency of a new and of a cached kernel") {
  for (const auto& mode : modes()) {
    const Scope scope(mode);
    compile_c(text_of(fresh_number()), "kernel");  // loads the library
    double fresh = 1e9, cached = 1e9;
    for (int repeat = 0; repeat < 5; ++repeat) {
      const std::string text = text_of(fresh_number());
      fresh = std::min(fresh, milliseconds([&] { compile_c(text, "kernel"); }));
      cached = std::min(cached, milliseconds([&] { compile_c(text, "kernel"); }));
    }
    MESSAGE(mode << ": a new kernel takes " << fresh << " ms of this thread, a cached one " << cached << " ms");
    CHECK(cached < 2);
    CHECK(fresh < 60);
  }
}
