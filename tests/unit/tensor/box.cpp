// The slots of a box: those of the whole walk that lie inside of it, without a step below what leads outside.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "strata/tensor.h"
#include "tensor/part_view.h"

using namespace strata;

namespace {

using Place = std::array<std::int64_t, 3>;  // row, column, slot

std::vector<Place> slots(const Tensor& t, std::span<const LevelRange> box = {}) {
  std::vector<Place> found;
  const auto add = [&](const SlotChunk& c) {
    for (int k = 0; k < c.n; ++k) found.push_back({c.dims[0][k], c.dims[1][k], c.position[k]});
  };
  walk_slots(t.part(), t.shape(), add, box);
  return found;
}

/// All slots of the format have one value: of dense levels there are as many as one likes.
Tensor of_one_value(const char* format, const Shape& shape, std::vector<std::int32_t> pos = {},
                    std::vector<std::int32_t> crd = {}) {
  RawArrays raw;
  if (!crd.empty()) raw.pos[0] = Buffer::own(std::move(pos)), raw.crd[0] = Buffer::own(std::move(crd));
  raw.values = Buffer::own(std::vector<double>{1.0});
  raw.value_stride = 0;
  return make_tensor(parse_format(format, 2), shape, std::move(raw));
}

}  // namespace

TEST_CASE("a box has the slots of the whole walk that lie inside of it") {
  const Shape shape{13, 11};
  const std::vector<Tensor> tensors{
      of_one_value("(i, j) -> (i : dense, j : dense)", shape),
      of_one_value("(i, j) -> (j : dense, i : dense)", shape),
      of_one_value("(i, j) -> (i / 4 : dense, j / 3 : dense, i % 4 : dense, j % 3 : dense)", shape),
      of_one_value("(i, j) -> (i % 4 : dense, j : dense, i / 4 : dense)", shape),
      of_one_value("(i, j) -> (i / 4 : compressed, j : dense, i % 4 : dense)", shape, {0, 3}, {0, 2, 3}),
      of_one_value("(i, j) -> (j - i : compressed, i : range)", shape, {0, 4}, {-12, -3, 0, 10}),
      of_one_value("(i, j) -> (i + j : compressed, i : dense)", shape, {0, 3}, {0, 7, 22}),
  };
  std::mt19937 r(1);
  for (const Tensor& t : tensors) {
    CAPTURE(t.format().to_string());
    const std::vector<Place> all = slots(t);
    for (int n = 0; n < 60; ++n) {
      std::vector<LevelRange> box;  // sometimes beyond the matrix, sometimes empty
      for (int d = 0; d < 2; ++d)
        box.push_back({static_cast<std::int64_t>(r() % 16) - 2, static_cast<std::int64_t>(r() % 9)});
      std::vector<Place> want;
      std::ranges::copy_if(all, std::back_inserter(want), [&](const Place& p) {
        return p[0] >= box[0].lo && p[0] < box[0].lo + box[0].size && p[1] >= box[1].lo &&
               p[1] < box[1].lo + box[1].size;
      });
      CHECK(slots(t, box) == want);
    }
  }
}

TEST_CASE("a box costs what it holds") {
  constexpr std::int64_t huge = std::int64_t{1} << 30;
  const std::array<LevelRange, 2> box{LevelRange{huge - 5, 3}, LevelRange{7, 2}};
  for (const char* format : {"(i, j) -> (i : dense, j : dense)", "(i, j) -> (j : dense, i : dense)",
                             "(i, j) -> (i / 4 : dense, j / 4 : dense, i % 4 : dense, j % 4 : dense)"})
    CHECK(slots(of_one_value(format, {huge, huge}), box).size() == 6);
}
