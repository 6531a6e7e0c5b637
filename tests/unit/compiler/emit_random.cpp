// Random expressions over every type: the interpreter and the compiled text must agree bit for bit.
#include <functional>

#include "emit_support.h"
#include "ir/semantics.h"

namespace {

using namespace emit_test;
using ir::Expr;
using ir::Op;
using ir::Type;

constexpr int rows = 96, slack = 64;
const std::vector<DType> storages = {DType::f64,    DType::f32, DType::f16, DType::bf16, DType::f8e4m3,
                                     DType::f8e5m2, DType::i8,  DType::i16, DType::i32,  DType::i64,
                                     DType::u8,     DType::u16, DType::u32, DType::u64,  DType::boolean};
const std::vector<DType> computed = {DType::f64, DType::f32, DType::i8,  DType::i16, DType::i32,    DType::i64,
                                     DType::u8,  DType::u16, DType::u32, DType::u64, DType::boolean};

class Generator {
 public:
  Generator(std::uint64_t seed, int lanes) : random_(seed), lanes_(lanes) {}

  Case make(const std::string& name, int expressions) {
    Case c;
    c.f.name = name;
    c.f.scalars = {"n", "m"};
    c.scalars = {5, -3};
    for (DType t : storages) add_input(c, {"in_" + std::to_string(c.f.buffers.size()), t}, random_bytes(t));
    add_input(c, {"bits3", DType::i64, 3}, random_bytes(DType::u64));
    add_input(c, {"bits13", DType::i64, 13}, random_bytes(DType::u64));
    function_ = &c.f;
    std::vector<ir::Stmt> body;
    for (int k = 0; k < expressions; ++k) {
      const int lanes = pick(3) == 0 ? 1 : lanes_;
      const Type t{computed[static_cast<std::size_t>(pick(static_cast<int>(computed.size())))], lanes};
      Expr e = expression(t, 4);
      if (pick(3) == 0) {
        const std::string v = "v" + std::to_string(k);
        body.push_back(pick(2) ? ir::let(v, e) : ir::declare(v, e));
        variables_.push_back(ir::var(v, t));
        e = variables_.back();
      }
      const DType storage = t.dtype == DType::f32 ? small_or_single() : t.dtype;
      const int index = static_cast<int>(c.f.buffers.size());
      c.f.buffers.push_back({"out_" + std::to_string(k), storage, 0, true});
      const std::size_t count = static_cast<std::size_t>(rows * lanes);
      c.buffers.emplace_back(count * size_of(storage));
      c.counts.push_back(count);
      body.push_back(ir::store(c.f.buffers.back(), index, ir::var("i") * lanes, e));
    }
    c.f.body = ir::loop("i", ir::var("begin"), ir::var("end"), ir::block(body));
    c.end = rows;
    return c;
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  void add_input(Case& c, ir::BufferParam b, Bytes bytes) {
    c.f.buffers.push_back(std::move(b));
    c.buffers.push_back(std::move(bytes));
    c.counts.push_back(0);
  }

  DType small_or_single() {
    constexpr DType choices[] = {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};
    return choices[pick(5)];
  }

  /// Values that break things, among ordinary ones.
  Scalar value(DType t) {
    if (t == DType::boolean) return Scalar::of(pick(2) == 1);
    if (is_float(t)) {
      static const std::vector<double> special = {
          0.0,     -0.0,         1.0,           -1.0,         0.5,
          -2.5,    INFINITY,     -INFINITY,     NAN,          1e-310,
          5e-324,  1e-40,        65504.0,       65520.0,      448.0,
          1e5,     2147483647.0, -2147483648.0, 2147483648.0, 9223372036854775807.0,
          -9.3e18, 1.9e19,       255.5,         127.5,        -128.5};
      if (pick(3) == 0)
        return Scalar::of(special[static_cast<std::size_t>(pick(static_cast<int>(special.size())))]).as(t);
      return Scalar::of(std::ldexp(static_cast<double>(pick(2001) - 1000), pick(24) - 12)).as(t);
    }
    const int kind = pick(4);
    if (kind == 0) return Scalar::of(static_cast<std::int64_t>(pick(7) - 3)).as(t);
    if (kind == 1) return Scalar::of(static_cast<std::uint64_t>(1) << pick(64)).as(t);
    if (kind == 2) return Scalar::of((static_cast<std::uint64_t>(1) << pick(64)) - 1).as(t);
    return Scalar::of(static_cast<std::uint64_t>(random_())).as(t);
  }

  Bytes random_bytes(DType t) {
    Bytes b((rows + slack) * 16 * size_of(t));
    for (std::size_t i = 0; i < (rows + slack) * 16; ++i) {
      Scalar v = value(t);
      // Truth is whatever is not 0, in memory too.
      if (t == DType::boolean && v.bits[0]) v.bits[0] = static_cast<unsigned char>(1 + pick(255));
      std::memcpy(static_cast<char*>(b.data()) + i * size_of(t), v.bits, size_of(t));
    }
    return b;
  }

  Expr index() {
    const Expr i = ir::var("i");
    switch (pick(3)) {
      case 0: return i;
      case 1: return i * lanes_;
      default: return ir::floor_mod(i * 7 + ir::scalar_param("n"), rows);
    }
  }

  Expr leaf(Type t) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      const int kind = pick(5);
      if (kind == 0) return ir::constant(value(t.dtype), t.lanes);
      if (kind == 1 && !variables_.empty()) {
        const Expr& v = variables_[static_cast<std::size_t>(pick(static_cast<int>(variables_.size())))];
        if (v->type == t) return v;
      }
      if (kind == 2 && t == Type{}) return pick(2) ? ir::scalar_param("m") : ir::var("i");
    }
    std::vector<int> fitting;
    for (std::size_t b = 0; b < function_->buffers.size(); ++b) {
      const auto& p = function_->buffers[b];
      if (!p.written && (p.packed_bits ? DType::i64 : ir::compute_dtype(p.dtype)) == t.dtype)
        fitting.push_back(static_cast<int>(b));
    }
    const int b = fitting[static_cast<std::size_t>(pick(static_cast<int>(fitting.size())))];
    return ir::load(function_->buffers[static_cast<std::size_t>(b)], b, index(), t.lanes);
  }

  Type any_type(int lanes) {
    return {computed[static_cast<std::size_t>(pick(static_cast<int>(computed.size())))], lanes};
  }

  Expr expression(Type t, int depth) {
    if (depth == 0 || pick(8) == 0) return leaf(t);
    const auto again = [&](Type u) { return expression(u, depth - 1); };
    switch (pick(9)) {
      case 0: return ir::cast(t.dtype, again(any_type(t.lanes)));
      case 1: return ir::select(again({DType::boolean, pick(2) ? 1 : t.lanes}), again(t), again(t));
      case 2:
        if (t.lanes > 1 && pick(3) == 0) return ir::blend(again(t), again(t), pick(t.lanes + 1));
        if (t.lanes > 1 && t.lanes <= 8 && pick(2)) {
          std::vector<Expr> each;
          for (int k = 0; k < t.lanes; ++k) each.push_back(leaf(t));
          for (;;) {
            constexpr Op ops[] = {Op::add, Op::mul, Op::min, Op::max, Op::bit_and, Op::bit_or};
            const Op op = ops[pick(6)];
            if (ir::is_defined(op, t.dtype)) return ir::reduce_lanes(op, std::move(each));
          }
        }
        if (t.lanes > 1) return ir::broadcast(again({t.dtype, 1}), t.lanes);
        if (pick(2)) return ir::lane(again({t.dtype, lanes_}), pick(lanes_));
        for (;;) {
          constexpr Op ops[] = {Op::add, Op::mul, Op::min, Op::max, Op::bit_and, Op::bit_or};
          const Op op = ops[pick(6)];
          if (ir::is_defined(op, t.dtype)) return ir::reduce_lanes(op, again({t.dtype, lanes_}));
        }
      case 3:
        if (t.dtype != DType::boolean) return ir::fma(again(t), again(t), again(t));
        if (t.lanes == 1) return pick(2) ? ir::logical_and(again(t), again(t)) : ir::logical_or(again(t), again(t));
        return ir::logical_not(again(t));
      case 4: {
        constexpr Op ops[] = {Op::neg,  Op::bit_not,   Op::logical_not, Op::abs,          Op::sqrt,        Op::floor,
                              Op::ceil, Op::round_f16, Op::round_bf16,  Op::round_f8e4m3, Op::round_f8e5m2};
        for (;;) {
          const Op op = ops[pick(static_cast<int>(std::size(ops)))];
          if (t.dtype == DType::i64 && pick(3) == 0)
            return ir::unary(pick(2) ? Op::popcount : Op::count_trailing_zeros,
                             again({pick(2) ? DType::u64 : DType::i64, t.lanes}));
          if (ir::is_defined(op, t.dtype)) return ir::unary(op, again(t));
        }
      }
      default: {
        if (t.dtype == DType::boolean && pick(3)) {
          const Type u = any_type(t.lanes);
          return ir::binary(static_cast<Op>(static_cast<int>(Op::eq) + pick(6)), again(u), again(u));
        }
        for (;;) {
          const Op op = static_cast<Op>(pick(static_cast<int>(Op::eq)));
          if (!ir::is_defined(op, t.dtype)) continue;
          Expr b = (op == Op::floor_div || op == Op::floor_mod) && pick(2)
                       ? ir::constant(Scalar::of(std::int64_t{1} << pick(7)).as(t.dtype), t.lanes)
                       : again(t);
          return ir::binary(op, again(t), std::move(b));
        }
      }
    }
  }

  std::mt19937_64 random_;
  int lanes_;
  const ir::Function* function_ = nullptr;
  std::vector<Expr> variables_;
};

}  // namespace

TEST_CASE("random expressions: compiled text equals the interpreter") {
  // STRATA_TEST_SEEDS=first:count runs other seeds.
  std::uint64_t first = 1, count = 40;
  if (const char* s = std::getenv("STRATA_TEST_SEEDS")) {
    first = std::strtoull(s, nullptr, 10);
    if (const char* colon = std::strchr(s, ':')) count = std::strtoull(colon + 1, nullptr, 10);
  }
  constexpr int widths[] = {1, 2, 4, 8, 16};
  std::vector<Case> cases;
  std::vector<std::string> texts;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    cases.push_back(Generator(seed, widths[seed % 5]).make("random_" + std::to_string(seed), 10));
    texts.push_back(emit_c(cases.back().f));
  }
  // Chance compares things with themselves and with limits, and compilers say so (g++ 12 even of (u8)(x ^ 255) == 0,
  // which may well be).
  const std::string flags =
      "-O1 -march=native -Wno-tautological-compare -Wno-type-limits -Wno-bool-operation -Wno-bool-compare "
      "-Wno-sign-compare";
  for (const auto& compiler : compilers()) {
    const Library library(compiler, texts, flags);
    for (std::size_t i = 0; i < cases.size(); ++i)
      check_agree(cases[i], library.find(cases[i].f.name), compiler + ", seed " + std::to_string(first + i));
  }
}
