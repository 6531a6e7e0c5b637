// Batched drivers, shared values and spare capacity: what the random packer does not make.
#include <doctest/doctest.h>

#include "ir/interpret.h"
#include "unit/compiler/lowered_case.h"

using namespace strata;
using namespace lowered_test;

namespace {

/// Packs each slab of `a` (its first dimension is the batch) into `inner` and joins the arrays; the tail of a shorter
/// batch is outside.
Tensor batched(const std::string& levels, const DenseArray& a, DType t) {
  const Format inner = parse_format("(i, j) -> (" + levels + ")");
  RawArrays all;
  std::vector<Tensor> slabs;
  const std::int64_t batches = a.shape[0];
  const std::size_t each = a.v.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, batches));
  std::int64_t longest = 0;
  for (std::int64_t b = 0; b < batches; ++b) {
    DenseArray slab({a.shape[1], a.shape[2]});
    for (std::size_t k = 0; k < each; ++k)
      slab.v[k] = a.v[static_cast<std::size_t>(b) * each + k],
      slab.stored[k] = a.stored[static_cast<std::size_t>(b) * each + k];
    slabs.push_back(strata::testing::pack(inner.to_string(), slab, t));
    longest = std::max(longest, slabs.back().part().values.size);
  }
  const auto join = [&](const std::function<Buffer(const Tensor&)>& get) {
    std::int64_t most = 0;
    for (const auto& s : slabs) most = std::max(most, get(s).size);
    Buffer out = Buffer::zeros(DType::i32, most * batches);
    for (std::int64_t b = 0; b < batches; ++b) {
      const Buffer one = get(slabs[static_cast<std::size_t>(b)]);
      for (std::int64_t k = 0; k < one.size; ++k) out.set_index(b * most + k, one.index(k));
    }
    return out;
  };
  for (int l = 0; l < inner.num_levels(); ++l) {
    const LevelKind k = inner.level(l).kind;
    if (k == LevelKind::dense || k == LevelKind::range) continue;
    if (k != LevelKind::structured) all.pos[l + 1] = join([&](const Tensor& s) { return s.pos(l); });
    all.crd[l + 1] = join([&](const Tensor& s) { return s.crd(l); });
  }
  all.values = Buffer::zeros(t, longest * batches);
  for (std::int64_t b = 0; b < batches; ++b) {
    const Buffer& v = slabs[static_cast<std::size_t>(b)].part().values;
    std::memcpy(static_cast<char*>(all.values.data) + b * longest * static_cast<std::int64_t>(size_of(t)), v.data,
                static_cast<std::size_t>(v.bytes()));
  }
  std::string named = levels;
  return make_tensor(parse_format("(b, i, j) -> (b : batch, " + levels + ")"), a.shape, std::move(all));
}

void check(const std::string& text, const std::vector<DenseArray>& arrays, const std::vector<Tensor>& operands) {
  std::vector<int> ranks;
  std::vector<Shape> shapes;
  for (const auto& t : operands) ranks.push_back(t.rank()), shapes.push_back(t.shape());
  for (int bytes : {0, 32}) {
    LowerInput in;
    in.einsum = parse_einsum(text, ranks);
    for (const auto& t : operands) in.operands.push_back(t.type());
    in.target.vector_bytes = bytes;
    DenseArray start(output_shape(in.einsum, shapes));
    for (std::size_t k = 0; k < start.v.size(); ++k) start.v[k] = static_cast<double>(k % 3);
    Tensor out = strata::testing::dense(start, DType::f64);
    in.output = out.type();
    std::string why;
    const auto lowered = lower(in, why);
    REQUIRE_MESSAGE(lowered.has_value(), why);
    INFO(text << "\n"
              << operands[0].type().to_string() << "\n"
              << lowered->schedule << ir::to_string(lowered->function));
    const double beta = lowered->applies_beta ? 2 : 1;  // where the kernel only adds, out is as if scaled by 1
    Rng rng(7);
    const auto extents = index_extents(in.einsum, shapes);
    run_lowered(*lowered, *ir::interpret(lowered->function), in, operands, out, Scalar::of(3.0), Scalar::of(beta),
                extents, rng);
    const DenseArray expected = strata::testing::oracle(in.einsum, arrays), got = strata::testing::read(out);
    int wrong = 0;
    for (std::size_t k = 0; k < expected.v.size(); ++k) wrong += got.v[k] != 3.0 * expected.v[k] + beta * start.v[k];
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("batched drivers, batch by batch") {
  Rng rng(11);
  for (const std::string levels :
       {"i : dense, j : compressed", "i : dense, j : delta(3)",
        "i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense", "j - i : compressed, i : range",
        "i : dense, j : bitmap", "i : compressed, j : compressed"})
    for (int round = 0; round < 3; ++round) {
      const std::int64_t b = pick(rng, 1, 4), m = pick(rng, 1, 7), n = pick(rng, 1, 9), k = pick(rng, 1, 20);
      const DenseArray a = strata::testing::random_array({b, m, n}, 0.4, false, false, rng);
      const Tensor t = batched(levels, a, DType::f64);
      const auto dense = [&](Shape s, int order) {
        DenseArray x = strata::testing::random_array(s, 1, false, false, rng);
        return std::pair(x, strata::testing::dense(x, DType::f64, order));
      };
      for (const auto& [text, shape] : std::vector<std::pair<std::string, Shape>>{{"bij,bj->bi", {b, n}},
                                                                                  {"bij,j->bi", {n}},
                                                                                  {"bij,bjk->bik", {b, n, k}},
                                                                                  {"bij,jk->bik", {n, k}},
                                                                                  {"bij,bjk->ik", {b, n, k}},
                                                                                  {"bij,bi->bj", {b, m}},
                                                                                  {"bij,b->", {b}}}) {
        const auto x = dense(shape, round);
        check(text, {a, x.first}, {t, x.second});
      }
    }
}

TEST_CASE("repeated batch index: only equal coordinates count") {
  Rng rng(3);
  const DenseArray a = strata::testing::random_array({4, 4, 5}, 0.6, false, false, rng);
  check("bbj->bj", {a}, {batched("i : dense, j : compressed", a, DType::f64)});
  check("bbj->j", {a}, {batched("i : compressed, j : compressed", a, DType::f64)});
}

TEST_CASE("one value shared by all slots") {
  Rng rng(5);
  DenseArray a = strata::testing::random_array({6, 8}, 0.4, false, false, rng);
  for (std::size_t k = 0; k < a.v.size(); ++k) a.v[k] = a.stored[k] ? 2.0 : 0.0;
  const Tensor csr = strata::testing::pack("CSR", a, DType::f64);
  RawArrays arrays;
  arrays.pos[1] = csr.pos(1);
  arrays.crd[1] = csr.crd(1);
  const double two = 2;
  arrays.values = Buffer::copy_of(std::span<const double>(&two, 1));
  arrays.value_stride = 0;
  const Tensor shared = make_tensor(parse_format("CSR"), {6, 8}, std::move(arrays));
  REQUIRE(shared.type().shared_value);
  const DenseArray x = strata::testing::random_array({8}, 1, false, false, rng),
                   y = strata::testing::random_array({8, 13}, 1, false, false, rng);
  check("ij,j->i", {a, x}, {shared, strata::testing::dense(x, DType::f64)});
  check("ij,jk->ik", {a, y}, {shared, strata::testing::dense(y, DType::f64)});
  check("ij->j", {a}, {shared});
}

TEST_CASE("what cannot be lowered says why") {
  Rng rng(1);
  const DenseArray a = strata::testing::random_array({4, 4}, 0.5, false, false, rng);
  const Tensor t = strata::testing::pack("CSR", a, DType::f64);
  LowerInput in;
  const std::vector<int> ranks{2, 2};
  in.einsum = parse_einsum("ij,jk->ik", ranks);
  in.operands = {t.type(), t.type()};
  in.output = strata::testing::dense(a, DType::f64).type();
  std::string why;
  CHECK_FALSE(lower(in, why).has_value());
  CHECK(why == "operand 1 is sparse too; one sparse operand is walked, the others must be dense");
  in.operands[1] = in.output;
  in.operands[0].fill = Scalar::of(1.0);
  CHECK_FALSE(lower(in, why).has_value());
  CHECK(why == "the fill of operand 0 is 1, not 0");
  in.operands[0].fill = Scalar::of(0.0);
  in.output = t.type();
  CHECK_FALSE(lower(in, why).has_value());
  CHECK(why == "the output is not a plain dense tensor");
}
