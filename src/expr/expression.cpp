// Nodes of expressions: how they are made, printed, compared.
#include "strata/expression.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>

#include "expr/depth.h"

namespace strata {
namespace {

constexpr std::array<std::string_view, 34> names = {"",     "",     "+",   "-",   "*",   "/",   "//",  "%",    "min",
                                                    "max",  "==",   "!=",  "<",   "<=",  ">",   ">=",  "-",    "abs",
                                                    "sign", "sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "erf",
                                                    "relu", "conj", "sum", "max", "min", "any", "all"};

/// How tightly an operator binds when printed: a child that binds less needs parentheses.
int precedence(const Expression& e) {
  if (e.node().implicit) return precedence(e.argument());  // not written, so not printed
  switch (e.op()) {
    case Operator::equal:
    case Operator::not_equal:
    case Operator::less:
    case Operator::less_equal:
    case Operator::greater:
    case Operator::greater_equal: return 1;
    case Operator::add:
    case Operator::subtract: return 2;
    case Operator::multiply:
    case Operator::divide:
    case Operator::floor_divide:
    case Operator::modulo: return 3;
    case Operator::negate: return 4;
    case Operator::constant: return std::signbit(e.node().value.real()) || std::signbit(e.node().value.imag()) ? 4 : 5;
    default: return 5;
  }
}

std::string print_number(const Expression::Node& n) {
  switch (n.number) {
    case Number::integer: return std::to_string(n.integer);
    case Number::unsigned_integer: return std::to_string(static_cast<std::uint64_t>(n.integer));
    case Number::huge_integer: {  // all its digits: a double is an integer there
      std::array<char, 320> digits{};
      const auto end =
          std::to_chars(digits.data(), digits.data() + digits.size(), n.value.real(), std::chars_format::fixed);
      return {digits.data(), end.ptr};
    }
    case Number::truth: return n.value.real() != 0 ? "True" : "False";
    default: break;
  }
  const bool imaginary = n.number == Number::imaginary;
  std::string out = Scalar::of(imaginary ? n.value.imag() : n.value.real()).to_string();
  if (out.find_first_of(".en") == std::string::npos) out += ".0";  // a point keeps it from reading as an integer
  return imaginary ? out + "j" : out;
}

std::string print(const Expression& e);
std::string print(const Expression& e, int at_least) {
  return precedence(e) < at_least ? "(" + print(e) + ")" : print(e);
}

std::string print(const Expression& e) {
  const auto& n = e.node();
  const std::string name(name_of(n.op));
  if (n.op == Operator::constant) { return print_number(n); }
  if (n.op == Operator::access) {
    if (n.indices.empty()) return n.name;
    std::string out = n.name + "(";
    for (std::size_t d = 0; d < n.indices.size(); ++d) out += (d ? "," : "") + n.indices[d].to_string();
    return out + ")";
  }
  if (n.implicit) return print(e.argument());
  if (is_reduction(n.op)) return name + "(" + n.name + ", " + print(e.argument()) + ")";
  if (n.op == Operator::negate)
    return e.argument().op() == Operator::constant ? "-(" + print(e.argument()) + ")" : "-" + print(e.argument(), 4);
  if (is_unary(n.op)) return name + "(" + print(e.argument()) + ")";
  if (n.op == Operator::minimum || n.op == Operator::maximum)
    return name + "(" + print(e.argument(0)) + ", " + print(e.argument(1)) + ")";
  const int p = precedence(e);
  return print(e.argument(0), is_comparison(n.op) ? p + 1 : p) + " " + name + " " + print(e.argument(1), p + 1);
}

void collect_free(const Expression& e, std::vector<std::string>& bound, std::vector<std::string>& out) {
  const auto& n = e.node();
  for (const auto& a : n.indices)
    for (const auto& t : a.terms)
      if (std::find(bound.begin(), bound.end(), t.index) == bound.end() &&
          std::find(out.begin(), out.end(), t.index) == out.end())
        out.push_back(t.index);
  if (is_reduction(n.op)) bound.push_back(n.name);
  for (const auto& a : n.arguments) collect_free(a, bound, out);
  if (is_reduction(n.op)) bound.pop_back();
}

}  // namespace

std::string_view name_of(Operator op) { return names[static_cast<std::size_t>(op)]; }

std::string AffineIndex::to_string() const {
  std::string out;
  for (const Term& t : terms) {
    const std::int64_t magnitude = t.coefficient < 0 ? -t.coefficient : t.coefficient;
    out += t.coefficient < 0 ? (out.empty() ? "-" : " - ") : (out.empty() ? "" : " + ");
    out += (magnitude == 1 ? "" : std::to_string(magnitude) + "*") + t.index;
  }
  if (terms.empty()) out = std::to_string(constant);
  else if (constant != 0) out += (constant < 0 ? " - " : " + ") + std::to_string(constant < 0 ? -constant : constant);
  return padded ? out + "?" : out;
}

Expression::Expression(Node node) {
  for (const Expression& a : node.arguments) node.depth = std::max(node.depth, a.depth() + 1);
  node_ = {new Node(std::move(node)), release};
}

/// Chains lean to the left, a thousand operations deep: what leans so is released in a loop.
void Expression::release(Node* node) {
  std::shared_ptr<const Node> left;
  const auto part = [&left](Node& n) { left = n.arguments.empty() ? nullptr : std::move(n.arguments[0].node_); };
  part(*node);
  delete node;
  while (left && left.use_count() == 1) {
    const std::shared_ptr<const Node> alone = std::move(left);
    part(const_cast<Node&>(*alone));
  }
}

Expression::Expression() : Expression(Node{.number = Number::integer}) {}
Expression Expression::constant(double value) { return Expression(Node{.value = value}); }
Expression Expression::integer(std::int64_t value) {
  return Expression(Node{.value = static_cast<double>(value), .number = Number::integer, .integer = value});
}
Expression Expression::access(std::string name, std::vector<AffineIndex> indices) {
  return Expression(Node{.op = Operator::access, .name = std::move(name), .indices = std::move(indices)});
}
Expression Expression::plain_access(std::string name, std::span<const std::string> indices) {
  return access(std::move(name), std::vector<AffineIndex>(indices.begin(), indices.end()));
}
Expression Expression::unary(Operator op, Expression a) {
  return Expression(Node{.op = op, .arguments = {std::move(a)}});
}
Expression Expression::binary(Operator op, Expression a, Expression b) {
  return Expression(Node{.op = op, .arguments = {std::move(a), std::move(b)}});
}
Expression Expression::reduce(Operator op, std::string index, Expression a, bool implicit) {
  return Expression(Node{.op = op, .arguments = {std::move(a)}, .name = std::move(index), .implicit = implicit});
}

std::vector<std::string> Expression::free_indices() const {
  std::vector<std::string> bound, out;
  collect_free(*this, bound, out);
  return out;
}
std::vector<std::string> Expression::operands() const {
  std::vector<std::string> out;
  std::vector<const Expression*> left = {this};  // no recursion: it is asked for wherever an expression comes
  while (!left.empty()) {
    const auto& n = left.back()->node();
    left.pop_back();
    if (n.op == Operator::access && std::find(out.begin(), out.end(), n.name) == out.end()) out.push_back(n.name);
    for (auto a = n.arguments.rbegin(); a != n.arguments.rend(); ++a) left.push_back(&*a);
  }
  return out;
}
std::string Expression::to_string() const {
  return on_a_large_stack(stack_for(depth()), [&] { return print(*this); });
}

std::size_t Expression::hash() const {
  std::size_t h = std::hash<std::string>{}(to_string());
  return h * 31 + static_cast<std::size_t>(op());
}

bool Expression::operator==(const Expression& other) const {
  if (node_ == other.node_) return true;
  const Node &a = *node_, &b = *other.node_;
  const auto same_bits = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  return a.op == b.op && a.name == b.name && a.indices == b.indices && same_bits(a.value.real(), b.value.real()) &&
         same_bits(a.value.imag(), b.value.imag()) && a.integer == b.integer && a.number == b.number &&
         a.implicit == b.implicit && a.arguments == b.arguments;
}

Expression operator+(Expression a, Expression b) {
  return Expression::binary(Operator::add, std::move(a), std::move(b));
}
Expression operator-(Expression a, Expression b) {
  return Expression::binary(Operator::subtract, std::move(a), std::move(b));
}
Expression operator*(Expression a, Expression b) {
  return Expression::binary(Operator::multiply, std::move(a), std::move(b));
}
Expression operator/(Expression a, Expression b) {
  return Expression::binary(Operator::divide, std::move(a), std::move(b));
}
Expression operator-(Expression a) { return Expression::unary(Operator::negate, std::move(a)); }

std::string Assignment::to_string() const {
  std::string out = name;
  for (std::size_t d = 0; d < indices.size(); ++d) out += (d ? "," : "(") + indices[d];
  return out + (indices.empty() ? "" : ")") + (accumulate ? " += " : " = ") + value.to_string();
}

}  // namespace strata
