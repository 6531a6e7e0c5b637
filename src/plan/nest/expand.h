#pragma once
// The elements of a sparse operand under indices of their own, once for each way to write their coordinates.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/asked.h"

namespace strata::direct {

/// The access in numbers: per dimension the coefficients of the indices, which are numbered by appearance.
struct Affine {
  struct Coefficient {
    std::size_t index;
    std::int64_t coefficient;
  };
  std::vector<std::vector<Coefficient>> terms;
  std::vector<std::int64_t> constants;
  std::vector<std::string> names;
  Shape extents;
  bool stretched = false;  ///< an extent of 1 stands for every coordinate: coefficient 0
};

Affine affine(const Expression& access, const Shape& shape, const std::map<std::string, std::int64_t>& extents);

/// How many elements one may become.
double copies(const Affine& a);

/// A tensor over the access's indices, of compressed levels in an order that lies at hand.
Format expanded_format(const Affine& a);
Tensor expanded(const Tensor& t, const Affine& a, bool drops_fill_in);

/// Are its elements sorted by their coordinates, each once, in compressed levels (the first one may be dense)?
bool is_in_order(const Format& f);
/// The same of such a tensor in one walk over rows, where every dimension has indices of its own, of which one decides
/// and the others have few values: A(i + r, j + s) in the order i, r, s, j. Nothing where it is another access.
std::optional<Tensor> expanded_in_order(const Tensor& t, const Affine& a);
/// The indices of its levels.
std::optional<std::vector<int>> order_of_expanded(const Affine& a);

}  // namespace strata::direct
