// Every verb of a schedule from C++: the same numbers as without one, and refusals that name what forbids it.
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "strata/ops.h"
#include "strata/strata.h"

using namespace strata;

namespace {

Tensor random_tensor(const char* format, std::int64_t m, std::int64_t n, std::uint32_t seed) {
  std::mt19937 r(seed);
  Buffer values = Buffer::allocate(DType::f64, m * n);
  for (std::int64_t k = 0; k < m * n; ++k)
    static_cast<double*>(values.data)[k] = r() % 4 == 0 ? static_cast<double>(r() % 9) - 4 : 0;
  const std::int64_t strides[] = {n, 1};
  return from_dense(borrow_dense(values, {m, n}, strides), parse_format(format, 2));
}

struct Fixture {
  std::map<std::string, Tensor> sparse{{"A", random_tensor("CSR", 20, 24, 1)}, {"B", random_tensor("CSR", 24, 16, 2)}};
  std::map<std::string, Tensor> mixed{{"A", sparse.at("A")}, {"B", to_dense(sparse.at("B"))}};
  Assignment product = parse_assignment("C(i,k) = A(i,j) * B(j,k)");

  static bool same(const Tensor& x, const Tensor& y) {
    const Tensor a = to_dense(x), b = to_dense(y);
    return a.shape() == b.shape() && std::memcmp(a.part().values.data, b.part().values.data,
                                                 static_cast<std::size_t>(a.part().values.bytes())) == 0;
  }
  Tensor run(const std::map<std::string, Tensor>& operands, const Schedule& s) const {
    EvaluateOptions options;
    options.schedule = s;
    return evaluate(product, operands, options);
  }
  std::string refusal(const std::map<std::string, Tensor>& operands, const Schedule& s) const {
    try {
      run(operands, s);
    } catch (const ScheduleError& e) { return e.what(); }
    return "";
  }
};

}  // namespace

TEST_CASE("legal schedules change no number, and say what they do") {
  const Fixture f;
  const Tensor want = evaluate(f.product, f.sparse);
  const Schedule with_sparse[] = {
      Schedule().reorder({"i", "k", "j"}),
      Schedule().reorder({"i", "j", "k"}).assemble(ResultAssembly::workspace),
      Schedule().assemble(ResultAssembly::append),
      Schedule().parallelize("i"),
      Schedule().split("i", "io", "ii", 7).reorder({"io", "ii", "j", "k"}).parallelize("io"),
      Schedule().split("j", "jo", "ji", 5),
  };
  for (const Schedule& s : with_sparse) {
    CAPTURE(s.to_string());
    CHECK(Fixture::same(f.run(f.sparse, s), want));
    CHECK(parse_schedule(s.to_string()).to_string() == s.to_string());
  }
  const Schedule with_dense[] = {
      Schedule().reorder({"i", "j", "k"}).vectorize("k"),
      Schedule().split("k", "ko", "ki", 8).reorder({"ko", "i", "j", "ki"}).vectorize("ki").parallelize("ko"),
      Schedule().split("k", "ko", "ki", 4).reorder({"i", "j", "ko", "ki"}).unroll("ki"),
      Schedule().split("k", "ko", "ki", 3).reorder({"i", "ko", "j", "ki"}),
  };
  for (const Schedule& s : with_dense) {
    CAPTURE(s.to_string());
    CHECK(Fixture::same(f.run(f.mixed, s), want));
    CHECK(parse_schedule(s.to_string()).to_string() == s.to_string());
  }
}

TEST_CASE("a workspace of several dimensions, in a format of its own") {
  Fixture f;
  f.sparse.emplace("D", random_tensor("COO", 16, 10, 3));
  f.product = parse_assignment("R(i,l) = A(i,j) * B(j,k) * D(k,l)");
  const Tensor want = evaluate(f.product, f.sparse);
  CHECK(Fixture::same(f.run(f.sparse, Schedule().precompute("T(i,k) = A(i,j) * B(j,k)")), want));
  CHECK(Fixture::same(f.run(f.sparse, Schedule()
                                          .precompute("T(i,k) = A(i,j) * B(j,k)", parse_format("CSC"))
                                          .precompute("U(i,l) = T(i,k) * D(k,l)")),
                      want));
  CHECK(f.refusal(f.sparse, Schedule().precompute("T(i) = A(i,j) * B(j,k)")).find("k in D(k,l)") != std::string::npos);
}

TEST_CASE("illegal schedules are refused with what forbids them") {
  const Fixture f;
  const struct {
    Schedule schedule;
    const char* says;
  } cases[] = {
      {Schedule().reorder({"i", "m"}), "no loop over 'm'"},
      {Schedule().parallelize("j"), "would add to the same elements"},
      {Schedule().vectorize("j"), "adds its terms one after the other"},
      {Schedule().vectorize("k"), "walks what B"},
      {Schedule().unroll("k"), "whose extent is known"},
      {Schedule().parallelize("i").parallelize("k"), "two loops cannot be the outermost"},
      {Schedule().reorder({"j", "i", "k"}), "would stand inside the sum over j"},
  };
  for (const auto& c : cases) {
    const std::string text = f.refusal(f.sparse, c.schedule);
    CAPTURE(c.schedule.to_string());
    CAPTURE(text);
    CHECK(text.find(c.says) != std::string::npos);
  }
  CHECK_THROWS_AS(Schedule().split("i", "io", "ii", 0), ExpressionError);
  CHECK_THROWS_AS(Schedule().precompute("T(i,k) = A(i,j"), ExpressionError);
  CHECK_THROWS_AS(parse_schedule("swap(i, j)"), ExpressionError);
}
