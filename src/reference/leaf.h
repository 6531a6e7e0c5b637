#pragma once
// The operands of an elementwise tree: tensors under an access, and reductions already carried out.
#include <map>
#include <memory>
#include <string>

#include "reference/column.h"
#include "reference/rows.h"
#include "strata/evaluate_options.h"

namespace strata::evaluation {

/// The elements of one operand, read once, whatever its format.
struct OperandElements {
  bool dense = false;    ///< every element has a value: row-major, no coordinates
  bool fill_in = false;  ///< sparse: it may hold slots that a format put there
  Shape shape;
  std::vector<Ints> coords;  ///< sparse: per dimension, sorted, each at most once
  std::shared_ptr<const Column> values;
  Column fill;  ///< one value
};

/// Reads a tensor. Every in-range slot counts, and duplicates are added, unless a semiring says what is missing (design
/// 4): then the fill-in is left away, and a fill that is neither 0 nor `identity` makes the operand dense.
OperandElements read_operand(const Tensor& t, const Semiring& semiring);
/// Of a sparse mask the stored elements, of a dense one those that are not 0; dimension d becomes variable vars[d].
Rows read_mask(const Tensor& t, const std::vector<int>& vars);

/// An operand under an access: a function of index variables.
struct Leaf {
  int id = 0;
  bool dense = false, fill_in = false;
  std::shared_ptr<const Column> values;
  Column fill;
  Rows rows;              ///< sparse: its elements, with slots of `id`
  std::vector<int> vars;  ///< all that the value depends on
  Ints strides;           ///< dense: per variable
  std::int64_t offset = 0;
};

/// `variables`: number of each index name.
Leaf bind(int id, const OperandElements& operand, const std::vector<AffineIndex>& indices,
          const std::map<std::string, int>& variables, const Extents& extents);

}  // namespace strata::evaluation
