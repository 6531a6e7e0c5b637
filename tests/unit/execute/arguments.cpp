// Arguments stand where the bindings say; pieces grow until all fits, and are stitched in their order.
#include <doctest/doctest.h>

#include "execute/assembly.h"
#include "strata/tensor.h"

using namespace strata;
using execution::Arguments;

namespace {

/// 2 x 3 with 3 elements.
Tensor small() {
  RawArrays arrays;
  arrays.pos[1] = Buffer::own(std::vector<std::int32_t>{0, 1, 3});
  arrays.crd[1] = Buffer::own(std::vector<std::int32_t>{2, 0, 1});
  arrays.values = Buffer::own(std::vector<double>{1, 2, 3});
  return make_tensor(parse_format("CSR"), {2, 3}, arrays);
}

}  // namespace

TEST_CASE("arguments stand where the bindings say, however many there are") {
  const Tensor a = small();
  const Tensor operands[] = {a};
  const std::int64_t extents[] = {2, 3}, strides[] = {7, 1};
  double out = 0;
  for (const int repeats : {1, 30}) {  // on the stack, and beyond what stands there
    BoundFunction kernel;
    for (int k = 0; k < repeats; ++k)
      for (const auto kind : {BufferBinding::pos, BufferBinding::crd, BufferBinding::values, BufferBinding::output})
        kernel.buffers.push_back({kind, kind == BufferBinding::output ? -1 : 0, 1});
    for (int k = 0; k < repeats; ++k) {
      kernel.scalars.push_back({ScalarBinding::extent, 0, 1});
      kernel.scalars.push_back({ScalarBinding::level_size, 0, 0});
      kernel.scalars.push_back({ScalarBinding::stride, -1, 0});
    }
    const Arguments args(kernel, {.operands = operands, .extents = extents}, {.values = &out, .strides = strides});
    for (int k = 0; k < repeats; ++k) {
      const void* const* b = args.buffers() + 4 * k;
      CHECK(b[0] == a.part().levels[1].pos.data);
      CHECK(b[1] == a.part().levels[1].crd.data);
      CHECK(b[2] == a.part().values.data);
      CHECK(b[3] == &out);
      const std::int64_t* s = args.scalars() + 3 * k;
      CHECK((s[0] == 3 && s[1] == 2 && s[2] == 7));
    }
  }
}

TEST_CASE("pieces grow until all fits, and are stitched in their order") {
  execution::LevelAssembly assembly;
  assembly.levels = 2;
  assembly.dense_top = true;
  assembly.top_extent = 3;
  // Row x has x + 1 elements: 10 x + their column.
  const auto piece_of = [&](std::int64_t first, std::int64_t last, int& calls) {
    execution::Piece p;
    assembly.reserve(p, {last - first, 1});
    assembly.append(p, [&] {
      ++calls;
      for (std::int64_t x = first; x < last; ++x)
        for (std::int64_t j = 0; j <= x; ++j) {
          if (p.sizes[1] < p.capacity[1]) {
            p.crd[1].set_index(p.sizes[1], j);
            static_cast<double*>(p.values.data)[p.sizes[1]] = static_cast<double>(10 * x + j);
          }
          ++p.sizes[1];
        }
    });
    return p;
  };
  const Buffer counts = Buffer::own(std::vector<std::int64_t>{1, 2, 3});
  for (const bool alone : {true, false}) {
    int calls = 0;
    std::vector<execution::Piece> pieces;
    if (alone) {
      pieces.push_back(piece_of(0, 3, calls));
    } else {
      pieces.push_back(piece_of(0, 1, calls));
      pieces.push_back(piece_of(1, 3, calls));
    }
    CHECK(calls == (alone ? 2 : 3));  // what had no room is counted, and comes at the second time
    const Tensor t = make_tensor(parse_format("CSR"), {3, 3}, assembly.stitch(pieces, counts, Buffer()));
    CHECK(t.nse() == 6);
    for (std::int64_t x = 0; x < 3; ++x)
      for (std::int64_t j = 0; j < 3; ++j) {
        CHECK(t({x, j}).to_double() == (j <= x ? static_cast<double>(10 * x + j) : 0));
      }
  }
}
