// Results in the driver's pattern: random cases in the interpreter against a loop over every index, slot by slot.
#include <doctest/doctest.h>

#include <cstdlib>

#include "ir/interpret.h"
#include "unit/compiler/lowered_case.h"

using namespace strata;
using namespace lowered_test;

namespace {

using Complex = std::complex<double>;

/// The case with the driver's indices as its output; false where the driver has a diagonal or broadcasts.
bool as_pattern(Case& c, Rng& rng) {
  const auto d = static_cast<std::size_t>(c.in.driver);
  auto own = c.in.einsum.operands[d];
  for (std::size_t k = 0; k < own.size(); ++k)
    if (c.arrays[d].shape[k] != c.extents[static_cast<std::size_t>(own[k])]) return false;
  c.in.einsum.output = own;
  std::shuffle(c.in.einsum.output.begin(), c.in.einsum.output.end(), rng);
  std::sort(own.begin(), own.end());
  c.in.pattern_output = true;
  return !own.empty() && std::adjacent_find(own.begin(), own.end()) == own.end() &&
         !c.operands[d].format().is_all_dense();
}

Tensor empty_like(const Tensor& t, DType dtype, Complex fill) {
  TensorType type = t.type();
  type.dtype = dtype;
  type.fill = Scalar::zero(dtype);
  Part part = t.part();
  part.values = Buffer::allocate(dtype, part.values.size);
  for (std::int64_t k = 0; k < part.values.size; ++k)
    strata::testing::scalar_of(fill, dtype)
        .store(static_cast<char*>(part.values.data) + k * static_cast<std::int64_t>(size_of(dtype)));
  return make_from_parts(type, {part});
}

Complex rounded(Complex x, DType t) {
  if (t == DType::boolean) return x.real() != 0 ? 1.0 : 0.0;
  if (is_integer(t)) return strata::testing::scalar_of(x, DType::i64).as(t).to_complex();
  return strata::testing::scalar_of(x, t).to_complex();
}

int check_case(const Case& c, std::uint64_t seed, bool optimize, int vector_bytes) {
  Rng rng(seed);
  LowerInput in = c.in;
  in.optimize = optimize;
  in.target.vector_bytes = vector_bytes;
  in.specialize = seed % 3 != 0;
  in.order = static_cast<RowOrder>(seed % 5);
  in.target.by_order = seed % 7 != 0;
  const Tensor& driver = c.operands[static_cast<std::size_t>(in.driver)];
  const bool boolean = in.compute == DType::boolean;
  const Complex alpha = boolean ? Complex(1) : Complex(pick(rng, 1, 3), is_complex(in.compute) ? 1 : 0),
                start = static_cast<double>(boolean ? 1 : pick(rng, 0, 2));
  const Complex beta =
      boolean ? Complex(static_cast<double>(pick(rng, 0, 1))) : Complex(static_cast<double>(pick(rng, 0, 2)));
  const bool unread = beta == 0.0 && is_float(c.out_dtype);  // beta 0 never reads
  const Tensor out =
      empty_like(driver, c.out_dtype, unread ? Complex(std::numeric_limits<double>::quiet_NaN()) : start);
  in.output = out.type();
  std::string why;
  const auto lowered = lower(in, why);
  REQUIRE_MESSAGE(lowered.has_value(), why);
  CHECK(lowered->applies_beta);
  CHECK(!lowered->wide_output);
  run_lowered(*lowered, *ir::interpret(lowered->function), in, c.operands, out,
              strata::testing::scalar_of(alpha, in.compute), strata::testing::scalar_of(beta, in.compute), c.extents,
              rng);

  // What each slot's value is multiplied with (slots of one element, duplicates, have values of their own).
  const auto d = static_cast<std::size_t>(in.driver);
  auto arrays = c.arrays;
  std::fill(arrays[d].v.begin(), arrays[d].v.end(), Complex(1));
  std::fill(arrays[d].stored.begin(), arrays[d].stored.end(), char{1});
  const DenseArray factor = strata::testing::oracle(c.in.einsum, arrays);
  std::vector<Complex> values;
  for_each_stored(driver, [&](std::span<const std::int64_t>, const void* v) {
    const Complex x = Scalar::load(driver.dtype(), v).to_complex();
    values.push_back(in.einsum.conjugate[d] ? std::conj(x) : x);
  });
  const auto& own = in.einsum.operands[static_cast<std::size_t>(in.driver)];
  int wrong = 0;
  std::size_t slot = 0;
  for_each_stored(out, [&](std::span<const std::int64_t> at, const void* value) {
    std::size_t place = 0;
    for (std::size_t o = 0; o < in.einsum.output.size(); ++o) {
      const auto dim = static_cast<std::size_t>(std::find(own.begin(), own.end(), in.einsum.output[o]) - own.begin());
      place = place * static_cast<std::size_t>(c.out_shape[o]) + static_cast<std::size_t>(at[dim]);
    }
    Complex sum = factor.v[place] * values[slot++];
    if (boolean) sum = sum.real() != 0 ? 1.0 : 0.0;
    const Complex want = rounded(alpha * sum + (beta == 0.0 ? 0.0 : beta * start), c.out_dtype),
                  got = Scalar::load(c.out_dtype, value).to_complex();
    if (want != got && ++wrong <= 3)
      MESSAGE("slot of element " << place << ": got " << got.real() << "+" << got.imag() << "i, not " << want.real()
                                 << "+" << want.imag() << "i");
  });
  if (wrong > 0)
    MESSAGE("seed " << seed << " optimize " << optimize << " bytes " << vector_bytes << ": " << wrong << " wrong\n"
                    << c.text << "\n"
                    << lowered->graph << lowered->schedule
                    << (std::getenv("STRATA_TEST_SHOW") ? ir::to_string(lowered->function) : ""));
  return wrong;
}

}  // namespace

TEST_CASE("random results in the driver's pattern agree with a loop over every index") {
  const char* count = std::getenv("STRATA_TEST_COUNT");
  const char* first = std::getenv("STRATA_TEST_SEED");
  const std::uint64_t from = first ? std::strtoull(first, nullptr, 10) : 1,
                      n = count ? std::strtoull(count, nullptr, 10) : 400;
  int failures = 0, cases = 0;
  for (std::uint64_t seed = from; seed < from + n && failures < 5; ++seed) {
    Rng rng(seed);
    Case c = make_case(rng);
    if (!as_pattern(c, rng)) continue;
    c.out_shape.clear();
    for (int i : c.in.einsum.output) c.out_shape.push_back(c.extents[static_cast<std::size_t>(i)]);
    bool empty_sum = false;  // such sums are run()'s business
    for (std::size_t i = 0; i < c.extents.size(); ++i) empty_sum = empty_sum || c.extents[i] == 0;
    if (empty_sum) continue;
    ++cases;
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
  CHECK(cases * 2 > static_cast<int>(n));
}

TEST_CASE("what has no pattern to share is refused") {
  const auto refusal = [](const std::string& text, const std::string& format) {
    LowerInput in;
    in.einsum = parse_einsum(text, std::vector<int>{2, 1});
    for (const std::string& f : {format, std::string("dense")}) {
      TensorType t;
      t.shape = Shape(in.operands.empty() ? 2 : 1, 5);
      t.format = parse_format(f, static_cast<int>(t.shape.size()));
      t.fill = Scalar::zero(t.dtype);
      in.operands.push_back(t);
    }
    in.pattern_output = true;
    std::string why;
    CHECK(!lower(in, why));
    return why;
  };
  CHECK(refusal("ij,j->i", "CSR").find("the output's indices are not those of operand 0") != std::string::npos);
  CHECK(refusal("ii,i->i", "CSR").find("the output's indices are not those of operand 0") != std::string::npos);
  CHECK(refusal("ij,j->ij", "dense").find("no pattern") != std::string::npos);
}
