#pragma once
// A format known at compile time: the text is parsed by the compiler, and a mistake in it is a compiler's error.
//
//   using Csr = strata::StaticFormat<"(i, j) -> (i: dense, j: compressed)">;
//   if constexpr (Csr::isCSR()) ...
//
// A wrong text instantiates FormatMistake<what, expected, column>: read those words in the compiler's message.
#include "strata/format_family.h"

namespace strata {

/// A text as a template argument.
template <std::size_t N> struct FixedString {
  char data[N]{};
  constexpr FixedString() = default;
  constexpr FixedString(const char (&text)[N]) {  // implicit: StaticFormat<"...">
    for (std::size_t i = 0; i < N; ++i) data[i] = text[i];
  }
  constexpr std::string_view view() const { return {data, N - 1}; }
};

namespace detail {

struct StaticParse {
  FormatSpec spec{};
  FormatFault fault{};
};
constexpr StaticParse parse_static(std::string_view text) {
  FormatParser parser(text, -1, {});
  parser.parse();
  return {parser.spec, parser.fault};
}
/// "no level type '%'" and "compresed" to "no level type 'compresed'".
struct FaultText {
  std::array<char, 400> data{};
  std::size_t size = 0;
  constexpr FaultText(std::string_view what, std::string_view at) {
    for (const char c : what) {
      if (c != '%') put(c);
      else
        for (const char a : at.substr(0, 64)) put(a);
    }
  }
  constexpr void put(char c) {
    if (size < data.size()) data[size++] = c;
  }
  constexpr std::string_view view() const { return {data.data(), size}; }
};
/// Exactly as long as the text: compilers then print it as a text.
template <std::size_t Length> constexpr FixedString<Length + 1> fixed(std::string_view text) {
  FixedString<Length + 1> out{};
  for (std::size_t i = 0; i < Length; ++i) out.data[i] = text[i];
  return out;
}

/// Never valid with a first argument: tells what is wrong with a format text.
template <FixedString What, FixedString Expected, std::size_t Column> struct FormatMistake {
  static_assert(What.data[0] == 0, "this format text has no meaning: FormatMistake<what, expected, column> says why");
  static constexpr bool none = true;
};

}  // namespace detail

template <FixedString Text> struct StaticFormat {
 private:
  static constexpr detail::StaticParse parsed_ = detail::parse_static(Text.view());
  static constexpr detail::FaultText what_{
      parsed_.fault.what ? parsed_.fault.what : "",
      Text.view().substr(parsed_.fault.where.begin, parsed_.fault.where.end - parsed_.fault.where.begin)};
  static constexpr std::string_view expected_ = parsed_.fault.expected;
  static_assert(detail::FormatMistake<detail::fixed<what_.size>(what_.view()),
                                      detail::fixed<expected_.size()>(expected_), parsed_.fault.where.begin>::none);
  using Family = detail::NamedFamily;
  static constexpr bool is(Family f) { return detail::is_family(spec, f); }

 public:
  static constexpr const FormatSpec& spec = parsed_.spec;
  static constexpr int rank = parsed_.spec.num_dims;
  static constexpr int num_levels = parsed_.spec.parts[0].num_levels;
  static constexpr int num_parts = parsed_.spec.num_parts;

  // Structure, never a name: any text of the same levels answers alike. Properties count (an unordered CSR is not CSR).
  static constexpr bool isScalar() { return is(Family::scalar); }
  static constexpr bool isDense() { return detail::is_all_dense(spec); }  ///< dense and batch levels only
  static constexpr bool isDenseRight() { return is(Family::dense); }
  static constexpr bool isDenseLeft() { return is(Family::dense_left); }
  static constexpr bool isDenseVector() { return is(Family::dense_vector); }
  static constexpr bool isSparseVector() { return is(Family::sparse_vector); }
  static constexpr bool isCOO() { return is(Family::coo); }  ///< any rank
  static constexpr bool isCSR() { return is(Family::csr) && rank == 2; }
  static constexpr bool isCSC() { return is(Family::csc) && rank == 2; }
  static constexpr bool isDCSR() { return is(Family::dcsr); }
  static constexpr bool isDCSC() { return is(Family::dcsc); }
  static constexpr bool isCROW() { return is(Family::crow); }
  static constexpr bool isCCOL() { return is(Family::ccol); }
  static constexpr bool isCSF() { return is(Family::csf); }  ///< any rank; DCSR is CSF of rank 2
  static constexpr bool isDIAI() { return is(Family::dia_i); }
  static constexpr bool isDIAJ() { return is(Family::dia_j); }
  static constexpr bool isSkewDIAI() { return is(Family::skew_dia_i); }
  static constexpr bool isSkewDIAJ() { return is(Family::skew_dia_j); }
  static constexpr bool isBatchedCSR() { return is(Family::batched_csr); }
  static constexpr bool isBatchedDIAINonUniform() { return is(Family::batched_dia_i); }
  static constexpr bool isBatchedDIAJNonUniform() { return is(Family::batched_dia_j); }
  static constexpr bool isBatchedDIAIUniform() { return is(Family::uniform_dia_i); }
  static constexpr bool isBatchedDIAJUniform() { return is(Family::uniform_dia_j); }
  static constexpr bool isBlockVector() { return is(Family::block_vector); }
  static constexpr bool isBSRRight() { return is(Family::bsr) && rank == 2; }
  static constexpr bool isBSRLeft() { return is(Family::bsr_left) && rank == 2; }
  static constexpr bool isBSR() {
    return isBSRRight() || isBSRLeft();
  }  ///< any block size, either order inside the block
  static constexpr bool isBSCRight() { return is(Family::bsc) && rank == 2; }
  static constexpr bool isBSCLeft() { return is(Family::bsc_left) && rank == 2; }
  static constexpr bool isBSC() { return isBSCRight() || isBSCLeft(); }
  static constexpr bool isBSR3() { return is(Family::bsr3); }
  static constexpr bool isTiledCSR() { return is(Family::tiled_csr); }
  static constexpr bool isNestedBSR() { return is(Family::nested_bsr); }
  static constexpr bool isDelta() { return is(Family::delta); }
  static constexpr bool isStructured() { return is(Family::structured); }
  static constexpr bool isELL() { return is(Family::ell); }
  static constexpr bool isBlockedELL() { return is(Family::blocked_ell); }
  static constexpr bool isBitmap() { return is(Family::bitmap); }

  /// The same format at run time.
  static const Format& format() {
    static const Format f(spec);
    return f;
  }
};

/// Same levels over the same dimensions: names do not count.
template <class A, class B> inline constexpr bool same_format = detail::same_structure(A::spec, B::spec);

}  // namespace strata
