// Readable text of the loop IR. It tells everything that the nodes hold: equal text means equal code.
#include <charconv>
#include <cmath>
#include <cstdio>

#include "ir/ir.h"
#include "strata/error.h"

namespace strata::ir {
namespace {

std::string_view short_name(DType t) {
  constexpr std::string_view names[dtype_count] = {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i8",  "i16", "i32",
                                                   "i64", "u8",  "u16", "u32",  "u64",    "bool",   "c64", "c128"};
  return names[static_cast<std::size_t>(t)];
}

std::string hex_bits(const Scalar& s) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, s.bits, size_of(s.dtype));
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bits));
  return text;
}

/// i64, f64 and bool say what they are by their look; other types by a suffix.
std::string constant_text(const ValueNode& e) {
  std::string text = is_float(e.type.dtype) && std::isnan(e.value.to_double()) ? "nan(" + hex_bits(e.value) + ")"
                                                                               : e.value.to_string();
  const bool plain = e.type.dtype == DType::i64 || e.type.dtype == DType::boolean || e.type.dtype == DType::f64;
  if (e.type.dtype == DType::f64 && text.find_first_of(".en") == std::string::npos) text += ".0";
  if (!plain || e.type.lanes > 1) text += "_" + to_string(e.type);
  return text;
}

std::string_view infix(Op op) {
  switch (op) {
    case Op::add: return "+";
    case Op::sub: return "-";
    case Op::mul: return "*";
    case Op::div: return "/";
    case Op::floor_div: return "//";
    case Op::floor_mod: return "%";
    case Op::bit_and: return "&";
    case Op::bit_or: return "|";
    case Op::bit_xor: return "^";
    case Op::shift_left: return "<<";
    case Op::shift_right: return ">>";
    case Op::eq: return "==";
    case Op::ne: return "!=";
    case Op::lt: return "<";
    case Op::le: return "<=";
    case Op::gt: return ">";
    case Op::ge: return ">=";
    default: return "";
  }
}

/// How tightly an operator binds: arguments of lower strength stand in parentheses.
int strength(Op op) {
  switch (op) {
    case Op::mul: return 5;
    case Op::add:
    case Op::sub: return 4;
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge: return 2;
    default: return 3;  // division, bits and shifts: always in parentheses inside each other
  }
}

std::string text_of(const ValueNode& e, int outer);

bool is_bool_constant(const ValueNode& e, bool value) {
  return e.kind == ValueNode::constant && e.type.dtype == DType::boolean && (e.value.bits[0] != 0) == value;
}

std::string call(std::string_view name, const ValueNode& e) {
  std::string text = std::string(name) + "(";
  for (std::size_t i = 0; i < e.args.size(); ++i) text += (i ? ", " : "") + text_of(*e.args[i], 0);
  return text + ")";
}

std::string binary_text(const ValueNode& e, int outer) {
  const auto sign = infix(e.op);
  if (sign.empty()) return call(name_of(e.op), e);
  const int own = strength(e.op);
  // The right side of - and of everything that does not associate needs one more; so does anything inside bits and
  // division.
  const int left = own == 3 ? 6 : own, right = own == 3 ? 6 : own + 1;
  std::string text = text_of(*e.args[0], left) + " " + std::string(sign) + " " + text_of(*e.args[1], right);
  return own < outer ? "(" + text + ")" : text;
}

/// A malformed node must print too: the verifier's message shows it.
bool is_whole(const ValueNode& e) {
  constexpr std::size_t counts[] = {0, 0, 0, 1, 1, 2, 3, 1, 3, 1, 1, 2, 1};
  if (e.kind == ValueNode::reduce_lanes ? e.args.empty() : e.args.size() != counts[e.kind]) return false;
  for (const auto& a : e.args)
    if (!a) return false;
  return true;
}

std::string text_of(const ValueNode& e, int outer) {
  if (!is_whole(e)) return "(malformed)";
  switch (e.kind) {
    case ValueNode::constant: return constant_text(e);
    case ValueNode::variable:
    case ValueNode::scalar_param: return e.name;
    case ValueNode::load:
      return e.name + "[" + text_of(*e.args[0], 0) + (e.type.lanes > 1 ? " : " + std::to_string(e.type.lanes) : "") +
             "]";
    case ValueNode::unary:
      if (e.op == Op::neg) return "-" + text_of(*e.args[0], 7);
      if (e.op == Op::bit_not) return "~" + text_of(*e.args[0], 7);
      if (e.op == Op::logical_not) return "!" + text_of(*e.args[0], 7);
      return call(name_of(e.op), e);
    case ValueNode::binary: return binary_text(e, outer);
    case ValueNode::select: {
      const bool lazy = e.args[0]->type.lanes == 1 && e.type.lanes == 1 && e.type.dtype == DType::boolean;
      const bool both = lazy && is_bool_constant(*e.args[2], false),
                 either = lazy && is_bool_constant(*e.args[1], true);
      if (!both && !either) return call("select", e);
      std::string text =
          text_of(*e.args[0], both ? 1 : 2) + (both ? " && " : " || ") + text_of(*e.args[both ? 1 : 2], 2);
      return outer > (both ? 1 : 0) ? "(" + text + ")" : text;
    }
    case ValueNode::cast: return call(short_name(e.type.dtype), e);
    case ValueNode::fma: return call("fma", e);
    case ValueNode::broadcast: return "broadcast" + std::to_string(e.type.lanes) + "(" + text_of(*e.args[0], 0) + ")";
    case ValueNode::lane: return text_of(*e.args[0], 7) + "." + std::to_string(e.index);
    case ValueNode::blend: return call("blend_" + std::to_string(e.index), e);
    case ValueNode::reduce_lanes: return "reduce_" + call(name_of(e.op), e);
  }
  return "?";
}

class Printer {
 public:
  explicit Printer(const Function& f) : f_(f) {}

  std::string run() {
    text_ = "function " + f_.name + "(";
    std::string separator;
    for (const auto& b : f_.buffers) {
      text_ += separator + (b.written ? "out " : "") + b.name + ": " +
               (b.packed_bits ? "packed" + std::to_string(b.packed_bits) : std::string(short_name(b.dtype)));
      separator = ", ";
    }
    separator = f_.scalars.empty() ? "" : "; ";
    for (const auto& s : f_.scalars) {
      text_ += separator + s;
      separator = ", ";
    }
    text_ += ")\n";
    body(f_.body);
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }

  void body(const Stmt& s) {
    ++depth_;
    if (!s) line("null");
    else if (s->kind != StmtNode::block) statement(*s);
    else if (s->body.empty()) line("pass");
    else
      for (const auto& child : s->body) statement(*child);
    --depth_;
  }

  std::string buffer(int index) const {
    const bool known = index >= 0 && index < static_cast<int>(f_.buffers.size());
    return known ? f_.buffers[static_cast<std::size_t>(index)].name : "buffer" + std::to_string(index);
  }

  void statement(const StmtNode& s) {
    switch (s.kind) {
      case StmtNode::block:
        for (const auto& child : s.body) statement(*child);
        break;
      case StmtNode::let: line("let " + s.name + ": " + to_string(s.value->type) + " = " + to_string(s.value)); break;
      case StmtNode::declare:
        line("var " + s.name + ": " + to_string(s.value->type) + " = " + to_string(s.value));
        break;
      case StmtNode::assign: line(s.name + " = " + to_string(s.value)); break;
      case StmtNode::store: {
        const int lanes = s.value->type.lanes;
        line(buffer(s.buffer) + "[" + to_string(s.index) + (lanes > 1 ? " : " + std::to_string(lanes) : "") +
             "] = " + to_string(s.value));
        break;
      }
      case StmtNode::store_or: line(buffer(s.buffer) + "[" + to_string(s.index) + "] |= " + to_string(s.value)); break;
      case StmtNode::loop:
        line((s.loop_kind == LoopKind::unrolled ? "unrolled "
              : s.loop_kind == LoopKind::simd   ? "simd "
                                                : "for ") +
             s.name + " = " + to_string(s.begin) + " .. " + to_string(s.end) +
             (s.step == 1 ? "" : " by " + std::to_string(s.step)));
        body(s.body.at(0));
        break;
      case StmtNode::while_loop:
        line("while " + to_string(s.value));
        body(s.body.at(0));
        break;
      case StmtNode::branch:
        line("if " + to_string(s.value));
        body(s.body.at(0));
        if (s.body.size() > 1) {
          line("else");
          body(s.body[1]);
        }
        break;
      case StmtNode::prefetch:
        line((s.second_level ? "prefetch into L2 " : "prefetch ") + buffer(s.buffer) + "[" + to_string(s.index) + "]");
        break;
      case StmtNode::fail: line("fail " + std::to_string(s.status)); break;
      case StmtNode::comment: line("# " + s.name); break;
    }
  }

  const Function& f_;
  std::string text_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string to_string(const Type& t) {
  return std::string(short_name(t.dtype)) + (t.lanes > 1 ? "x" + std::to_string(t.lanes) : "");
}
std::string to_string(const Expr& e) { return e ? text_of(*e, 0) : "null"; }
std::string to_string(const Function& f) { return Printer(f).run(); }

}  // namespace strata::ir
