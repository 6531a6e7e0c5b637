#pragma once
// Loops in the shapes that processors like: over coordinates in pieces of vectors, which are held in registers while
// the loops inside run, and over positions in several chains of sums.
#include <functional>
#include <string>
#include <vector>

#include "compiler/params.h"

namespace strata::compiler {

/// A part of a piece: `lanes` consecutive coordinates from `offset` on.
struct Group {
  std::int64_t offset = 0;
  int lanes = 1;
};

/// [0, count) in groups of `lanes`, then halves of that.
std::vector<Group> groups_of(std::int64_t count, int lanes);

struct Pieces {
  int lanes = 1, vectors = 1;  ///< of a whole piece
  bool whole = false;          ///< what they cut is so many whole vectors
  bool overlap = false;        ///< a last vector takes what others have had: there are `lanes` coordinates at least;
                               ///< otherwise what is less than a vector comes in halves of it
};

/// What stands for one piece, from this coordinate on. `whole`: it has all vectors.
using Piece = std::function<ir::Stmt(const ir::Expr& first, const std::vector<Group>& groups, bool whole)>;

/// [first, last), known when the kernel runs: whole pieces, then those of half as many vectors and so on, then narrower
/// ones, then one by one.
ir::Stmt loop_in_pieces(Names& names, const std::string& stem, const ir::Expr& first, const ir::Expr& last,
                        const Pieces& pieces, const Piece& body);
/// [0, n): whole pieces, then one with what is left.
ir::Stmt loop_in_pieces(Names& names, const std::string& stem, std::int64_t n, const Pieces& pieces, const Piece& body);

/// [first, last), `chains` rounds at a time, each with sums of its own, so that none waits for the one before; the rest
/// joins the first chain. `last`: of the copies in a round.
ir::Stmt loop_in_chains(Names& names, const std::string& stem, const ir::Expr& first, const ir::Expr& last, int chains,
                        const std::function<ir::Stmt(const ir::Expr& at, int chain, bool last)>& body);

/// Under a name of this stem, where it is more than a name or a constant.
ir::Expr named(Names& names, std::vector<ir::Stmt>& out, const std::string& stem, const ir::Expr& e);

}  // namespace strata::compiler
