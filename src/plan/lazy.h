#pragma once
// Tensors that a plan will have: planning looks at what they are, running makes them.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/stats.h"
#include "strata/plan.h"

namespace strata::planning {

/// out = alpha * result + beta * out.
struct Destination {
  std::optional<Tensor> out = {};  ///< a fresh row-major tensor otherwise
  Scalar alpha = Scalar::of(std::int64_t{1}), beta = Scalar::of(std::int64_t{0});
  bool scales() const;  ///< is alpha not 1, or beta not 0?

  /// The same, as far as planning asks.
  struct Outline {
    std::optional<DType> dtype = {};  ///< of that memory; none: it is fresh
    bool scales = false;
    bool adds_in_place = false;  ///< `C += ...` into C's own memory
    bool operator==(const Outline&) const = default;
  };
  Outline outline() const;  ///< (Whether it adds in place the operands say.)
};

/// A tensor's type, what is known of its elements, and the step that makes it of others. A value; copies are the same
/// tensor.
class Lazy {
 public:
  using Inputs = std::vector<Tensor>;
  struct Step {
    std::vector<Lazy> inputs = {};
    /// Of the inputs, in their order. Nothing: a guard does not hold, and `otherwise` makes it.
    std::function<std::optional<Tensor>(Inputs&)> make = {};
    std::function<Lazy()> otherwise = {};   ///< asked once
    std::shared_ptr<const Lazy> then = {};  ///< what it is where `make` makes something: a guard only looks
    /// One more input, the last one, whose memory the step may take: nobody else asks for it.
    std::shared_ptr<const Lazy> consumed = {};
    /// Instead of `make` where the result is to go somewhere; what lacks it, or makes nothing, is written there
    /// afterwards.
    std::function<std::optional<Tensor>(Inputs&, const Destination&)> deliver = {};
    /// The numeric phase alone: the values over the pattern of an earlier result. Nothing where it does not serve, or
    /// the inputs give the result another pattern.
    std::function<std::optional<Tensor>(Inputs&, const Tensor& earlier)> numeric = {};
    std::function<std::string()> no_numeric = {};  ///< why it never does; "" where it does
    std::optional<Plan> kernel = {};  ///< all that `make` and `deliver` do with the inputs, as they are, is to run this
    /// What is generated for it: a title, and the text. Nothing where there is nothing to show.
    std::function<std::pair<std::string, std::string>()> code = {};
    double work = 0;             ///< innermost iterations that `make` takes, about
    bool guessed = false;        ///< the type too: who takes it looks at what came
    bool keeps_fill_in = false;  ///< the first input's fill-in became elements like others
  };

  Lazy() = default;
  /// The operand that a run gets at this position.
  static Lazy given(int position, TensorType type, Stats stats);
  /// The same elements under other values as `like`'s, where that is given.
  static Lazy made(TensorType type, Stats stats, Step step, const Lazy* like = nullptr);
  static Lazy made(TensorType type, Step step, const Lazy& like) {
    return made(std::move(type), like.stats(), std::move(step), &like);
  }

  const TensorType& type() const;
  const Format& format() const { return type().format; }
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  const Scalar& fill() const { return type().fill; }
  int rank() const { return static_cast<int>(type().shape.size()); }
  int num_parts() const { return type().format.num_parts(); }
  const Stats& stats() const;
  std::int64_t nse() const;  ///< about
  int position() const;      ///< of a given one; -1
  const Step& step() const;
  bool may_hold_fill_in() const;  ///< may elements of it be there that nobody stored? They have no sign

  bool same_object(const Lazy& o) const { return node_ == o.node_; }
  /// Do two sparse tensors of one part differ in their values alone?
  bool is_twin_of(const Lazy& o) const;
  /// Says that the elements of this given one stand where `o`'s do.
  void set_twin(const Lazy& o);
  /// Is `o` what this is made of, directly or not?
  bool is_made_of(const Lazy& o) const;

 private:
  struct Node;
  std::shared_ptr<Node> node_;
};

/// What planning takes strides for that the type does not know: a general one is some number above 1.
std::vector<std::int64_t> assumed_strides(const TensorType& dense);

}  // namespace strata::planning
