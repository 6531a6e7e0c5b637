// Is this function one that every engine can run? A function that fails here is a bug of the lowering, not of the user.
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "ir/semantics.h"
#include "strata/error.h"

namespace strata::ir {
namespace {

/// Words that C or our emitted prologue has taken.
bool is_reserved(const std::string& name) {
  thread_local const std::set<std::string> words = {
      "auto",    "break",    "case",     "char",     "const", "continue", "default", "do",     "double",
      "else",    "enum",     "extern",   "float",    "for",   "goto",     "if",      "inline", "int",
      "long",    "register", "restrict", "return",   "short", "signed",   "sizeof",  "static", "struct",
      "switch",  "typedef",  "union",    "unsigned", "void",  "volatile", "while",   "asm",    "typeof",
      "buffers", "scalars",  "main",     "f64",      "f32",   "i8",       "i16",     "i32",    "i64",
      "u8",      "u16",      "u32",      "u64",      "linux", "unix"};
  return words.count(name) > 0;
}

bool is_identifier(const std::string& name) {
  if (name.empty() || name.size() > 200 || (!std::isalpha(static_cast<unsigned char>(name[0])))) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }) &&
         !is_reserved(name);
}

class Verifier {
 public:
  explicit Verifier(const Function& f) : f_(f) {}

  void run() {
    if (!is_identifier(f_.name)) fail("'" + f_.name + "' is no identifier");
    scopes_.emplace_back();
    std::set<std::string> seen;
    for (const auto& b : f_.buffers) {
      if (!is_identifier(b.name) || !seen.insert(b.name).second) fail("buffer name '" + b.name + "'");
      if (is_complex(b.dtype)) fail("buffer " + b.name + " is complex");
      if (b.packed_bits < 0 || b.packed_bits > 57)
        fail("buffer " + b.name + " packs " + std::to_string(b.packed_bits) + " bits");
    }
    for (const auto& s : f_.scalars)
      if (!is_identifier(s) || !seen.insert(s).second) fail("scalar name '" + s + "'");
    for (const char* name : {"begin", "end", "chunk"}) {
      if (!seen.insert(name).second) fail(std::string("the name '") + name + "' is taken");
      scopes_[0][name] = {Type{}, false};
    }
    globals_ = std::move(seen);
    if (!f_.body) fail("no body");
    scoped(f_.body);
  }

 private:
  struct Variable {
    Type type;
    bool is_mutable;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw InternalError("ir: " + f_.name + ": " + what + ", in: " + place());
  }

  const Variable* find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto it = scope->find(name); it != scope->end()) return &it->second;
    return nullptr;
  }

  const BufferParam& buffer(int index) const {
    if (index < 0 || index >= static_cast<int>(f_.buffers.size())) fail("no buffer " + std::to_string(index));
    return f_.buffers[static_cast<std::size_t>(index)];
  }

  void declare(const std::string& name, Type type, bool is_mutable) {
    if (!is_identifier(name)) fail("'" + name + "' is no identifier");
    if (globals_.count(name)) fail("'" + name + "' is a parameter");
    if (!scopes_.back().emplace(name, Variable{type, is_mutable}).second)
      fail("'" + name + "' is declared twice in one block");
  }

  /// Rebuilding a node with the checked constructors would fold it; so the types are checked here again.
  void expression(const Expr& e) {
    if (!e) fail("a missing expression");
    for (const auto& a : e->args) expression(a);
    const auto args = [&](std::size_t n) {
      if (e->args.size() != n) fail("a node with " + std::to_string(e->args.size()) + " arguments");
    };
    const auto check = [&](bool ok) {
      if (!ok) fail("ill-typed expression " + to_string(e) + " of type " + to_string(e->type));
    };
    const auto type = [&](std::size_t i) { return e->args[i]->type; };
    switch (e->kind) {
      case ValueNode::constant:
        args(0);
        check(e->value.dtype == e->type.dtype);
        break;
      case ValueNode::variable: {
        args(0);
        const Variable* v = find(e->name);
        if (!v) fail("'" + e->name + "' is not visible here");
        if (v->type != e->type) fail("'" + e->name + "' is " + to_string(v->type) + ", not " + to_string(e->type));
        break;
      }
      case ValueNode::scalar_param:
        args(0);
        if (std::find(f_.scalars.begin(), f_.scalars.end(), e->name) == f_.scalars.end())
          fail("no scalar parameter '" + e->name + "'");
        break;
      case ValueNode::load: {
        args(1);
        const BufferParam& b = buffer(e->index);
        if (b.name != e->name) fail("buffer " + std::to_string(e->index) + " is " + b.name + ", not " + e->name);
        check(type(0) == Type{} && e->type.dtype == (b.packed_bits ? DType::i64 : compute_dtype(b.dtype)));
        break;
      }
      case ValueNode::unary: {
        args(1);
        const bool counts = e->op == Op::popcount || e->op == Op::count_trailing_zeros;
        check(!is_binary(e->op) && is_defined(e->op, type(0).dtype) && e->type.lanes == type(0).lanes &&
              e->type.dtype == (counts ? DType::i64 : type(0).dtype));
        break;
      }
      case ValueNode::binary:
        args(2);
        check(is_binary(e->op) && type(0) == type(1) && is_defined(e->op, type(0).dtype) &&
              e->type.lanes == type(0).lanes && e->type.dtype == (is_compare(e->op) ? DType::boolean : type(0).dtype));
        break;
      case ValueNode::select:
        args(3);
        check(type(0).dtype == DType::boolean && (type(0).lanes == 1 || type(0).lanes == e->type.lanes) &&
              type(1) == e->type && type(2) == e->type);
        break;
      case ValueNode::cast:
        args(1);
        check(type(0).lanes == e->type.lanes);
        break;
      case ValueNode::fma:
        args(3);
        check(type(0) == e->type && type(1) == e->type && type(2) == e->type && is_float(e->type.dtype));
        break;
      case ValueNode::broadcast:
        args(1);
        check(type(0) == Type{e->type.dtype, 1} && e->type.lanes > 1);
        break;
      case ValueNode::lane:
        args(1);
        check(e->type == Type{type(0).dtype, 1} && e->index >= 0 && e->index < type(0).lanes);
        break;
      case ValueNode::blend:
        args(2);
        check(type(0) == e->type && type(1) == e->type && e->index > 0 && e->index < e->type.lanes);
        break;
      case ValueNode::reduce_lanes:
        args(e->args.size());
        check(e->type == Type{type(0).dtype, static_cast<int>(e->args.size())} && is_binary(e->op) &&
              is_defined(e->op, e->type.dtype));
        for (std::size_t k = 1; k < e->args.size(); ++k) check(type(k) == type(0) && e->type.lanes <= type(0).lanes);
        break;
    }
  }

  void typed(const Expr& e, Type t, const char* what) {
    expression(e);
    if (e->type != t) fail(std::string(what) + " is " + to_string(e->type) + ", not " + to_string(t));
  }

  void scoped(const Stmt& s) {
    scopes_.emplace_back();
    statement(s);
    scopes_.pop_back();
  }

  /// The first line of the statement as the printer shows it.
  std::string place() const {
    if (!at_) return "function " + f_.name;
    const Function one{f_.name, f_.buffers, {}, std::make_shared<const StmtNode>(*at_)};
    const std::string text = to_string(one);
    const auto from = text.find('\n') + 3;
    return text.substr(from, text.find('\n', from) - from);
  }

  void statement(const Stmt& p) {
    if (!p) fail("a missing statement");
    const StmtNode& s = *p;
    if (s.kind == StmtNode::block) {
      for (const auto& child : s.body) statement(child);
      return;
    }
    const bool has_value = s.kind == StmtNode::let || s.kind == StmtNode::declare || s.kind == StmtNode::assign ||
                           s.kind == StmtNode::store || s.kind == StmtNode::store_or ||
                           s.kind == StmtNode::while_loop || s.kind == StmtNode::branch;
    if (has_value && !s.value) fail("a statement without a value");
    at_ = &s;
    switch (s.kind) {
      case StmtNode::let:
      case StmtNode::declare:
        expression(s.value);
        declare(s.name, s.value->type, s.kind == StmtNode::declare);
        break;
      case StmtNode::assign: {
        expression(s.value);
        const Variable* v = find(s.name);
        if (!v || !v->is_mutable) fail("'" + s.name + "' is no variable that may be assigned");
        if (v->type != s.value->type)
          fail("'" + s.name + "' is " + to_string(v->type) + ", not " + to_string(s.value->type));
        break;
      }
      case StmtNode::store: {
        const BufferParam& b = buffer(s.buffer);
        typed(s.index, {}, "the index");
        expression(s.value);
        if (!b.written || b.packed_bits) fail(b.name + " cannot be stored to");
        if (s.value->type.dtype != compute_dtype(b.dtype)) fail("the value is " + to_string(s.value->type));
        break;
      }
      case StmtNode::store_or: {
        const BufferParam& b = buffer(s.buffer);
        typed(s.index, {}, "the index");
        typed(s.value, {b.packed_bits ? DType::i64 : b.dtype, 1}, "the value");
        if (!b.written || !(b.packed_bits || is_integer(b.dtype) || b.dtype == DType::boolean))
          fail(b.name + " cannot be stored to");
        break;
      }
      case StmtNode::loop:
        typed(s.begin, {}, "begin");
        typed(s.end, {}, "end");
        if (s.step < 1) fail("a step of " + std::to_string(s.step));
        scopes_.emplace_back();
        declare(s.name, {}, false);
        scoped(s.body.at(0));
        scopes_.pop_back();
        break;
      case StmtNode::while_loop:
        typed(s.value, {DType::boolean, 1}, "the condition");
        scoped(s.body.at(0));
        break;
      case StmtNode::branch:
        typed(s.value, {DType::boolean, 1}, "the condition");
        for (const auto& arm : s.body) scoped(arm);
        break;
      case StmtNode::prefetch:
        buffer(s.buffer);
        typed(s.index, {}, "the index");
        break;
      case StmtNode::fail:
        if (s.status <= 0) fail("status " + std::to_string(s.status));
        break;
      case StmtNode::comment:
      case StmtNode::block: break;
    }
  }

  const Function& f_;
  std::vector<std::map<std::string, Variable>> scopes_;
  std::set<std::string> globals_;
  const StmtNode* at_ = nullptr;
};

}  // namespace

void verify(const Function& f) { Verifier(f).run(); }

}  // namespace strata::ir
