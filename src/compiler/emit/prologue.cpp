#include "compiler/emit/prologue.h"

#include "compiler/emit/elementary.h"

#include <array>
#include <limits>

#include "compiler/emit/literal.h"
#include "ir/semantics.h"

namespace strata {

using ir::Op;
using ir::Type;

namespace {

std::string_view short_name(DType t) {
  constexpr std::string_view names[dtype_count] = {"f64", "f32", "f16",     "bf16", "f8e4m3", "f8e5m2",
                                                   "i8",  "i16", "i32",     "i64",  "u8",     "u16",
                                                   "u32", "u64", "boolean", "c64",  "c128"};
  return names[static_cast<std::size_t>(t)];
}

DType signed_type(std::size_t bytes) {
  return bytes == 1 ? DType::i8 : bytes == 2 ? DType::i16 : bytes == 4 ? DType::i32 : DType::i64;
}

/// "name_f64x8": helpers are named after what they work on.
std::string named(std::string_view stem, Type t) { return std::string(stem) + "_" + ir::to_string(t); }

std::string num(int v) { return std::to_string(v); }

/// Replaces every `$key` of the list.
std::string fill(std::string text, std::initializer_list<std::pair<std::string_view, std::string>> values) {
  for (const auto& [key, value] : values)
    for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos; at += value.size())
      text.replace(at, key.size(), value);
  return text;
}

}  // namespace

std::string_view c_name(DType t) {
  switch (t) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::i8: return "signed char";
    case DType::i16: return "short";
    case DType::i32: return "int";
    case DType::i64: return "long long";
    case DType::u8: return "unsigned char";
    case DType::u16: return "unsigned short";
    case DType::u32: return "unsigned";
    case DType::u64: return "unsigned long long";
    default: return "_Bool";
  }
}

DType Prologue::storage_type(DType t) {
  switch (t) {
    case DType::f16:
    case DType::bf16: return DType::u16;
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::boolean: return DType::u8;
    default: return t;
  }
}

Type Prologue::mask_type(Type t) { return {signed_type(size_of(t.dtype)), t.lanes}; }

std::string Prologue::type(Type t) {
  if (t.lanes > 1 && t.dtype == DType::boolean) t.dtype = DType::i8;
  scalars_.insert(t.dtype);
  if (t.lanes == 1) return std::string(short_name(t.dtype));
  vectors_.insert({t.dtype, t.lanes});
  return ir::to_string(t);
}

std::string Prologue::add(const std::string& name, const std::string& result, const std::string& parameters,
                          const std::string& body) {
  if (names_.insert(name).second)
    functions_ += "HELPER " + result + " " + name + "(" + parameters + ") {\n" + body + "}\n";
  return name;
}

/// A helper that works lane by lane: `each` computes one from a[i], b[i], c[i]. Compilers make vector code of the
/// unrolled loop.
std::string Prologue::lanewise(const std::string& name, Type result, Type argument, int arguments,
                               const std::string& each) {
  const std::string r = type(result), a = type(argument);
  constexpr std::array<std::string_view, 3> letters = {"a", "b", "c"};
  std::string parameters;
  for (int i = 0; i < arguments; ++i)
    parameters += (i ? ", " : "") + a + " " + std::string(letters[static_cast<std::size_t>(i)]);
  unroll();
  return add(name, r, parameters,
             "  " + r + " r = {0};\n  UNROLL(" + num(result.lanes) + ")\n  for (i32 i = 0; i < " + num(result.lanes) +
                 "; ++i) r[i] = " + each + ";\n  return r;\n");
}

std::string Prologue::splat(Type t) {
  const std::string element = type(t.dtype == DType::boolean ? DType::i8 : t.dtype), r = type(t);
  std::string values = "x";
  for (int i = 1; i < t.lanes; ++i) values += ", x";
  return add(named("splat", t), r, element + " x", "  return (" + r + "){" + values + "};\n");
}

std::string Prologue::select(Type t) {
  const std::string v = type(t);
  if (t.lanes == 1)
    return add(named("select", t), v, type(DType::boolean) + " c, " + v + " a, " + v + " b", "  return c ? a : b;\n");
  const std::string m = type(mask_type(t));
  return add(named("select", t), v, m + " m, " + v + " a, " + v + " b",
             "  return (" + v + ")(((" + m + ")a & m) | ((" + m + ")b & ~m));\n");
}

std::string Prologue::binary(Op op, Type t) {
  const std::string name = named(ir::name_of(op), t), v = type(t);
  const std::string parameters = v + " a, " + v + " b";
  if (op == Op::min || op == Op::max) {
    const std::string sign = op == Op::min ? " < " : " > ";
    if (t.lanes == 1) return add(name, v, parameters, "  return a" + sign + "b ? a : b;\n");
    // A mask of booleans is -1, so more as i8 is less as a truth.
    const std::string a = t.dtype == DType::boolean ? "b" : "a", b = t.dtype == DType::boolean ? "a" : "b";
    return add(name, v, parameters,
               "  return " + select(t) + "((" + type(mask_type(t)) + ")(" + a + sign + b + "), a, b);\n");
  }
  if (t.lanes > 1) {
    const std::string one = binary(op, {t.dtype, 1});
    return lanewise(name, t, t, 2, one + "(a[i], b[i])");
  }
  const bool divides = op == Op::floor_div;
  if (is_float(t.dtype)) {
    const std::string f = t.dtype == DType::f32 ? "f" : "",
                      remainder = "  const " + v + " r = __builtin_fmod" + f + "(a, b);\n";
    if (!divides)
      return add(name, v, parameters,
                 remainder + "  if (b == 0 || r != r) return r;\n  if (r == 0) return __builtin_copysign" + f +
                     "(0, b);\n" + "  return (b < 0) != (r < 0) ? r + b : r;\n");
    return add(name, v, parameters,
               "  if (b == 0) return a / b;\n" + remainder + "  " + v + " q = (a - r) / b;\n" +
                   "  if (r != 0 && (b < 0) != (r < 0)) q -= 1;\n  if (q == 0) return __builtin_copysign" + f +
                   "(0, a / b);\n" + "  const " + v + " whole = __builtin_floor" + f + "(q);\n  return q - whole > (" +
                   v + ")0.5 ? whole + 1 : whole;\n");
  }
  if (is_unsigned_int(t.dtype))
    return add(name, v, parameters, "  return b == 0 ? 0 : (" + v + ")(a " + (divides ? "/" : "%") + " b);\n");
  // -1 stands apart because the machine traps on dividing the least value by it.
  return add(name, v, parameters,
             "  if (b == 0) return 0;\n  if (b == -1) return " + std::string(divides ? "(" + v + ")-a" : "0") +
                 ";\n  const " + v + " r = (" + v + ")(a % b);\n" +
                 (divides ? "  return (" + v + ")(a / b - (r != 0 && (r < 0) != (b < 0)));\n"
                          : "  return (" + v + ")(r != 0 && (r < 0) != (b < 0) ? r + b : r);\n"));
}

std::string Prologue::unary(Op op, Type t) {
  const std::string name = named(ir::name_of(op), t), v = type(t);
  const bool counts = op == Op::popcount || op == Op::count_trailing_zeros;
  if (t.lanes == 1) {
    if (op == Op::popcount)
      return add(name, type(DType::i64), v + " a", "  return __builtin_popcountll((" + type(DType::u64) + ")a);\n");
    if (op == Op::count_trailing_zeros)
      return add(name, type(DType::i64), v + " a",
                 "  return a == 0 ? 64 : __builtin_ctzll((" + type(DType::u64) + ")a);\n");
    if (op >= Op::round_f16 && op <= Op::round_f8e5m2) {
      const DType storage = op == Op::round_f16      ? DType::f16
                            : op == Op::round_bf16   ? DType::bf16
                            : op == Op::round_f8e4m3 ? DType::f8e4m3
                                                     : DType::f8e5m2;
      const std::string there = narrow(storage), back = widen(storage);
      return add(name, v, v + " a", "  return " + back + "(" + there + "(a));\n");
    }
    if (op == Op::abs && !is_float(t.dtype)) return add(name, v, v + " a", "  return a < 0 ? (" + v + ")-a : a;\n");
    if (op == Op::exp) return exponential(t.dtype);
    if (op == Op::log) return elementary("log", t.dtype, logarithm_lines(t.dtype));
    if (op == Op::tanh) return elementary("tanh", t.dtype, hyperbolic_tangent_lines(t.dtype));
    return "__builtin_" + std::string(op == Op::abs ? "fabs" : ir::name_of(op)) + (t.dtype == DType::f32 ? "f" : "");
  }
  if (op == Op::abs) {
    const std::string m = type(mask_type(t));
    if (is_float(t.dtype))
      return add(name, v, v + " a",
                 "  return (" + v + ")((" + m + ")a & " +
                     (t.dtype == DType::f32 ? "0x7fffffff" : "0x7fffffffffffffff") + ");\n");
    return add(name, v, v + " a", "  const " + m + " m = (" + m + ")(a < 0);\n  return (a ^ m) - m;\n");
  }
  const std::string one = unary(op, {t.dtype, 1});
  const Type result = counts ? Type{DType::i64, t.lanes} : t;
  if (op == Op::exp || op == Op::log || op == Op::tanh) {
    // Many lines each: compilers make vector code of a loop over memory, which then is gone, but not of as many lines
    // unrolled.
    simd();
    return add(name, v, v + " a",
               "  " + type(t.dtype) + " x[" + num(t.lanes) +
                   "];\n  __builtin_memcpy(x, &a, sizeof x);\n  SIMD\n  for (i32 i = 0; i < " + num(t.lanes) +
                   "; ++i) x[i] = " + one + "(x[i]);\n  __builtin_memcpy(&a, x, sizeof a);\n  return a;\n");
  }
  if (op != Op::sqrt && op != Op::floor && op != Op::ceil) return lanewise(name, result, t, 1, one + "(a[i])");
  const std::string whole = "__builtin_elementwise_" + std::string(ir::name_of(op));
  const std::string loop = lanewise(name + "_lanes", result, t, 1, one + "(a[i])");
  return add(
      name, v, v + " a",
      "#if __has_builtin(" + whole + ")\n  return " + whole + "(a);\n#else\n  return " + loop + "(a);\n#endif\n");
}

std::string Prologue::fma(Type t) {
  const std::string one = t.dtype == DType::f32 ? "__builtin_fmaf" : "__builtin_fma";
  if (t.lanes == 1) return one;
  // gcc has no vector form, but makes one instruction of this loop as long as the vector fits a register.
  const std::string v = type(t), loop = lanewise(named("fma_lanes", t), t, t, 3, one + "(a[i], b[i], c[i])");
  return add(
      named("fma", t), v, v + " a, " + v + " b, " + v + " c",
      "#if __has_builtin(__builtin_elementwise_fma)\n  return __builtin_elementwise_fma(a, b, c);\n#else\n  return " +
          loop + "(a, b, c);\n#endif\n");
}

std::string Prologue::blend(Type t, int first) {
  const std::string v = type(t);
  std::string order;
  for (int i = 0; i < t.lanes; ++i) order += (i ? ", " : "") + num(i < first ? i : t.lanes + i);
  return add(named("blend_" + num(first), t), v, v + " a, " + v + " b",
             "  return SHUFFLE_TWO(" + type(mask_type(t)) + ", a, b, " + order + ");\n");
}

std::string Prologue::reduce(Op op, Type t, int vectors) {
  const std::string v = type(t), m = type(mask_type(t));
  const std::string sign = op == Op::add       ? "+"
                           : op == Op::mul     ? "*"
                           : op == Op::bit_and ? "&"
                           : op == Op::bit_or  ? "|"
                                               : "";
  const std::string call = sign.empty() ? binary(op, t) : "";
  if (vectors > 1)
    return reduce_several(op, t, vectors, [&](const std::string& a, const std::string& b) {
      return sign.empty() ? call + "(" + a + ", " + b + ")" : a + " " + sign + " " + b;
    });
  std::string body = "  " + v + " b;\n";
  // The upper half comes down beside the lower one until one lane is left; what then stands above does not matter.
  for (int half = t.lanes / 2; half > 0; half /= 2) {
    std::string order;
    for (int i = 0; i < t.lanes; ++i) order += (i ? ", " : "") + num((i + half) % t.lanes);
    body += "  b = SHUFFLE(" + v + ", " + m + ", a, " + order + ");\n";
    body += "  a = " + (sign.empty() ? call + "(a, b)" : "a " + sign + " b") + ";\n";
  }
  const std::string result = t.dtype == DType::boolean ? "a[0] != 0" : "a[0]";
  return add(named("reduce_" + std::string(ir::name_of(op)), t), type(t.dtype), v + " a",
             body + "  return " + result + ";\n");
}

/// Two vectors become one at a time: of each, the halves that are combined. So several take hardly longer than one.
std::string Prologue::reduce_several(
    Op op, Type t, int vectors, const std::function<std::string(const std::string&, const std::string&)>& combined) {
  const std::string v = type(t), m = type(mask_type(t)), r = type({t.dtype, vectors});
  const auto shuffled = [&](const std::string& a, const std::string& b, const auto& place) {
    std::string order;
    for (int i = 0; i < t.lanes; ++i) order += (i ? ", " : "") + num(place(i));
    return "SHUFFLE_TWO(" + m + ", " + a + ", " + b + ", " + order + ")";
  };
  std::string body, parameters, result;
  const auto name = [](int k) { return "a" + std::to_string(k); };
  for (int k = 0; k < vectors; ++k) parameters += (k ? ", " : "") + v + " " + name(k);
  int segment = t.lanes;  // of a vector belong to each of those that it holds
  for (int count = vectors; count > 1; count /= 2, segment /= 2)
    for (int k = 0; k < count; k += 2) {
      // Segment s of the result: half of segment s of the two, the first one's before the second one's.
      const auto half = [&](int upper) {
        return [=, &t](int i) {
          const int s = i / (segment / 2), held = t.lanes / segment;
          return (s < held ? 0 : t.lanes) + s % held * segment + upper * (segment / 2) + i % (segment / 2);
        };
      };
      body += "  " + name(k / 2) + " = " +
              combined(shuffled(name(k), name(k + 1), half(0)), shuffled(name(k), name(k + 1), half(1))) + ";\n";
    }
  for (; segment > 1; segment /= 2) {
    // Within the first half of what was a segment; what stands behind it no longer matters.
    const int whole = t.lanes / vectors, half = segment / 2;
    body += "  a0 = " +
            combined("a0", shuffled("a0", "a0", [&](int i) { return i / whole * whole + (i + half) % whole; })) + ";\n";
  }
  for (int k = 0; k < vectors; ++k) result += (k ? ", a0[" : "a0[") + num(k * (t.lanes / vectors)) + "]";
  return add(named("reduce_" + std::to_string(vectors) + "_" + std::string(ir::name_of(op)), t), r, parameters,
             body + "  return (" + r + "){" + result + "};\n");
}

std::string Prologue::cast(Type to, Type from) {
  const std::string name = ir::to_string(to) + "_of_" + ir::to_string(from);
  if (to.lanes > 1) {
    const std::string one = cast({to.dtype, 1}, {from.dtype, 1});
    return lanewise(name, to, from, 1, one + "(a[i])");
  }
  const auto [least, most] = ir::with_type(to.dtype, []<class T>(std::type_identity<T>) {
    return std::pair(Scalar::of(std::numeric_limits<T>::min()), Scalar::of(std::numeric_limits<T>::max()));
  });
  const auto as_float = [](const Scalar& s) { return literal(s.as(DType::f64)); };
  return add(name, type(to), type(from) + " a",
             "  return a >= " + as_float(most) + " ? " + literal(most) + " : a > " + as_float(least) + " ? (" +
                 type(to) + ")a : a == a ? " + literal(least) + " : 0;\n");
}

// --- small floats ---------------------------------------------------------------------------------------------------

std::string Prologue::bits_of_f32(int lanes) {
  const std::string u = type(DType::u32, lanes), f = type(DType::f32, lanes);
  return add("bits_of_" + f, u, f + " a", "  " + u + " r;\n  __builtin_memcpy(&r, &a, sizeof r);\n  return r;\n");
}
std::string Prologue::f32_of_bits(int lanes) {
  const std::string u = type(DType::u32, lanes), f = type(DType::f32, lanes);
  return add(f + "_of_bits", f, u + " a", "  " + f + " r;\n  __builtin_memcpy(&r, &a, sizeof r);\n  return r;\n");
}

/// One text for scalars and vectors: $U and $F are the types, $M(condition) is a mask of ones where it holds.
std::string Prologue::instantiate(std::string body, int lanes) {
  const std::string u = type(DType::u32, lanes), f = type(DType::f32, lanes);
  return fill(std::move(body), {{"$M", lanes == 1 ? "-(u32)" : "(" + u + ")"},
                                {"$U", u},
                                {"$F", f},
                                {"$bits", bits_of_f32(lanes)},
                                {"$float", f32_of_bits(lanes)}});
}

namespace {
/// mantissa bits, exponent bias, the first pattern that is no finite number, largest finite, what overflow and NaN
/// become.
struct SmallFloat {
  int mantissa, bias, width;
  const char *special, *largest, *overflow, *nan;
  const char* decode_special;  ///< bits of f32 for patterns from `special` on
  const char *unit, *magic,
      *magic_bits;  ///< the smallest subnormal; 2^23 times that, which makes the adder round to it
};
SmallFloat layout(DType t) {
  switch (t) {
    case DType::f16:
      return {10,         15,        16,           "0x7c00u",
              "0x7bffu",  "0x7c00u", "0x7e00u",    "0x7f800000u | ($M(m > 0x7c00u) & 0x400000u)",
              "0x1p-24f", "0.5f",    "0x3f000000u"};
    case DType::f8e4m3:
      return {3, 7, 8, "0x7fu", "0x7eu", "0x7eu", "0x7fu", "0x7fc00000u", "0x1p-9f", "0x1p14f", "0x46800000u"};
    default:
      return {2,
              15,
              8,
              "0x7cu",
              "0x7bu",
              "0x7bu",
              "0x7eu",
              "0x7f800000u | ($M(m > 0x7cu) & 0x400000u)",
              "0x1p-16f",
              "128.0f",
              "0x43000000u"};
  }
}
}  // namespace

std::string Prologue::decoder(DType t, int lanes) {
  const std::string u = type(DType::u32, lanes), f = type(DType::f32, lanes);
  const std::string name = named("decode_" + std::string(short_name(t)), {DType::f32, lanes});
  if (t == DType::bf16) return add(name, f, u + " v", instantiate("  return $float(v << 16u);\n", lanes));
  const SmallFloat s = layout(t);
  const std::string all = num((1 << (s.width - 1)) - 1) + "u";
  return add(name, f, u + " v",
             instantiate(fill("  const $U m = v & $all, sign = (v & $signu) << $upu;\n"
                              "  const $U normal = (m << $shiftu) + ($rebiasu << 23u);\n"
                              "  const $U small = $bits(($float(m | 0x4b000000u) - 8388608.0f) * $unit);\n"
                              "  const $U is_small = $M(m < $firstu), is_special = $M(m >= $special);\n"
                              "  const $U finite = (small & is_small) | (normal & ~is_small);\n"
                              "  return $float((($specbits) & is_special) | (finite & ~is_special) | sign);\n",
                              {{"$all", all},
                               {"$sign", num(1 << (s.width - 1))},
                               {"$up", num(32 - s.width)},
                               {"$shift", num(23 - s.mantissa)},
                               {"$rebias", num(127 - s.bias)},
                               {"$unit", s.unit},
                               {"$first", num(1 << s.mantissa)},
                               {"$specbits", s.decode_special},
                               {"$special", s.special}}),
                         lanes));
}

std::string Prologue::encoder(DType t, int lanes) {
  const std::string u = type(DType::u32, lanes), f = type(DType::f32, lanes);
  const std::string name = named("encode_" + std::string(short_name(t)), {DType::f32, lanes});
  if (t == DType::bf16)
    return add(
        name, u, f + " x",
        instantiate(
            "  const $U w = $bits(x), is_nan = $M((w & 0x7fffffffu) > 0x7f800000u);\n"
            "  return (((w >> 16u) | 0x40u) & is_nan) | (((w + 0x7fffu + ((w >> 16u) & 1u)) >> 16u) & ~is_nan);\n",
            lanes));
  const SmallFloat s = layout(t);
  const int drop = 23 - s.mantissa;
  return add(name, u, f + " x",
             instantiate(fill("  const $U w = $bits(x), m = w & 0x7fffffffu, sign = (w >> 31u) << $signu;\n"
                              "  $U r = ((m + $halfu + ((m >> $dropu) & 1u)) >> $dropu) - $rebiasu;\n"
                              "  const $U over = $M(r > $largest);\n"
                              "  r = ($overflow & over) | (r & ~over);\n"
                              "  const $U is_small = $M(m < ($firstu << 23u)), is_nan = $M(m > 0x7f800000u);\n"
                              "  r = (($bits($float(m) + $magic) - $magicbits) & is_small) | (r & ~is_small);\n"
                              "  return ($nan & is_nan) | (r & ~is_nan) | sign;\n",
                              {{"$sign", num(s.width - 1)},
                               {"$half", num((1 << (drop - 1)) - 1)},
                               {"$drop", num(drop)},
                               {"$rebias", num((127 - s.bias) << s.mantissa)},
                               {"$largest", s.largest},
                               {"$overflow", s.overflow},
                               {"$first", num(128 - s.bias)},
                               {"$magicbits", s.magic_bits},
                               {"$magic", s.magic},
                               {"$nan", s.nan}}),
                         lanes));
}

std::string Prologue::widen(DType t) {
  const std::string v = storage(t), f = type(DType::f32), portable = decoder(t, 1) + "(v)";
  const std::string name = std::string(short_name(t)) + "_to_f32";
  if (t != DType::f16) return add(name, f, v + " v", "  return " + portable + ";\n");
  return add(name, f, v + " v",
             "#ifdef __F16C__\n  __extension__ _Float16 h;\n  __builtin_memcpy(&h, &v, sizeof h);\n  return "
             "(f32)h;\n#else\n  return " +
                 portable + ";\n#endif\n");
}

std::string Prologue::narrow(DType t) {
  const std::string v = storage(t), f = type(DType::f32), portable = "(" + v + ")" + encoder(t, 1) + "(x)";
  const std::string name = "f32_to_" + std::string(short_name(t));
  if (t != DType::f16) return add(name, v, f + " x", "  return " + portable + ";\n");
  return add(name, v, f + " x",
             "#ifdef __F16C__\n  __extension__ const _Float16 h = (_Float16)x;\n  " + v +
                 " v;\n  __builtin_memcpy(&v, &h, sizeof v);\n  return v;\n#else\n  return " + portable +
                 ";\n#endif\n");
}

std::string Prologue::load(DType t, int lanes) {
  const std::string v = storage(t, lanes), f = type(DType::f32, lanes), u = type(DType::u32, lanes), n = num(lanes);
  const std::string name = "load_" + std::string(short_name(t)) + "x" + n;
  const std::string portable =
      "  return " + decoder(t, lanes) + "(__builtin_convertvector(*(const " + v + "*)p, " + u + "));\n";
  const std::string parameters = "const " + storage(t) + "* p";
  if (t != DType::f16) return add(name, f, parameters, portable);
  return add(name, f, parameters,
             "#ifdef __F16C__\n  __extension__ typedef _Float16 half __attribute__((vector_size(" + num(2 * lanes) +
                 "), aligned(2), may_alias));\n  return __builtin_convertvector(*(const half*)p, " + f + ");\n#else\n" +
                 portable + "#endif\n");
}

std::string Prologue::store(DType t, int lanes) {
  const std::string v = storage(t, lanes), f = type(DType::f32, lanes), n = num(lanes);
  const std::string name = "store_" + std::string(short_name(t)) + "x" + n;
  const std::string portable = "  *(" + v + "*)p = __builtin_convertvector(" + encoder(t, lanes) + "(x), " + v + ");\n";
  const std::string parameters = storage(t) + "* p, " + f + " x";
  if (t != DType::f16) return add(name, "void", parameters, portable);
  return add(name, "void", parameters,
             "#ifdef __F16C__\n  __extension__ typedef _Float16 half __attribute__((vector_size(" + num(2 * lanes) +
                 "), aligned(2), may_alias));\n  *(half*)p = __builtin_convertvector(x, half);\n#else\n" + portable +
                 "#endif\n");
}

// --- packed bits and hints ------------------------------------------------------------------------------------------

std::string Prologue::load_packed(int lanes) {
  const std::string u = type(DType::u64);
  const std::string one =
      add("load_packed", "i64", "const void* p, i64 slot, i64 bits",
          "  u64 word;\n  __builtin_memcpy(&word, (const char*)p + (slot * bits >> 3), sizeof word);\n"
          "  return (i64)(word >> (slot * bits & 7) & (((u64)1 << bits) - 1));\n");
  if (lanes == 1) return one;
  const std::string v = type(DType::i64, lanes);
  unroll();
  return add("load_packed" + ("x" + num(lanes)), v, "const void* p, i64 slot, i64 bits",
             "  " + v + " r = {0};\n  UNROLL(" + num(lanes) + ")\n  for (i32 i = 0; i < " + num(lanes) +
                 "; ++i) r[i] = load_packed(p, slot + i, bits);\n  return r;\n");
}

std::string Prologue::or_packed() {
  type(DType::u64);
  return add("or_packed", "void", "u64* p, i64 slot, i64 bits, u64 v",
             "  const i64 at = slot * bits, shift = at & 63;\n  __atomic_fetch_or(&p[at >> 6], v << shift, "
             "__ATOMIC_RELAXED);\n"
             "  if (shift + bits > 64) __atomic_fetch_or(&p[(at >> 6) + 1], v >> (64 - shift), __ATOMIC_RELAXED);\n");
}

/// By integers: a pointer may not leave its array, the address of a hint may.
std::string Prologue::prefetch(bool second_level) {
  const std::string name = second_level ? "PREFETCH_L2" : "PREFETCH";
  if (names_.insert(name).second)
    functions_ += "#define " + name +
                  "(p, bytes, write) __builtin_prefetch((const void*)((unsigned long long)(p) + (unsigned long "
                  "long)(bytes)), write" +
                  (second_level ? ", 2)\n" : ")\n");
  return name;
}

std::string Prologue::text() const {
  std::string result;
  for (DType t : scalars_) result += "typedef " + std::string(c_name(t)) + " " + std::string(short_name(t)) + ";\n";
  if (!vectors_.empty()) {
    result += "#pragma GCC diagnostic ignored \"-Wpsabi\"\n";
    for (const auto& [t, lanes] : vectors_) {
      const auto bytes = size_of(t);
      result += "typedef " + std::string(short_name(t)) + " " + ir::to_string(Type{t, lanes}) +
                " __attribute__((vector_size(" + std::to_string(bytes * static_cast<std::size_t>(lanes)) +
                "), aligned(" + std::to_string(bytes) + "), may_alias));\n";
    }
  }
  if (functions_.find("SHUFFLE(") != std::string::npos)
    result +=
        "#ifdef __clang__\n#define SHUFFLE(type, mask, a, ...) __builtin_shufflevector(a, a, __VA_ARGS__)\n#else\n"
        "#define SHUFFLE(type, mask, a, ...) __builtin_shuffle(a, (mask){__VA_ARGS__})\n#endif\n";
  if (functions_.find("SHUFFLE_TWO(") != std::string::npos)
    result +=
        "#ifdef __clang__\n#define SHUFFLE_TWO(mask, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)\n#else\n"
        "#define SHUFFLE_TWO(mask, a, b, ...) __builtin_shuffle(a, b, (mask){__VA_ARGS__})\n#endif\n";
  if (unroll_)
    result +=
        "#define PRAGMA(text) _Pragma(#text)\n#ifdef __clang__\n#define UNROLL(n) PRAGMA(clang loop "
        "unroll(full))\n#else\n"
        "#define UNROLL(n) PRAGMA(GCC unroll n)\n#endif\n";
  if (simd_)
    result +=
        "#ifdef __clang__\n#define SIMD _Pragma(\"clang loop vectorize(assume_safety)\")\n#else\n"
        "#define SIMD _Pragma(\"GCC ivdep\")\n#endif\n";
  // Some helpers serve only compilers that lack a builtin: unused is no mistake.
  if (functions_.find("HELPER ") != std::string::npos)
    result += "#define HELPER static inline __attribute__((always_inline, unused))\n";
  return result + functions_;
}

}  // namespace strata
