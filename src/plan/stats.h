#pragma once
// What is known of a tensor's elements beside its type: counts, never places or values.
#include <memory>
#include <vector>

#include "base/last_made.h"
#include "strata/tensor.h"

namespace strata::planning {

/// Counts are rounded to powers of two, so that a plan does not change with every element.
struct Stats {
  double stored = 0;             ///< elements
  double slots = 0;              ///< values in use: padding and what lies outside of the tensor count too
  std::vector<double> children;  ///< of one part: positions of each level
  bool each_slot = true;         ///< is every slot an element of its own? Known of a tensor that is there,
  bool full = false;             ///< ... as is whether every place is an element; of others both are guesses
  bool operator==(const Stats&) const = default;
};

/// To the nearest power of two; 0 stays 0.
double rounded(double count);
/// Places of a tensor of this shape; beyond 2^53 as good as exact, since no memory holds as many values.
double places_of(const Shape& shape);

/// What is counted of a sparse tensor's pattern: once, and kept with it.
struct CountedPattern {
  /// Whether long_rows.h found some, asked for an operand with these dimensions in the result.
  struct LongRows {
    std::vector<char> in_output;
    bool found = false;
  };
  Stats stats;
  std::vector<double> positions;  ///< of each level, to the element; of batches about, as they would have to be walked
  LastMade<LongRows> long_rows;   ///< asked last
  LastMade<Tensor> view;          ///< the tensor's arrays in another format: see viewed_as()
};
std::shared_ptr<const CountedPattern> counted(const Tensor& t);
/// The view of a tensor that `make` makes, over this format and shape. What was made last is kept with the tensor, as
/// every call of a product wants the same one.
template <class F> Tensor viewed_as(const Tensor& t, const Format& format, const Shape& shape, const F& make) {
  const auto known = counted(t);
  if (const auto last = known->view.get(); last && last->format() == format && last->shape() == shape) return *last;
  const auto made = std::make_shared<const Tensor>(make());
  known->view.set(made);
  return *made;
}
/// Of a tensor of this type that has about so many elements.
Stats stats_for(const TensorType& type, double stored);
/// ... of which nobody says how many: 16 a row.
Stats stats_for(const TensorType& type);

/// About how many bytes its arrays have.
double bytes_of(const TensorType& type, const Stats& stats);

/// Do two tensors of one part differ in their values alone? Looks at addresses.
bool share_pattern(const Tensor& a, const Tensor& b);
/// The same, and where the arrays are others, at what these hold.
bool have_one_pattern(const Tensor& a, const Tensor& b);

}  // namespace strata::planning
