// What plans say and refuse: explain(), show(), users' kernels, reuse, error texts.
#include <doctest/doctest.h>

#include <thread>

#include "backend/kernel.h"
#include "support.h"

using namespace strata;
using namespace strata::testing;

namespace {

struct Fixture {
  Rng rng{3};
  DenseArray a = random_array({6, 5}, 0.4, false, false, rng), x = random_array({5}, 1, false, false, rng);
  Tensor csr = pack("CSR", a, DType::f64), vector = dense(x, DType::f64);
  std::vector<int> ranks = {2, 1};
  Einsum e = parse_einsum("ij,j->i", ranks);
  std::vector<TensorType> types = {csr.type(), vector.type()};
  std::vector<Tensor> operands = {csr, vector};
};

template <class F> std::string message(F f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("explain lists every candidate with its reason") {
  Fixture f;
  const EngineScope scope("jit");
  const std::string text = make_plan(f.e, f.types).explain();
  CAPTURE(text);
  CHECK(text.find("C(i) = A(i,j) * B(j)\n") == 0);
  CHECK(contains(text, "  A  CSR 6 x 5, float64, pos int32, crd int32\n"));
  CHECK(contains(text, "registered, hand-written: settings().engine is 'jit'\n"));
  CHECK(contains(text, "generated code serves:\n"));
  CHECK(contains(text, "\n    kernel: compiled "));
  const EngineScope by_itself("auto");
  const std::string other = make_plan(f.e, f.types).explain();
  CHECK(contains(other, "csr_product  chosen   hand-written for this structure\n"));
  CHECK(contains(other, "\n    kernel  csr_product\n"));
}

TEST_CASE("engines can be forced, and without a compiler the interpreter serves") {
  Fixture f;
  const auto expected = oracle(f.e, {f.a, f.x}).v;
  {
    const EngineScope scope("kernels");
    const Plan plan = make_plan(f.e, f.types);
    CHECK(plan.kernel_name() == "csr_product");
    CHECK(read(plan.run(f.operands)).v == expected);
    const std::vector<int> ranks = {2};
    const TensorType one[] = {f.csr.type()};
    CHECK(contains(make_plan(parse_einsum("ij->", ranks), one).explain(), "kernel: "));  // where none is written
  }
  const EngineScope scope("jit");
  const std::string before = settings().jit;
  settings().jit = "off";
  const Plan plan = make_plan(f.e, f.types);
  const std::string text = plan.explain();
  const auto y = read(plan.run(f.operands)).v;
  settings().jit = before;
  CHECK(contains(text, "run by the interpreter, which is right but slow: no compiler"));
  CHECK(y == expected);
}

TEST_CASE("show prints graph, schedule, loop IR and C; without data too") {
  Fixture f;
  {
    const EngineScope scope("interpreter");
    const std::string text = make_plan(f.e, f.types).show();
    for (const char* part : {"loops over i, j", "--- loop IR ---", "--- C ---"}) CHECK(contains(text, part));
  }
}

TEST_CASE("users' kernels are asked first, and only for their structure") {
  Fixture f;
  int calls = 0;
  UserKernel k;
  k.name = "mine";
  k.expression = "ab,b->a";  // names do not count
  k.formats = {parse_format("CSR"), parse_format("dense", 1)};
  k.dtype = DType::f64;
  k.run = [&](std::span<const Tensor> in, const Tensor& out, const Scalar& alpha, const Scalar& beta) {
    ++calls;
    CHECK(in.size() == 2);
    CHECK(alpha.to_double() == 1);
    CHECK(beta.to_double() == 0);
    for (std::int64_t i = 0; i < out.shape()[0]; ++i)
      static_cast<double*>(out.part().values.data)[i] = 40 + static_cast<double>(i);
  };
  register_kernel(k);
  CHECK(contains(message([&] { register_kernel(k); }), "registered already"));
  const Plan plan = make_plan(f.e, f.types);
  CHECK(plan.kernel_name() == "mine");
  CHECK(read(plan.run(f.operands)).v[1] == Complex(41));
  CHECK(calls == 1);
  // Another dtype, another format, another expression: refused with a reason.
  const Tensor single = pack("CSR", f.a, DType::f32), csc = pack("CSC", f.a, DType::f64);
  const TensorType other[] = {single.type(), f.vector.type()}, csc_types[] = {csc.type(), f.vector.type()};
  CHECK(contains(make_plan(f.e, other).explain(), "A is float32, not float64"));
  CHECK(make_plan(f.e, csc_types).kernel_name() != "mine");
  const Tensor row = dense(random_array({6}, 1, false, false, f.rng), DType::f64);
  const TensorType row_types[] = {f.csr.type(), row.type()};
  CHECK(contains(make_plan(parse_einsum("ij,i->j", f.ranks), row_types).explain(), "computes ab,b->a"));
  CHECK(unregister_kernel("mine"));
  CHECK(!unregister_kernel("mine"));
  CHECK(make_plan(f.e, f.types).kernel_name() != "mine");
  CHECK(plan.kernel_name() == "mine");  // a plan that was made keeps its kernel
  CHECK(contains(message([] {
                   register_kernel(
                       {.name = "empty", .expression = "i->i", .formats = {Format()}, .dtype = {}, .run = {}});
                 }),
                 "nothing to run"));
}

TEST_CASE("a plan serves other data of the same types, from several threads") {
  Fixture f;
  const Plan plan = make_plan(f.e, f.types);
  Rng rng(9);
  for (int k = 0; k < 5; ++k) {
    const DenseArray a = random_array({6, 5}, 0.2 * k, false, false, rng), x = random_array({5}, 1, false, false, rng);
    const Tensor in[] = {pack("CSR", a, DType::f64), dense(x, DType::f64)};
    CHECK(read(plan.run(in)).v == oracle(f.e, {a, x}).v);
  }
  const auto expected = oracle(f.e, {f.a, f.x}).v;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) wrong += read(make_plan(f.e, f.types).run(f.operands)).v != expected;
    });
  for (auto& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("absent elements annihilate, stored ones follow IEEE") {
  Fixture f;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  DenseArray a({2, 2});
  a.v = {1, 0, 0, 0};
  a.stored = {1, 0, 0, 1};
  DenseArray x({2});
  x.v = {5, nan};
  const Tensor in[] = {pack("CSR", a, DType::f64), dense(x, DType::f64)};
  const TensorType types[] = {in[0].type(), in[1].type()};
  for (const char* engine : {"interpreter", "jit", "auto"}) {
    const EngineScope scope(engine);
    const DenseArray y = read(make_plan(f.e, types).run(in));
    CHECK(y.v[0] == Complex(5));
    CHECK(std::isnan(y.v[1].real()));
  }
}

TEST_CASE("the output may lie over an operand, and may be strided") {
  Rng rng(5);
  const DenseArray a = random_array({6, 6}, 0.4, false, false, rng), x = random_array({6}, 1, false, false, rng);
  const std::vector<int> ranks = {2, 1};
  const Einsum e = parse_einsum("ij,j->i", ranks);
  for (int order : {0, 2, 3}) {
    const Tensor csr = pack("CSR", a, DType::f64), v = dense(x, DType::f64, order);
    const Tensor in[] = {csr, v};
    const TensorType types[] = {csr.type(), v.type()};
    DenseArray expected = oracle(e, {a, x});
    for (std::size_t k = 0; k < 6; ++k) expected.v[k] = 2.0 * expected.v[k] + 3.0 * x.v[k];
    make_plan(e, types).run(in, v, Scalar::of(2.0), Scalar::of(3.0));  // v = 2 A v + 3 v
    CHECK(read(v).v == expected.v);
  }
}

TEST_CASE("wrong use is refused with what was expected and what came") {
  Fixture f;
  const Plan plan = make_plan(f.e, f.types);
  const Scalar zero = Scalar::of(0.0);
  const Tensor out = dense(DenseArray({6}), DType::f64);
  const auto run = [&](const std::vector<Tensor>& in, const Tensor& to, Scalar alpha = Scalar::of(1.0)) {
    return message([&] { plan.run(in, to, alpha, zero); });
  };
  CHECK(run({f.csr}, out) == "the plan has another number of operands\n  expected  2\n  got       1");
  CHECK(run({pack("CSC", f.a, DType::f64), f.vector}, out) ==
        "operand A is not what the plan was made for\n"
        "  expected  CSR 6 x 5, float64, pos int32, crd int32\n"
        "  got       CSC 6 x 5, float64, pos int32, crd int32\n"
        "  fix       make a plan for these types, or convert the operand");
  CHECK(contains(run(f.operands, dense(DenseArray({7}), DType::f64)),
                 "the output has another shape\n  expected  (6,)\n  got       (7,)"));
  CHECK(contains(run(f.operands, dense(DenseArray({6}), DType::f32)), "the output has another dtype"));
  CHECK(contains(run(f.operands, pack("(i) -> (i : compressed)", DenseArray({6}), DType::f64)),
                 "the output is not dense"));
  CHECK(contains(run(f.operands, out, Scalar::of(Complex(0, 1))), "alpha does not fit"));
  Buffer memory = Buffer::zeros(DType::f64, 6);
  memory.read_only = true;
  CHECK(contains(run(f.operands, borrow_dense(memory, {6}, std::vector<std::int64_t>{1})), "the output is read-only"));
  memory.read_only = false;
  CHECK(contains(run(f.operands, borrow_dense(memory, {6}, std::vector<std::int64_t>{0})),
                 "elements of the output share memory"));
  CHECK(contains(message([] { Plan().explain(); }), "an empty plan"));
  const TensorType one_type[] = {f.csr.type()};
  CHECK(contains(message([&] { make_plan(f.e, one_type); }), "differ in number"));
  CHECK(contains(message([&] { make_plan(f.e, f.types, {.compute_dtype = DType::f16, .output_dtype = {}}); }),
                 "sums cannot be kept in float16"));
  const TensorType complex_types[] = {pack("CSR", f.a, DType::c64).type(), f.vector.type()};
  CHECK(contains(message([&] { make_plan(f.e, complex_types, {.compute_dtype = {}, .output_dtype = DType::f64}); }),
                 "lose their imaginary part"));
}
