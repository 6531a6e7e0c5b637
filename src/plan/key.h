#pragma once
// All that planning reads: what plans are remembered by.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/asked.h"
#include "plan/epoch.h"

namespace strata::planning {

/// What is known of the elements of operands.
struct Counts {
  std::vector<Stats> stats;
  std::vector<int> twins;  ///< the first one that differs in its values alone; itself
  bool operator==(const Counts&) const = default;
};
Counts counts_of(std::span<const Tensor> tensors);
/// Are these the counts of such tensors? Their types are those that were counted.
bool are_counts_of(std::span<const Tensor> tensors, const Counts& counts);
/// Does a plan for such counts serve these tensors: whose patterns are the same, and where every slot or place is an
/// element?
bool still_hold(const Counts& planned, std::span<const Tensor> tensors);

/// An einsum as an assignment over operands A, B, ..., its indices called in order of appearance.
Assignment plain_assignment(const Einsum& e);

/// What a kernel of a product is to give.
struct ProductResult {
  TensorType type;
  DType compute = DType::f64;
  bool operator==(const ProductResult&) const = default;
};

/// A question, and the operands that it is about. It points to what the caller has: most calls ask what was asked
/// before, and need no copy.
struct Asking {
  const Assignment* assignment = nullptr;
  const Einsum* einsum = nullptr;          ///< in its place, over operands A, B, ...;
  const ProductResult* product = nullptr;  ///< ... for a kernel alone, not for the way to a result
  const EvaluateOptions* options = &nothing;
  Destination::Outline to = {};
  std::span<const std::string> names = {};  ///< of an assignment's operands, by position
  std::span<const Tensor> tensors = {};     ///< the operands, the mask last;
  std::span<const TensorType> types = {};   ///< ... or what is planned for in their place,
  const Counts* counts = nullptr;           ///< ... and what is known of it: of tensors it is counted where it matters

  std::size_t size() const { return types.empty() ? tensors.size() : types.size(); }
  const TensorType& type(std::size_t k) const { return types.empty() ? tensors[k].type() : types[k]; }
  static const EvaluateOptions nothing;
};

/// The same as a value, under the settings of its making.
class Key {
 public:
  explicit Key(const Asking& asking);
  /// The question, which points into this key. (An einsum for the way to a result has become an assignment.)
  Asking asking() const;
  /// Is it this question, in these words, under the settings of now? Whatever the elements.
  bool answers(const Asking& asking, const Einsum* in_words_of) const;
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<TensorType>& types() const { return types_; }
  bool has_mask() const { return types_.size() > names_.size(); }

  std::optional<Counts> counts = {};  ///< where they decide
  bool operator==(const Key& o) const;
  std::size_t hash() const;

 private:
  std::optional<Assignment> assignment_;
  std::optional<Einsum> einsum_;
  std::optional<ProductResult> product_;
  EvaluateOptions options_;  ///< without the mask, which is an operand
  Destination::Outline to_;
  std::vector<std::string> names_;
  std::vector<TensorType> types_;
  Epoch epoch_ = Epoch::now();
};

}  // namespace strata::planning
