#pragma once
// Arithmetic in semirings: named ones, and those that users define by expressions of the scalars a and b.
#include "reference/column.h"

namespace strata::evaluation {

/// a times b, element by element: nothing (the additive identity) times something is nothing.
Column product(const Semiring& semiring, const Column& a, const Column& b);
/// In another dtype, where nothing (the additive identity) stays nothing: integers have no infinity to be cast.
Column cast_in(const Semiring& semiring, const Column& c, DType to);
/// The expression on every pair, in the dtype that both have. DTypeError where it leaves its kind (integers to floats).
Column apply(const Expression& e, const Column& a, const Column& b);
/// Runs [starts[g], starts[g + 1]) combined pairwise, which `add` allows: it is associative and commutative.
Column fold(const Expression& add, const Column& c, std::span<const std::int64_t> starts);
/// ExpressionError where the samples show that `add` is not commutative, associative or without effect for zero. True
/// where they let products be reordered: multiply is commutative and associative and distributes over add.
bool check_on_samples(const Semiring& semiring, const Column& samples);

}  // namespace strata::evaluation
