// What the instructions of the interpreter do.
#include "backend/pool.h"
#include "ir/bytecode.h"
#include "ir/semantics.h"
#include "strata/error.h"

namespace strata::ir::steps {
namespace {

template <class T> T get(const BytecodeFrame& f, int r) {
  T v;
  std::memcpy(&v, f.registers + r, sizeof(T));
  return v;
}
template <class T> void put(BytecodeFrame& f, int r, T v) { std::memcpy(f.registers + r, &v, sizeof(T)); }

template <Op op, class T> const Instruction* run_binary(const Instruction* i, BytecodeFrame& f) {
  put(f, i->dst, apply<op, T>(get<T>(f, i->a), get<T>(f, i->b)));
  return i + 1;
}
template <Op op, class T> const Instruction* run_binary_lanes(const Instruction* i, BytecodeFrame& f) {
  for (int k = 0; k < i->lanes; ++k) put(f, i->dst + k, apply<op, T>(get<T>(f, i->a + k), get<T>(f, i->b + k)));
  return i + 1;
}
template <Op op, class T> const Instruction* run_unary(const Instruction* i, BytecodeFrame& f) {
  for (int k = 0; k < i->lanes; ++k) put(f, i->dst + k, apply_unary<op, T>(get<T>(f, i->a + k)));
  return i + 1;
}
template <class To, class From> const Instruction* run_cast(const Instruction* i, BytecodeFrame& f) {
  put(f, i->dst, convert<To>(get<From>(f, i->a)));
  return i + 1;
}
template <class To, class From> const Instruction* run_cast_lanes(const Instruction* i, BytecodeFrame& f) {
  for (int k = 0; k < i->lanes; ++k) put(f, i->dst + k, convert<To>(get<From>(f, i->a + k)));
  return i + 1;
}
template <class T> const Instruction* run_fma(const Instruction* i, BytecodeFrame& f) {
  put(f, i->dst, multiply_add(get<T>(f, i->a), get<T>(f, i->b), get<T>(f, i->c)));
  return i + 1;
}
template <class T> const Instruction* run_fma_lanes(const Instruction* i, BytecodeFrame& f) {
  for (int k = 0; k < i->lanes; ++k)
    put(f, i->dst + k, multiply_add(get<T>(f, i->a + k), get<T>(f, i->b + k), get<T>(f, i->c + k)));
  return i + 1;
}
template <Op op, class T> const Instruction* run_reduce(const Instruction* i, BytecodeFrame& f) {
  T v[64];
  for (int k = 0; k < i->lanes; ++k) v[k] = get<T>(f, i->a + k);
  for (int half = i->lanes / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) v[k] = apply<op, T>(v[k], v[k + half]);
  put(f, i->dst, v[0]);
  return i + 1;
}

// --- memory ---------------------------------------------------------------------------------------------------------

/// An element as it lies in a buffer: T in memory, C in registers.
template <class T> struct Native {
  using Stored = T;
  static T widen(T v) { return v; }
  static T narrow(T v) { return v; }
};
struct Boolean {
  using Stored = std::uint8_t;
  static bool widen(std::uint8_t v) { return v != 0; }
  static std::uint8_t narrow(bool v) { return v; }
};
struct Half {
  using Stored = std::uint16_t;
  static float widen(std::uint16_t v) { return f16_to_f32(v); }
  static std::uint16_t narrow(float v) { return f32_to_f16(v); }
};
struct Brain {
  using Stored = std::uint16_t;
  static float widen(std::uint16_t v) { return bf16_to_f32(v); }
  static std::uint16_t narrow(float v) { return f32_to_bf16(v); }
};
struct E4M3 {
  using Stored = std::uint8_t;
  static float widen(std::uint8_t v) { return f8e4m3_to_f32(v); }
  static std::uint8_t narrow(float v) { return f32_to_f8e4m3(v); }
};
struct E5M2 {
  using Stored = std::uint8_t;
  static float widen(std::uint8_t v) { return f8e5m2_to_f32(v); }
  static std::uint8_t narrow(float v) { return f32_to_f8e5m2(v); }
};

template <class F> Step with_layout(DType t, F&& f) {
  switch (t) {
    case DType::f16: return f(Half{});
    case DType::bf16: return f(Brain{});
    case DType::f8e4m3: return f(E4M3{});
    case DType::f8e5m2: return f(E5M2{});
    case DType::boolean: return f(Boolean{});
    default: return with_type(t, [&f]<class T>(std::type_identity<T>) { return f(Native<T>{}); });
  }
}

template <class L> const Instruction* run_load(const Instruction* i, BytecodeFrame& f) {
  using T = typename L::Stored;
  const char* from =
      static_cast<const char*>(f.buffers[i->extra]) + get<std::int64_t>(f, i->a) * static_cast<std::int64_t>(sizeof(T));
  T v;
  std::memcpy(&v, from, sizeof(T));
  put(f, i->dst, L::widen(v));
  return i + 1;
}
template <class L> const Instruction* run_load_lanes(const Instruction* i, BytecodeFrame& f) {
  using T = typename L::Stored;
  const char* from =
      static_cast<const char*>(f.buffers[i->extra]) + get<std::int64_t>(f, i->a) * static_cast<std::int64_t>(sizeof(T));
  for (int k = 0; k < i->lanes; ++k) {
    T v;
    std::memcpy(&v, from + static_cast<std::size_t>(k) * sizeof(T), sizeof(T));
    put(f, i->dst + k, L::widen(v));
  }
  return i + 1;
}
template <class L> const Instruction* run_store(const Instruction* i, BytecodeFrame& f) {
  using T = typename L::Stored;
  char* to =
      static_cast<char*>(f.buffers[i->extra]) + get<std::int64_t>(f, i->a) * static_cast<std::int64_t>(sizeof(T));
  for (int k = 0; k < i->lanes; ++k) {
    const T v = L::narrow(get<decltype(L::widen(T{}))>(f, i->b + k));
    std::memcpy(to + static_cast<std::size_t>(k) * sizeof(T), &v, sizeof(T));
  }
  return i + 1;
}

const Instruction* run_load_packed(const Instruction* i, BytecodeFrame& f) {
  const auto* base = static_cast<const char*>(f.buffers[i->extra]);
  for (int k = 0; k < i->lanes; ++k) {
    const std::int64_t at = (get<std::int64_t>(f, i->a) + k) * i->number;
    std::uint64_t word;
    std::memcpy(&word, base + (at >> 3), sizeof word);
    put(f, i->dst + k, (word >> (at & 7)) & ((std::uint64_t{1} << i->number) - 1));
  }
  return i + 1;
}
const Instruction* run_or_packed(const Instruction* i, BytecodeFrame& f) {
  const std::int64_t at = get<std::int64_t>(f, i->a) * i->number;
  auto* word = static_cast<std::uint64_t*>(f.buffers[i->extra]) + (at >> 6);
  const auto value = get<std::uint64_t>(f, i->b);
  const std::int64_t shift = at & 63;
  __atomic_fetch_or(word, value << shift, __ATOMIC_RELAXED);
  if (shift + i->number > 64) __atomic_fetch_or(word + 1, value >> (64 - shift), __ATOMIC_RELAXED);
  return i + 1;
}
template <class T> const Instruction* run_or(const Instruction* i, BytecodeFrame& f) {
  __atomic_fetch_or(static_cast<T*>(f.buffers[i->extra]) + get<std::int64_t>(f, i->a), get<T>(f, i->b),
                    __ATOMIC_RELAXED);
  return i + 1;
}

// --- moves and jumps ------------------------------------------------------------------------------------------------

const Instruction* run_copy(const Instruction* i, BytecodeFrame& f) {
  for (int k = 0; k < i->lanes; ++k) f.registers[i->dst + k] = f.registers[i->a + k];
  return i + 1;
}
const Instruction* run_broadcast(const Instruction* i, BytecodeFrame& f) {
  for (int k = 0; k < i->lanes; ++k) f.registers[i->dst + k] = f.registers[i->a];
  return i + 1;
}
const Instruction* run_select_scalar(const Instruction* i, BytecodeFrame& f) {
  const int from = get<bool>(f, i->a) ? i->b : i->c;
  for (int k = 0; k < i->lanes; ++k) f.registers[i->dst + k] = f.registers[from + k];
  return i + 1;
}
const Instruction* run_select_lanes(const Instruction* i, BytecodeFrame& f) {
  for (int k = 0; k < i->lanes; ++k) f.registers[i->dst + k] = f.registers[(get<bool>(f, i->a + k) ? i->b : i->c) + k];
  return i + 1;
}
/// Every loop passes here or through run_loop_next.
void count_jump(BytecodeFrame& f) {
  if ((++f.jumps & 0x3FFF) == 0) poll_interrupt();
}
const Instruction* run_jump(const Instruction* i, BytecodeFrame& f) {
  count_jump(f);
  return i + i->extra;
}
const Instruction* run_jump_unless(const Instruction* i, BytecodeFrame& f) {
  return get<bool>(f, i->a) ? i + 1 : i + i->extra;
}
template <Op op> const Instruction* run_jump_unless_i64(const Instruction* i, BytecodeFrame& f) {
  return apply<op, std::int64_t>(get<std::int64_t>(f, i->a), get<std::int64_t>(f, i->b)) ? i + 1 : i + i->extra;
}
const Instruction* run_loop_next(const Instruction* i, BytecodeFrame& f) {
  const std::int64_t next = get<std::int64_t>(f, i->dst) + i->number;
  put(f, i->dst, next);
  count_jump(f);
  return next < get<std::int64_t>(f, i->a) ? i + i->extra : i + 1;
}
const Instruction* run_fail(const Instruction* i, BytecodeFrame& f) {
  f.status = i->extra;
  return nullptr;
}
const Instruction* run_halt(const Instruction*, BytecodeFrame&) { return nullptr; }

[[noreturn]] void missing(Op op, DType t) {
  throw InternalError("ir: no " + std::string(name_of(op)) + " of " + std::string(name_of(t)));
}

}  // namespace

Step binary(Op op, DType t, int lanes) {
  return with_type(t, [&]<class T>(std::type_identity<T>) {
    return with_binary(op, [&]<Op o>(std::integral_constant<Op, o>) -> Step {
      if constexpr (takes<T>(o)) return lanes == 1 ? run_binary<o, T> : run_binary_lanes<o, T>;
      else missing(o, t);
    });
  });
}
Step unary(Op op, DType t) {
  return with_type(t, [&]<class T>(std::type_identity<T>) {
    return with_unary(op, [&]<Op o>(std::integral_constant<Op, o>) -> Step {
      if constexpr (takes_unary<T>(o)) return run_unary<o, T>;
      else missing(o, t);
    });
  });
}
Step cast(DType to, DType from, int lanes) {
  return with_type(to, [&]<class To>(std::type_identity<To>) {
    return with_type(from, [&]<class From>(std::type_identity<From>) -> Step {
      return lanes == 1 ? run_cast<To, From> : run_cast_lanes<To, From>;
    });
  });
}
Step fma(DType t, int lanes) {
  if (t == DType::f32) return lanes == 1 ? run_fma<float> : run_fma_lanes<float>;
  if (t == DType::f64) return lanes == 1 ? run_fma<double> : run_fma_lanes<double>;
  throw InternalError("ir: fma of " + std::string(name_of(t)));
}
Step reduce(Op op, DType t) {
  return with_type(t, [&]<class T>(std::type_identity<T>) {
    return with_binary(op, [&]<Op o>(std::integral_constant<Op, o>) -> Step {
      if constexpr (takes<T>(o) && !is_compare(o)) return run_reduce<o, T>;
      else missing(o, t);
    });
  });
}
Step load(const BufferParam& buffer, int lanes) {
  if (buffer.packed_bits > 0) return run_load_packed;
  return with_layout(buffer.dtype,
                     [lanes]<class L>(L) -> Step { return lanes == 1 ? run_load<L> : run_load_lanes<L>; });
}
Step store(const BufferParam& buffer, int) {
  return with_layout(buffer.dtype, []<class L>(L) -> Step { return run_store<L>; });
}
Step store_or(const BufferParam& buffer) {
  if (buffer.packed_bits > 0) return run_or_packed;
  switch (size_of(buffer.dtype)) {
    case 1: return run_or<std::uint8_t>;
    case 2: return run_or<std::uint16_t>;
    case 4: return run_or<std::uint32_t>;
    default: return run_or<std::uint64_t>;
  }
}
Step copy() { return run_copy; }
Step broadcast() { return run_broadcast; }
Step select_scalar() { return run_select_scalar; }
Step select_lanes() { return run_select_lanes; }
Step jump() { return run_jump; }
Step jump_unless() { return run_jump_unless; }
Step jump_unless_i64(Op comparison) {
  switch (comparison) {
    case Op::eq: return run_jump_unless_i64<Op::eq>;
    case Op::ne: return run_jump_unless_i64<Op::ne>;
    case Op::lt: return run_jump_unless_i64<Op::lt>;
    case Op::le: return run_jump_unless_i64<Op::le>;
    case Op::gt: return run_jump_unless_i64<Op::gt>;
    default: return run_jump_unless_i64<Op::ge>;
  }
}
Step loop_next() { return run_loop_next; }
Step fail() { return run_fail; }
Step halt() { return run_halt; }

}  // namespace strata::ir::steps
