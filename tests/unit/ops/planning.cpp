// Plans of expressions: what they depend on is what they are remembered by, and all that they look at is counted.
#include "plan/expression/planning.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "strata/ops.h"
#include "strata/settings.h"

using namespace strata;

namespace {

Tensor csr(std::int64_t rows, std::int64_t each, double value = 1) {
  std::vector<std::int64_t> pos{0}, crd;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < each; ++k) crd.push_back((i + k) % rows);
    std::sort(crd.end() - each, crd.end());
    pos.push_back(static_cast<std::int64_t>(crd.size()));
  }
  const std::vector<double> values(crd.size(), value);
  return Tensor::csr(rows, rows, pos, crd, values);
}

const char* const text = "C(i,k) = A(i,j) * B(j,k)";

struct Call {
  Assignment assignment = parse_assignment(text);
  EvaluateOptions options = {};
  planning::Destination::Outline to = {};
};

planning::PlannedPtr plan_for(const Call& c, std::span<const Tensor> tensors) {
  const std::vector<std::string> names{"A", "B"};
  return evaluation::plan_for(
      {.assignment = &c.assignment, .options = &c.options, .to = c.to, .names = names, .tensors = tensors});
}

/// Is the plan for the first call that for the second one? In the thread that made it and in others.
bool found(const Call& first, const Call& second, const std::vector<Tensor>& made_for,
           const std::vector<Tensor>& asked_for) {
  const auto made = plan_for(first, made_for);
  const bool here = plan_for(second, asked_for) == made;
  bool elsewhere = false;
  std::thread([&] { elsewhere = plan_for(second, asked_for) == made; }).join();
  CHECK(here == elsewhere);
  return here;
}

}  // namespace

TEST_CASE("a program is found for the same question, and for no other") {
  const std::vector<Tensor> ab{csr(64, 3), csr(64, 5)};
  const Call same;
  CHECK(found(same, Call(), ab, ab));
  const auto other = [&](const EvaluateOptions& options) { return !found(same, {.options = options}, ab, ab); };
  CHECK(other({.format = parse_format("COO", 2)}));
  CHECK(other({.dtype = DType::f32}));
  CHECK(other({.compute_dtype = DType::f32}));
  CHECK(other({.result_dtype = DType::f32}));
  CHECK(other({.semiring = Semiring::min_plus}));
  const std::vector<Tensor> masked{ab[0], ab[1], csr(64, 3)};
  CHECK(!found(same, {.options = {.mask = masked[2]}}, ab, masked));
  CHECK(found({.options = {.mask = masked[2]}}, {.options = {.mask = masked[2]}}, masked, masked));
  CHECK(!found({.options = {.mask = masked[2]}}, {.options = {.mask = masked[2], .complement_mask = true}}, masked,
               masked));
  CHECK(other({.schedule = parse_schedule("reorder(i, j, k)")}));
  CHECK(other({.general = true}));
  CHECK(!found(same, {.assignment = parse_assignment("C(i,k) = A(i,j) * B(k,j)")}, ab, ab));
  CHECK(!found(same, {.assignment = parse_assignment("C(k,i) = A(i,j) * B(j,k)")}, ab, ab));
  CHECK(!found(same, {.to = {.dtype = DType::f64}}, ab, ab));
  CHECK(!found(same, {.to = {.scales = true}}, ab, ab));
  CHECK(!found(same, {.to = {.adds_in_place = true}}, ab, ab));
}

TEST_CASE("a program is found for operands of the same types and counts, and for no others") {
  const std::vector<Tensor> ab{csr(64, 3), csr(64, 5)};
  const Call q;
  CHECK(found(q, q, ab, {csr(64, 3, 7), csr(64, 5, -1)}));
  CHECK(!found(q, q, ab, {convert(ab[0], "COO"), ab[1]}));                                      // format
  CHECK(!found(q, q, ab, {convert(ab[0], ab[0].format(), {.dtype = DType::f32}), ab[1]}));      // dtype
  CHECK(!found(q, q, ab, {convert(ab[0], ab[0].format(), {.pos_dtype = DType::i32}), ab[1]}));  // of positions
  CHECK(!found(q, q, ab, {convert(ab[0], ab[0].format(), {.crd_dtype = DType::i32}), ab[1]}));  // of coordinates
  CHECK(!found(q, q, ab, {csr(65, 3), csr(65, 5)}));                                            // shape
  CHECK(!found(q, q, ab, {csr(64, 20), ab[1]}));                                                // stored elements
  CHECK(!found(q, q, ab, {ab[0], ab[0]}));                                                      // one pattern
  CHECK(!found(q, q, {csr(64, 64), ab[1]}, {csr(64, 63), ab[1]}));                              // every place
  const auto made = plan_for(q, ab);
  const auto changed = [&](auto Settings::* setting, auto value) {
    std::swap(settings().*setting, value);
    const bool other = plan_for(q, ab) != made;
    std::swap(settings().*setting, value);
    return other && plan_for(q, ab) == made;
  };
  CHECK(changed(&Settings::engine, std::string("interpreter")));
  CHECK(changed(&Settings::jit, std::string("subprocess")));
  CHECK(changed(&Settings::cc, std::string("another")));
  CHECK(changed(&Settings::vendor, !settings().vendor));
}

TEST_CASE("however it is asked, one question has one plan") {
  const Tensor a = csr(96, 3), b = csr(96, 5);
  const std::int64_t before = planning::programs_made();
  const auto made = [&] { return planning::programs_made() - before; };
  const Tensor c = matmul(a, b);
  CHECK(made() == 1);
  const int ranks[] = {2, 2};
  CHECK(same_storage(c, evaluate(parse_einsum("ij,jk->ik", ranks), std::array{a, b})));
  CHECK(same_storage(c, einsum("ij,jk->ik", {a, b})));
  CHECK(same_storage(c, einsum("pq,qr->pr", {a, b})));
  Matmul product(a, b);
  product.plan();
  CHECK(same_storage(c, product.execute()));
  const Assignment written = parse_assignment(text);
  CHECK(same_storage(c, evaluate(written, {{"A", a}, {"B", b}})));
  const Plan plan = make_plan(written, {{"A", a}, {"B", b}});
  CHECK(plan.explain() == explain(written, {{"A", a}, {"B", b}}));
  CHECK(plan.show() == show(written, {{"A", a}, {"B", b}}));
  CHECK(same_storage(c, plan.run(std::array{a, b})));
  std::thread([&] { CHECK(same_storage(c, matmul(a, b))); }).join();
  CHECK(made() == 1);
  for (int n = 0; n < 40; ++n) matmul(a, csr(96, 5), {.transpose_a = n % 2 == 0, .transpose_b = n % 4 < 2});
  const auto more = made();
  for (std::int64_t n = 100; n < 140; ++n) matmul(csr(n, 3), csr(n, 5));  // others in between
  CHECK(made() == more + 40);
  for (std::int64_t n = 100; n < 140; ++n) matmul(csr(n, 3), csr(n, 5));
  CHECK(same_storage(c, matmul(a, b)));
  CHECK(made() == more + 40);
}

TEST_CASE("explain() tells of the plan that runs, and makes no other") {
  const Tensor a = csr(80, 4), b = csr(80, 6);
  for (const char* expression : {"y(i) = A(i,j) * x(j)", "C(i,k) = A(i,j) * B(j,k)", "C(i,j) = A(i,j) + 2 * B(i,j)",
                                 "y(i) = A(i,j) / sum(k, A(i,k)) * x(j)", "s = sum(i, sum(j, A(i,j) * A(i,j)))",
                                 "y(i) = x(i) + A(i,j) * x(j)"}) {
    const Assignment written = parse_assignment(expression);
    std::map<std::string, Tensor> operands;
    for (const auto& name : written.value.operands())
      operands.insert_or_assign(name, name == "A"   ? a
                                      : name == "B" ? b
                                                    : to_dense(evaluate("d(i) = A(i,j)", {{"A", a}})));
    const Tensor result = evaluate(written, operands);
    const auto before = std::pair(planning::programs_made(), planning::plans_made());
    const std::string told = explain(written, operands);
    CHECK(told.find(expression) == 0);
    CHECK(make_plan(written, operands).explain() == told);
    CHECK(same_storage(result, evaluate(written, operands)));
    CHECK(before == std::pair(planning::programs_made(), planning::plans_made()));
  }
}

TEST_CASE("types and counts are all that a plan sees") {
  const TensorType huge = tensor_type("CSR", {1'000'000'000, 1'000'000'000}, DType::f64, 10'000'000'000);
  CHECK(huge.pos_dtype == DType::i64);
  CHECK(huge.crd_dtype == DType::i32);
  const PlanOperands operands{{"A", PlanOperand(huge, 10'000'000'000)}, {"B", PlanOperand(huge, 10'000'000'000)}};
  const std::string told = explain(parse_assignment(text), operands);
  CHECK(told.find("generated code serves") != std::string::npos);
  CHECK(told.find("innermost iterations") != std::string::npos);
  CHECK(show(parse_assignment(text), operands).find("--- C ---") != std::string::npos);
  const Plan plan = make_plan(parse_assignment(text), operands);
  CHECK(plan.output_type().format == parse_format("CSR", 2));
  CHECK(plan.operand_types().size() == 2);
}

TEST_CASE("a plan runs on tensors of its types, and keeps a pattern") {
  const Tensor a = csr(64, 3), b = csr(64, 5);
  const Plan plan = make_plan(parse_assignment(text), {{"A", a}, {"B", b}});
  const Tensor c = plan.run(std::array{a, b});
  CHECK(same_storage(c, evaluate(text, {{"A", a}, {"B", b}})));
  const Tensor again = plan.run_in_pattern_of(c, std::array{csr(64, 3, 2), b});
  CHECK(again.part().levels[1].crd.data == c.part().levels[1].crd.data);
  CHECK(same_storage(again, evaluate(text, {{"A", csr(64, 3, 2)}, {"B", b}})));
  CHECK_THROWS_AS(plan.run_in_pattern_of(c, std::array{csr(64, 4), b}), PlanError);
  CHECK_THROWS_AS(plan.run(std::array{a}), PlanError);
  CHECK_THROWS_AS(plan.run(std::array{a, convert(b, "COO")}), PlanError);
}

TEST_CASE("what steps make on the way goes when nobody asks for it any more") {
  using planning::Lazy;
  const Tensor given = csr(8, 2);
  std::vector<std::weak_ptr<void>> made;
  // Five copies in a row; the second one is asked for again by the last.
  std::vector<Lazy> lazy{Lazy::given(0, given.type(), {})};
  std::vector<std::vector<bool>> gone;
  for (int k = 0; k < 5; ++k) {
    std::vector<Lazy> inputs{lazy.back()};
    if (k == 4) inputs.push_back(lazy[2]);
    const auto make = [&](Lazy::Inputs&) {
      auto& now = gone.emplace_back();
      for (const auto& m : made) now.push_back(m.expired());
      const std::vector<double> values(16, 1);
      Tensor t = Tensor::csr(
          8, 8, std::vector<std::int64_t>{0, 2, 4, 6, 8, 10, 12, 14, 16},
          [] {
            std::vector<std::int64_t> crd;
            for (int i = 0; i < 8; ++i) crd.insert(crd.end(), {0, 1});
            return crd;
          }(),
          values);
      made.push_back(t.part().values.owner);
      return std::optional(t);
    };
    TensorType type = given.type();
    lazy.push_back(Lazy::made(type, {.inputs = inputs, .make = make}, lazy.front()));
  }
  const planning::Program program(lazy.back());
  for (int run = 0; run < 2; ++run) {
    made.clear(), gone.clear();
    program.run(std::vector<Tensor>{given});
    REQUIRE(gone.size() == 5);
    CHECK(gone[2] == std::vector<bool>{true, false});
    CHECK(gone[3] == std::vector<bool>{true, false, false});
    CHECK(gone[4] == std::vector<bool>{true, false, true, false});
  }
}
