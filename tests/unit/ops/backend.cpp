// Whatever is computed, the runner asks nothing of the machine but what backend/backend.h has: memory, launches, scans,
// copies. Kernels run in the interpreter, and what they are surrounded by is written down.
#include "backend/backend.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "strata/evaluate.h"
#include "strata/ops.h"
#include "strata/settings.h"

using namespace strata;

namespace {

/// Does what the host does, one chunk after the other, and remembers it.
class Recorder : public Backend {
 public:
  mutable std::vector<std::string> log;

  Buffer allocate(DType t, std::int64_t size) const override {
    log.push_back("allocate " + of(t, size));
    return Backend::allocate(t, size);
  }
  Buffer filled(const Scalar& value, std::int64_t size) const override {
    log.push_back("fill " + of(value.dtype, size));
    return Backend::filled(value, size);
  }
  void copy(void* to, const void* from, std::int64_t bytes) const override {
    log.push_back("copy " + std::to_string(bytes) + " bytes");
    Backend::copy(to, from, bytes);
  }
  void copy_positions(const Buffer& to, std::int64_t at, const Buffer& from, std::int64_t n,
                      std::int64_t by) const override {
    log.push_back("copy " + std::to_string(n) + " positions to " + std::to_string(at));
    Backend::copy_positions(to, at, from, n, by);
  }
  void scan(const Buffer& to, const Buffer& counts) const override {
    log.push_back("scan " + std::to_string(counts.size));
    Backend::scan(to, counts);
  }
  std::int32_t launch(const Kernel& kernel, const KernelArgs& args, std::int64_t begin, std::int64_t end,
                      std::int64_t chunk) const override {
    CHECK(kernel.engine() == "interpreter");
    log.push_back("launch " + std::to_string(begin) + " .. " + std::to_string(end));
    return Backend::launch(kernel, args, begin, end, chunk);
  }
  void parallel(std::int64_t n, const std::function<void(std::int64_t)>& f) const override {
    for (std::int64_t c = 0; c < n; ++c) f(c);
  }

 private:
  static std::string of(DType t, std::int64_t size) { return std::to_string(size) + " " + std::string(name_of(t)); }
};

/// The interpreter, with so many threads.
struct Scope {
  Settings before = settings();
  explicit Scope(int threads) {
    settings().engine = "interpreter";
    settings().threads = threads;
  }
  ~Scope() { settings() = before; }
};

Tensor dense(const Shape& shape, const std::vector<double>& values) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return borrow_dense(Buffer::copy_of(std::span<const double>(values)), shape, strides);
}
Tensor csr(const Shape& shape, const std::vector<double>& values) {
  return from_dense(dense(shape, values), parse_format("CSR"));
}

struct Recorded {
  Tensor result;
  std::vector<std::string> log;
};
Recorded record(const std::string& text, const std::map<std::string, Tensor>& operands, int threads = 1) {
  const Scope scope(threads);
  const Recorder recorder;
  const testing::UseBackend use(recorder);
  Tensor result = evaluate(text, operands);
  return {std::move(result), recorder.log};
}

std::vector<double> values(const Tensor& t) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < t.shape()[0]; ++i)
    for (std::int64_t j = 0; j < (t.rank() > 1 ? t.shape()[1] : 1); ++j) {
      const std::int64_t at[] = {i, j};
      const std::span<const std::int64_t> place(at, static_cast<std::size_t>(t.rank()));
      out.push_back(t.get(place).value_or(t.fill()).to_double());
    }
  return out;
}

using Log = std::vector<std::string>;

std::map<std::string, Tensor> two() {
  return {{"A", csr({3, 3}, {1, 0, 2, 0, 0, 0, 0, 3, 0})}, {"B", csr({3, 3}, {0, 5, 0, 0, 0, 7, 1, 0, 0})}};
}

}  // namespace

TEST_CASE("back end: a matrix times a vector is memory and a launch") {
  const auto r = record("y(i) = A(i,j) * x(j)", {{"A", two().at("A")}, {"x", dense({3}, {1, 10, 100})}});
  CHECK(r.log == Log{"allocate 3 float64", "launch 0 .. 3"});
  CHECK(values(r.result) == std::vector<double>{201, 0, 30});
}

TEST_CASE("back end: chunks that add to the same places have memory of their own") {
  const std::int64_t rows = 80000;
  const Tensor tall = csr({rows, 4}, std::vector<double>(static_cast<std::size_t>(4 * rows), 1));
  const auto r = record("y(j) = A(i,j) * x(i)",
                        {{"A", tall}, {"x", dense({rows}, std::vector<double>(static_cast<std::size_t>(rows), 2))}}, 2);
  REQUIRE(r.log.size() > 3);
  const std::size_t chunks = r.log.size() - 2;
  CHECK(r.log[0] == "fill 4 float64");
  CHECK(r.log[1] == "allocate " + std::to_string(4 * (chunks - 1)) + " float64");
  std::string next = "0";
  for (std::size_t c = 0; c < chunks; ++c) {
    const std::string& launch = r.log[c + 2];
    CHECK(launch.starts_with("launch " + next + " .. "));
    next = launch.substr(launch.rfind(' ') + 1);
  }
  CHECK(next == std::to_string(rows));
  CHECK(values(r.result) == std::vector<double>(4, 2.0 * static_cast<double>(rows)));
}

TEST_CASE("back end: values in a pattern are memory and a launch") {
  const auto r = record("C(i,j) = A(i,j) * Y(i,k) * Z(k,j)",
                        {{"A", two().at("A")}, {"Y", dense({3, 1}, {1, 2, 3})}, {"Z", dense({1, 3}, {1, 10, 100})}});
  CHECK(r.log == Log{"allocate 3 float64", "launch 0 .. 3"});
  CHECK(values(r.result) == std::vector<double>{1, 0, 200, 0, 0, 0, 0, 90, 0});
}

TEST_CASE("back end: a sparse product is counts, a workspace, a piece, a launch, a scan and copies") {
  const auto r = record("C(i,k) = A(i,j) * B(j,k)", two());
  CHECK(r.log == Log{"fill 3 int64",                                                    // children of each row
                     "fill 3 float64", "fill 1 int64", "fill 1 int64", "fill 1 int64",  // a row
                     "allocate 10 int32", "allocate 10 float64", "launch 0 .. 3",       // a piece
                     "allocate 4 int32", "allocate 3 int32", "allocate 3 float64",      // the result
                     "scan 3", "copy 12 bytes", "copy 24 bytes"});
  CHECK(values(r.result) == std::vector<double>{2, 5, 0, 0, 0, 0, 0, 0, 21});
}

TEST_CASE("back end: a sum of matrices is a piece for each thread, stitched") {
  for (const int threads : {1, 2}) {
    const auto r = record("C(i,j) = A(i,j) + B(i,j)", two(), threads);
    CHECK(values(r.result) == std::vector<double>{1, 5, 2, 0, 0, 7, 1, 3, 0});
    CHECK(r.log == Log{"fill 3 int64", "allocate 10 int32", "allocate 10 float64", "launch 0 .. 3",  // one piece
                       "allocate 4 int32", "scan 3"});
  }
}

TEST_CASE("back end: three levels have positions to copy") {
  const auto csf = [](const std::vector<double>& v) { return from_dense(dense({2, 2, 2}, v), parse_format("CSF", 3)); };
  const auto r = record("C(i,j,k) = A(i,j,k) + B(i,j,k)",
                        {{"A", csf({1, 0, 0, 2, 0, 0, 0, 3})}, {"B", csf({0, 0, 0, 0, 4, 0, 0, 3})}});
  REQUIRE(r.log.size() > 6);
  CHECK(Log(r.log.end() - 6, r.log.end()) == Log{"copy 8 bytes",                            // two coordinates
                                                 "copy 16 bytes", "copy 2 positions to 1",  // four, and their ends
                                                 "copy 16 bytes", "copy 4 positions to 1",  // four more
                                                 "copy 32 bytes"});                         // values
  CHECK(r.result({1, 1, 1}).to_double() == 6);
}
