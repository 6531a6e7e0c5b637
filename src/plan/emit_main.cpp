// A main() for an emitted product: its arguments as a caller would bind them, written out.
#include "compiler/emit/c_file.h"
#include "execute/chunks.h"
#include "plan/compiled.h"

namespace strata::planning {

using execution::iterations;
using i64 = std::int64_t;

std::string emit_main(const std::string& name, const Einsum& e, std::span<const TensorType> types,
                      std::span<const Tensor> tensors, const Tensor& expected) {
  const auto [product, driver] = product_of(e, types);
  std::string why;
  const auto kernels = lower_product(product, driver, why);
  const Part& part = tensors[static_cast<std::size_t>(driver)].part();
  if (kernels.size() != 1 || (part.strides.empty() && part.format.num_batch_levels() > 0))
    throw Unsupported({.what = "main() calls one kernel once", .expected = "an operand without batches"});
  const Lowered& k = kernels[0].lowered;
  std::vector<Shape> shapes;
  for (const Tensor& t : tensors) shapes.push_back(t.shape());
  const std::vector<i64> extents = index_extents(e, shapes), strides = [&] {
    std::vector<i64> out(expected.shape().size(), 1);
    for (std::size_t d = out.size(); d-- > 1;) out[d - 1] = out[d] * expected.shape()[d];
    return out;
  }();
  const auto of = [&](int operand) -> const Part& { return tensors[static_cast<std::size_t>(operand)].part(); };

  std::vector<CArgument> buffers;
  for (const auto& b : k.buffers) {
    const auto l = static_cast<std::size_t>(b.level);
    switch (b.kind) {
      case BufferBinding::pos: buffers.push_back({of(b.operand).levels[l].pos}); break;
      case BufferBinding::crd: buffers.push_back({of(b.operand).levels[l].crd}); break;
      case BufferBinding::values: buffers.push_back({of(b.operand).values}); break;
      case BufferBinding::output:
        buffers.push_back(
            {Buffer::zeros(k.wide_output ? product.compute : expected.dtype(), expected.values().size), true});
        break;
      case BufferBinding::alpha: buffers.push_back({Buffer::filled(Scalar::one(product.compute), 1)}); break;
      default: buffers.push_back({Buffer::zeros(product.compute, 1)});  // beta
    }
  }
  std::vector<i64> scalars;
  for (const auto& s : k.scalars) {
    const auto l = static_cast<std::size_t>(s.level);
    switch (s.kind) {
      case ScalarBinding::extent: scalars.push_back(extents[l]); break;
      case ScalarBinding::dim_extent: scalars.push_back(shapes[static_cast<std::size_t>(s.operand)][l]); break;
      case ScalarBinding::level_lo: scalars.push_back(of(s.operand).ranges[l].lo); break;
      case ScalarBinding::level_size: scalars.push_back(of(s.operand).ranges[l].size); break;
      case ScalarBinding::level_slots: scalars.push_back(of(s.operand).format.level(s.level).arg); break;
      case ScalarBinding::stride: scalars.push_back(s.operand < 0 ? strides[l] : of(s.operand).strides[l]); break;
      case ScalarBinding::walk_end: scalars.push_back(iterations(part, s.level)); break;
      default: scalars.push_back(0);  // offsets, and where a walk begins
    }
  }
  const Launch& launch = k.launch;
  const i64 end = launch.kind == Launch::serial          ? 1
                  : launch.kind == Launch::output_window ? expected.shape()[static_cast<std::size_t>(launch.output_dim)]
                                                         : iterations(part, launch.level);
  return c_main(name, buffers, scalars, end, expected.values());
}

}  // namespace strata::planning
