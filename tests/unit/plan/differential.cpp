// Random einsums over random formats, dtypes and layouts, through every engine, against a loop over every index.
#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>

#include "support.h"

using namespace strata;
using namespace strata::testing;

namespace {

const std::vector<std::string> formats_by_rank[5] = {
    {"()->()"},
    {"(i) -> (i : compressed)", "(i) -> (i / 3 : compressed, i % 3 : dense)", "(i) -> (i : bitmap)",
     "(i) -> (i : delta(2))", "(i) -> (i / 2 : dense, i % 2 : dense)"},
    {"CSR", "CSC", "COO", "(i, j) -> (i : compressed, j : compressed)", "(i, j) -> (j : compressed, i : compressed)",
     "(i, j) -> (i : compressed, j : dense)",
     "(i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)",
     "(i, j) -> (j / 2 : dense, i / 2 : compressed, j % 2 : dense, i % 2 : dense)",
     "(i, j) -> (j - i : compressed, i : range)", "(i, j) -> (j - i : compressed, j : range)",
     "(i, j) -> (i + j : compressed, i : range)", "(i, j) -> (i : dense, j : delta(2))",
     "(i, j) -> (i : dense, j : bitmap)", "ELL", "2:4",
     "(i, j) -> (i / 4 : dense, j / 4 : compressed, (i % 4) / 2 : dense, (j % 4) / 2 : compressed, (i % 4) % 2 : "
     "dense, (j % 4) % 2 : dense)",
     "(i, j) -> (i / 2 : dense, j / 2 : dense, i % 2 : dense, j % 2 : dense)",
     "(i, j) -> (j : compressed(nonunique), i : singleton)"},
    {"(i, j, k) -> (i : compressed, j : compressed, k : compressed)", "COO",
     "(i, j, k) -> (k : dense, i : compressed, j : dense)", "(i, j, k) -> (i : dense, j : dense, k : compressed)",
     "(i, j, k) -> (j : compressed, k : dense, i : compressed)",
     "(i, j, k) -> (i / 2 : dense, j / 2 : compressed, k / 2 : compressed, i % 2 : dense, j % 2 : dense, k % 2 : "
     "dense)"},
    {"(i, j, k, l) -> (i : compressed, j : compressed, k : compressed, l : compressed)", "COO",
     "(i, j, k, l) -> (l : dense, k : compressed, i : dense, j : compressed)"},
};

struct Case {
  Einsum e;
  std::vector<DenseArray> arrays;
  std::vector<Tensor> operands;
  std::string text;
};

Tensor pack_random(const std::string& format, DenseArray& a, DType t, Rng& rng) {
  static const std::vector<DType> index = {DType::i32, DType::i64, DType::i16, DType::u8, DType::u32};
  DType pos = pick(rng, index), crd = pick(rng, index);
  if (format == "ELL") return pack_ell(a, t, crd);
  if (format.find(" - ") != std::string::npos && !is_signed_int(crd)) crd = DType::i32;  // diagonals start below zero
  if (format != "2:4") return pack(format, a, t, pos, crd);
  prune_structured(a, 2, 4);
  return pack("(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2))", a, t, pos, crd);
}

/// Operand 0 .. n-1 with random indices; one of them is sparse.
Case make_case(Rng& rng) {
  static const std::vector<DType> dtypes = {
      DType::f64, DType::f64, DType::f64, DType::f32, DType::f32,     DType::c128, DType::c64,  DType::i32,
      DType::i64, DType::i8,  DType::u8,  DType::i16, DType::boolean, DType::f16,  DType::bf16, DType::f8e4m3};
  Case c;
  const int rank = static_cast<int>(pick(rng, 1, 9) <= 6 ? 2 : pick(rng, 0, 4));
  const int count = static_cast<int>(pick(rng, 1, 3)), sparse = static_cast<int>(pick(rng, 0, count - 1));
  const int pool = std::max(rank, static_cast<int>(pick(rng, 2, 4)));
  c.e.num_indices = pool;
  std::vector<std::int64_t> extents;
  for (int i = 0; i < pool; ++i) {
    c.e.names.push_back(std::string(1, static_cast<char>('i' + i)));
    extents.push_back(pick(rng, 0, 39) == 0 ? 0 : pick(rng, 1, rank > 2 ? 6 : 13));
  }
  std::vector<char> used(static_cast<std::size_t>(pool), 0);
  const bool diagonal = rank >= 2 && pick(rng, 0, 9) == 0;
  for (int k = 0; k < count; ++k) {
    std::vector<int> indices(static_cast<std::size_t>(pool));
    for (int i = 0; i < pool; ++i) indices[static_cast<std::size_t>(i)] = i;
    std::shuffle(indices.begin(), indices.end(), rng);
    indices.resize(static_cast<std::size_t>(k == sparse ? rank : std::min<std::int64_t>(pool, pick(rng, 0, 3))));
    if (k == sparse && diagonal) indices[1] = indices[0];
    for (int i : indices) used[static_cast<std::size_t>(i)] = 1;
    c.e.operands.push_back(indices);
    c.e.conjugate.push_back(pick(rng, 0, 3) == 0);
  }
  for (int i = 0; i < pool; ++i)
    if (used[static_cast<std::size_t>(i)] && pick(rng, 0, 2) > 0) c.e.output.push_back(i);
  std::shuffle(c.e.output.begin(), c.e.output.end(), rng);
  const DType common = pick(rng, dtypes);
  for (int k = 0; k < count; ++k) {
    const auto& indices = c.e.operands[static_cast<std::size_t>(k)];
    Shape shape;
    for (int i : indices)
      shape.push_back(pick(rng, 0, 29) == 0 && !diagonal ? 1 : extents[static_cast<std::size_t>(i)]);
    const DType t = pick(rng, 0, 7) == 0 ? pick(rng, dtypes) : common;
    const bool non_negative = is_unsigned_int(t) || t == DType::boolean;
    DenseArray a = random_array(shape, k == sparse ? 0.05 * static_cast<double>(pick(rng, 0, 14)) : 1, is_complex(t),
                                non_negative, rng);
    if (t == DType::boolean)
      for (auto& x : a.v) x = x != Complex(0) ? 1 : 0;
    const std::string format = k == sparse ? pick(rng, formats_by_rank[rank]) : "dense";
    c.operands.push_back(k == sparse ? pack_random(format, a, t, rng) : dense(a, t, static_cast<int>(pick(rng, 0, 3))));
    c.text += (k ? ", " : "") + c.operands.back().type().to_string();
    c.arrays.push_back(std::move(a));
  }
  c.text = c.e.to_string() + "  " + c.text;
  return c;
}

/// What a dtype makes of an exact value: integers wrap, floats round once, bool is "not zero".
Complex rounded(Complex x, DType t) {
  if (is_integer(t)) return Scalar::of(static_cast<std::int64_t>(x.real())).as(t).to_complex();
  return scalar_of(x, t).to_complex();
}

bool same(const DenseArray& got, const DenseArray& expected, DType t) {
  if (got.shape != expected.shape) return false;
  for (std::size_t k = 0; k < got.v.size(); ++k)
    if (got.v[k] != rounded(expected.v[k], t)) return false;
  return true;
}

/// STRATA_TEST_CASES and STRATA_TEST_SEED make longer campaigns of other seeds.
int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

}  // namespace

TEST_CASE("random einsums equal the loop over every index, in every engine") {
  const int first = from_environment("STRATA_TEST_SEED", 0), n = first + from_environment("STRATA_TEST_CASES", 400);
  int failures = 0;
  for (int seed = first; seed < n && failures < 10; ++seed) {
    Rng rng(static_cast<std::uint64_t>(seed));
    const Case c = make_case(rng);
    const DenseArray plain = oracle(c.e, c.arrays);
    std::vector<TensorType> types;
    for (const auto& t : c.operands) types.push_back(t.type());
    const int layout = static_cast<int>(pick(rng, 0, 3));
    const bool small_numbers = pick(rng, 0, 1) == 0;
    for (const char* engine : {"interpreter", "jit", "auto"}) {
      if (engine == std::string("jit") && seed % 3 != 0 && !std::getenv("STRATA_JIT_LIBRARY"))
        continue;  // a C compiler per kernel takes its time
      const EngineScope scope(engine);
      CAPTURE(seed);
      CAPTURE(engine);
      CAPTURE(c.text);
      try {
        const Plan plan = make_plan(c.e, types);
        const DType t = plan.output_type().dtype;
        bool ok = same(read(plan.run(c.operands)), plain, t);
        CHECK_MESSAGE(ok, plan.explain());
        failures += !ok;
        // In place: alpha, beta, any layout. bool knows 0 and 1 only.
        const double alpha = t == DType::boolean || small_numbers ? 1 : 2,
                     beta = t == DType::boolean ? static_cast<double>(seed % 2) : static_cast<double>(seed % 3);
        DenseArray before = random_array(plain.shape, 1, is_complex(t), is_unsigned_int(t) || t == DType::boolean, rng),
                   expected = plain;
        if (t == DType::boolean)
          for (auto& x : before.v) x = x != Complex(0) ? 1 : 0;
        if (beta == 0 && (is_float(t) || is_complex(t)) && t != DType::f8e4m3)
          for (auto& x : before.v) x = std::numeric_limits<double>::quiet_NaN();
        const Tensor out = dense(before, t, layout);
        plan.run(c.operands, out, Scalar::of(alpha), Scalar::of(beta));
        for (std::size_t k = 0; k < expected.v.size(); ++k)
          expected.v[k] = alpha * plain.v[k] + (beta == 0 ? Complex(0) : beta * before.v[k]);
        ok = same(read(out), expected, t);
        CHECK_MESSAGE(ok, "alpha " << alpha << " beta " << beta << " layout " << layout << "\n" << plan.explain());
        failures += !ok;
      } catch (const std::exception& e) {
        FAIL_CHECK(e.what());
        ++failures;
      }
    }
  }
}

TEST_CASE("sums of parts, several sparse operands, fills") {
  for (int seed = 0; seed < 40; ++seed) {
    Rng rng(static_cast<std::uint64_t>(1000 + seed));
    CAPTURE(seed);
    const std::int64_t m = pick(rng, 1, 9), n = pick(rng, 1, 9), k = pick(rng, 1, 5);
    const DType t = pick(rng, std::vector<DType>{DType::f64, DType::f16, DType::i32, DType::boolean});
    const bool positive = t == DType::boolean;
    DenseArray a = random_array({m, n}, 0.3, false, positive, rng), b = random_array({m, n}, 0.3, false, positive, rng),
               x = random_array({n, k}, 1, false, positive, rng);
    if (positive)
      for (auto* array : {&a, &b, &x})
        for (auto& v : array->v) v = v != Complex(0) ? 1 : 0;
    DenseArray sum = a;
    for (std::size_t q = 0; q < sum.v.size(); ++q) sum.v[q] += b.v[q];
    const Tensor parts[] = {pack("CSR", a, t), pack("(i, j) -> (j - i : compressed, i : range)", b, t)};
    const Tensor s = make_sum(parts);
    const std::vector<int> ranks = {2, 2};
    const Einsum e = parse_einsum("ij,jk->ik", ranks);
    const EngineScope scope(seed % 2 ? "interpreter" : "auto");
    {
      const Tensor in[] = {s, dense(x, t)};
      const TensorType types[] = {in[0].type(), in[1].type()};
      const Plan plan = make_plan(e, types);
      CHECK_MESSAGE(same(read(plan.run(in)), oracle(e, {sum, x}), t), plan.explain());
    }
    {  // one value for every stored element, alone and in a sum
      DenseArray pattern = b;
      for (std::size_t q = 0; q < pattern.v.size(); ++q) pattern.v[q] = pattern.stored[q] ? 1 : 0;
      const Tensor full = pack("COO", pattern, t);
      RawArrays shared;
      shared.crd[0] = full.crd(0);
      shared.crd[1] = full.crd(1);
      shared.values = Buffer::zeros(t, 1);
      Scalar::one(t).store(shared.values.data);
      shared.value_stride = 0;
      const Tensor ones = make_tensor(full.format(), full.shape(), shared);
      const Tensor both[] = {pack("CSR", a, t), ones};
      DenseArray total = a;
      for (std::size_t q = 0; q < total.v.size(); ++q) total.v[q] += pattern.v[q];
      for (const auto& [tensor, array] : {std::pair{ones, pattern}, std::pair{make_sum(both), total}}) {
        const Tensor in[] = {tensor, dense(x, t)};
        const TensorType types[] = {in[0].type(), in[1].type()};
        const Plan plan = make_plan(e, types);
        CHECK_MESSAGE(same(read(plan.run(in)), oracle(e, {array, x}), t), plan.explain());
      }
    }
    {  // two sparse operands
      DenseArray y = random_array({n, k}, 0.4, false, positive, rng);
      if (positive)
        for (auto& v : y.v) v = v != Complex(0) ? 1 : 0;
      const Tensor in[] = {pack("CSC", a, t), pack("COO", y, t)};
      const TensorType types[] = {in[0].type(), in[1].type()};
      const Plan plan = make_plan(e, types);
      CHECK_MESSAGE(same(read(plan.run(in)), oracle(e, {a, y}), t), plan.explain());
    }
    if (t == DType::f64) {  // absent elements of value 3
      DenseArray filled = a;
      for (std::size_t q = 0; q < filled.v.size(); ++q)
        if (!filled.stored[q]) filled.v[q] = 3;
      Tensor plain = pack("CSR", a, t);
      TensorType type = plain.type();
      type.fill = Scalar::of(3.0);
      const Tensor in[] = {make_from_parts(type, {plain.part()}), dense(x, t)};
      const TensorType types[] = {in[0].type(), in[1].type()};
      const Plan plan = make_plan(e, types);
      CHECK_MESSAGE(same(read(plan.run(in)), oracle(e, {filled, x}), t), plan.explain());
    }
  }
}

namespace {

/// Batched CSR or CSC: each batch at an equal distance, shorter ones padded behind their end with what must never be
/// read.
Tensor pack_batched(const DenseArray& a, bool columns, DType t) {
  const std::size_t rank = a.shape.size(), batch_dims = rank - 2;
  std::int64_t batches = 1;
  for (std::size_t d = 0; d < batch_dims; ++d) batches *= a.shape[d];
  const std::int64_t m = a.shape[rank - 2], n = a.shape[rank - 1], outer = columns ? n : m, inner = columns ? m : n;
  std::vector<std::vector<std::int64_t>> pos(static_cast<std::size_t>(batches)), crd = pos;
  std::vector<std::vector<Complex>> values(static_cast<std::size_t>(batches));
  std::size_t most = 0;
  for (std::size_t b = 0; b < pos.size(); ++b) {
    pos[b].push_back(0);
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::size_t k =
            b * static_cast<std::size_t>(m * n) + static_cast<std::size_t>(columns ? i * n + o : o * n + i);
        if (!a.stored[k]) continue;
        crd[b].push_back(i);
        values[b].push_back(a.v[k]);
      }
      pos[b].push_back(static_cast<std::int64_t>(crd[b].size()));
    }
    most = std::max(most, crd[b].size() + 2);
  }
  std::string dims = "(", levels;
  for (std::size_t d = 0; d < batch_dims; ++d)
    dims += "b" + std::to_string(d) + ", ", levels += "b" + std::to_string(d) + " : batch, ";
  RawArrays arrays;
  const int l = static_cast<int>(batch_dims) + 1;
  arrays.pos[l] = Buffer::zeros(DType::i32, batches * (outer + 1));
  arrays.crd[l] = Buffer::zeros(DType::i32, batches * static_cast<std::int64_t>(most));
  arrays.values = Buffer::zeros(t, batches * static_cast<std::int64_t>(most));
  for (std::size_t b = 0; b < pos.size(); ++b) {
    for (std::size_t k = 0; k < pos[b].size(); ++k)
      arrays.pos[l].set_index(static_cast<std::int64_t>(b * pos[b].size() + k), pos[b][k]);
    for (std::size_t k = 0; k < most; ++k) {
      const auto at = static_cast<std::int64_t>(b * most + k);
      arrays.crd[l].set_index(at, k < crd[b].size() ? crd[b][k] : 1000000);
      scalar_of(k < crd[b].size() ? values[b][k] : Complex(77), t)
          .store(static_cast<char*>(arrays.values.data) + at * static_cast<std::int64_t>(size_of(t)));
    }
  }
  const Format format = parse_format(dims + "i, j) -> (" + levels +
                                     (columns ? "j : dense, i : compressed)" : "i : dense, j : compressed)"));
  return make_tensor(format, a.shape, std::move(arrays));
}

}  // namespace

TEST_CASE("a dense operand with batch levels") {
  Rng rng(22);
  const DenseArray a = random_array({3, 5, 4}, 1, false, false, rng), x = random_array({3, 4}, 1, false, false, rng);
  RawArrays arrays;
  arrays.values = dense(a, DType::f64).part().values;
  const Tensor in[] = {make_tensor(parse_format("(b, i, j) -> (b : batch, i : dense, j : dense)"), {3, 5, 4}, arrays),
                       dense(x, DType::f64)};
  const TensorType types[] = {in[0].type(), in[1].type()};
  for (const char* text : {"bij,bj->bi", "bij,bj->i", "bij,bj->"}) {
    const Einsum e = parse_einsum(text, std::vector<int>{3, 2});
    const Plan plan = make_plan(e, types);
    CHECK_MESSAGE(same(read(plan.run(in)), oracle(e, {a, x}), DType::f64), plan.explain());
  }
}

TEST_CASE("batched operands: an outer loop over batches of unequal length") {
  const struct {
    const char* text;
    std::vector<Shape> shapes;
  } rows[] = {{"bij,bjk->bik", {{3, 5, 4}, {3, 4, 2}}},
              {"bij,j->bi", {{3, 5, 4}, {4}}},
              {"bij,bj->i", {{3, 5, 4}, {3, 4}}},
              {"bij,bi->j", {{3, 5, 4}, {3, 5}}},
              {"bij->", {{3, 5, 4}}},
              {"abij,jk->abik", {{2, 3, 4, 4}, {4, 3}}},
              {"abij,bj->ia", {{2, 3, 4, 4}, {3, 4}}},
              {"jk,bij->bki", {{4, 3}, {12, 5, 4}}},
              {"bij,bjk->bik", {{0, 5, 4}, {0, 4, 2}}},
              {"bij,bij->b", {{20, 3, 3}, {20, 3, 3}}}};
  for (const auto& r : rows)
    for (bool columns : {false, true})
      for (const char* engine : {"interpreter", "auto"}) {
        const EngineScope scope(engine);
        Rng rng(21);
        std::vector<DenseArray> arrays;
        std::vector<Tensor> operands;
        std::vector<TensorType> types;
        std::vector<int> ranks;
        bool batched = false;
        for (const auto& shape : r.shapes) {
          const bool sparse = shape.size() > 2 && !batched;
          batched |= sparse;
          arrays.push_back(random_array(shape, sparse ? 0.4 : 1, false, false, rng));
          operands.push_back(sparse ? pack_batched(arrays.back(), columns, DType::f64)
                                    : dense(arrays.back(), DType::f64));
          types.push_back(operands.back().type());
          ranks.push_back(static_cast<int>(shape.size()));
        }
        const Einsum e = parse_einsum(r.text, ranks);
        const Plan plan = make_plan(e, types);
        CAPTURE(r.text);
        CAPTURE(columns);
        CHECK_MESSAGE(same(read(plan.run(operands)), oracle(e, arrays), DType::f64), plan.explain());
      }
}
