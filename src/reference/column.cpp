// Moves and conversions of columns.
#include "reference/column.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/values.h"

namespace strata::evaluation {
namespace {

Column::Data empty_data(DType t) {
  if (is_complex(t)) return std::vector<Complex>();
  if (is_float(t)) return std::vector<double>();
  if (t == DType::u64) return std::vector<std::uint64_t>();
  return std::vector<std::int64_t>();
}

double round_to(DType t, double x) {
  switch (t) {
    case DType::f64: return x;
    case DType::f32: return static_cast<float>(x);
    case DType::f16: return f16_to_f32(f32_to_f16(static_cast<float>(x)));
    case DType::bf16: return bf16_to_f32(f32_to_bf16(static_cast<float>(x)));
    case DType::f8e4m3: return f8e4m3_to_f32(f32_to_f8e4m3(static_cast<float>(x)));
    default: return f8e5m2_to_f32(f32_to_f8e5m2(static_cast<float>(x)));
  }
}

std::int64_t wrap_to(DType t, std::int64_t x) {
  switch (t) {
    case DType::i8: return static_cast<std::int8_t>(x);
    case DType::i16: return static_cast<std::int16_t>(x);
    case DType::i32: return static_cast<std::int32_t>(x);
    case DType::u8: return static_cast<std::uint8_t>(x);
    case DType::u16: return static_cast<std::uint16_t>(x);
    case DType::u32: return static_cast<std::uint32_t>(x);
    case DType::boolean: return x != 0;
    default: return x;
  }
}

/// One value to another type: complex loses its imaginary part.
template <class To, class From>
To converted(const From& x) {
  constexpr bool from_complex = std::is_same_v<From, Complex>;
  if constexpr (std::is_same_v<To, std::complex<float>> || std::is_same_v<To, Complex>) {
    using Real = typename To::value_type;
    if constexpr (from_complex) return To(static_cast<Real>(x.real()), static_cast<Real>(x.imag()));
    else return To(static_cast<Real>(x), 0);
  } else if constexpr (from_complex) {
    return static_cast<To>(x.real());
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace

Column zeros(DType dtype, std::size_t n) {
  Column c{dtype, empty_data(dtype)};
  std::visit([&](auto& v) { v.resize(n); }, c.data);
  return c;
}

void normalise(Column& c) {
  if (auto* d = std::get_if<std::vector<double>>(&c.data)) {
    if (c.dtype == DType::f64) return;
    if (c.dtype == DType::f32)
      for (double& x : *d) x = static_cast<float>(x);
    else
      for (double& x : *d) x = round_to(c.dtype, x);
  } else if (auto* i = std::get_if<std::vector<std::int64_t>>(&c.data)) {
    if (c.dtype == DType::i64) return;
    for (auto& x : *i) x = wrap_to(c.dtype, x);
  } else if (auto* z = std::get_if<std::vector<Complex>>(&c.data); z && c.dtype == DType::c64) {
    for (auto& x : *z) x = Complex(static_cast<float>(x.real()), static_cast<float>(x.imag()));
  }
}

Column load(DType dtype, const char* values, std::size_t n) {
  Column c = zeros(dtype, n);
  const auto read = [&]<class T>(T) {
    std::visit(
        [&](auto& out) {
          using To = typename std::decay_t<decltype(out)>::value_type;
          for (std::size_t k = 0; k < n; ++k) {
            T x;
            std::memcpy(&x, values + k * sizeof(T), sizeof(T));
            if constexpr (!std::is_same_v<To, Complex> &&
                          (std::is_same_v<T, Complex> || std::is_same_v<T, std::complex<float>>))
              out[k] = To();
            else out[k] = To(x);
          }
        },
        c.data);
  };
  switch (dtype) {
    case DType::f64: read(double()); break;
    case DType::f32: read(float()); break;
    case DType::i8: read(std::int8_t()); break;
    case DType::i16: read(std::int16_t()); break;
    case DType::i32: read(std::int32_t()); break;
    case DType::i64: read(std::int64_t()); break;
    case DType::u8:
    case DType::boolean: read(std::uint8_t()); break;
    case DType::u16: read(std::uint16_t()); break;
    case DType::u32: read(std::uint32_t()); break;
    case DType::u64: read(std::uint64_t()); break;
    case DType::c64: read(std::complex<float>()); break;
    case DType::c128: read(Complex()); break;
    default:  // storage-only floats
      with_value_type(dtype, [&](auto tag) {
        using Tag = decltype(tag);
        if constexpr (is_float(Tag::dtype))
          for (std::size_t k = 0; k < n; ++k) {
            typename Tag::Storage x;
            std::memcpy(&x, values + k * sizeof x, sizeof x);
            std::get<std::vector<double>>(c.data)[k] = widen_value<Tag>(x);
          }
      });
  }
  if (dtype == DType::boolean) normalise(c);
  return c;
}

void store(const Column& c, char* values) {
  std::visit(
      [&](const auto& in) {
        using From = typename std::decay_t<decltype(in)>::value_type;
        const auto write = [&]<class T>(T) {
          for (std::size_t k = 0; k < in.size(); ++k) {
            const T x = converted<T>(in[k]);
            std::memcpy(values + k * sizeof(T), &x, sizeof(T));
          }
        };
        switch (c.dtype) {
          case DType::f64: write(double()); return;
          case DType::i8:
          case DType::u8:
          case DType::boolean: write(std::uint8_t()); return;
          case DType::i16:
          case DType::u16: write(std::uint16_t()); return;
          case DType::i32:
          case DType::u32: write(std::uint32_t()); return;
          case DType::i64:
          case DType::u64: write(std::uint64_t()); return;
          case DType::c64: write(std::complex<float>()); return;
          case DType::c128: write(Complex()); return;
          default:
            if constexpr (std::is_same_v<From, double>)
              with_value_type(c.dtype, [&](auto tag) {
                using Tag = decltype(tag);
                if constexpr (is_float(Tag::dtype))
                  for (std::size_t k = 0; k < in.size(); ++k) {
                    const auto x = narrow_value<Tag>(static_cast<typename Tag::Wide>(in[k]));
                    std::memcpy(values + k * sizeof x, &x, sizeof x);
                  }
              });
        }
      },
      c.data);
}

Column of_scalar(const Scalar& s) { return load(s.dtype, reinterpret_cast<const char*>(s.bits), 1); }
Scalar to_scalar(const Column& c, std::size_t i) {
  const std::int64_t at = static_cast<std::int64_t>(i);
  Scalar s = Scalar::zero(c.dtype);
  store(gather(c, std::span(&at, 1), zeros(c.dtype, 1)), reinterpret_cast<char*>(s.bits));
  return s;
}

Column cast(const Column& c, DType dtype) {
  if (c.dtype == dtype) return c;
  Column out = zeros(dtype, c.size());
  std::visit(
      [&](const auto& in) {
        using From = typename std::decay_t<decltype(in)>::value_type;
        std::visit(
            [&](auto& to) {
              using To = typename std::decay_t<decltype(to)>::value_type;
              for (std::size_t k = 0; k < in.size(); ++k) {
                if (dtype == DType::boolean) {
                  to[k] = To(in[k] != From() ? 1 : 0);
                } else if constexpr (std::is_same_v<From, double> && std::is_integral_v<To>) {
                  to[k] = static_cast<To>(Scalar::of(in[k]).as(dtype).to_int64());  // saturates
                  if (dtype == DType::u64) {
                    const Scalar s = Scalar::of(in[k]).as(dtype);
                    std::uint64_t bits;
                    std::memcpy(&bits, s.bits, sizeof bits);
                    to[k] = static_cast<To>(bits);
                  }
                } else {
                  to[k] = converted<To>(in[k]);
                }
              }
            },
            out.data);
      },
      c.data);
  normalise(out);
  return out;
}

Column repeat(const Column& value, std::size_t n) {
  Column out = zeros(value.dtype, n);
  std::visit([&](auto& to) { std::fill(to.begin(), to.end(), std::get<std::decay_t<decltype(to)>>(value.data)[0]); },
             out.data);
  return out;
}

Column gather(const Column& c, std::span<const std::int64_t> index, const Column& fill) {
  Column out = zeros(c.dtype, index.size());
  std::visit(
      [&](auto& to) {
        using V = std::decay_t<decltype(to)>;
        const V &from = std::get<V>(c.data), &absent = std::get<V>(fill.data);
        for (std::size_t k = 0; k < index.size(); ++k)
          to[k] = index[k] < 0 ? absent[0] : from[static_cast<std::size_t>(index[k])];
      },
      out.data);
  return out;
}

void keep(Column& c, std::span<const std::uint8_t> chosen, const Column& other) {
  std::visit(
      [&](auto& to) {
        const auto x = std::get<std::decay_t<decltype(to)>>(other.data)[0];
        for (std::size_t k = 0; k < to.size(); ++k)
          if (!chosen[k]) to[k] = x;
      },
      c.data);
}

void append(Column& to, const Column& more) {
  std::visit(
      [&](auto& v) {
        const auto& m = std::get<std::decay_t<decltype(v)>>(more.data);
        v.insert(v.end(), m.begin(), m.end());
      },
      to.data);
}

void add_zero(Column& c) {
  std::visit(
      [](auto& v) {
        for (auto& x : v) x += typename std::decay_t<decltype(v)>::value_type();
      },
      c.data);
}

bool is_zero(const Column& value) {
  return std::visit([](const auto& v) { return v[0] == typename std::decay_t<decltype(v)>::value_type(); }, value.data);
}

bool has_negative(const Column& c) {
  return std::visit(
      [](const auto& v) {
        using T = typename std::decay_t<decltype(v)>::value_type;
        if constexpr (!std::is_same_v<T, Complex>)
          for (const T x : v)
            if (x < T()) return true;
        return false;
      },
      c.data);
}

}  // namespace strata::evaluation
