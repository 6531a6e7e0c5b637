#include "draw/words.h"

#include <algorithm>
#include <cstdio>

#include "levels/index_view.h"

namespace strata::pictures {

int columns(std::string_view s) {
  int n = 0;
  for (const char c : s) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

std::string repeat(std::string_view s, int n) {
  std::string out;
  for (int k = 0; k < n; ++k) out += s;
  return out;
}

std::string cut(const std::string& s, int n) {
  if (columns(s) <= n) return s;
  std::string out;
  int seen = 0;
  for (const char c : s) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80 && ++seen == std::max(n, 1)) break;
    out += c;
  }
  return out + "…";
}

std::string right(const std::string& s, int n) {
  return std::string(static_cast<std::size_t>(std::max(0, n - columns(s))), ' ') + s;
}

std::string grouped(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (int at = static_cast<int>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), " ");
  return digits;
}

std::string value_text(DType dtype, const void* address) { return value_text(Scalar::load(dtype, address)); }

std::string value_text(const Scalar& s) {
  char text[64];
  if (is_complex(s.dtype)) {
    std::snprintf(text, sizeof text, "%.4g%+.4gj", s.to_complex().real(), s.to_complex().imag());
    return text;
  }
  if (!is_float(s.dtype)) return cut(s.to_string(), 14);
  std::snprintf(text, sizeof text, "%.6g", s.to_double());
  return text;
}

std::vector<std::string> level_texts(const Format& format) {
  const std::string text = format.to_string();
  const std::size_t arrow = text.find("->");
  std::vector<std::string> out;
  std::string current;
  int depth = 0;
  for (std::size_t k = text.find('(', arrow) + 1; k < text.size(); ++k) {
    if (text[k] == ')' && depth-- == 0) break;
    depth += text[k] == '(';
    if (text[k] == ',' && depth == 0) {
      out.push_back(current);
      current.clear();
    } else if (!(text[k] == ' ' && current.empty())) {
      current += text[k];
    }
  }
  if (!current.empty()) out.push_back(current);
  return out;
}

std::string crd_type(const Level& level, const LevelRange& range, DType crd_dtype) {
  const int bits = packed_bits(level, range.size);
  return bits ? "uint" + std::to_string(bits) : std::string(name_of(crd_dtype));
}

std::string shape_text(const Shape& shape) {
  std::string s;
  for (std::size_t d = 0; d < shape.size(); ++d) s += (d ? " x " : "") + std::to_string(shape[d]);
  return s.empty() ? "scalar" : s;
}

std::string name_or_text(const Format& format) {
  const std::string name = format.name();
  return name.empty() ? format.to_string() : name;
}

std::string facts_text(const Tensor& t) {
  return shape_text(t.shape()) + "   " + std::string(name_of(t.dtype())) + "   " + std::to_string(t.nse()) +
         " stored   " + std::to_string(t.nbytes()) + " bytes" +
         (t.fill().is_zero() ? "" : "   fill " + t.fill().to_string());
}

std::string facts_line(const Tensor& t) {
  std::string shape;
  for (const std::int64_t n : t.shape()) shape += (shape.empty() ? "" : " × ") + grouped(n);
  return (shape.empty() ? "scalar" : shape) + " · " + std::string(name_of(t.dtype())) + " · " + grouped(t.nse()) +
         " stored · " + grouped(t.nbytes()) + " bytes" + (t.fill().is_zero() ? "" : " · fill " + t.fill().to_string());
}

std::string heading(const Tensor& t, int width) {
  const std::string name = name_or_text(t.format()), facts = facts_text(t), both = name + "   " + facts;
  return columns(both) <= width ? both + "\n" : cut(name, width) + "\n" + cut(facts, width) + "\n";
}

}  // namespace strata::pictures
