// A conversion that is ended in the middle (Ctrl-C in Python) gives back every block that it had taken.
#include <doctest/doctest.h>

#include "backend/allocator.h"
#include "backend/pool.h"
#include "strata/ops.h"

using namespace strata;

namespace {

struct Interrupted {};

/// 100,000 rows of 20 elements, columns ascending.
Tensor sample() {
  constexpr std::int64_t rows = 100'000, stored = 20;
  RawArrays raw;
  raw.pos[1] = Buffer::allocate(DType::i32, rows + 1);
  raw.crd[1] = Buffer::allocate(DType::i32, rows * stored);
  raw.values = Buffer::zeros(DType::f64, rows * stored);
  for (std::int64_t i = 0; i <= rows; ++i) raw.pos[1].set_index(i, i * stored);
  for (std::int64_t k = 0; k < rows * stored; ++k) {
    raw.crd[1].set_index(k, (k % stored) * (rows / stored) + k / stored % 5000);
    static_cast<double*>(raw.values.data)[k] = static_cast<double>(k % 7 + 1);
  }
  return make_tensor(parse_format("CSR"), {rows, rows}, std::move(raw));
}

}  // namespace

TEST_CASE("an interrupted conversion loses no memory") {
  const Tensor t = sample();
  const Format formats[] = {parse_format("CSC"),
                            parse_format("DCSC"),
                            parse_format("ELL"),
                            parse_format("delta(4)"),
                            parse_format("BSR(3, 3)"),
                            parse_format("BSR(16, 16)"),
                            parse_format("BSR(2, 2) + COO"),
                            parse_format("ELL + COO")};
  for (const Format& f : formats) {
    CAPTURE(f.to_string());
    const std::int64_t before = testing::blocks_in_use();
    set_interrupt_check([] { throw Interrupted{}; });
    bool ended = false;
    // Asked for every 50 ms at most: it takes a few tries until a fast conversion meets it.
    for (int turn = 0; turn < 200 && !ended; ++turn) {
      try {
        convert(t, f);
      } catch (const Interrupted&) { ended = true; }
    }
    set_interrupt_check(nullptr);
    CHECK(ended);
    CHECK(testing::blocks_in_use() == before);
  }
}
