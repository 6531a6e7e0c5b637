#pragma once
// What a generated kernel is called with, as its bindings say: the one place that knows where each thing stands.
#include <array>
#include <span>
#include <vector>

#include "compiler/binding.h"
#include "strata/tensor.h"

namespace strata::execution {

/// What a run reads. What no binding of the kernel asks for may stay empty.
struct Inputs {
  std::span<const Tensor> operands;
  std::span<const std::int64_t> extents = {}, bounds = {};  ///< per loop variable; per bound
  std::int64_t (*lead)(const Part&) = nullptr;              ///< see ScalarBinding::lead

  const Part& part_of(int operand) const { return operands[static_cast<std::size_t>(operand)].part(); }
};

/// The array of an operand that a parameter stands for; null where it stands for anything else.
const Buffer* array_of(const BufferBinding& binding, const Inputs& in);

/// What a call writes to.
struct Outputs {
  void* values = nullptr;
  std::span<const std::int64_t> strides = {};  ///< of dense memory: per loop variable
  std::int64_t offset = 0;                     ///< of dense memory: elements before coordinates that are all 0
  // --- assembled ---
  std::span<const Buffer> crd = {}, pos = {};  ///< per level
  void *counts = nullptr, *sizes = nullptr;
  const std::int64_t* capacity = nullptr;
  // --- the workspace ---
  void *row_values = nullptr, *row_mask = nullptr;
  std::array<void*, 3> row_bits = {};
  void *row_slots = nullptr, *row_met = nullptr;  ///< of a numeric phase
  // --- by diagonals ---
  void *strips = nullptr, *met = nullptr;
};

/// On the stack but where a kernel has very many: a run allocates nothing.
class Arguments {
 public:
  Arguments(const BoundFunction& kernel, const Inputs& in, const Outputs& out);

  void* const* buffers() const { return buffers_.data(); }
  const std::int64_t* scalars() const { return scalars_.data(); }
  void*& buffer(std::size_t n) { return buffers_.data()[n]; }
  std::int64_t& scalar(std::size_t n) { return scalars_.data()[n]; }

 private:
  template <class T> class List {
   public:
    explicit List(std::size_t n) : far_(n > near_.size() ? n : 0) {}
    T* data() { return far_.empty() ? near_.data() : far_.data(); }
    const T* data() const { return far_.empty() ? near_.data() : far_.data(); }

   private:
    std::array<T, 64> near_;
    std::vector<T> far_;
  };
  List<void*> buffers_;
  List<std::int64_t> scalars_;
};

}  // namespace strata::execution
