// Formats at compile time: most of this file is checked by the compiler.
#include "strata/static_format.h"

#include <doctest/doctest.h>

#include <string>

using namespace strata;

// Never defined: this test program links only if an instance for CSR holds nothing of the COO branch.
int strata_test_coo_code();

namespace {
using Csr = StaticFormat<"(i, j) -> (i: dense, j: compressed)">;
using Coo = StaticFormat<"(i, j) -> (i: compressed(nonunique), j: singleton)  # coordinates">;

static_assert(Csr::isCSR() && !Csr::isCSC() && !Csr::isCOO() && !Csr::isDCSR() && !Csr::isDense());
static_assert(Coo::isCOO() && !Coo::isCSR());
static_assert(StaticFormat<"(a, b) -> {b: <LevelFormat.DENSE>, a: <LevelFormat.COMPRESSED>}">::isCSC());
static_assert(StaticFormat<"Scalar">::isScalar() && StaticFormat<"Scalar">::isDense() &&
              StaticFormat<"() -> ()">::rank == 0);
static_assert(StaticFormat<"dense(3)">::isDense() && StaticFormat<"dense(3)">::isDenseRight() &&
              !StaticFormat<"dense(3)">::isDenseLeft());
static_assert(StaticFormat<"DenseLeft(3)">::isDenseLeft() && StaticFormat<"DenseVector">::isDenseVector() &&
              StaticFormat<"SpVec">::isSparseVector());
static_assert(StaticFormat<"COO(4)">::isCOO() && StaticFormat<"COO(4)">::rank == 4 &&
              StaticFormat<"COO(4)">::num_levels == 4);
static_assert(StaticFormat<"DCSR">::isDCSR() && StaticFormat<"DCSR">::isCSF() && StaticFormat<"DCSC">::isDCSC() &&
              !StaticFormat<"DCSC">::isCSF());
static_assert(StaticFormat<"CROW">::isCROW() && StaticFormat<"CCOL">::isCCOL());
static_assert(StaticFormat<"DIAI">::isDIAI() && StaticFormat<"DIAJ">::isDIAJ() && !StaticFormat<"DIAJ">::isDIAI());
static_assert(StaticFormat<"SkewDIAI">::isSkewDIAI() && StaticFormat<"SkewDIAJ">::isSkewDIAJ());
static_assert(StaticFormat<"BatchedCSR">::isBatchedCSR() && !StaticFormat<"CSR(1)">::isBatchedCSR() &&
              !StaticFormat<"CSR(1)">::isCSR());
static_assert(StaticFormat<"BatchedDIANonUniform">::isBatchedDIAINonUniform() &&
              StaticFormat<"BatchedDIAJNonUniform">::isBatchedDIAJNonUniform());
static_assert(StaticFormat<"BatchedDIAUniform">::isBatchedDIAIUniform() &&
              StaticFormat<"BatchedDIAJUniform">::isBatchedDIAJUniform());
static_assert(StaticFormat<"BlockVector(4)">::isBlockVector() && StaticFormat<"BSR3(2, 2, 2)">::isBSR3());
static_assert(StaticFormat<"(i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)">::isBSR());
static_assert(StaticFormat<"BSRLeft(2, 3)">::isBSR() && StaticFormat<"BSRLeft(2, 3)">::isBSRLeft() &&
              !StaticFormat<"BSRLeft(2, 3)">::isBSRRight());
static_assert(StaticFormat<"BSCRight(2, 3)">::isBSC() && !StaticFormat<"BSCRight(2, 3)">::isBSR() &&
              StaticFormat<"BSCLeft(2, 3)">::isBSCLeft());
static_assert(StaticFormat<"CSF(3)">::isCSF() && StaticFormat<"delta(2)">::isDelta() &&
              StaticFormat<"structured(2, 4)">::isStructured());
static_assert(StaticFormat<"ELL">::isELL() && StaticFormat<"ELL(5)">::isELL() &&
              StaticFormat<"BlockedELL(2, 2)">::isBlockedELL());
static_assert(StaticFormat<"TiledCSR(8, 16)">::isTiledCSR() && !StaticFormat<"BSR(8, 16)">::isTiledCSR());
static_assert(StaticFormat<"bitmap">::isBitmap() && StaticFormat<"NestedBSR(32, 32, 4, 4)">::isNestedBSR());
static_assert(StaticFormat<"BSR(4, 4) + COO">::num_parts == 2 && !StaticFormat<"BSR(4, 4) + COO">::isBSR());
static_assert(!StaticFormat<"(i, j) -> (i: dense, j: compressed(unordered))">::isCSR());
static_assert(same_format<StaticFormat<"CSR">, Csr> && !same_format<StaticFormat<"CSC">, Csr>);

// The parser itself at compile time, on texts that are wrong.
constexpr std::string_view fault_of(std::string_view text) {
  detail::FormatParser parser(text, -1, {});
  return parser.parse() ? "" : parser.fault.what;
}
static_assert(fault_of("CSR") == "");
static_assert(fault_of("(i, j) -> (i: dense, j: compresed)") == "no level type '%'");
static_assert(fault_of("(i, j) -> (i: dense)") == "no level stores dimension '%'");
static_assert(fault_of("(i) -> (i: delta(40))") == "delta cannot have % bits");

/// What a user's statically typed tensor may look like.
template <class V, class F> struct StaticTensor {
  using Value = V;
  using Format = F;
};

// The dispatching function of the blog post, its typos mended.
template <class TensorType> std::string foo(TensorType) {
  if constexpr (TensorType::Format::isCOO()) {
    return "dispatch to COO code";
  } else if constexpr (TensorType::Format::isCSR()) {
    return "dispatch to CSR code";
  } else {
    return "something else";
  }
}

int csr_code() { return 1; }
template <class TensorType> int dispatch(TensorType) {
  if constexpr (TensorType::Format::isCOO()) {
    return strata_test_coo_code();
  } else {
    return csr_code();
  }
}
}  // namespace

TEST_CASE("the branches of other formats are not compiled") { CHECK(dispatch(StaticTensor<float, Csr>()) == 1); }

TEST_CASE("the blog's foo dispatches at compile time") {
  CHECK(foo(StaticTensor<float, Csr>()) == "dispatch to CSR code");
  CHECK(foo(StaticTensor<float, StaticFormat<"COO">>()) == "dispatch to COO code");
  CHECK(foo(StaticTensor<double, StaticFormat<"DIAI">>()) == "something else");
}

TEST_CASE("a static format is the run-time format of the same text") {
  CHECK(Csr::format() == parse_format("CSR"));
  CHECK(StaticFormat<"NestedBSR(32, 32, 4, 4)">::format() == parse_format("NestedBSR(32, 32, 4, 4)"));
  CHECK(StaticFormat<"BSR(4, 4) + COO">::format().num_parts() == 2);
  CHECK(Coo::format().to_string() == "(i, j) -> (i : compressed(nonunique), j : singleton)");
}
