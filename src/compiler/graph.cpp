#include "compiler/graph.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/checked.h"

namespace strata::compiler {

namespace {

/// A dimension as a linear form over the level coordinates.
struct Linear {
  std::vector<std::int64_t> scale;
  Linear operator*(std::int64_t n) const {
    Linear r = *this;
    for (auto& s : r.scale) s *= n;
    return r;
  }
  Linear operator+(const Linear& o) const {
    Linear r = *this;
    for (std::size_t k = 0; k < scale.size(); ++k) r.scale[k] += o.scale[k];
    return r;
  }
  Linear operator-(const Linear& o) const { return *this + o * -1; }
};

/// What a level expression looks like from outside.
struct Shape_ {
  bool zero = true;  ///< its range starts at 0 for every shape
  std::string stem;
};

Shape_ look(const FormatSpec& spec, int node, const std::vector<int>& dim_index) {
  const ExprNode& e = spec.exprs[static_cast<std::size_t>(node)];
  switch (e.op) {
    case ExprNode::dim: return {true, index_letter(dim_index[static_cast<std::size_t>(e.a)])};
    case ExprNode::div: {
      Shape_ s = look(spec, e.a, dim_index);
      return {s.zero, s.stem + "b"};
    }
    case ExprNode::mod: {
      Shape_ s = look(spec, e.a, dim_index);
      return {true, s.stem.size() == 1 ? s.stem + s.stem : s.stem + "r"};
    }
    case ExprNode::add: return {look(spec, e.a, dim_index).zero && look(spec, e.b, dim_index).zero, "d"};
    default: return {false, "d"};
  }
}

bool plain_dim(const Format& f, int l, int& dim) {
  const ExprNode& e = f.spec().exprs[static_cast<std::size_t>(f.level(l).expr)];
  dim = e.a;
  return e.op == ExprNode::dim;
}

StrideKind stride_kind(const TensorType& t, int level) {
  if (!t.strides.empty()) return t.strides[static_cast<std::size_t>(level)];
  return level + 1 == t.format.num_levels() ? StrideKind::unit : StrideKind::general;
}

bool join_leaf(const FormatSpec& spec, int node, int level) {
  const InverseNode& e = spec.inverses[static_cast<std::size_t>(node)];
  if (e.op == InverseNode::level) return e.a == level;
  if (e.op != InverseNode::join) return false;
  return join_leaf(spec, e.a, level) || join_leaf(spec, e.b, level);
}

}  // namespace

std::string index_letter(int index) {
  constexpr std::string_view letters = "ijklmnoqrstuvwxyz";
  if (index >= 0 && index < static_cast<int>(letters.size()))
    return std::string(1, letters[static_cast<std::size_t>(index)]);
  return "x" + std::to_string(index < 0 ? 0 : index);
}

bool Graph::in_output(int index) const {
  const auto& out = input->einsum.output;
  return std::find(out.begin(), out.end(), index) != out.end();
}

std::vector<int> Graph::indices(int operand) const {
  return operand < 0 ? input->einsum.output : input->einsum.operands[static_cast<std::size_t>(operand)];
}

bool Graph::determines(int l, int index) const {
  const int d = dim_of_index[static_cast<std::size_t>(index)];
  if (d < 0) return false;
  return join_leaf(format.spec(), format.spec().parts[0].inverse[static_cast<std::size_t>(d)],
                   levels[static_cast<std::size_t>(l)].number);
}

std::optional<Graph> make_graph(const LowerInput& in, std::string& why) {
  const auto refuse = [&](std::string text) {
    why = std::move(text);
    return std::optional<Graph>();
  };
  Graph g;
  g.input = &in;
  const Einsum& e = in.einsum;
  if (in.driver < 0 || in.driver >= static_cast<int>(in.operands.size())) return refuse("there is no operand to walk");
  const TensorType& driver = in.operands[static_cast<std::size_t>(in.driver)];
  if (!driver.fill.is_zero())
    return refuse("the fill of operand " + std::to_string(in.driver) + " is " + driver.fill.to_string() + ", not 0");
  if (in.part < 0 || in.part >= driver.format.num_parts()) return refuse("the driver has no such part");
  g.format = driver.format.part(in.part);
  g.dense_driver = g.format.is_all_dense();
  for (std::size_t k = 0; k < in.operands.size(); ++k)
    if (static_cast<int>(k) != in.driver &&
        (in.operands[k].format.num_parts() != 1 || !in.operands[k].format.is_all_dense()))
      return refuse("operand " + std::to_string(k) +
                    " is sparse too; one sparse operand is walked, the others must be dense");
  if (in.output.format.num_parts() != 1 || !in.output.format.is_all_dense() || !in.output.format.is_identity()) {
    return refuse("the output is not a plain dense tensor");
  }
  const DType c = in.compute;
  if (c == DType::f16 || c == DType::bf16 || c == DType::f8e4m3 || c == DType::f8e5m2)
    return refuse(std::string(name_of(c)) + " is a storage type; compute in float32");

  // --- indices ---
  g.extents.assign(static_cast<std::size_t>(e.num_indices), 1);
  for (std::size_t k = 0; k < in.operands.size(); ++k)
    for (std::size_t d = 0; d < e.operands[k].size(); ++d) {
      auto& x = g.extents[static_cast<std::size_t>(e.operands[k][d])];
      if (in.operands[k].shape[d] != 1) x = in.operands[k].shape[d];
    }
  g.dim_of_index.assign(static_cast<std::size_t>(e.num_indices), -1);

  // --- levels ---
  const auto& access = e.operands[static_cast<std::size_t>(in.driver)];
  const auto ranges = g.format.level_ranges(driver.shape);
  const int total = g.format.num_levels();
  for (int l = 0; l < total; ++l) {
    LevelFacts f;
    f.level = g.format.level(l);
    f.number = l;
    f.constant_size = g.format.constant_size(l);
    f.range = ranges[static_cast<std::size_t>(l)];
    const auto s = look(g.format.spec(), f.level.expr, access);
    f.starts_at_zero = s.zero;
    f.stem = s.stem;
    if (f.level.kind == LevelKind::delta) f.packed_bits = static_cast<int>(f.level.arg);
    if (f.level.kind == LevelKind::structured)
      f.packed_bits = f.range.size <= 2 ? 1 : std::bit_width(static_cast<std::uint64_t>(f.range.size - 1));
    if (f.packed_bits > 57) return refuse("delta wider than 57 bits");
    if (g.dense_driver) f.level.kind = LevelKind::dense;  // a stride like any other
    (f.level.kind == LevelKind::batch ? g.batches : g.levels).push_back(f);
  }
  const int n = g.num_levels();

  // --- dimensions ---
  const auto leaf = [&](int l) {
    Linear x{std::vector<std::int64_t>(static_cast<std::size_t>(total), 0)};
    x.scale[static_cast<std::size_t>(l)] = 1;
    return x;
  };
  const auto facts = [&](int inverse_node, std::int64_t extent) {
    DimFacts f;
    const Linear form = detail::eval_inverse<Linear>(g.format.spec(), inverse_node, leaf);
    for (const auto& b : g.batches) f.batch_scale.push_back(form.scale[static_cast<std::size_t>(b.number)]);
    long double least = 0, most = 0;
    for (int l = 0; l < total; ++l) {
      const auto s = static_cast<long double>(form.scale[static_cast<std::size_t>(l)]);
      const auto lo = static_cast<long double>(ranges[static_cast<std::size_t>(l)].lo);
      const auto hi = lo + static_cast<long double>(ranges[static_cast<std::size_t>(l)].size) - 1;
      least += s > 0 ? s * lo : s * hi;
      most += s > 0 ? s * hi : s * lo;
    }
    for (int l = 0; l < n; ++l) {
      f.level_scale.push_back(form.scale[static_cast<std::size_t>(g.levels[static_cast<std::size_t>(l)].number)]);
      if (f.level_scale.back() != 0) f.completes = l;
    }
    f.below_zero = least < 0;
    f.beyond = most >= static_cast<long double>(extent);
    return f;
  };
  for (int d = 0; d < g.format.rank(); ++d) {
    const std::int64_t extent = driver.shape[static_cast<std::size_t>(d)];
    DimFacts f = facts(g.format.spec().parts[0].inverse[static_cast<std::size_t>(d)], extent);
    const int index = access[static_cast<std::size_t>(d)];
    const bool broadcasts = extent == 1 && g.extents[static_cast<std::size_t>(index)] != 1;
    f.index = broadcasts ? -1 : index;
    if (!broadcasts) {
      int& first = g.dim_of_index[static_cast<std::size_t>(index)];
      if (first < 0 || f.completes < g.dims[static_cast<std::size_t>(first)].completes) first = d;
    }
    g.dims.push_back(f);
  }
  const std::function<void(int)> remainders = [&](int node) {
    const InverseNode& i = g.format.spec().inverses[static_cast<std::size_t>(node)];
    if (i.op == InverseNode::level) return;
    if (i.op == InverseNode::join) {
      DimFacts f = facts(i.b, i.n);
      f.remainder_of = i.n;
      if (!f.exact()) g.dims.push_back(f);
    }
    remainders(i.a);
    remainders(i.b);
  };
  for (int d = 0; d < g.format.rank(); ++d) remainders(g.format.spec().parts[0].inverse[static_cast<std::size_t>(d)]);

  // --- dense accesses ---
  const auto add_access = [&](int operand) {
    const TensorType& t = g.type(operand);
    const auto ids = g.indices(operand);
    DenseAccess a;
    a.operand = operand;
    for (int l = 0; l < t.format.num_levels(); ++l) {
      int d = 0;
      if (!plain_dim(t.format, l, d)) {
        a.late_levels.push_back(l);
        continue;
      }
      const int index = ids[static_cast<std::size_t>(d)];
      if (t.shape[static_cast<std::size_t>(d)] == 1 && g.extents[static_cast<std::size_t>(index)] != 1)
        continue;  // broadcasts: coordinate 0
      const StrideKind kind = stride_kind(t, l);
      if (kind != StrideKind::broadcast) a.terms.push_back({index, operand < 0 ? d : l, kind});
    }
    g.dense.push_back(std::move(a));
  };
  for (std::size_t k = 0; k < in.operands.size(); ++k)
    if (static_cast<int>(k) != in.driver || g.dense_driver) add_access(static_cast<int>(k));
  add_access(-1);

  for (int i : e.output)
    if (g.dim_of_index[static_cast<std::size_t>(i)] < 0) g.free_out.push_back(i);
  for (int i = 0; i < e.num_indices; ++i) {
    if (g.dim_of_index[static_cast<std::size_t>(i)] >= 0 || g.in_output(i)) continue;
    bool used = false;
    for (const auto& o : e.operands) used = used || std::find(o.begin(), o.end(), i) != o.end();
    if (used) g.free_sum.push_back(i);
  }
  return g;
}

std::string Graph::to_string() const {
  std::string s =
      input->einsum.to_string() + "\nwalks operand " + std::to_string(input->driver) + ": " + format.to_string() + "\n";
  for (int l = 0; l < num_levels(); ++l) {
    const auto& f = levels[static_cast<std::size_t>(l)];
    s += "  level " + std::to_string(l) + "  " + std::string(name_of(f.level.kind)) + "  " + f.stem;
    std::string known;
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (dims[d].completes == l)
        known += std::string(known.empty() ? "" : ", ") +
                 (dims[d].remainder_of > 0 ? std::string("a remainder")
                  : dims[d].index < 0      ? std::string("a broadcast extent of 1")
                                           : index_letter(dims[d].index)) +
                 (dims[d].exact() ? "" : " (clipped)");
    if (!known.empty()) s += "  -> " + known;
    s += "\n";
  }
  const auto list = [&](const char* what, const std::vector<int>& indices_) {
    if (indices_.empty()) return;
    s += std::string("  ") + what + ":";
    for (int i : indices_) s += " " + index_letter(i);
    s += "\n";
  };
  list("free", free_out);
  list("free, summed", free_sum);
  return s;
}

}  // namespace strata::compiler
