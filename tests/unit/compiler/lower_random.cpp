// Random lowered kernels in the interpreter against a loop over every index; and compiled, bit for bit against the
// interpreter.
#include <doctest/doctest.h>

#include <cstdlib>

#include "ir/interpret.h"
#include "unit/compiler/emit_support.h"
#include "unit/compiler/lowered_case.h"

using namespace strata;
using namespace lowered_test;

namespace {

using Complex = std::complex<double>;

/// Wraps and rounds as the dtype does; sums here are exact.
Complex rounded(Complex x, DType t) {
  if (t == DType::boolean) return x.real() != 0 ? 1.0 : 0.0;
  if (is_integer(t)) return strata::testing::scalar_of(x, DType::i64).as(t).to_complex();
  return strata::testing::scalar_of(x, t).to_complex();
}

/// Returns how many elements differ.
int check_case(const Case& c, std::uint64_t seed, bool optimize, int vector_bytes) {
  Rng rng(seed);
  LowerInput in = c.in;
  in.optimize = optimize;
  in.target.vector_bytes = vector_bytes;
  in.specialize = seed % 3 != 0;
  DenseArray start(c.out_shape);
  for (auto& x : start.v) x = static_cast<double>(pick(rng, 0, 2));
  if (in.compute == DType::boolean)
    for (auto& x : start.v) x = x.real() != 0 ? 1.0 : 0.0;
  const bool complex = is_complex(in.compute);
  const Complex alpha = in.compute == DType::boolean ? Complex(1) : Complex(pick(rng, 1, 3), complex ? 1 : 0);
  const Complex beta = static_cast<double>(pick(rng, 0, 2));
  Tensor out = strata::testing::dense(start, c.out_dtype, c.out_order);
  in.output = out.type();
  std::string why;
  auto lowered = lower(in, why);
  REQUIRE_MESSAGE(lowered.has_value(), why);
  DenseArray prepared = start;
  if (lowered->wide_output || !lowered->applies_beta) {
    for (auto& x : prepared.v) x = beta == 0.0 ? 0.0 : x * beta;
    if (in.compute == DType::boolean)
      for (auto& x : prepared.v) x = beta.real() != 0 && x.real() != 0 ? 1.0 : 0.0;
    out = strata::testing::dense(prepared, lowered->wide_output ? in.compute : c.out_dtype,
                                 lowered->wide_output ? 0 : c.out_order);
  } else if (beta == 0.0 && is_float(c.out_dtype)) {  // must not be read
    for (auto& x : prepared.v) x = std::numeric_limits<double>::quiet_NaN();
    out = strata::testing::dense(prepared, c.out_dtype, c.out_order);
  }
  const auto kernel = ir::interpret(lowered->function);
  run_lowered(*lowered, *kernel, in, c.operands, out, strata::testing::scalar_of(alpha, in.compute),
              strata::testing::scalar_of(lowered->wide_output ? Complex(1) : beta, in.compute), c.extents, rng);

  DenseArray expected = strata::testing::oracle(c.in.einsum, c.arrays);
  int wrong = 0;
  const DenseArray got = strata::testing::read(out);
  for (std::size_t k = 0; k < expected.v.size(); ++k) {
    Complex sum = expected.v[k];
    if (in.compute == DType::boolean) sum = sum.real() != 0 ? 1.0 : 0.0;
    const Complex want =
        rounded(alpha * sum + (beta == 0.0 ? 0.0 : beta * start.v[k]), lowered->wide_output ? in.compute : c.out_dtype);
    if (want != got.v[k] && ++wrong <= 3)
      MESSAGE("element " << k << ": got " << got.v[k].real() << "+" << got.v[k].imag() << "i, not " << want.real()
                         << "+" << want.imag() << "i; alpha " << alpha.real() << " beta " << beta.real() << " from "
                         << start.v[k].real() << " applies_beta " << lowered->applies_beta << " compute "
                         << name_of(in.compute) << " out " << name_of(c.out_dtype) << " order " << c.out_order);
  }
  if (wrong > 0) {
    MESSAGE("seed " << seed << " optimize " << optimize << " bytes " << vector_bytes << ": " << wrong << " of "
                    << expected.v.size() << " wrong\n"
                    << c.text << "\n"
                    << lowered->graph << lowered->schedule << "\n"
                    << (std::getenv("STRATA_TEST_SHOW") ? ir::to_string(lowered->function) : ""));
  }
  return wrong;
}

}  // namespace

TEST_CASE("random lowered kernels agree with a loop over every index") {
  const char* count = std::getenv("STRATA_TEST_COUNT");
  const char* first = std::getenv("STRATA_TEST_SEED");
  const std::uint64_t from = first ? std::strtoull(first, nullptr, 10) : 1,
                      n = count ? std::strtoull(count, nullptr, 10) : 400;
  int failures = 0;
  for (std::uint64_t seed = from; seed < from + n && failures < 5; ++seed) {
    Rng rng(seed);
    const Case c = make_case(rng);
    CAPTURE(seed);
    CAPTURE(c.text);
    for (const auto& [optimize, bytes] :
         std::vector<std::pair<bool, int>>{{false, 0}, {true, 0}, {true, 32}, {true, 64}}) {
      int wrong = 1;
      try {
        wrong = check_case(c, seed, optimize, bytes);
      } catch (const InternalError& e) {
        MESSAGE(seed << " optimize " << optimize << " bytes " << bytes << ": " << e.what());
      }
      CHECK(wrong == 0);
      if (wrong) {
        ++failures;
        break;
      }
    }
  }
}

TEST_CASE("random lowered kernels are the same bit for bit, compiled and interpreted") {
  constexpr int n = 32;
  struct One {
    Case c;
    LowerInput in;
    LoweredProduct lowered;
    std::uint64_t seed;
  };
  std::vector<One> all;
  std::vector<std::string> texts;
  for (int k = 0; k < n; ++k) {
    const std::uint64_t seed = 9000 + static_cast<std::uint64_t>(k);
    Rng rng(seed);
    One one{make_case(rng), {}, {}, seed};
    // Values whose sums round: the order of operations shows.
    for (const auto& t : one.c.operands) {
      const Buffer& v = t.part().values;
      for (std::int64_t q = 0; q < v.size; ++q)
        if (is_float(t.dtype()) || is_complex(t.dtype()))
          strata::testing::scalar_of({std::ldexp(static_cast<double>(rng() >> 11), -53), 0.3}, t.dtype())
              .store(static_cast<char*>(v.data) + q * static_cast<std::int64_t>(size_of(t.dtype())));
    }
    one.in = one.c.in;
    one.in.target = host_target();
    one.in.output = strata::testing::dense(DenseArray(one.c.out_shape), one.in.compute, one.c.out_order).type();
    std::string why;
    one.lowered = lower(one.in, why).value();
    one.lowered.function.name = "kernel" + std::to_string(k);
    texts.push_back(emit_c(one.lowered.function));
    all.push_back(std::move(one));
  }
  for (const auto& compiler : emit_test::compilers()) {
    emit_test::Library library(compiler, texts, "-O1 -march=native");
    for (auto& one : all) {
      std::vector<Tensor> results;
      for (const KernelPtr& kernel :
           {ir::interpret(one.lowered.function), wrap_function(library.find(one.lowered.function.name), "test")}) {
        Rng rng(one.seed);
        Tensor out = strata::testing::dense(DenseArray(one.c.out_shape), one.in.compute, one.c.out_order);
        run_lowered(one.lowered, *kernel, one.in, one.c.operands, out, Scalar::one(one.in.compute),
                    Scalar::zero(one.in.compute), one.c.extents, rng);
        results.push_back(out);
      }
      INFO(compiler << " seed " << one.seed << "\n" << one.c.text << "\n" << one.lowered.schedule);
      const Buffer &a = results[0].part().values, &b = results[1].part().values;
      int different = 0;
      const DType part = one.in.compute == DType::c64    ? DType::f32
                         : one.in.compute == DType::c128 ? DType::f64
                                                         : one.in.compute;
      const auto width = static_cast<std::int64_t>(size_of(part));
      for (std::int64_t q = 0; q < a.bytes() / width; ++q)
        different += !emit_test::same_element(part, static_cast<char*>(a.data) + q * width,
                                              static_cast<char*>(b.data) + q * width);
      CHECK(different == 0);
    }
  }
}
