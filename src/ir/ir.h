#pragma once
// Loop IR: typed, structured, immutable. The only representation that is ever emitted or interpreted.
//
// Values are scalars or short vectors (`lanes`) of bool, integers or floats. Complex numbers are pairs (the lowering
// prints them by components); f16, bf16 and fp8 live in buffers only: a load widens to f32, a store narrows.
//
// The same in every engine, bit for bit (but for the payload and sign of a NaN, and the last bit of exp, log, sin, cos,
// tan, tanh, erf):
//   integers     wrap; division and remainder floor, and give 0 for a zero divisor; shift counts are taken modulo the
//   width floats       IEEE, round to nearest, never contracted (`fma` is explicit); floor_div and floor_mod as
//   NumPy's; min is a < b ? a : b, max is a > b ? a : b casts        float to integer truncates and saturates, NaN
//   gives 0; integer to integer wraps; to boolean: != 0 select       with a scalar condition evaluates only the arm it
//   takes, so the other may hold a load that is out of bounds loops        evaluate begin and end once, before the
//   first iteration
// Everything else evaluates all its operands. No engine checks bounds.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "strata/dtype.h"

namespace strata::ir {

/// Type of an expression: an element type (boolean, i8..u64, f32, f64) and a number of lanes (1: a scalar).
struct Type {
  DType dtype = DType::i64;
  int lanes = 1;
  bool operator==(const Type&) const = default;
};

/// What registers hold of values of this dtype: f32 for f16, bf16 and fp8; itself otherwise (of a complex one a pair:
/// its buffers are declared as twice as many floats).
DType compute_dtype(DType storage);

/// A kernel parameter: a buffer. `packed_bits` > 0 (at most 57): a little-endian bit stream with 8 bytes of slack
/// behind it, slot s at bit s * packed_bits, read as a non-negative i64; written by store_or alone, and then aligned to
/// 8 bytes. Two parameters may share memory only where neither is written.
struct BufferParam {
  std::string name;  ///< an identifier of ours
  DType dtype = DType::f64;
  int packed_bits = 0;
  bool written = false;
  bool operator==(const BufferParam&) const = default;
};

enum class Op : std::uint8_t {
  // binary
  add,
  sub,
  mul,
  div /*true division of floats*/,
  floor_div,
  floor_mod,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right /*logical*/,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  // unary
  neg,
  bit_not,
  logical_not,
  abs,
  sqrt,
  exp,
  log,
  sin,
  cos,
  tan,
  tanh,
  erf,
  floor,
  ceil,
  round_f16,
  round_bf16,
  round_f8e4m3,
  round_f8e5m2 /*of f32: the nearest value of that type, still as f32*/,
  popcount,
  count_trailing_zeros /*of u64 or i64, give i64; 64 zeros for 0*/,
};
std::string_view name_of(Op op);

struct ValueNode;
using Expr = std::shared_ptr<const ValueNode>;

struct ValueNode {
  enum Kind : std::uint8_t {
    constant,
    variable,
    scalar_param,
    load,
    unary,
    binary,
    select,
    cast,
    fma,
    broadcast,
    lane,
    blend,
    reduce_lanes
  } kind;
  Type type;
  Op op = Op::add;              ///< unary, binary, reduce_lanes (add, mul, min, max, bit_and, bit_or)
  Scalar value = {};            ///< constant (its dtype is type.dtype; all lanes equal)
  std::string name = {};        ///< variable, scalar_param; load: the buffer's
  int index = 0;                ///< load: buffer parameter; lane: which; blend: the first of the second's
  std::vector<Expr> args = {};  ///< load: element index (i64; the first of `lanes` consecutive elements)
};

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

/// Hints. unrolled: constant extent, print it unrolled; simd: no iteration reads what another writes.
enum class LoopKind : std::uint8_t { serial, unrolled, simd };

struct StmtNode {
  enum Kind : std::uint8_t {
    block,       ///< body: statements
    let,         ///< name = value, never assigned again
    declare,     ///< name = value, a mutable variable
    assign,      ///< name = value
    store,       ///< buffer[index .. index + lanes) = value (narrowed to the buffer's dtype)
    store_or,    ///< packed slot or integer word: buffer[index] |= value, atomically (chunks may share a word)
    loop,        ///< for (name = begin; name < end; name += step) body; name: i64, not assigned by the body
    while_loop,  ///< while (value) body
    branch,      ///< if (value) body[0] else body[1] (body[1] may be missing)
    prefetch,    ///< hint: buffer at index will be read soon (never faults: may be out of bounds)
    fail,        ///< return this status (index > 0) from the function
    comment,     ///< text in the emitted source
  } kind;
  std::string name = {};  ///< the variable; store: the buffer's; comment: the text
  LoopKind loop_kind = LoopKind::serial;
  int buffer = 0;
  int status = 0;
  std::int64_t step = 1;
  bool second_level = false;  ///< prefetch: no nearer than the second level
  Expr index = {}, value = {}, begin = {}, end = {};
  std::vector<Stmt> body = {};
};

/// One kernel: `status f(buffers, scalars, begin, end, chunk)`. Buffers and i64 scalars are parameters by position;
/// `begin`, `end` and `chunk` are i64 variables that the body may read.
struct Function {
  std::string name;
  std::vector<BufferParam> buffers;
  std::vector<std::string> scalars;  ///< i64 parameters
  Stmt body;
};

// --- building (all check types; a mismatch is an InternalError) -----------------------------------------------------
Expr constant(Scalar value, int lanes = 1);
Expr int_const(std::int64_t value);  ///< i64
Expr bool_const(bool value);
Expr var(std::string name, Type type = {DType::i64, 1});
Expr scalar_param(std::string name);  ///< i64
Expr load(const BufferParam& buffer, int buffer_index, Expr index, int lanes = 1);
Expr unary(Op op, Expr a);
Expr binary(Op op, Expr a, Expr b);  ///< folds constants and the identities x + 0, x * 1, x * 0 of integers
Expr select(Expr condition, Expr a, Expr b);
Expr cast(DType to, Expr a);          ///< as Scalar::as; no node where the type is the same
Expr rounded(Expr a, DType storage);  ///< to the nearest value of f16 or bf16; of other types unchanged
Expr fma(Expr a, Expr b, Expr c);     ///< a * b + c; integers: wrapping
Expr broadcast(Expr a, int lanes);
Expr lane(Expr a, int which);
/// The lanes below `first` of a, the others of b.
Expr blend(Expr a, Expr b, int first);
/// Combines the lanes in a fixed tree: halves are combined until one is left.
Expr reduce_lanes(Op op, Expr a);
/// ... of several vectors of one type: a vector of what becomes of each. A power of two of them, at most as many as
/// lanes.
Expr reduce_lanes(Op op, std::vector<Expr> each);

inline Expr operator+(Expr a, Expr b) { return binary(Op::add, std::move(a), std::move(b)); }
inline Expr operator-(Expr a, Expr b) { return binary(Op::sub, std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return binary(Op::mul, std::move(a), std::move(b)); }
inline Expr operator+(Expr a, std::int64_t b) { return std::move(a) + int_const(b); }
inline Expr operator-(Expr a, std::int64_t b) { return std::move(a) - int_const(b); }
inline Expr operator*(Expr a, std::int64_t b) { return std::move(a) * int_const(b); }
Expr floor_div(Expr a, std::int64_t b);
Expr floor_mod(Expr a, std::int64_t b);
Expr lt(Expr a, Expr b);
Expr le(Expr a, Expr b);
Expr ge(Expr a, Expr b);
Expr eq(Expr a, Expr b);
Expr ne(Expr a, Expr b);
Expr gt(Expr a, Expr b);
/// Of scalar booleans; b is evaluated only where a does not decide (binary(Op::bit_and, a, b) evaluates both). Folds
/// constants.
Expr logical_and(Expr a, Expr b);
Expr logical_or(Expr a, Expr b);
Expr logical_not(Expr a);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
bool is_constant(const Expr& e, std::int64_t value);

Stmt block(std::vector<Stmt> body);  ///< flattens nested blocks, skips null
Stmt let(std::string name, Expr value);
Stmt declare(std::string name, Expr value);
Stmt assign(std::string name, Expr value);
Stmt store(const BufferParam& buffer, int buffer_index, Expr index, Expr value);
Stmt store_or(int buffer_index, Expr index, Expr value);
Stmt loop(std::string name, Expr begin, Expr end, Stmt body, std::int64_t step = 1, LoopKind kind = LoopKind::serial);
Stmt while_loop(Expr condition, Stmt body);
Stmt branch(Expr condition, Stmt then, Stmt otherwise = nullptr);  ///< folds constant conditions
Stmt prefetch(int buffer_index, Expr index, bool second_level = false);
Stmt fail(int status);
Stmt comment(std::string text);

/// Readable text, one statement a line. Stable: golden tests and kernel keys use it.
std::string to_string(const Function& f);
std::string to_string(const Expr& e);
std::string to_string(const Type& t);  ///< "i64", "f32x8"
/// Checks names, types, scopes and buffer indices. A name is visible from its statement to the end of its block, may be
/// declared once there, and hides the same name of an outer block. Throws InternalError naming the statement.
void verify(const Function& f);

}  // namespace strata::ir
