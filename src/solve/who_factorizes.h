#pragma once
// Who factorizes by which method, and what is tried where that fails.
#include <array>
#include <optional>

#include "solve/factors.h"
#include "solve/look.h"

namespace strata::solving {

inline constexpr std::array<std::string_view, 4> library_words = {"eigen", "pardiso", "cholmod", "umfpack"};
inline constexpr std::array<const char*, 4> library_names = {"Eigen", "PARDISO", "CHOLMOD", "UMFPACK"};

/// The method by which the library of `options` factorizes what was seen. PlanError where it has none.
inline Direct method_of_library(const Look& seen, const DirectOptions& options, bool dense) {
  const auto refuse = [&](const char* expected, std::string got) {
    throw PlanError(
        {.what = std::string(library_names[static_cast<std::size_t>(options.library)]) + " does not factorize this",
         .expected = expected,
         .got = std::move(got),
         .fix = "another library=, or none"});
  };
  if (dense) refuse("a sparse matrix", "a dense one");
  const bool diagonal = seen.lower == 0 && seen.upper == 0;
  const bool hermitian = seen.hermitian || (diagonal && seen.positive_diagonal);
  Direct kind = options.method;
  const bool automatic = kind == Direct::automatic;
  switch (options.library) {
    case DirectLibrary::cholmod:
      if (automatic) kind = hermitian && seen.positive_diagonal ? Direct::cholesky : Direct::automatic;
      if (kind != Direct::cholesky)
        refuse("method 'cholesky', a Hermitian matrix with a positive diagonal",
               automatic ? "another matrix" : "method '" + std::string(name_of(kind)) + "'");
      break;
    case DirectLibrary::umfpack:
      if (automatic) kind = Direct::lu;
      if (kind != Direct::lu) refuse("method 'lu'", "method '" + std::string(name_of(kind)) + "'");
      break;
    default:
      if (automatic) kind = !hermitian ? Direct::lu : seen.positive_diagonal ? Direct::cholesky : Direct::ldlt;
      if (kind != Direct::cholesky && kind != Direct::ldlt && kind != Direct::lu)
        refuse("method 'cholesky', 'ldlt' or 'lu'", "method '" + std::string(name_of(kind)) + "'");
  }
  return kind;
}

template <class T> FactorsPtr<T> make_factors(Direct kind, const Matrix<T>& a, const DirectOptions& options) {
  switch (options.library) {
    case DirectLibrary::pardiso: return make_pardiso<T>(kind);
    case DirectLibrary::cholmod: return make_cholmod<T>();
    case DirectLibrary::umfpack: return make_umfpack<T>();
    default: break;
  }
  const bool dense = a.is_dense();
  switch (kind) {
    case Direct::diagonal: return make_diagonal<T>();
    case Direct::lower: return make_triangular<T>(true, options.unit_diagonal);
    case Direct::upper: return make_triangular<T>(false, options.unit_diagonal);
    case Direct::tridiagonal: return make_banded<T>(1, 1);
    case Direct::banded: {
      const Look seen = look_at(a);
      return make_banded<T>(seen.lower, seen.upper);
    }
    case Direct::cholesky: return dense ? make_dense_cholesky<T>() : make_sparse_ldlt<T>(true);
    case Direct::ldlt: return dense ? make_dense_lu<T>() : make_sparse_ldlt<T>(false);
    case Direct::qr: return dense ? make_dense_qr<T>() : make_sparse_qr<T>();
    default: return dense ? make_dense_lu<T>() : make_sparse_lu<T>();
  }
}

/// What is tried where a method that nobody named has failed.
inline std::optional<Direct> instead_of(Direct kind, bool dense, DirectLibrary library) {
  if (library == DirectLibrary::cholmod || library == DirectLibrary::umfpack) return {};
  if (kind == Direct::cholesky) return dense ? Direct::lu : Direct::ldlt;
  if (kind == Direct::ldlt) return Direct::lu;
  return {};
}

}  // namespace strata::solving
