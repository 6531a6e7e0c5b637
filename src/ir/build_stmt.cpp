// Building statements.
#include "ir/ir.h"
#include "strata/error.h"

namespace strata::ir {
namespace {

Stmt make(StmtNode node) { return std::make_shared<const StmtNode>(std::move(node)); }

void need(bool ok, const std::string& what, const Expr& got) {
  if (!ok) throw InternalError("ir: " + what + ", got " + to_string(got->type) + " " + to_string(got));
}
void need_index(const std::string& what, const Expr& e) { need(e->type == Type{}, what + " must be i64", e); }
void need_condition(const std::string& what, const Expr& e) {
  need(e->type == Type{DType::boolean, 1}, what + " must be boolean", e);
}

}  // namespace

Stmt block(std::vector<Stmt> body) {
  std::vector<Stmt> flat;
  for (auto& s : body) {
    if (!s) continue;
    if (s->kind == StmtNode::block) flat.insert(flat.end(), s->body.begin(), s->body.end());
    else flat.push_back(std::move(s));
  }
  return make({.kind = StmtNode::block, .body = std::move(flat)});
}

Stmt let(std::string name, Expr value) {
  return make({.kind = StmtNode::let, .name = std::move(name), .value = std::move(value)});
}
Stmt declare(std::string name, Expr value) {
  return make({.kind = StmtNode::declare, .name = std::move(name), .value = std::move(value)});
}
Stmt assign(std::string name, Expr value) {
  return make({.kind = StmtNode::assign, .name = std::move(name), .value = std::move(value)});
}

Stmt store(const BufferParam& buffer, int buffer_index, Expr index, Expr value) {
  need_index("the index of a store to " + buffer.name, index);
  if (buffer.packed_bits > 0) throw InternalError("ir: store to the packed buffer " + buffer.name + ": use store_or");
  if (!buffer.written) throw InternalError("ir: store to " + buffer.name + ", which is not declared as written");
  need(value->type.dtype == compute_dtype(buffer.dtype) && !is_complex(buffer.dtype),
       "a store to " + buffer.name + " takes " + std::string(name_of(compute_dtype(buffer.dtype))), value);
  return make({.kind = StmtNode::store,
               .name = buffer.name,
               .buffer = buffer_index,
               .index = std::move(index),
               .value = std::move(value)});
}

Stmt store_or(int buffer_index, Expr index, Expr value) {
  need_index("the index of store_or", index);
  need((is_integer(value->type.dtype) || value->type.dtype == DType::boolean) && value->type.lanes == 1,
       "store_or takes a scalar integer", value);
  return make(
      {.kind = StmtNode::store_or, .buffer = buffer_index, .index = std::move(index), .value = std::move(value)});
}

Stmt loop(std::string name, Expr begin, Expr end, Stmt body, std::int64_t step, LoopKind kind) {
  need_index("the begin of loop " + name, begin);
  need_index("the end of loop " + name, end);
  if (step < 1) throw InternalError("ir: loop " + name + " by " + std::to_string(step));
  const bool known = begin->kind == ValueNode::constant && end->kind == ValueNode::constant;
  if (kind == LoopKind::unrolled && !known)
    throw InternalError("ir: unrolled loop " + name + " from " + to_string(begin) + " to " + to_string(end));
  return make({.kind = StmtNode::loop,
               .name = std::move(name),
               .loop_kind = kind,
               .step = step,
               .begin = std::move(begin),
               .end = std::move(end),
               .body = {block({std::move(body)})}});
}

Stmt while_loop(Expr condition, Stmt body) {
  need_condition("the condition of a while loop", condition);
  return make({.kind = StmtNode::while_loop, .value = std::move(condition), .body = {block({std::move(body)})}});
}

Stmt branch(Expr condition, Stmt then, Stmt otherwise) {
  need_condition("the condition of a branch", condition);
  if (condition->kind == ValueNode::constant) {
    Stmt taken = condition->value.bits[0] != 0 ? std::move(then) : std::move(otherwise);
    return block({std::move(taken)});
  }
  std::vector<Stmt> body = {block({std::move(then)})};
  if (otherwise) body.push_back(block({std::move(otherwise)}));
  return make({.kind = StmtNode::branch, .value = std::move(condition), .body = std::move(body)});
}

Stmt prefetch(int buffer_index, Expr index, bool second_level) {
  need_index("the index of a prefetch", index);
  return make(
      {.kind = StmtNode::prefetch, .buffer = buffer_index, .second_level = second_level, .index = std::move(index)});
}
Stmt fail(int status) {
  if (status <= 0) throw InternalError("ir: fail with status " + std::to_string(status));
  return make({.kind = StmtNode::fail, .status = status});
}
Stmt comment(std::string text) { return make({.kind = StmtNode::comment, .name = std::move(text)}); }

}  // namespace strata::ir
