#include "io/number_text.h"

#include <cstring>

namespace strata::io {

void append_real(std::string& out, double value) {
  char digits[40];
  if (value == value) {
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    return;
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint64_t payload = bits & 0x000fffffffffffff;
  out += bits >> 63 ? "-nan" : "nan";
  if (payload == 0x0008000000000000) return;
  out += "(0x";
  out.append(digits, std::to_chars(digits, digits + sizeof digits, payload, 16).ptr);
  out += ')';
}

void append_value(std::string& out, DType dtype, const void* address) {
  switch (dtype) {
    case DType::f64: {
      double v = 0;
      std::memcpy(&v, address, sizeof v);
      return append_real(out, v);
    }
    case DType::u64: return append_integer(out, *static_cast<const std::uint64_t*>(address));
    case DType::c64:
    case DType::c128: {
      double parts[2];
      const Scalar s = Scalar::load(dtype, address).as(DType::c128);
      std::memcpy(parts, s.bits, sizeof parts);
      append_real(out, parts[0]);
      out += ' ';
      return append_real(out, parts[1]);
    }
    case DType::boolean: out += *static_cast<const bool*>(address) ? '1' : '0'; return;
    default:
      // Smaller floats are written as the doubles they equal: the shortest text of a float is another double.
      if (is_float(dtype)) return append_real(out, Scalar::load(dtype, address).to_double());
      return append_integer(out, Scalar::load(dtype, address).to_int64());
  }
}

}  // namespace strata::io
