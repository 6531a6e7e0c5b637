// A main() for an emitted product: its arguments as a caller would bind them, written out.
#include "compiler/emit/c_file.h"
#include "execute/arguments.h"
#include "execute/chunks.h"
#include "plan/compiled.h"
#include "tensor/row_major.h"

namespace strata::planning {

using execution::iterations;
using i64 = std::int64_t;

std::string emit_main(const std::string& name, const Einsum& e, std::span<const TensorType> types,
                      std::span<const Tensor> tensors, const Tensor& expected) {
  const auto [product, driver] = product_of(e, types);
  const auto kernels = kernels_of(product, driver);
  const Part& part = tensors[static_cast<std::size_t>(driver)].part();
  if (kernels.size() != 1 || (part.strides.empty() && part.format.num_batch_levels() > 0))
    throw Unsupported({.what = "main() calls one kernel once", .expected = "an operand without batches"});
  const LoweredProduct& k = kernels[0].lowered;
  std::vector<Shape> shapes;
  for (const Tensor& t : tensors) shapes.push_back(t.shape());
  const std::vector<i64> extents = index_extents(e, shapes), strides = row_major_strides(expected.shape());
  const Scalar one = Scalar::one(product.compute), zero = Scalar::zero(product.compute);
  execution::Inputs in{.operands = tensors, .walked = driver, .part = &part, .extents = extents};
  in.alpha = &one, in.beta = &zero;
  in.lead = [](const Part&) { return i64{0}; };
  std::vector<CArgument> buffers;
  for (const auto& b : k.buffers) {
    if (const Buffer* array = array_of(b, in)) buffers.push_back({*array});
    else if (b.kind == BufferBinding::output)
      buffers.push_back(
          {Buffer::zeros(k.wide_output ? product.compute : expected.dtype(), expected.values().size), true});
    else buffers.push_back({Buffer::filled(b.kind == BufferBinding::alpha ? one : zero, 1)});
  }
  const execution::Arguments args(k, in, {.strides = strides});
  const Launch& launch = k.launch;
  const i64 end = launch.kind == Launch::serial          ? 1
                  : launch.kind == Launch::output_window ? expected.shape()[static_cast<std::size_t>(launch.output_dim)]
                                                         : iterations(part, launch.level);
  return c_main(name, buffers, {args.scalars(), k.scalars.size()}, end, expected.values());
}

}  // namespace strata::planning
