#pragma once
#include <functional>
#include <string>

#include "compiler/emit/prologue.h"
#include "ir/ir.h"

namespace strata {

/// Prints expressions as C. Helpers and types that the text needs are asked of the prologue.
class CExpression {
 public:
  /// `name_of`: the C name of a variable or scalar parameter.
  CExpression(Prologue& prologue, const ir::Function& f, std::function<std::string(const std::string&)> name_of)
      : prologue_(prologue), f_(f), name_of_(std::move(name_of)) {}

  /// The text, in parentheses where it binds less tightly than `outer` (C's levels: 14 unary, 13 *, 12 +, 10 <, 5 &&, 3
  /// ?:).
  std::string operator()(const ir::Expr& e, int outer = 0);

 private:
  std::string unary(const ir::Expr& e, int outer);
  std::string binary(const ir::Expr& e, int outer);
  std::string divide(const ir::Expr& e, int outer);
  std::string select(const ir::Expr& e, int outer);
  /// Of a choice between values: with a jump inside, compilers make neither a selection nor vectors of it.
  std::string condition(const ir::Expr& c, int outer);
  std::string cast(const ir::Expr& e, int outer);
  std::string load(const ir::Expr& e, int outer);
  std::string constant(const ir::ValueNode& e);
  /// A constant keeps its own C type where nothing beside it would bring it back to it.
  std::string typed(const ir::Expr& e, int outer);
  std::string call(const std::string& name, const ir::Expr& e);
  /// A vector of booleans as a mask of `bytes` wide elements.
  std::string mask(const ir::Expr& e, std::size_t bytes);

  Prologue& prologue_;
  const ir::Function& f_;
  std::function<std::string(const std::string&)> name_of_;
};

}  // namespace strata
