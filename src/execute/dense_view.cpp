#include "execute/dense_view.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "backend/backend.h"
#include "base/share.h"
#include "base/small_float.h"
#include "base/sum_in_pairs.h"
#include "compiler/merge.h"
#include "execute/turn.h"
#include "levels/index_view.h"
#include "tensor/row_major.h"
#include "tensor/values.h"

namespace strata::execution {
namespace {

using i64 = std::int64_t;
using merging::Combine;

/// The index space of two views: dimensions of extent 1 dropped, outermost (widest stride of a) first, and neighbours
/// merged where both sides allow it.
struct IterationSpace {
  int rank = 0;
  i64 extent[max_dims], a[max_dims], b[max_dims];
  i64 total = 1;
};

IterationSpace common_space(const DenseView& a, const DenseView& b) {
  IterationSpace space;
  std::array<int, max_dims> order;
  int n = 0;
  for (int d = 0; d < a.rank; ++d) {
    space.total *= a.shape[d];
    if (a.shape[d] != 1) order[static_cast<std::size_t>(n++)] = d;
  }
  std::sort(order.begin(), order.begin() + n, [&](int x, int y) {
    const i64 p = std::abs(a.strides[x]), q = std::abs(a.strides[y]);
    return p != q ? p > q : x < y;
  });
  for (int q = 0; q < n; ++q) {
    const int d = order[static_cast<std::size_t>(q)];
    const i64 e = a.shape[d], sa = a.strides[d], sb = b.strides[d];
    if (space.rank > 0 && space.a[space.rank - 1] == sa * e && space.b[space.rank - 1] == sb * e) {
      space.extent[space.rank - 1] *= e;
      space.a[space.rank - 1] = sa;
      space.b[space.rank - 1] = sb;
    } else {
      space.extent[space.rank] = e;
      space.a[space.rank] = sa;
      space.b[space.rank++] = sb;
    }
  }
  if (space.rank == 0) space.rank = 1, space.extent[0] = 1, space.a[0] = space.b[0] = 1;
  return space;
}

constexpr i64 grain = 1 << 16;

/// Calls f(offset in a, offset in b, count, stride in a, stride in b) for runs along the innermost dimension.
template <class F> void for_runs(const DenseView& va, const DenseView& vb, const F& f) {
  const IterationSpace space = common_space(va, vb);
  if (space.total == 0) return;
  const int last = space.rank - 1;
  const i64 inner = space.extent[last], chunks = std::clamp<i64>(space.total / grain, 1, 256);
  const auto piece = [&](i64 c) {
    i64 at = begin_of_share(space.total, c, chunks);
    const i64 end = begin_of_share(space.total, c + 1, chunks);
    while (at < end) {
      i64 row = at / inner;
      const i64 from = at % inner, count = std::min(inner - from, end - at);
      i64 oa = from * space.a[last], ob = from * space.b[last];
      for (int d = last - 1; d >= 0; --d) {
        const i64 k = row % space.extent[d];
        row /= space.extent[d];
        oa += k * space.a[d];
        ob += k * space.b[d];
      }
      f(oa, ob, count, space.a[last], space.b[last]);
      at += count;
    }
  };
  in_chunks(chunks, piece);
}

struct Bool {
  unsigned char v;
  friend Bool operator+(Bool x, Bool y) { return {static_cast<unsigned char>((x.v | y.v) != 0)}; }
  friend Bool operator*(Bool x, Bool y) { return {static_cast<unsigned char>(x.v != 0 && y.v != 0)}; }
};
template <class T> struct Complex {
  T re, im;
  friend Complex operator+(Complex x, Complex y) { return {x.re + y.re, x.im + y.im}; }
  friend Complex operator*(Complex x, Complex y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }
};
/// Wraps whatever its width: narrow unsigned types would be promoted to int.
template <class T> struct WrappingInteger {
  T v;
  friend WrappingInteger operator+(WrappingInteger x, WrappingInteger y) {
    return {static_cast<T>(std::uint64_t{x.v} + y.v)};
  }
  friend WrappingInteger operator*(WrappingInteger x, WrappingInteger y) {
    return {static_cast<T>(std::uint64_t{x.v} * y.v)};
  }
};

/// Calls f(T{}) with the type that does the dtype's arithmetic; f16, bf16 and fp8 have none.
template <class F> void with_arithmetic(DType t, const F& f) {
  switch (t) {
    case DType::f64: return f(double{});
    case DType::f32: return f(float{});
    case DType::i8:
    case DType::u8: return f(WrappingInteger<std::uint8_t>{});
    case DType::i16:
    case DType::u16: return f(WrappingInteger<std::uint16_t>{});
    case DType::i32:
    case DType::u32: return f(WrappingInteger<std::uint32_t>{});
    case DType::i64:
    case DType::u64: return f(WrappingInteger<std::uint64_t>{});
    case DType::boolean: return f(Bool{});
    case DType::c64: return f(Complex<float>{});
    case DType::c128: return f(Complex<double>{});
    default: throw InternalError("no arithmetic in " + std::string(name_of(t)));
  }
}

constexpr i64 streamed = i64{32} << 20;  // bytes: what is larger does not stay in the cache anyway

/// Zeros. Past the caches where so much is cleared: lines that are written whole need not be read first (1.5x,
/// measured).
void clear(char* p, std::size_t n, bool past_caches) {
#if defined(__SSE2__)
  if (past_caches && n >= 256) {
    const std::size_t head = (16 - reinterpret_cast<std::uintptr_t>(p) % 16) % 16, whole = (n - head) / 64 * 64;
    std::memset(p, 0, head);
    const __m128i zero = _mm_setzero_si128();
    for (char* q = p + head; q < p + head + whole; q += 64)
      for (int k = 0; k < 4; ++k) _mm_stream_si128(reinterpret_cast<__m128i*>(q + 16 * k), zero);
    _mm_sfence();
    std::memset(p + head + whole, 0, n - head - whole);
    return;
  }
#endif
  (void)past_caches;
  std::memset(p, 0, n);
}

template <class T> void scale_as(const DenseView& v, const Scalar& beta) {
  T* data = reinterpret_cast<T*>(v.data);
  T factor;
  std::memcpy(&factor, beta.bits, sizeof(T));
  for_runs(v, v, [=](i64 o, i64, i64 n, i64 s, i64) {
    for (i64 k = 0; k < n; ++k) data[o + k * s] = factor * data[o + k * s];
  });
}

/// axpby() of views and factors of one dtype.
template <class T> void axpby_as(const DenseView& v, const DenseView& w, const Scalar& alpha, const Scalar& beta) {
  T* to = reinterpret_cast<T*>(v.data);
  const T* from = reinterpret_cast<const T*>(w.data);
  T a, b;
  std::memcpy(&a, alpha.bits, sizeof(T));
  std::memcpy(&b, beta.bits, sizeof(T));
  // A complex factor of 1 would make NaN of infinities.
  const auto is_one = [](const Scalar& x) { return x.same_bits(Scalar::one(x.dtype)); };
  const bool adds = !beta.is_zero(), same = is_one(alpha), keeps = is_one(beta);
  const auto term = [=](const T& x) { return same ? x : a * x; };
  const auto sum = [=](const T& x, const T& before) { return term(x) + (keeps ? before : b * before); };
  for_runs(v, w, [=](i64 o, i64 p, i64 n, i64 s, i64 t) {
    if (!adds)
      for (i64 k = 0; k < n; ++k) to[o + k * s] = term(from[p + k * t]);
    else if (s == 1 && t == 1)
      for (i64 k = 0; k < n; ++k) to[o + k] = sum(from[p + k], to[o + k]);
    else
      for (i64 k = 0; k < n; ++k) to[o + k * s] = sum(from[p + k * t], to[o + k * s]);
  });
}

/// Calls f with a zero of the dtype, and with how two of its values combine: as generated code does it, integers wrap
/// and NaN wins.
template <class F> void with_combine(DType t, Combine how, const F& f) {
  const bool least = how == Combine::minimum, most = how == Combine::maximum;
  const auto ordered = [&](auto zero) {
    if (least) f(zero, [](auto a, auto b) { return a <= b || a != a ? a : b; });
    else f(zero, [](auto a, auto b) { return a >= b || a != a ? a : b; });
  };
  if (t == DType::boolean && (least || how == Combine::both)) return f(Bool{}, std::multiplies<>());
  if (t == DType::boolean || !(least || most)) return with_arithmetic(t, [&](auto zero) { f(zero, std::plus<>()); });
  if (t == DType::f64) return ordered(double{});
  if (t == DType::f32) return ordered(float{});
  with_index_type(t, ordered);
}

template <class T> T widened(T x) { return x; }
double widened(float x) { return x; }
Complex<double> widened(Complex<float> x) { return {x.re, x.im}; }
template <class T, class W> T narrowed(W x) { return static_cast<T>(x); }
template <> Complex<float> narrowed(Complex<double> x) { return {static_cast<float>(x.re), static_cast<float>(x.im)}; }

template <class To, class From, class F> void map(const DenseView& to, const DenseView& from, const F& f) {
  To* t = reinterpret_cast<To*>(to.data);
  const From* s = reinterpret_cast<const From*>(from.data);
  for_runs(to, from, [=](i64 o, i64 p, i64 n, i64 st, i64 ss) {
    for (i64 k = 0; k < n; ++k) t[o + k * st] = f(s[p + k * ss]);
  });
}

/// The same, where what lies side by side is converted at once.
template <class To, class From>
void map_many(const DenseView& to, const DenseView& from, To (*one)(From), void (*many)(const From*, To*, i64)) {
  To* t = reinterpret_cast<To*>(to.data);
  const From* s = reinterpret_cast<const From*>(from.data);
  for_runs(to, from, [=](i64 o, i64 p, i64 n, i64 st, i64 ss) {
    if (st == 1 && ss == 1) return many(s + p, t + o, n);
    for (i64 k = 0; k < n; ++k) t[o + k * st] = one(s[p + k * ss]);
  });
}

}  // namespace

std::int64_t DenseView::size() const {
  i64 n = 1;
  for (int d = 0; d < rank; ++d) n *= shape[d];
  return n;
}

DenseView view_of(const Tensor& t) {
  const Part& p = t.part();
  const FormatSpec& spec = p.format.spec();
  DenseView v;
  v.dtype = t.dtype();
  v.rank = t.rank();
  v.data = static_cast<char*>(p.values.data) + p.values_offset * static_cast<i64>(size_of(v.dtype));
  for (int d = 0; d < v.rank; ++d) v.shape[d] = t.shape()[static_cast<std::size_t>(d)];
  for (int l = 0; l < v.rank; ++l)  // plain: every level is a dimension
    v.strides[spec.exprs[static_cast<std::size_t>(spec.levels[static_cast<std::size_t>(l)].expr)].a] =
        p.strides[static_cast<std::size_t>(l)];
  return v;
}

DenseView view_of(DType dtype, void* data, i64 n) {
  return {.data = static_cast<char*>(data), .dtype = dtype, .rank = 1, .shape = {n}, .strides = {1}};
}

DenseView permuted(const DenseView& v, std::span<const int> order) {
  DenseView out = v;
  for (int d = 0; d < v.rank; ++d) {
    out.shape[d] = v.shape[order[static_cast<std::size_t>(d)]];
    out.strides[d] = v.strides[order[static_cast<std::size_t>(d)]];
  }
  return out;
}

Tensor row_major_copy(const Tensor& t) {
  Tensor copy = empty_dense(t.dtype(), t.shape());
  assign(view_of(copy), view_of(t));
  return copy;
}

DenseView contiguous_like(const DenseView& like, void* data) {
  DenseView v = like;
  v.data = static_cast<char*>(data);
  std::array<int, max_dims> order{};
  for (int d = 0; d < v.rank; ++d) order[static_cast<std::size_t>(d)] = d;
  // Extents of 1 may have any stride: they go outside, lest one of them takes the unit stride.
  const auto key = [&](int d) { return like.shape[d] <= 1 ? INT64_MAX : std::abs(like.strides[d]); };
  std::sort(order.begin(), order.begin() + v.rank,
            [&](int x, int y) { return key(x) != key(y) ? key(x) > key(y) : x < y; });
  i64 stride = 1;
  for (int q = v.rank - 1; q >= 0; --q) {
    const int d = order[static_cast<std::size_t>(q)];
    v.strides[d] = stride;
    stride *= v.shape[d];
  }
  return v;
}

bool overlaps_itself(const DenseView& v) {
  std::array<std::pair<i64, i64>, max_dims> dims;  // stride, extent
  int n = 0;
  for (int d = 0; d < v.rank; ++d) {
    if (v.shape[d] == 0) return false;
    if (v.shape[d] > 1) dims[static_cast<std::size_t>(n++)] = {std::abs(v.strides[d]), v.shape[d]};
  }
  std::sort(dims.begin(), dims.begin() + n);
  i64 reach = 0;  // of all finer dimensions together
  for (int q = 0; q < n; ++q) {
    const auto [stride, extent] = dims[static_cast<std::size_t>(q)];
    if (stride <= reach) return true;
    reach += stride * (extent - 1);
  }
  return false;
}

std::pair<const char*, const char*> extent_of(const DenseView& v) {
  const i64 width = static_cast<i64>(size_of(v.dtype));
  i64 low = 0, high = 0;
  for (int d = 0; d < v.rank; ++d) {
    if (v.shape[d] == 0) return {v.data, v.data};
    const i64 reach = v.strides[d] * (v.shape[d] - 1);
    (reach < 0 ? low : high) += reach;
  }
  return {v.data + low * width, v.data + (high + 1) * width};
}

void fill(const DenseView& v, const Scalar& value) {
  const bool zeros = value.same_bits(Scalar::zero(value.dtype));
  with_width(size_of(v.dtype), [&]<class T>(T x) {
    std::memcpy(&x, value.bits, sizeof x);
    T* to = reinterpret_cast<T*>(v.data);
    const bool past_caches = v.size() >= streamed / static_cast<i64>(sizeof x);
    for_runs(v, v, [=](i64 o, i64, i64 n, i64 s, i64) {
      if (zeros && s == 1)
        return clear(reinterpret_cast<char*>(to + o), static_cast<std::size_t>(n) * sizeof x, past_caches);
      for (i64 k = 0; k < n; ++k) to[o + k * s] = x;
    });
  });
}

void scale(const DenseView& v, const Scalar& beta) {
  if (beta.is_zero()) return fill(v, Scalar::zero(v.dtype));
  if (v.dtype == beta.dtype && beta.same_bits(Scalar::one(v.dtype))) return;
  if (v.dtype == beta.dtype) return with_arithmetic(v.dtype, [&](auto zero) { scale_as<decltype(zero)>(v, beta); });
  const Buffer memory = backend().allocate(beta.dtype, v.size());
  DenseView wide = contiguous_like(v, memory.data);
  wide.dtype = beta.dtype;
  assign(wide, v);
  scale(wide, beta);
  assign(v, wide);
}

void combine(const DenseView& v, const DenseView& w, Combine how, bool w_first) {
  with_combine(v.dtype, how, [&]<class T>(T, const auto& two) {
    T* to = reinterpret_cast<T*>(v.data);
    const T* from = reinterpret_cast<const T*>(w.data);
    for_runs(v, w, [=](i64 o, i64 p, i64 n, i64 s, i64 t) {
      if (w_first)
        for (i64 k = 0; k < n; ++k) to[o + k * s] = two(from[p + k * t], to[o + k * s]);
      else if (s == 1 && t == 1)
        for (i64 k = 0; k < n; ++k) to[o + k] = two(to[o + k], from[p + k]);
      else
        for (i64 k = 0; k < n; ++k) to[o + k * s] = two(to[o + k * s], from[p + k * t]);
    });
  });
}

void axpby(const DenseView& to, const DenseView& from, const Scalar& alpha, const Scalar& beta) {
  if (beta.is_zero() && alpha.same_bits(Scalar::one(alpha.dtype))) return assign(to, from);
  if (to.dtype == alpha.dtype && from.dtype == alpha.dtype)
    return with_arithmetic(to.dtype, [&](auto zero) { axpby_as<decltype(zero)>(to, from, alpha, beta); });
  const auto wide_copy = [&](const DenseView& v) {
    const Buffer memory = backend().allocate(alpha.dtype, v.size());
    DenseView copy = contiguous_like(to, memory.data);
    copy.dtype = alpha.dtype;
    assign(copy, v);
    return std::pair(memory, copy);
  };
  const auto [memory, sum] = wide_copy(from);
  scale(sum, alpha);
  if (!beta.is_zero()) {
    const auto [other_memory, before] = wide_copy(to);
    scale(before, beta);
    combine(sum, before, Combine::plus);
  }
  assign(to, sum);
}

void combine_in_pairs(const Buffer& numbers, Combine how) {
  with_combine(numbers.dtype, how, [&]<class T>(T, const auto& two) {
    T* x = static_cast<T*>(numbers.data);
    x[0] = narrowed<T>(sum_in_pairs(0, numbers.size, [&](i64 k) { return widened(x[k]); }, two));
  });
}

void assign(const DenseView& to, const DenseView& from) {
  const auto pair = [](DType a, DType b) { return static_cast<int>(a) * dtype_count + static_cast<int>(b); };
  if (to.dtype == from.dtype) {
    if (turn(to, from)) return;
    return with_width(size_of(to.dtype), [&]<class T>(T) { map<T, T>(to, from, [](T x) { return x; }); });
  }
  const int key = pair(to.dtype, from.dtype);
  if (key == pair(DType::f16, DType::f32)) return map_many<std::uint16_t, float>(to, from, f32_to_f16, f32_to_f16);
  if (key == pair(DType::bf16, DType::f32)) return map_many<std::uint16_t, float>(to, from, f32_to_bf16, f32_to_bf16);
  if (key == pair(DType::f8e4m3, DType::f32)) return map<std::uint8_t, float>(to, from, f32_to_f8e4m3);
  if (key == pair(DType::f8e5m2, DType::f32)) return map<std::uint8_t, float>(to, from, f32_to_f8e5m2);
  if (key == pair(DType::f32, DType::f16)) return map_many<float, std::uint16_t>(to, from, f16_to_f32, f16_to_f32);
  if (key == pair(DType::f32, DType::bf16)) return map_many<float, std::uint16_t>(to, from, bf16_to_f32, bf16_to_f32);
  if (key == pair(DType::f32, DType::f64))
    return map<float, double>(to, from, [](double x) { return static_cast<float>(x); });
  if (key == pair(DType::f64, DType::f32))
    return map<double, float>(to, from, [](float x) { return static_cast<double>(x); });
  const i64 wt = static_cast<i64>(size_of(to.dtype)), wf = static_cast<i64>(size_of(from.dtype));
  for_runs(to, from, [&](i64 o, i64 p, i64 n, i64 s, i64 t) {
    for (i64 k = 0; k < n; ++k)
      Scalar::load(from.dtype, from.data + (p + k * t) * wf).as(to.dtype).store(to.data + (o + k * s) * wt);
  });
}

}  // namespace strata::execution
