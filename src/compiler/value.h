#pragma once
// Arithmetic in the compute dtype, whatever it is: complex by components, bool as or-and, integers wrapping.
#include "base/part_dtype.h"
#include "ir/ir.h"

namespace strata::compiler {

/// A value in registers: `im` is null unless the dtype is complex. Both parts have the same lanes.
struct Value {
  ir::Expr re, im;
  int lanes() const { return re->type.lanes; }
};

/// The arithmetic of one compute dtype.
class Arithmetic {
 public:
  explicit Arithmetic(DType compute) : compute_(compute), part_(part_dtype(compute)) {}

  DType compute() const { return compute_; }
  DType part() const { return part_; }
  bool complex() const { return is_complex(compute_); }
  bool boolean() const { return compute_ == DType::boolean; }

  Value zero(int lanes = 1) const;
  /// Element `index` (and the lanes - 1 behind it; complex: lanes is 1) of a buffer of values of dtype `storage`, cast.
  Value load(const ir::BufferParam& buffer, int buffer_index, DType storage, const ir::Expr& index, int lanes,
             bool conjugate) const;
  /// Stores narrowed to `storage`.
  ir::Stmt store(const ir::BufferParam& buffer, int buffer_index, DType storage, const ir::Expr& index,
                 const Value& value) const;

  Value mul(const Value& a, const Value& b) const;
  Value add(const Value& a, const Value& b) const;
  Value mul_add(const Value& a, const Value& b, const Value& c) const;  ///< a * b + c
  Value broadcast(const Value& a, int lanes) const;
  ir::Expr is_zero(const Value& a) const;
  Value either(const ir::Expr& condition, const Value& a,
               const Value& b) const;  ///< a where the condition holds, else b

 private:
  Value like(const Value& a, int lanes) const { return a.lanes() == lanes ? a : broadcast(a, lanes); }

  DType compute_, part_;
};

}  // namespace strata::compiler
