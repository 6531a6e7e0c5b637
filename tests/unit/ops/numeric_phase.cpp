// Values over the pattern of an earlier result: one launch where the pattern is the result's, which nothing else says,
// since what is refused is computed anew and compared.
#include <doctest/doctest.h>

#include "backend/backend.h"
#include "strata/error.h"
#include "strata/evaluate.h"
#include "strata/ops.h"
#include "strata/settings.h"

using namespace strata;

namespace {

class Recorder : public Backend {
 public:
  mutable std::vector<std::string> log;
  mutable int launches = 0, scans = 0;

  Buffer allocate(DType t, std::int64_t size) const override {
    log.push_back("allocate " + std::to_string(size) + " " + std::string(name_of(t)));
    return Backend::allocate(t, size);
  }
  Buffer filled(const Scalar& value, std::int64_t size) const override {
    log.push_back("fill " + std::to_string(size) + " " + std::string(name_of(value.dtype)));
    return Backend::filled(value, size);
  }
  void scan(const Buffer& to, const Buffer& counts) const override {
    ++scans;
    Backend::scan(to, counts);
  }
  std::int32_t launch(const Kernel& kernel, const KernelArgs& args, std::int64_t begin, std::int64_t end,
                      std::int64_t chunk) const override {
    ++launches;
    log.push_back("launch " + std::to_string(begin) + " .. " + std::to_string(end));
    return Backend::launch(kernel, args, begin, end, chunk);
  }
};

struct Interpreted {
  Settings before = settings();
  Interpreted() {
    settings().engine = "interpreter";
    settings().threads = 1;
  }
  ~Interpreted() { settings() = before; }
};

/// Every third place, or so; `seed` decides which.
Tensor some(const Shape& shape, const std::string& format, unsigned seed) {
  std::int64_t n = 1;
  for (auto e : shape) n *= e;
  std::vector<double> v;
  for (std::int64_t p = 0; p < n; ++p) {
    seed = seed * 1103515245u + 12345u;
    v.push_back((seed >> 16) % 3 == 0 ? static_cast<double>((seed >> 20) % 7 + 1) : 0);
  }
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return from_dense(borrow_dense(Buffer::copy_of(std::span<const double>(v)), shape, strides),
                    parse_format(format, static_cast<int>(shape.size())));
}

struct Case {
  std::string text;
  std::map<std::string, Tensor> operands;
  std::string format;
};

std::vector<Case> cases() {
  const Tensor a = some({7, 9}, "CSR", 1), b = some({9, 8}, "CSR", 2), c = some({7, 8}, "CSR", 3),
               d = some({7, 8}, "CSR", 4), t = some({4, 5, 6}, "CSF", 5), m = some({6, 7}, "CSR", 6),
               v = some({9}, "(i) -> (i : compressed)", 7);
  const std::string product = "C(i,k) = A(i,j) * B(j,k)";
  return {{product, {{"A", a}, {"B", b}}, "CSR"},
          {product, {{"A", a}, {"B", b}}, "(i, k) -> (i : compressed, k : compressed)"},
          {"C(i,j,l) = T(i,j,k) * M(k,l)", {{"T", t}, {"M", m}}, "CSF"},
          {"y(k) = v(j) * B(j,k)", {{"v", v}, {"B", b}}, "(i) -> (i : compressed)"},
          {"y(i) = A(i,j) * v(j)", {{"A", a}, {"v", v}}, "(i) -> (i : compressed)"},
          {"C(i,k) = A(i,k) + D(i,k) * 2", {{"A", c}, {"D", d}}, "CSR"},
          {"C(i,k) = A(i,k) * D(i,k)", {{"A", c}, {"D", d}}, "CSR"}};
}

struct Planned {
  Plan plan;
  std::vector<Tensor> operands;
};
Planned planned(const Case& c) {
  EvaluateOptions options;
  Planned out;
  const Assignment a = parse_assignment(c.text);
  options.format = parse_format(c.format, static_cast<int>(a.indices.size()));
  out.plan = make_plan(a, PlanOperands(c.operands), options);
  for (const auto& name : a.value.operands()) out.operands.push_back(c.operands.at(name));
  return out;
}

}  // namespace

TEST_CASE("numeric phase: values come in one launch, and other patterns are refused") {
  const Interpreted scope;
  for (const Case& c : cases()) {
    CAPTURE(c.text);
    CAPTURE(c.format);
    const auto [plan, operands] = planned(c);
    CHECK(plan.explain().find("reuse: a numeric phase") != std::string::npos);
    const Tensor first = plan.run(operands);
    REQUIRE(first.nse() > 3);
    {
      const Recorder recorder;
      const testing::UseBackend use(recorder);
      const Tensor again = plan.run_in_pattern_of(first, operands);
      CHECK(equal(first, again));
      CHECK(recorder.launches == 1);
      CHECK(recorder.scans == 0);
    }
    CHECK_THROWS_AS(static_cast<void>(plan.run_in_pattern_of(some(first.shape(), c.format, 99), operands)), PlanError);
  }
}

TEST_CASE("numeric phase: memory is for values, and the slots of a row") {
  const Interpreted scope;
  const Case c = cases()[0];
  const auto [plan, operands] = planned(c);
  const Tensor first = plan.run(operands);
  const Recorder recorder;
  const testing::UseBackend use(recorder);
  static_cast<void>(plan.run_in_pattern_of(first, operands));
  CHECK(recorder.log == std::vector<std::string>{"allocate " + std::to_string(first.nse()) + " float64",
                                                 "fill 8 int32",  // the slot of each column
                                                 "fill 8 uint8", "launch 0 .. 7"});
}
