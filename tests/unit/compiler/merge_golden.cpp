// Loops over several sparse operands, as text. STRATA_GOLDEN=update renews the files; read the difference.
#include "compiler/merge.h"

#include <functional>

#include "golden.h"
#include "strata/error.h"

using namespace strata;
using merging::ElementwiseNode;

namespace {

merging::Operand operand(const std::string& format, std::vector<int> vars) {
  const Format f = parse_format(format, static_cast<int>(vars.size()));
  merging::Operand o;
  o.dense = f.is_all_dense();
  if (o.dense) o.contiguous = static_cast<int>(vars.size()) - 1;
  for (int l = 0; l < f.num_levels(); ++l) {
    o.type.levels.push_back(merging::level_in_loops(f, l));
    o.type.packed_bits.push_back(f.level(l).kind == LevelKind::delta ? static_cast<int>(f.level(l).arg) : 0);
    if (f.level(l).kind != LevelKind::dense) o.fibers.push_back(4);
  }
  o.type.batch_levels = f.num_batch_levels();
  o.vars = std::move(vars);
  return o;
}

/// All operands joined by one operator.
merging::Input input(std::vector<merging::Operand> operands, Operator op, std::vector<char> summed) {
  merging::Input in;
  in.operands = std::move(operands);
  in.num_vars = static_cast<int>(summed.size());
  in.summed = std::move(summed);
  in.absent = in.fill = Scalar::zero(DType::f64);
  const bool product = op == Operator::multiply;
  ElementwiseNode root{.kind = product ? ElementwiseNode::all : ElementwiseNode::any, .op = op, .value = in.fill};
  for (std::size_t k = 0; k < in.operands.size(); ++k) {
    in.nodes.push_back({.kind = ElementwiseNode::access, .operand = static_cast<int>(k), .value = in.fill});
    root.arguments.push_back(static_cast<int>(k));
    root.needed.push_back(product && !in.operands[k].dense);
  }
  in.nodes.push_back(std::move(root));
  in.dense_top = true;
  return in;
}

void check(const std::string& name, const merging::Input& in) {
  const merging::LoweredNest lowered = merging::lower(in);
  const std::string text = lowered.text + "\n" + ir::to_string(lowered.function);
  check_golden("merge_" + name + ".txt", text);
}

}  // namespace

TEST_CASE("golden merges") {
  const auto csr = operand("CSR", {0, 1});
  check("csr_add", input({csr, csr}, Operator::add, {0, 0}));
  check("csr_add_three", input({csr, csr, csr}, Operator::add, {0, 0}));
  check("csr_times_csr_elementwise", input({csr, csr}, Operator::multiply, {0, 0}));
  check("spgemm", input({csr, operand("CSR", {1, 2})}, Operator::multiply, {0, 1, 0}));

  // Levels that are no rows of a compressed one: ends of runs, coordinates that follow from those before, unused slots.
  const auto coo = operand("COO", {0, 1}), ell = operand("ELL(4)", {0, 1});
  check("coo_add", input({coo, coo}, Operator::add, {0, 0}));
  check("coo_times_ell_elementwise", input({coo, ell}, Operator::multiply, {0, 0}));
  check("delta_add_bitmap", input({operand("delta(4)", {0, 1}), operand("bitmap", {0, 1})}, Operator::add, {0, 0}));
  check("ell_times_delta", input({ell, operand("delta(4)", {1, 2})}, Operator::multiply, {0, 1, 0}));

  // Blocks of 2 x 4 below each element, whose rows are summed side by side: times a vector, whose lanes are added up,
  // and times rows of a matrix, in vectors.
  merging::Operand in_tail = operand("BSR(2, 4)", {0, 2, 1, 3});
  in_tail.tail = 2;
  merging::Input held = input({in_tail, operand("dense", {2, 3})}, Operator::multiply, {0, 0, 1, 1});
  held.constants = {0, 2, 0, 4};
  held.held = {{1, 2}};
  held.lanes_of_sum = held.few_terms = held.dense_result = true;
  held.lanes = 4;
  held.contiguous = 1;
  check("blocks_times_vector", held);
  in_tail.vars = {0, 3, 2, 4};
  held = input({in_tail, operand("dense", {3, 4, 1})}, Operator::multiply, {0, 0, 0, 1, 1});
  held.constants = {0, 8, 2, 0, 4};
  held.bounds = {{{{0, 2}, {2, 1}}}, {{{3, 4}, {4, 1}}}};
  held.tile = 1;
  held.held = {{2, 2}};
  held.few_terms = held.dense_result = true;
  held.lanes = 4;
  held.vectors = 2;
  held.contiguous = 1;
  check("blocks_times_rows", held);

  // Batches that are too few to be cut alone: a call is for some rows of each.
  merging::Input batches =
      input({operand("(b, i, j) -> (b : batch, i : dense, j : compressed)", {0, 1, 2}), operand("dense", {0, 2})},
            Operator::multiply, {0, 0, 1});
  batches.dense_result = true;
  batches.also_cut = 1;
  batches.contiguous = 1;
  check("rows_of_batches", batches);

  // The numeric phase: an earlier result, in whose pattern values are put.
  merging::Input again = input({csr, operand("CSR", {1, 2})}, Operator::multiply, {0, 1, 0});
  again.operands.push_back(operand("CSR", {0, 2}));
  again.earlier = 2;
  check("spgemm_numeric", again);
  merging::Input sum_again = input({csr, csr}, Operator::add, {0, 0});
  sum_again.operands.push_back(csr);
  sum_again.earlier = 2;
  check("csr_add_numeric", sum_again);

  merging::Input in_blocks = input({csr, operand("CSR", {1, 2})}, Operator::multiply, {0, 1, 0});
  in_blocks.blocks = {.rows = 4, .columns = 3};
  check("spgemm_into_blocks", in_blocks);

  merging::Input by_diagonals = input({csr, operand("CSR", {1, 2})}, Operator::multiply, {0, 1, 0});
  by_diagonals.dense_result = true;
  by_diagonals.diagonals = {.row = 0, .column = 2};
  check("spgemm_by_diagonals", by_diagonals);

  merging::Input masked = input({csr, operand("CSR", {1, 2})}, Operator::multiply, {0, 1, 0});
  masked.operands.push_back(operand("CSR", {0, 2}));
  masked.mask = 2;
  check("spgemm_masked", masked);

  merging::Input inner = input({csr, csr}, Operator::multiply, {1, 1});
  inner.dense_result = true;
  inner.dense_top = false;
  check("inner_product", inner);

  // Fibres of a sparse tensor times a matrix: the sums gather in a block.
  merging::Input ttm = input({operand("CSF", {0, 1, 2}), operand("dense", {2, 3})}, Operator::multiply, {0, 0, 1, 0});
  ttm.dense_tail = 1;
  ttm.dense_top = false;
  check("ttm_fibres", ttm);

  // A score an element: the innermost sum over dense memory in vectors.
  merging::Input scores = input({csr, operand("dense", {0, 2}), operand("dense", {2, 3}), operand("dense", {1, 3})},
                                Operator::multiply, {0, 0, 1, 1});
  scores.pattern = 0;
  scores.dense_top = false;
  scores.lanes = 8;
  check("scores_in_vectors", scores);
  scores.constants = {0, 0, 0, 32};
  check("scores_in_vectors_of_32", scores);

  // A step of a search: where the front is false, nothing is looked at.
  merging::Input step = input({operand("dense", {0}), csr}, Operator::multiply, {1, 0});
  step.combine = merging::Combine::either;
  step.compute = DType::boolean;
  step.absent = step.fill = Scalar::zero(DType::boolean);
  for (auto& n : step.nodes) n.dtype = n.compute = DType::boolean, n.value = step.fill;
  for (auto& o : step.operands) o.type.dtype = DType::boolean;
  step.dense_result = true;
  step.contiguous = 1;
  step.dense_top = false;
  check("search_step", step);

  merging::Input most = input({csr}, Operator::add, {0, 1});
  most.combine = merging::Combine::maximum;
  most.absent = Scalar::of(-std::numeric_limits<double>::infinity());
  most.others = Scalar::zero(DType::f64);  // what is not stored counts as 0
  most.dense_result = true;
  most.contiguous = 0;
  most.dense_top = false;
  check("row_maximum", most);

  // A semiring: sums in chains, without choices unless a product may need them.
  const auto shortest = [](std::vector<merging::Operand> operands, std::vector<char> summed) {
    merging::Input in = input(std::move(operands), Operator::multiply, std::move(summed));
    in.combine = merging::Combine::minimum;
    in.ring = true;
    in.absent = in.fill = Scalar::of(std::numeric_limits<double>::infinity());
    for (auto& n : in.nodes) n.value = in.fill;
    in.nodes.back().op = Operator::add;
    in.nodes.back().needed = {1, 1};
    in.dense_result = true;
    in.dense_top = false;
    return in;
  };
  merging::Input paths = shortest({csr, operand("dense", {1})}, {0, 1});
  paths.contiguous = 0;
  check("shortest_paths", paths);

  // ... of several columns, which stay in registers.
  merging::Input tile = shortest({operand("CSR", {0, 2}), operand("dense", {2, 1})}, {0, 0, 1});
  tile.contiguous = tile.tile = 1;
  tile.lanes = 8;
  tile.vectors = 2;
  check("tile", tile);
  tile.constants = {0, 12, 0};
  check("tile_of_12", tile);
  tile.operands[1].contiguous = 1;
  tile.prefetch.ahead = 16;
  check("tile_rows_ahead", tile);

  // ... of a matrix by columns: what stays there is a row of x, which is added to rows of the result.
  merging::Input rows = shortest({operand("CSR", {0, 2}), operand("dense", {0, 1})}, {1, 0, 0});
  rows.contiguous = rows.tile = rows.also_cut = 1;
  rows.lanes = 8;
  rows.vectors = 2;
  check("tile_added_to_rows", rows);
  rows.constants = {0, 16, 0};
  check("tile_of_16_added_to_rows", rows);

  // Weights of edges times features: one walk for what differs in values alone, exp once an edge.
  merging::Input attention = input({csr, csr, operand("dense", {1, 2})}, Operator::multiply, {0, 1, 0});
  attention.operands[1].twin = 0;
  attention.nodes = {
      {.kind = ElementwiseNode::access, .operand = 0, .value = attention.fill},
      {.kind = ElementwiseNode::access, .operand = 1, .value = attention.fill},
      {.kind = ElementwiseNode::map, .op = Operator::exponential, .value = Scalar::of(1.0), .arguments = {1}},
      {.kind = ElementwiseNode::all,
       .op = Operator::multiply,
       .value = attention.fill,
       .arguments = {0, 2},
       .needed = {1, 0}},
      {.kind = ElementwiseNode::access, .operand = 2, .value = attention.fill},
      {.kind = ElementwiseNode::all,
       .op = Operator::multiply,
       .value = attention.fill,
       .arguments = {3, 4},
       .needed = {1, 0}}};
  attention.dense_result = true;
  attention.dense_top = false;
  attention.contiguous = 2;
  check("attention", attention);

  // Blocks: the row of the workspace holds one for each coordinate. The last ones are not whole.
  const std::string blocks = "(i, j, k, l) -> (i : dense, j : compressed, k : dense, l : dense)";
  merging::Input blocked =
      input({operand(blocks, {0, 1, 3, 4}), operand(blocks, {1, 2, 4, 5})}, Operator::multiply, {0, 1, 0, 0, 1, 0});
  blocked.constants = {0, 0, 0, 2, 3, 2};
  blocked.hints = {merging::Hint::none,     merging::Hint::none, merging::Hint::none,
                   merging::Hint::unrolled, merging::Hint::none, merging::Hint::simd};
  blocked.bounds = {{.terms = {{1, 3}, {4, 1}}}};
  blocked.dense_tail = 2;
  check("spgemm_blocks", blocked);
}

TEST_CASE("golden sums in the slots of a pattern") {
  const auto sampled = [](const std::string& format, std::vector<int> own, std::vector<int> left,
                          std::vector<int> right, std::int64_t terms) {
    const std::size_t n = own.size();
    std::vector<char> summed(n, 0);
    summed.push_back(1);
    merging::Input in =
        input({operand(format, std::move(own)), operand("dense", std::move(left)), operand("dense", std::move(right))},
              Operator::multiply, std::move(summed));
    in.pattern = 0;
    in.dense_top = false;
    in.lanes = 8;
    in.few_terms = true;
    in.constants.assign(n, 0);
    in.constants.push_back(terms);
    return in;
  };
  merging::Input rows = sampled("CSR", {0, 1}, {0, 2}, {1, 2}, 32);
  rows.identical_rows = true;
  rows.prefetch = {.ahead = 16};
  check("identical_rows", rows);

  merging::Input band = sampled("CSR", {0, 1}, {0, 2}, {1, 2}, 32);
  band.prefetch = {.by_row = true, .along = true};
  check("rows_along_a_diagonal", band);
  band.prefetch = {.ahead = 32, .second_level = true, .again = 16, .by_row = true};
  check("rows_in_no_order", band);

  check("slots_of_batches",
        sampled("(b, i, j) -> (b : batch, i : dense, j : compressed)", {0, 1, 2}, {0, 1, 3}, {0, 2, 3}, 16));
  check("slots_of_diagonals", sampled("(d, i) -> (d : compressed, i : dense)", {0, 1}, {0, 1, 2}, {1, 2}, 16));

  // Nothing is summed: the places of a block in vectors.
  merging::Input places = input({operand("(i, j, l) -> (i : dense, j : compressed, l : dense)", {0, 1, 2}),
                                 operand("dense", {0}), operand("dense", {1, 2})},
                                Operator::multiply, {0, 0, 0});
  places.pattern = 0;
  places.dense_top = false;
  places.lanes = 8;
  places.constants = {0, 0, 12};
  check("places_in_vectors", places);
}

TEST_CASE("a result's index may stand inside a sum once") {
  CHECK(merging::can_assemble({0, 0, 1}));
  CHECK(merging::can_assemble({0, 1, 0}));
  CHECK_FALSE(merging::can_assemble({1, 0, 0}));
  CHECK_FALSE(merging::can_assemble({0, 1, 0, 0}));
}

TEST_CASE("a result in a pattern has no slot for what lies outside of it") {
  const auto csr = operand("CSR", {0, 1});
  merging::Input outside = input({csr, csr}, Operator::add, {0, 0});
  outside.pattern = 0;
  outside.dense_top = false;
  CHECK_THROWS_AS(merging::lower(outside), InternalError);
}

TEST_CASE("kernels are known by all that they are made for") {
  const auto csr = operand("CSR", {0, 1});
  const merging::Input in = input({csr, csr}, Operator::add, {0, 0});
  CHECK(in == input({csr, csr}, Operator::add, {0, 0}));
  const std::function<void(merging::Input&)> changes[] = {
      [](auto& i) { i.nodes[0].conjugate = true; },
      [](auto& i) { i.nodes[0].no_sign = true; },
      [](auto& i) { i.nodes[1].dtype = DType::f32; },
      [](auto& i) { i.nodes[1].compute = DType::f32; },
      [](auto& i) { i.nodes[1].value = Scalar::of(-0.0); },
      [](auto& i) { i.nodes[2].op = Operator::maximum; },
      [](auto& i) { i.nodes[2].needed[0] = true; },
      [](auto& i) { i.nodes[2].formula.push_back(i.nodes[0]); },
      [](auto& i) { i.combine = merging::Combine::maximum; },
      [](auto& i) { i.absent = Scalar::of(-0.0); },
      [](auto& i) { i.ring = true; },
      [](auto& i) { i.others = i.absent; },
      [](auto& i) { i.compute = DType::f32; },
      [](auto& i) { i.fill = Scalar::of(1.0); },
      [](auto& i) { i.mask = 1; },
      [](auto& i) { i.complement = true; },
      [](auto& i) { i.operands[0].type.levels[0].kind = LevelKind::compressed; },
      [](auto& i) { i.operands[0].type.levels[1].unique = false; },
      [](auto& i) { i.operands[0].type.dtype = DType::f32; },
      [](auto& i) { i.operands[0].type.pos_dtype = DType::i64; },
      [](auto& i) { i.operands[0].type.crd_dtype = DType::i64; },
      [](auto& i) { i.operands[0].type.shared_value = true; },
      [](auto& i) { i.operands[0].vars = {1, 0}; },
      [](auto& i) { i.operands[0].dense = true; },
      [](auto& i) { i.operands[0].contiguous = 1; },
      [](auto& i) { i.operands[0].fibers[0] = 16; },
      [](auto& i) { i.operands[0].each_slot = true; },
      [](auto& i) { i.operands[1].twin = 0; },
      [](auto& i) { i.num_vars = 3; },
      [](auto& i) { i.summed[1] = 1; },
      [](auto& i) { i.constants = {0, 4}; },
      [](auto& i) { i.hints = {merging::Hint::none, merging::Hint::simd}; },
      [](auto& i) { i.bounds = {{{{0, 1}}}}; },
      [](auto& i) { i.lanes = 8; },
      [](auto& i) { i.dense_result = true; },
      [](auto& i) { i.contiguous = 1; },
      [](auto& i) { i.diagonals.along_columns = true; },
      [](auto& i) { i.operands[0].type.batch_levels = 1; },
      [](auto& i) { i.pattern = 0; },
      [](auto& i) { i.identical_rows = true; },
      [](auto& i) { i.prefetch.ahead = 16; },
      [](auto& i) { i.prefetch.second_level = true; },
      [](auto& i) { i.prefetch.again = 16; },
      [](auto& i) { i.prefetch.near = 32; },
      [](auto& i) { i.prefetch.by_row = true; },
      [](auto& i) { i.prefetch.along = true; },
      [](auto& i) { i.joins = true; },
      [](auto& i) { i.slots = true; },
      [](auto& i) { i.dense_top = false; },
      [](auto& i) { i.dense_tail = 1; },
      [](auto& i) { i.blocks.column_major = true; },
      [](auto& i) { i.crd = DType::i64; },
  };
  for (const auto& change : changes) {
    merging::Input other = in;
    change(other);
    CHECK(!(other == in));
  }
}
