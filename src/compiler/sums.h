#pragma once
// Products at the leaf, the accumulators that they are added to, and what becomes of these.
#include <map>

#include "compiler/addresses.h"

namespace strata::compiler {

class Sums : protected Addresses {
 protected:
  Sums(const Graph& graph, const ProductSchedule& schedule);
  ~Sums() = default;

  virtual ir::Stmt emit(std::size_t step, const Point& at) = 0;

  struct Accumulator {
    std::string re, im;
    int lanes = 1;
  };
  using Key = std::vector<std::int64_t>;  ///< row..., group, chain

  // --- sums.cpp: factors that multiply sums ---
  ir::Stmt emit_sum(std::size_t step, const Point& at);
  /// What multiplies the sum below `levels` levels, for one piece of the tile.
  Value factor_of(const Point& at, int levels, const Group& group, Stmts& out);
  ir::Stmt scale_accumulators(const Point& at, int levels, const std::vector<Group>& groups);

  // --- leaf.cpp: products, accumulators, stores ---
  ir::Stmt emit_split(std::size_t step, const Point& at);
  ir::Stmt emit_open(std::size_t step, const Point& at);
  ir::Stmt emit_leaf(const Point& at);
  ir::Expr slot(const Point& at) const;  ///< position of the driver's leaf
  ir::Stmt store_all(const Point& at, bool read);
  ir::Stmt update_output(const ir::Expr& index, const Value& value, int lanes, bool read);
  Value accumulator(const Accumulator& a) const;
  Key key(const Point& at, std::int64_t group) const;
  std::int64_t group_id(std::size_t number, const Group& group) const;
  struct Slot {
    Key key;
    Group group;
  };
  std::vector<Group> accumulator_groups(const Point& at) const;
  void for_each_row(const Point& at, const std::function<void(Point)>& f) const;

  Value alpha_, beta_;
  ir::Expr alpha_is_one_, beta_is_one_;  ///< complex only: 1 + 0i times Inf would put a NaN beside it
  int output_ = 0;
  DType output_storage_;

 private:
  std::map<Key, Accumulator> accumulators_;
};

}  // namespace strata::compiler
