#pragma once
// What stands above an emitted kernel: typedefs and small inline helpers, each only where it is used.
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "ir/ir.h"

namespace strata {

/// What C calls this type on every machine we know.
std::string_view c_name(DType t);

/// Collects what the text of a kernel needs. Every function gives the C name of what it adds.
class Prologue {
 public:
  /// A value's type: "i64", "boolean", "f32x16". Vectors of booleans are masks of i8 (0 or -1).
  std::string type(ir::Type t);
  std::string type(DType t, int lanes = 1) { return type(ir::Type{t, lanes}); }
  /// The type of an element in memory: u16 for f16 and bf16, u8 for fp8 and booleans.
  std::string storage(DType t, int lanes = 1) { return type(storage_type(t), lanes); }
  static DType storage_type(DType t);
  /// The signed integers as wide as t's elements: what comparing vectors of t gives.
  static ir::Type mask_type(ir::Type t);

  std::string splat(ir::Type t);
  std::string select(ir::Type t);             ///< (mask, a, b) of vectors
  std::string binary(ir::Op op, ir::Type t);  ///< min, max, floor_div, floor_mod
  std::string unary(ir::Op op, ir::Type t);
  std::string fma(ir::Type t);
  std::string blend(ir::Type t, int first);
  std::string reduce(ir::Op op, ir::Type t, int vectors);
  std::string cast(ir::Type to, ir::Type from);  ///< from floats to integers
  std::string widen(DType storage);              ///< f16_to_f32(bits)
  std::string narrow(DType storage);
  std::string load(DType storage, int lanes);  ///< vectors of f16, bf16, fp8 from memory
  std::string store(DType storage, int lanes);
  std::string load_packed(int lanes);
  std::string or_packed();
  std::string prefetch(bool second_level);
  void unroll() { unroll_ = true; }
  void simd() { simd_ = true; }

  std::string text() const;

 private:
  /// Adds a function once: "HELPER RESULT NAME(PARAMETERS) { BODY }".
  std::string add(const std::string& name, const std::string& result, const std::string& parameters,
                  const std::string& body);
  std::string lanewise(const std::string& name, ir::Type result, ir::Type argument, int arguments,
                       const std::string& each);
  std::string reduce_several(ir::Op op, ir::Type t, int vectors,
                             const std::function<std::string(const std::string&, const std::string&)>& combined);
  std::string exponential(DType t);
  /// NAME_f64(a) by these lines where there are fused multiply-adds, by the C library elsewhere.
  std::string elementary(const std::string& name, DType t, std::string_view body);
  std::string bits_of_f32(int lanes);
  std::string f32_of_bits(int lanes);
  std::string decoder(DType storage, int lanes);
  std::string encoder(DType storage, int lanes);
  std::string instantiate(std::string text, int lanes);

  std::set<DType> scalars_ = {DType::i64, DType::i32};
  std::set<std::pair<DType, int>> vectors_;
  std::set<std::string> names_;
  std::string functions_;
  bool unroll_ = false, simd_ = false;
};

}  // namespace strata
