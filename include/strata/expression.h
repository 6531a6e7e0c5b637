#pragma once
// Whole expressions in index notation: "y(i) = b(i) - A(i,j) * x(j)". Immutable nodes that print, compare and hash.
#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/error.h"
#include "strata/tensor.h"

namespace strata {

enum class Operator : std::uint8_t {
  constant,
  access,
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  minimum,
  maximum,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  negate,
  absolute,
  sign,
  square_root,
  exponential,
  logarithm,
  sine,
  cosine,
  tangent,
  hyperbolic_tangent,
  error_function,
  relu,
  conjugate,
  sum,
  reduce_max,
  reduce_min,
  any,
  all,  ///< reductions over one index
};
constexpr bool is_binary(Operator op) { return op >= Operator::add && op <= Operator::greater_equal; }
constexpr bool is_comparison(Operator op) { return op >= Operator::equal && op <= Operator::greater_equal; }
constexpr bool is_quotient(Operator op) {
  return op == Operator::divide || op == Operator::floor_divide || op == Operator::modulo;
}
constexpr bool is_unary(Operator op) { return op >= Operator::negate && op <= Operator::conjugate; }
constexpr bool is_reduction(Operator op) { return op >= Operator::sum; }
/// As it is written: "+", "max", "exp".
std::string_view name_of(Operator op);

/// How a number is written: 2.5, inf; 2; from 2^63 on; beyond 64 bits; 2j; True.
enum class Number : std::uint8_t { floating, integer, unsigned_integer, huge_integer, imaginary, truth };
constexpr bool is_integer(Number n) { return n >= Number::integer && n <= Number::huge_integer; }

/// constant + sum of coefficient * index, as in A(2*i + r - 1, j); A(i + r - 1?, j) reads the fill where that leaves A.
struct AffineIndex {
  struct Term {
    std::string index;
    std::int64_t coefficient = 1;
    bool operator==(const Term&) const = default;
  };
  std::vector<Term> terms;  ///< each index once, no coefficient 0
  std::int64_t constant = 0;
  bool padded = false;  ///< where it leaves the dimension, the operand's fill is read
  AffineIndex() = default;
  AffineIndex(std::string index) : terms{{std::move(index), 1}} {}
  AffineIndex(const char* index) : AffineIndex(std::string(index)) {}
  bool is_plain() const { return !padded && terms.size() == 1 && terms[0].coefficient == 1 && constant == 0; }
  std::string to_string() const;
  bool operator==(const AffineIndex&) const = default;
};

/// A node and everything below it. Copies share.
class Expression {
 public:
  struct Node {
    Operator op = Operator::constant;
    std::vector<Expression> arguments = {};
    std::string name = {};                  ///< access: of the operand; reductions: of the index
    std::vector<AffineIndex> indices = {};  ///< access: one per dimension
    std::complex<double> value = {};        ///< constant; weak, as a Python number: it takes the dtype of what it meets
    Number number = Number::floating;       ///< constant: how it is written
    std::int64_t integer = 0;               ///< constant: the exact value of an integer (its bits, where unsigned)
    bool implicit = false;  ///< a sum that the notation implies keeps its dtype, as NumPy's einsum; a written one does
                            ///< as NumPy's sum
    Span where = {};        ///< in the text it came from; not part of the identity
    int depth = 1;          ///< of the tree; Expression's constructor counts
  };
  Expression();  ///< the constant 0
  explicit Expression(Node node);

  static Expression constant(double value);
  static Expression integer(std::int64_t value);
  static Expression access(std::string name, std::vector<AffineIndex> indices = {});
  /// Of plain indices, one per dimension.
  static Expression plain_access(std::string name, std::span<const std::string> indices);
  static Expression unary(Operator op, Expression a);
  static Expression binary(Operator op, Expression a, Expression b);
  static Expression reduce(Operator op, std::string index, Expression a, bool implicit = false);

  const Node& node() const { return *node_; }
  Operator op() const { return node_->op; }
  int depth() const { return node_->depth; }
  const Expression& argument(std::size_t k = 0) const { return node_->arguments[k]; }

  /// Indices that no reduction inside binds, in order of appearance.
  std::vector<std::string> free_indices() const;
  /// Names of the operands in order of appearance, each once.
  std::vector<std::string> operands() const;
  /// The text that parses back to an equal expression.
  std::string to_string() const;
  std::size_t hash() const;
  bool operator==(const Expression& other) const;

 private:
  static void release(Node* node);
  std::shared_ptr<const Node> node_;
};

Expression operator+(Expression a, Expression b);
Expression operator-(Expression a, Expression b);
Expression operator*(Expression a, Expression b);
Expression operator/(Expression a, Expression b);
Expression operator-(Expression a);

/// name(indices) = value, or += value.
struct Assignment {
  std::string name;
  std::vector<std::string> indices;  ///< no repeats
  bool accumulate = false;           ///< `+=`
  Expression value;                  ///< every sum written out: free indices are among `indices`
  std::string text;                  ///< what it was parsed from, for messages; not part of the identity
  /// The access that is assigned to.
  Expression target() const { return Expression::plain_access(name, indices); }
  /// What the target becomes: the value, for `+=` behind what is there.
  Expression total() const { return accumulate ? target() + value : value; }
  std::string to_string() const;
  bool operator==(const Assignment& o) const {
    return name == o.name && indices == o.indices && accumulate == o.accumulate && value == o.value;
  }
};

/// Parses an assignment. Each additive term sums the indices that the output lacks; a parenthesized addend without the
/// summed index is an ExpressionError that says how to write the sum (design 4). ExpressionError with carets.
Assignment parse_assignment(std::string_view text);
/// The right side alone, with no sums but the written ones: "min(a, b) + A(i,j)". ExpressionError with carets.
Expression parse_expression(std::string_view text);
/// Wraps each additive term of `value` into sums over the indices that the output lacks.
Expression with_sums(const Expression& value, std::span<const std::string> output, std::string_view text = {});

/// Names of operands without indices that are also names of indices, as in A(i,j) * (i > j): where no operand of this
/// name is given, the value of the index is meant.
std::vector<std::string> index_values(const Assignment& a);

/// Extents of all indices from the operands' shapes. A 1 broadcasts against n. An index that stands only in affine
/// accesses gets the largest extent that stays inside; one that stands only in padded accesses, each of whose other
/// indices has an extent, what its own term alone needs to go through the dimension: ceil(extent / |coefficient|), the
/// largest of several. ExpressionError: ranks or extents that differ, an access that leaves its operand and is not
/// padded, an index of the output that nothing gives an extent to.
std::map<std::string, std::int64_t> index_extents(const Assignment& a, const std::map<std::string, Shape>& shapes);

}  // namespace strata
