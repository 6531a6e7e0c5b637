// From the tree to the interpreter's instructions. Variables and intermediate values get registers like a stack.
#include <algorithm>
#include <map>

#include "ir/bytecode.h"
#include "ir/semantics.h"
#include "strata/error.h"

namespace strata::ir {
namespace {

bool has_load(const Expr& e) {
  return e->kind == ValueNode::load || std::any_of(e->args.begin(), e->args.end(), has_load);
}

class Translator {
 public:
  explicit Translator(const Function& f) : f_(f) {}

  Bytecode run() {
    scopes_.emplace_back();
    for (const char* name : {"begin", "end", "chunk"}) scopes_[0][name] = claim(1);
    for (const auto& name : f_.scalars) scalars_[name] = claim(1);
    statement(*f_.body);
    emit({.run = steps::halt()});
    // Constants come first: until now the one at place k was called -1 - k.
    const auto shift = static_cast<std::int32_t>(out_.constants.size());
    for (auto& i : out_.code)
      for (auto* r : {&i.dst, &i.a, &i.b, &i.c}) *r = *r < 0 ? -1 - *r : *r + shift;
    out_.registers = static_cast<std::size_t>(shift + most_);
    out_.scalars = f_.scalars.size();
    return std::move(out_);
  }

 private:
  int claim(int lanes) {
    const int r = next_;
    next_ += lanes;
    most_ = std::max(most_, next_);
    return r;
  }

  std::size_t emit(Instruction i) {
    out_.code.push_back(i);
    return out_.code.size() - 1;
  }
  /// Lets the jump at `from` go to the next instruction.
  void land(std::size_t from) { out_.code[from].extra = static_cast<std::int32_t>(out_.code.size() - from); }
  std::int32_t back_to(std::size_t target) const {
    return static_cast<std::int32_t>(target) - static_cast<std::int32_t>(out_.code.size());
  }

  /// Register of a constant: -1 - its place. Equal constants share it.
  int constant_register(const ValueNode& e) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, e.value.bits, size_of(e.type.dtype));
    const auto [it, fresh] = constants_.try_emplace({bits, e.type.lanes}, 0);
    if (fresh) {
      it->second = -1 - static_cast<int>(out_.constants.size());
      out_.constants.insert(out_.constants.end(), static_cast<std::size_t>(e.type.lanes), bits);
    }
    return it->second;
  }

  int find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto it = scope->find(name); it != scope->end()) return it->second;
    throw InternalError("ir: '" + name + "' is not visible");
  }

  /// Where the value of e lies, after code that computes it.
  int value(const Expr& e) {
    switch (e->kind) {
      case ValueNode::constant: return constant_register(*e);
      case ValueNode::variable: return find(e->name);
      case ValueNode::scalar_param: return scalars_.at(e->name);
      case ValueNode::lane: return value(e->args[0]) + e->index;  // of a constant: folded by the builder
      default: {
        const int r = claim(e->type.lanes);
        value_into(e, r);
        return r;
      }
    }
  }

  const BufferParam& buffer(int index) const { return f_.buffers.at(static_cast<std::size_t>(index)); }

  /// Computes e into register dst. Only the last instruction writes dst, so dst may be a variable that e reads.
  void value_into(const Expr& e, int dst) {
    const int mark = next_;
    const int lanes = e->type.lanes;
    const DType t = e->type.dtype;
    Instruction i{.dst = dst, .lanes = lanes};
    switch (e->kind) {
      case ValueNode::constant:
      case ValueNode::variable:
      case ValueNode::scalar_param:
      case ValueNode::lane:
        i.run = steps::copy();
        i.a = value(e);
        break;
      case ValueNode::load:
        i.run = steps::load(buffer(e->index), lanes);
        i.a = value(e->args[0]);
        i.extra = e->index;
        i.number = buffer(e->index).packed_bits;
        break;
      case ValueNode::unary:
        i.run = steps::unary(e->op, e->args[0]->type.dtype);
        i.a = value(e->args[0]);
        break;
      case ValueNode::binary:
        i.run = steps::binary(e->op, e->args[0]->type.dtype, lanes);
        i.a = value(e->args[0]);
        i.b = value(e->args[1]);
        break;
      case ValueNode::cast:
        i.run = steps::cast(t, e->args[0]->type.dtype, lanes);
        i.a = value(e->args[0]);
        break;
      case ValueNode::fma:
        i.run = steps::fma(t, lanes);
        i.a = value(e->args[0]);
        i.b = value(e->args[1]);
        i.c = value(e->args[2]);
        break;
      case ValueNode::broadcast:
        i.run = steps::broadcast();
        i.a = value(e->args[0]);
        break;
      case ValueNode::blend:
        i.run = steps::copy();
        i.a = value(e->args[0]);
        i.lanes = e->index;
        i.b = claim(lanes);
        value_into(e->args[1], i.b);  // (a constant's lanes cannot be counted from its register.)
        emit(i);
        i.a = i.b + e->index;
        i.dst = dst + e->index;
        i.lanes = lanes - e->index;
        break;
      case ValueNode::reduce_lanes:
        i.run = steps::reduce(e->op, t);
        i.lanes = e->args[0]->type.lanes;
        for (std::size_t k = 0; k < e->args.size(); ++k) {
          i.a = value(e->args[k]);
          i.dst = dst + static_cast<int>(k);
          if (k + 1 < e->args.size()) emit(i);
        }
        break;
      case ValueNode::select:
        if (e->args[0]->type.lanes == 1 && (has_load(e->args[1]) || has_load(e->args[2]))) {
          const std::size_t otherwise = jump_unless(e->args[0]);
          value_into(e->args[1], dst);
          const std::size_t done = emit({.run = steps::jump()});
          land(otherwise);
          value_into(e->args[2], dst);
          land(done);
          next_ = mark;
          return;
        }
        i.run = e->args[0]->type.lanes == 1 ? steps::select_scalar() : steps::select_lanes();
        i.a = value(e->args[0]);
        i.b = value(e->args[1]);
        i.c = value(e->args[2]);
        break;
    }
    emit(i);
    next_ = mark;
  }

  /// A jump taken where the condition is false; its target is set by land().
  std::size_t jump_unless(const Expr& condition) {
    const int mark = next_;
    Instruction i;
    const bool comparison =
        condition->kind == ValueNode::binary && is_compare(condition->op) && condition->args[0]->type == Type{};
    if (comparison) {
      i.run = steps::jump_unless_i64(condition->op);
      i.a = value(condition->args[0]);
      i.b = value(condition->args[1]);
    } else {
      i.run = steps::jump_unless();
      i.a = value(condition);
    }
    next_ = mark;
    return emit(i);
  }

  void scoped(const StmtNode& s) {
    const int mark = next_;
    scopes_.emplace_back();
    statement(s);
    scopes_.pop_back();
    next_ = mark;
  }

  void statement(const StmtNode& s) {
    switch (s.kind) {
      case StmtNode::block:
        for (const auto& child : s.body) statement(*child);
        break;
      case StmtNode::let:
      case StmtNode::declare: {
        const int r = claim(s.value->type.lanes);
        value_into(s.value, r);
        scopes_.back()[s.name] = r;
        break;
      }
      case StmtNode::assign: value_into(s.value, find(s.name)); break;
      case StmtNode::store:
      case StmtNode::store_or: {
        const int mark = next_;
        const BufferParam& b = buffer(s.buffer);
        Instruction i{.lanes = s.value->type.lanes, .extra = s.buffer, .number = b.packed_bits};
        i.run = s.kind == StmtNode::store ? steps::store(b, i.lanes) : steps::store_or(b);
        i.a = value(s.index);
        i.b = value(s.value);
        emit(i);
        next_ = mark;
        break;
      }
      case StmtNode::loop: loop(s); break;
      case StmtNode::while_loop: {
        const std::size_t top = out_.code.size();
        const std::size_t leave = jump_unless(s.value);
        scoped(*s.body[0]);
        emit({.run = steps::jump(), .extra = back_to(top)});
        land(leave);
        break;
      }
      case StmtNode::branch: {
        const std::size_t otherwise = jump_unless(s.value);
        scoped(*s.body[0]);
        if (s.body.size() > 1) {
          const std::size_t done = emit({.run = steps::jump()});
          land(otherwise);
          scoped(*s.body[1]);
          land(done);
        } else {
          land(otherwise);
        }
        break;
      }
      case StmtNode::fail: emit({.run = steps::fail(), .extra = s.status}); break;
      case StmtNode::prefetch:
      case StmtNode::comment: break;
    }
  }

  void loop(const StmtNode& s) {
    const int mark = next_;
    const int i = claim(1), end = claim(1);
    value_into(s.begin, i);
    value_into(s.end, end);
    const std::size_t leave = emit({.run = steps::jump_unless_i64(Op::lt), .a = i, .b = end});
    scopes_.emplace_back();
    scopes_.back()[s.name] = i;
    const std::size_t top = out_.code.size();
    scoped(*s.body[0]);
    scopes_.pop_back();
    emit({.run = steps::loop_next(), .dst = i, .a = end, .extra = back_to(top), .number = s.step});
    land(leave);
    next_ = mark;
  }

  const Function& f_;
  Bytecode out_;
  std::map<std::pair<std::uint64_t, int>, int> constants_;
  std::map<std::string, int> scalars_;
  std::vector<std::map<std::string, int>> scopes_;
  int next_ = 0, most_ = 0;
};

}  // namespace

Bytecode translate(const Function& f) { return Translator(f).run(); }

}  // namespace strata::ir
