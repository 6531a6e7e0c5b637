#pragma once
// What sums go to while their loops run.
#include <map>

#include "compiler/assembler.h"

namespace strata::merging {

class Totals : protected Assembler {
 protected:
  explicit Totals(const Input& input);
  ~Totals() = default;

  // --- totals.cpp ---
  /// Declares what the sums of these groups go to: totals for each chain.
  void open_totals(std::size_t groups, const std::function<int(std::size_t)>& lanes, Stmts& out);
  /// How many chains the innermost sums have: more than one where each waits for the one before.
  int chains_of_sums(std::size_t groups) const;
  /// ... where places of a block are held.
  int chains_of_held(std::size_t groups) const;
  /// In how many more copies, each with such chains, the loop around the innermost one runs: where that has two rounds.
  int copies_outside(std::size_t groups) const;
  Value total(std::size_t group = 0, int chain = 0) const;
  /// Of all chains.
  Value joined_total(Stmts& out, std::size_t group = 0);
  Value joined(const Value& total, const Value& more) const;
  /// A sum, kept as `sums` computes, and the term at this place; `present`: where there is one. Null: a sum of nothing,
  /// whose first term this is.
  Value with_term(const Arithmetic& sums, const Value& sum, const Place& at, Expr& present, Stmts& out);
  /// Assigns the total and one more value.
  void add_to_total(const Value& value, Stmts& out, int chain = 0);
  void assign_total(const Value& next, Stmts& out, int chain = 0, std::size_t group = 0);

  // --- factors.cpp ---
  struct Multiplier {
    int node;           ///< a product
    std::size_t which;  ///< its argument
  };
  void find_factors();
  /// What stays the same in an inner loop, in pieces of a tile: factors of the sum over that loop.
  void find_sums_within();
  /// Are there such, of this variable or of one behind it?
  bool has_sums_within(int var) const;
  /// Are the sums those of pieces of a tile, over elements of one operand?
  bool sums_pieces_of_one() const;
  int child_of(const Multiplier& f) const { return in_.nodes[static_cast<std::size_t>(f.node)].arguments[f.which]; }
  Value value_of_factor(const Multiplier& f, const Arithmetic& sums, const Place& at, Stmts& out);
  /// A sum, and the product of those factors that are inside.
  Value with_product(const Arithmetic& sums, const Value& sum, const Place& at, Stmts& out);
  /// A sum of these, times those that are outside.
  Value times_factors(const Arithmetic& sums, const Value& sum, const Place& at, Stmts& out);
  /// A sum of products that are -0.0 is 0.0, and so is what stands for it.
  static Value without_sign(const Arithmetic& sums, const Value& v);

  // --- checked_sums.cpp ---
  bool can_check_sums() const;
  /// From here on products have no choices, and it is noted which would have needed them, of so many lanes each.
  void watch_products(const std::vector<int>& lanes, Stmts& out);
  /// From here on they have. Was there one without that needed them?
  Expr is_unsure();
  /// The loops from this variable on, for the totals: without the choices of a semiring, and again where these matter.
  void sum_checked(int var, const Place& at, Stmts& out);
  void note_unsure(const Value& product, int chain, Stmts& out) override;

  // --- vectors.cpp ---
  /// What a sum starts from. In a slot of a pattern -0.0, which keeps the sign of a sum of zeros: it has a term in any
  /// case.
  Scalar start_of_sums() const {
    const bool signs =
        in_.pattern >= 0 && in_.combine == Combine::plus && (is_float(in_.compute) || is_complex(in_.compute));
    return signs ? Scalar::of(std::complex<double>(-0.0, -0.0)).as(in_.compute) : in_.absent;
  }
  Expr start_of_lanes() const {
    const bool zero = in_.combine == Combine::plus && in_.pattern < 0;
    return ir::broadcast(zero ? arithmetic_.zero().re : constant(start_of_sums()).re, in_.lanes);
  }
  /// How many vectors the sums of the innermost loop go to; 0: it runs value by value.
  int vectors_of_sums() const;
  /// Loops over whole vectors; `from`: where the rest begins. null: something may be absent.
  Stmt add_in_vectors(int var, Place at, Expr& from);
  /// The last `rest` terms of a sum of `all`, fewer than lanes: those of a whole vector, where the first add nothing.
  Value rest_of_terms(Place at, std::int64_t all, std::int64_t rest, Stmts& out);
  /// Each lane has taken so many terms more: where these are enough, all join the total.
  void count_added(const Expr& terms, Stmts& out);
  /// What the lanes of each vector come to: one value, or a lane for each of them.
  Value joined_lanes(std::vector<Expr> each, Stmts& out);
  /// What the vectors hold, to the total; they start again.
  void add_lanes(Stmts& out);

  compiler::Arithmetic total_;  ///< of sums in a register: these keep more digits
  int summed_from_ = -1;        ///< from this variable on all are summed: kept in a register; -1: none
  bool register_open_ = false;
  bool one_chain_ = false;  ///< sums are so seldom run that several chains are not worth their code
  /// Factors of each term, or of their sum; both empty where terms are taken as they are.
  std::vector<Multiplier> inside_, outside_;
  std::vector<std::vector<Multiplier>> within_;  ///< per variable: of the sum over those behind it
  struct Total {
    std::string re, im;
    int lanes = 1;
  };
  /// What the sum that is being written goes to; a sum inside of it has its own.
  struct OpenTotals {
    std::vector<std::vector<Total>> chains;  ///< per chain, per group of the piece
    int copies = 1;                          ///< the chains are of so many copies of the loop around the innermost
    int from = 0;                            ///< the first variable that they run over
    std::string found;                       ///< has a term come? "" where it need not be known
  } open_;
  std::vector<std::map<int, std::string>> unsure_;  ///< per chain, by lanes: has a product come that needs choices?
  std::vector<std::string> sums_;                   ///< vectors of the innermost sum, none where it runs value by value
  std::string count_;                               ///< terms of a reduction in which absent elements count too
};

}  // namespace strata::merging
