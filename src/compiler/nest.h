#pragma once
// The nest of a product: a schedule written down as loop IR, step by step from the outside in.
#include "compiler/walk.h"

namespace strata::compiler {

class TiledNest : private Walk {
 public:
  TiledNest(const Graph& graph, const ProductSchedule& schedule) : Walk(graph, schedule) {}
  LoweredProduct build();

 private:
  // --- nest.cpp ---
  ir::Stmt emit(std::size_t step, const Point& at) override;
  void initialize_window(Stmts& out);
  ir::Expr batch_is_wanted(const Point& at) const;

  // --- tile.cpp: pieces of lanes ---
  ir::Stmt emit_tile(std::size_t step, const Point& at);
  ir::Stmt tile_piece(std::size_t step, const Point& at, const ir::Expr& first, std::vector<Group> groups);
  ir::Stmt tile_range(std::size_t step, const Point& at, const ir::Expr& first, const ir::Expr& last);
};

}  // namespace strata::compiler
