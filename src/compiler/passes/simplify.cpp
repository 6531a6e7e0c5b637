#include "compiler/passes/simplify.h"

#include <map>
#include <set>

namespace strata {

using ir::Expr;
using ir::Stmt;
using ir::StmtNode;
using ir::ValueNode;

namespace {

/// Rebuilds an expression through the folding constructors, with some variables replaced.
class Forward {
 public:
  explicit Forward(const ir::Function& f) : f_(f) {
    for (const char* name : {"begin", "end", "chunk"}) declarations_[name] = {1, false};
    count(f.body);
  }

  Stmt statement(const Stmt& s) {
    switch (s->kind) {
      case StmtNode::block: {
        std::vector<Stmt> body;
        for (const auto& child : s->body) body.push_back(statement(child));
        return ir::block(std::move(body));
      }
      case StmtNode::let: {
        Expr value = expression(s->value);
        if (passes(*value)) {
          scopes_.back()[s->name] = value;
          return nullptr;
        }
        scopes_.back()[s->name] = nullptr;
        return ir::let(s->name, std::move(value));
      }
      case StmtNode::declare: {
        Expr value = expression(s->value);
        scopes_.back()[s->name] = nullptr;
        return ir::declare(s->name, std::move(value));
      }
      case StmtNode::assign: return ir::assign(s->name, expression(s->value));
      case StmtNode::store: return ir::store(buffer(s->buffer), s->buffer, expression(s->index), expression(s->value));
      case StmtNode::store_or: return ir::store_or(s->buffer, expression(s->index), expression(s->value));
      case StmtNode::loop: {
        Expr begin = expression(s->begin), end = expression(s->end);
        scopes_.emplace_back();
        scopes_.back()[s->name] = nullptr;
        Stmt body = scoped(s->body[0]);
        scopes_.pop_back();
        const bool never = begin->kind == ValueNode::constant && end->kind == ValueNode::constant &&
                           begin->value.to_int64() >= end->value.to_int64();
        if (never) return nullptr;
        return ir::loop(s->name, std::move(begin), std::move(end), std::move(body), s->step, s->loop_kind);
      }
      case StmtNode::while_loop: return ir::while_loop(expression(s->value), scoped(s->body[0]));
      case StmtNode::branch: {
        Expr condition = expression(s->value);
        // An arm that is taken for certain may not spill its names into the block around it: it stays a branch.
        if (condition->kind == ValueNode::constant) {
          const bool taken = condition->value.bits[0] != 0;
          const std::size_t arm = taken ? 0 : 1;
          if (arm >= s->body.size()) return nullptr;
          Stmt body = scoped(s->body[arm]);
          for (const auto& child : body->body)
            if (child->kind == StmtNode::let || child->kind == StmtNode::declare) return in_braces(std::move(body));
          return body;
        }
        Stmt then = scoped(s->body[0]), otherwise = s->body.size() > 1 ? scoped(s->body[1]) : nullptr;
        return ir::branch(std::move(condition), std::move(then), std::move(otherwise));
      }
      case StmtNode::prefetch: return ir::prefetch(s->buffer, expression(s->index), s->second_level);
      case StmtNode::fail:
      case StmtNode::comment: return s;
    }
    return s;
  }

  Stmt scoped(const Stmt& s) {
    scopes_.emplace_back();
    Stmt result = ir::block({statement(s)});
    scopes_.pop_back();
    return result;
  }

 private:
  const ir::BufferParam& buffer(int i) const { return f_.buffers.at(static_cast<std::size_t>(i)); }

  void count(const Stmt& s) {
    if (s->kind == StmtNode::let || s->kind == StmtNode::declare || s->kind == StmtNode::loop) {
      auto& d = declarations_[s->name];
      ++d.times;
      d.changes = d.changes || s->kind == StmtNode::declare;
    }
    for (const auto& child : s->body) count(child);
  }
  /// May this stand wherever a copy of it is read? Not a variable that changes in between, nor a name that another one
  /// hides.
  bool passes(const ValueNode& e) const {
    if (e.kind == ValueNode::constant || e.kind == ValueNode::scalar_param) return true;
    if (e.kind != ValueNode::variable) return false;
    const auto it = declarations_.find(e.name);
    return it != declarations_.end() && it->second.times == 1 && !it->second.changes;
  }

  static Stmt in_braces(Stmt body) {
    auto node = std::make_shared<StmtNode>();
    node->kind = StmtNode::branch;
    node->value = ir::bool_const(true);
    node->body = {std::move(body)};
    return node;
  }

  Expr find(const Expr& e) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto it = scope->find(e->name); it != scope->end()) return it->second ? it->second : e;
    return e;
  }

  Expr expression(const Expr& e) {
    std::vector<Expr> a;
    for (const auto& arg : e->args) a.push_back(expression(arg));
    if (e->kind == ValueNode::variable) return find(e);
    if (a == e->args) return e;
    switch (e->kind) {
      case ValueNode::load: return ir::load(buffer(e->index), e->index, a[0], e->type.lanes);
      case ValueNode::unary: return ir::unary(e->op, a[0]);
      case ValueNode::binary: return ir::binary(e->op, a[0], a[1]);
      case ValueNode::select: return ir::select(a[0], a[1], a[2]);
      case ValueNode::cast: return ir::cast(e->type.dtype, a[0]);
      case ValueNode::fma: return ir::fma(a[0], a[1], a[2]);
      case ValueNode::broadcast: return ir::broadcast(a[0], e->type.lanes);
      case ValueNode::lane: return ir::lane(a[0], e->index);
      case ValueNode::blend: return ir::blend(a[0], a[1], e->index);
      case ValueNode::reduce_lanes: return ir::reduce_lanes(e->op, a);
      default: return e;
    }
  }

  struct Declarations {
    int times = 0;
    bool changes = false;
  };
  const ir::Function& f_;
  std::map<std::string, Declarations> declarations_;
  std::vector<std::map<std::string, Expr>> scopes_ = {{}};
};

/// Walks backwards: what is read later keeps what is declared earlier. A name that some scope reads counts as read in
/// all.
class DropDead {
 public:
  explicit DropDead(const Stmt& s) { count(s); }
  bool changed() const { return changed_; }

  Stmt statement(const Stmt& s) {
    switch (s->kind) {
      case StmtNode::block: {
        std::vector<Stmt> body;
        for (const auto& child : s->body) body.push_back(statement(child));
        return ir::block(std::move(body));
      }
      case StmtNode::let:
      case StmtNode::declare:
      case StmtNode::assign:
        if (read_.count(s->name)) return s;
        changed_ = true;
        return nullptr;
      case StmtNode::loop:
      case StmtNode::branch:
      case StmtNode::while_loop: {
        auto node = std::make_shared<StmtNode>(*s);
        bool empty = true;
        for (auto& child : node->body) {
          child = ir::block({statement(child)});
          empty = empty && child->body.empty();
        }
        // A loop that only waits might never end; it stays.
        if (empty && s->kind != StmtNode::while_loop) {
          changed_ = true;
          return nullptr;
        }
        if (node->body.size() > 1 && node->body[1]->body.empty()) node->body.pop_back();
        return node;
      }
      default: return s;
    }
  }

 private:
  void count(const Expr& e) {
    if (!e) return;
    if (e->kind == ValueNode::variable) read_.insert(e->name);
    for (const auto& a : e->args) count(a);
  }
  void count(const Stmt& s) {
    for (const auto* e : {&s->index, &s->value, &s->begin, &s->end}) count(*e);
    for (const auto& child : s->body) count(child);
  }

  std::set<std::string> read_;
  bool changed_ = false;
};

}  // namespace

ir::Function simplify(const ir::Function& f) {
  ir::Function result = f;
  result.body = ir::block({Forward(f).scoped(f.body)});
  for (bool again = true; again;) {
    DropDead dead(result.body);
    result.body = ir::block({dead.statement(result.body)});
    again = dead.changed();
  }
  return result;
}

}  // namespace strata
