// Semirings by name and by definition.
#include "strata/semiring.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

namespace strata {
namespace {

constexpr std::array<std::string_view, 6> names = {"plus-times", "min-plus", "max-plus", "max-times", "or-and", "any"};

std::string_view trimmed(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

void check_scalars(const Expression& e, std::string_view text) {
  const auto& n = e.node();
  if (is_reduction(n.op) || (n.op == Operator::access && ((n.name != "a" && n.name != "b") || !n.indices.empty())))
    throw ExpressionError({.what = "a semiring is made of the scalars a and b",
                           .expected = "an expression such as min(a, b) or a + b",
                           .got = "'" + e.to_string() + "'",
                           .text = std::string(text),
                           .where = n.where});
  for (const auto& x : n.arguments) check_scalars(x, text);
}

Expression scalar_expression(std::string_view text) {
  Expression e = parse_expression(text);
  check_scalars(e, text);
  return e;
}

double parse_zero(std::string_view text) {
  std::string_view s = trimmed(text);
  const bool minus = s.starts_with('-');
  if (minus || s.starts_with('+')) s.remove_prefix(1);
  double value = 0;
  if (s == "inf") {
    value = std::numeric_limits<double>::infinity();
  } else {
    const auto r = std::from_chars(s.data(), s.data() + s.size(), value);
    if (s.empty() || r.ec != std::errc() || r.ptr != s.data() + s.size() || std::isnan(value))
      throw ExpressionError({.what = "the additive identity of a semiring is a number",
                             .expected = "a number, inf or -inf",
                             .got = "'" + std::string(text) + "'"});
  }
  return minus ? -value : value;
}

}  // namespace

Semiring::Semiring(Kind named) : kind_(named) {
  if (named == user)
    throw ExpressionError(
        {.what = "a semiring of your own needs its definition", .fix = "use Semiring(add, multiply, zero)"});
}

Semiring::Semiring(std::string_view add, std::string_view multiply, double zero) : kind_(user) {
  if (std::isnan(zero))
    throw ExpressionError(
        {.what = "NaN is no additive identity", .expected = "a number, inf or -inf", .got = std::string("nan")});
  definition_ =
      std::make_shared<const Definition>(Definition{scalar_expression(add), scalar_expression(multiply), zero});
}

std::string Semiring::to_string() const {
  if (!definition_) return std::string(names[static_cast<std::size_t>(kind_)]);
  return definition_->add.to_string() + "; " + definition_->multiply.to_string() + "; " +
         Scalar::of(definition_->zero).to_string();
}

bool Semiring::operator==(const Semiring& other) const {
  if (kind_ != other.kind_) return false;
  if (definition_ == other.definition_) return true;
  return definition_->add == other.definition_->add && definition_->multiply == other.definition_->multiply &&
         definition_->zero == other.definition_->zero;
}

Semiring parse_semiring(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() == 3) return {trimmed(parts[0]), trimmed(parts[1]), parse_zero(parts[2])};
  std::string plain(trimmed(text));
  std::replace(plain.begin(), plain.end(), '_', '-');
  for (std::size_t k = 0; k < names.size(); ++k)
    if (plain == names[k]) return static_cast<Semiring::Kind>(k);
  throw ExpressionError({.what = "no semiring '" + std::string(text) + "'",
                         .expected = "plus-times, min-plus, max-plus, max-times, or-and, any, or a definition",
                         .got = std::string(text),
                         .fix = "write 'add; multiply; zero', for example 'min(a, b); a + b; inf'"});
}

}  // namespace strata
