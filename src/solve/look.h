#pragma once
// What can be seen of a matrix in one pass: enough to choose how to solve with it.
#include "solve/matrix.h"

namespace strata::solving {

struct Look {
  std::int64_t lower = 0, upper = 0;  ///< bandwidths: the largest i - j and j - i of a stored element (dense: not 0)
  bool hermitian = false, positive_diagonal = false;
  double largest = 0;                          ///< magnitude
  std::int64_t bad_row = -1, bad_column = -1;  ///< of an element that is not finite
};
template <class T> Look look_at(const Matrix<T>& a);
/// The method for what was seen.
Direct choose(const Look& look, std::int64_t rows, std::int64_t columns, std::int64_t stored, bool dense);
/// How many pivots the places that are stored allow at most (a matching of rows and columns); columns that are empty or
/// hold only zeros count as such.
template <class T> std::int64_t structural_rank(const Matrix<T>& a);
/// SingularError of a sparse matrix that LU found singular, with its structural rank where that is the reason.
template <class T> [[noreturn]] void refuse_singular(const Matrix<T>& a);

}  // namespace strata::solving
