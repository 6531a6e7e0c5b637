#pragma once
// Values of one dtype, held wide: floats as double, integers in 64 bits, complex as pairs of doubles. Every operation
// rounds or wraps to its dtype, so that results are those of the dtype itself (floats narrower than f64 differ from
// one-step arithmetic by nothing for
// + - * / sqrt).
#include <complex>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "strata/semiring.h"

namespace strata::evaluation {

using Complex = std::complex<double>;

struct Column {
  using Data =
      std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>, std::vector<Complex>>;
  DType dtype = DType::f64;
  Data data;

  Column() = default;
  Column(DType t, Data d) : dtype(t), data(std::move(d)) {}
  // Not the variant's own copy: where memory runs out within it, libstdc++ 12 destroys what was never there.
  Column(const Column& c) : dtype(c.dtype), data(copy(c.data)) {}
  Column(Column&&) noexcept = default;
  Column& operator=(const Column& c) { return *this = Column(c); }
  Column& operator=(Column&&) noexcept = default;
  static Data copy(const Data& d) {
    return std::visit(
        [](const auto& v) -> Data {
          auto own = v;
          return own;
        },
        d);
  }

  std::size_t size() const {
    return std::visit([](const auto& v) { return v.size(); }, data);
  }
};

/// n zeros of a dtype.
Column zeros(DType dtype, std::size_t n);
Column load(DType dtype, const char* values, std::size_t n);
void store(const Column& c, char* values);
Column of_scalar(const Scalar& s);
Scalar to_scalar(const Column& c, std::size_t i = 0);
/// As NumPy's astype.
Column cast(const Column& c, DType dtype);
/// A single value, n times.
Column repeat(const Column& value, std::size_t n);
/// c[index[k]], or `fill` where index[k] < 0.
Column gather(const Column& c, std::span<const std::int64_t> index, const Column& fill);
/// Where chosen[k] is 0, the value becomes `other`'s single one.
void keep(Column& c, std::span<const std::uint8_t> chosen, const Column& other);
void append(Column& to, const Column& more);
/// -0.0 becomes 0.0.
void add_zero(Column& c);
bool is_zero(const Column& value);
bool has_negative(const Column& c);
/// Rounds floats to their dtype and wraps integers.
void normalise(Column& c);

/// NumPy's dtype of an operation on operands of this (common) dtype: what it computes in, and what comes out.
/// DTypeError where NumPy has no such operation.
struct OperationType {
  DType compute, result;
};
OperationType type_of(Operator op, DType common);
/// Of a reduction: a written sum is as NumPy's sum, what a notation implies keeps the dtype, as NumPy's einsum.
DType type_of_reduction(Operator op, DType t, bool implicit);

/// Element by element; both of the same length and dtype `compute`.
Column apply(Operator op, const Column& a, const Column& b, DType result);
Column apply(Operator op, const Column& a, DType result);

/// How elements combine into one.
class Monoid {
 public:
  enum Kind : std::uint8_t { plus, minimum, maximum, either, both, first, user };
  Monoid(Kind kind) : kind_(kind) {}  // NOLINT(google-explicit-constructor): Monoid::plus is one
  explicit Monoid(const Semiring& of_user) : kind_(user), semiring_(of_user) {}
  Kind kind() const { return kind_; }
  bool operator==(Kind kind) const { return kind_ == kind; }
  const Semiring::Definition& definition() const { return *semiring_.definition(); }

 private:
  Kind kind_;
  Semiring semiring_;
};
/// The monoid of a semiring's sums.
Monoid addition(const Semiring& s);
/// Runs [starts[g], starts[g + 1]) combined. Sums stay unrounded: normalise() once they are complete.
Column combine(const Monoid& m, const Column& c, std::span<const std::int64_t> starts);
/// a and b element by element.
Column combine(const Monoid& m, const Column& a, const Column& b);
/// The value that changes nothing; integers have no infinities but their largest and least values. DTypeError where a
/// dtype has none.
Column identity(const Monoid& m, DType dtype);
/// count[k] times the single value, added up.
Column times(const Column& value, std::span<const std::int64_t> count);

}  // namespace strata::evaluation
