#pragma once
// An elementwise tree over leaves: where it has values, and which. Reductions inside it are leaves, already carried
// out.
#include <optional>
#include <set>

#include "reference/leaf.h"

namespace strata::evaluation {

/// What is known of a node before any element is looked at.
struct TreeNode {
  Operator op = Operator::constant;
  int leaf = -1;
  std::vector<int> arguments;  ///< products have as many as are written
  std::vector<int> vars;       ///< that the value depends on
  DType compute = DType::f64, dtype = DType::f64;
  enum Weak : std::uint8_t {
    strong,
    integer,
    floating,
    complex
  } weak = strong;        ///< a Python number takes the dtype of what it meets
  bool constant = false;  ///< one value everywhere
  bool always = false;    ///< has a value everywhere, not one value: a dense operand is in it
  Column fill;            ///< where absent; of a constant its value
  bool fill_in = false;   ///< some of its elements may be what a format put there,
  bool no_sign = false;   ///< ... whose zeros, as those of absent elements, have no sign

  /// Absence makes a product absent, whatever it is multiplied with: NaN and Inf too.
  bool annihilates() const { return !constant && !always && is_zero(fill); }
};

/// Values of a node in the rows of a slab.
struct NodeValues {
  Column values;
  std::vector<std::uint8_t> present;  ///< empty: in all rows
};

/// Which elements of a result are wanted: those in `rows`, or all others.
struct Mask {
  Rows rows;
  bool complement = false;
};

class Tree {
 public:
  Tree(Extents extents, Semiring semiring) : extents_(std::move(extents)), semiring_(std::move(semiring)) {}

  int add_constant(const Expression& e);
  int add_leaf(Leaf leaf, std::vector<int> vars);
  int add_unary(Operator op, int a);
  int add_operation(Operator op, std::vector<int> arguments);
  /// Zeros of this node lose their sign where they may be fill-in: a quotient would tell them from absent ones.
  void drop_signs(int n);
  const TreeNode& node(int n) const { return nodes_[static_cast<std::size_t>(n)]; }

  /// Rows where the node may differ from its fill. `restrict`: only those are asked for.
  Rows support(int n, const Rows* restrict) const;
  /// Calls f(slab of rows, values) until all of support() that `mask` lets through was seen; every variable of the node
  /// and of `cover` is listed, and those of the mask are among them.
  template <class F>
  void for_each_slab(int n, const Mask* mask, std::span<const int> cover, const F& f) const {
    const Rows* restrict = mask && !mask->complement ? &mask->rows : nullptr;
    const Rows* exclude = mask && mask->complement ? &mask->rows : nullptr;
    Rows rows = covering(support(n, restrict), united(node(n).vars, cover));
    const std::int64_t all = total(rows, extents_);
    for (std::int64_t begin = 0; begin < all; begin += slab_rows) {
      Rows piece = rows.free.empty() && all <= slab_rows
                       ? std::move(rows)
                       : slab(rows, begin, std::min(all, begin + slab_rows), extents_);
      if (exclude) piece = without(piece, *exclude, extents_);
      look_up(n, piece);
      const NodeValues v = evaluate(n, piece);
      f(std::move(piece), v);
    }
  }
  /// Rows whose variables, listed or free, are all of these.
  Rows covering(Rows rows, std::span<const int> vars) const;
  const Extents& extents() const { return extents_; }
  const Semiring& semiring() const { return semiring_; }

 private:
  static constexpr std::int64_t slab_rows = 1 << 19;  ///< bounds the memory of intermediates

  int add(TreeNode n);
  DType common(Operator op, std::span<const int> arguments) const;
  /// Of a comparison of integers: a number beyond their dtype becomes an infinity, beyond which none of them is.
  DType common_of_comparison(Operator op, std::span<const int> arguments);
  bool is_quotient_of_absent(Operator op, std::span<const int> arguments) const;
  std::vector<Rows> supports(std::span<const int> arguments, const Rows* restrict) const;
  void look_up(int n, Rows& rows) const;
  NodeValues evaluate(int n, const Rows& rows) const;
  NodeValues value_of(int n, const Rows& rows) const;
  NodeValues evaluate_semiring(const TreeNode& node, const Rows& rows) const;

  Extents extents_;
  Semiring semiring_;
  std::vector<TreeNode> nodes_;
  std::vector<Leaf> leaves_;
};

}  // namespace strata::evaluation
