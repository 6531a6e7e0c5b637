// Which format a result gets where none is asked for (design 4).
#include <algorithm>
#include <optional>

#include "ops/convert_elements.h"
#include "ops/evaluate/front.h"
#include "strata/evaluate.h"

namespace strata {
namespace {

using conversion::takes_any;

struct Choice {
  /// neutral: a constant; scalar: a number that is an operand, so that its sums have a value everywhere
  enum Kind : std::uint8_t { neutral, scalar, pattern, compressed, dense } kind = neutral;
  std::optional<Format> format;    ///< pattern
  std::vector<char> dense_levels;  ///< compressed: per output dimension
  std::vector<int> order;          ///< of the output's dimensions in storage
  std::string why;
  bool zero_fill = true;
};

/// Can it hold any of the elements of a tensor that is stored so? A sum divides fewer of them in another way, and its
/// last part must hold what the others leave.
bool takes_some(const Format& f) { return f.num_parts() == 1 || takes_any(f.part(f.num_parts() - 1)); }

class Chooser {
 public:
  Chooser(const Assignment& a, const std::map<std::string, TensorType>& operands) : a_(a), operands_(operands) {}

  Choice choose(const Expression& e) {
    if (is_reduction(e.op())) {
      bound_.push_back(e.node().name);
      const Choice c = choose(e.argument());
      bound_.pop_back();
      return c;
    }
    switch (e.op()) {
      case Operator::constant: return {};
      case Operator::access: return access(e);
      case Operator::multiply: return product(e);
      case Operator::divide:
      case Operator::floor_divide:
      case Operator::modulo: {
        const Choice left = choose(e.argument(0)), right = choose(e.argument(1));
        if (right.kind == Choice::scalar && !left.zero_fill) return right;  // a value everywhere
        if (right.kind == Choice::neutral || right.kind == Choice::scalar ||
            (right.kind == Choice::dense && left.kind == Choice::pattern && left.zero_fill))
          return left;
        return unite(left, right);
      }
      default:
        if (e.node().arguments.size() == 1) {
          Choice c = choose(e.argument());
          if (is_unary(e.op()) && !keeps_zero(e.op())) c.zero_fill = false;
          return c;
        }
        return unite(choose(e.argument(0)), choose(e.argument(1)));
    }
  }

 private:
  static bool keeps_zero(Operator op) {
    return op != Operator::exponential && op != Operator::logarithm && op != Operator::cosine;
  }

  int output_dimension(const std::string& index) const {
    if (std::find(bound_.begin(), bound_.end(), index) != bound_.end())
      return -1;  // sum(j, A(j)) in R(j) has a j of its own
    const auto it = std::find(a_.indices.begin(), a_.indices.end(), index);
    return it == a_.indices.end() ? -1 : static_cast<int>(it - a_.indices.begin());
  }

  /// Does an extent of 1 stand for more?
  bool stretched(const std::string& index) const {
    std::map<std::string, Shape> shapes;
    for (const auto& [name, type] : operands_) shapes.emplace(name, type.shape);
    return index_extents(a_, shapes).at(index) != 1;
  }

  Choice access(const Expression& e) const {
    const auto& n = e.node();
    const TensorType& type = operands_.at(n.name);
    Choice c;
    if (type.format.is_all_dense()) {
      c.kind = n.indices.empty() ? Choice::scalar : Choice::dense;
      c.why = "'" + n.name + "' is dense";
      return c;
    }
    c.zero_fill = type.fill.is_zero();
    c.kind = Choice::compressed;
    c.why = "all operands are sparse";
    c.dense_levels.assign(a_.indices.size(), 0);
    std::vector<int> perm(a_.indices.size(), -1);
    bool exact = n.indices.size() == a_.indices.size();
    for (std::size_t d = 0; d < n.indices.size(); ++d) {
      if (!n.indices[d].is_plain()) {
        exact = false;
        continue;
      }
      const int o = output_dimension(n.indices[d].terms[0].index);
      if (o < 0 || perm[static_cast<std::size_t>(o)] >= 0) {
        exact = false;
        continue;
      }
      exact = exact && !(type.shape[d] == 1 && stretched(n.indices[d].terms[0].index));
      perm[static_cast<std::size_t>(o)] = static_cast<int>(d);
      c.dense_levels[static_cast<std::size_t>(o)] = stored_densely(type.format, static_cast<int>(d));
    }
    for (std::size_t o = 0; o < a_.indices.size(); ++o) c.order.push_back(static_cast<int>(o));
    if (!exact) return c;
    c.kind = Choice::pattern;
    c.format = type.format.transpose(perm);
    c.why = "the pattern of '" + n.name + "', whose indices are the result's";
    return c;
  }

  static bool is_sparse(const Choice& c) { return c.kind == Choice::pattern || c.kind == Choice::compressed; }

  /// Every level that depends on dimension d is dense.
  static char stored_densely(const Format& f, int d) {
    if (f.num_parts() != 1) return 0;
    const FormatSpec& s = f.spec();
    for (int l = 0; l < f.num_levels(); ++l) {
      std::vector<int> stack{f.level(l).expr};
      while (!stack.empty()) {
        const ExprNode& x = s.exprs[static_cast<std::size_t>(stack.back())];
        stack.pop_back();
        if (x.op == ExprNode::dim) {
          if (x.a == d && f.level(l).kind != LevelKind::dense) return 0;
          continue;
        }
        stack.push_back(x.a);
        if (x.b >= 0) stack.push_back(x.b);
      }
    }
    return 1;
  }

  Choice product(const Expression& e) {
    const Choice left = choose(e.argument(0)), right = choose(e.argument(1));
    const bool both_sparse = is_sparse(left) && is_sparse(right);
    for (const Choice* c : {&left, &right})
      if (c->kind == Choice::pattern && c->zero_fill && (!both_sparse || takes_some(*c->format))) return *c;
    for (const auto kind : {Choice::neutral, Choice::scalar}) {
      if (left.kind == kind) return kind == Choice::scalar && !right.zero_fill ? left : right;
      if (right.kind == kind) return kind == Choice::scalar && !left.zero_fill ? right : left;
    }
    for (const Choice* c : {&left, &right})
      if (c->kind == Choice::dense) return *c;
    Choice out = left.kind == Choice::compressed ? left : right;
    out.kind = Choice::compressed;
    out.why = "all operands are sparse";
    for (std::size_t d = 0; d < out.dense_levels.size(); ++d)
      out.dense_levels[d] = left.dense_levels[d] || right.dense_levels[d];
    out.zero_fill = left.zero_fill || right.zero_fill;
    return out;
  }

  Choice unite(const Choice& left, const Choice& right) const {
    if (left.kind == Choice::neutral) return right;
    if (right.kind == Choice::neutral) return left;
    if (left.kind == Choice::dense || right.kind == Choice::dense) return left.kind == Choice::dense ? left : right;
    if (left.kind == Choice::scalar || right.kind == Choice::scalar) return left.kind == Choice::scalar ? left : right;
    if (left.kind == Choice::pattern && right.kind == Choice::pattern && *left.format == *right.format &&
        takes_any(*left.format)) {
      Choice out = left;
      out.why = "all terms are stored so";
      return out;
    }
    Choice out = left;
    out.kind = Choice::compressed;
    out.why = "terms of different patterns unite, in the first one's order";
    out.zero_fill = left.zero_fill && right.zero_fill;
    if (left.kind == Choice::pattern) out.order = storage_order(*left.format);
    return out;
  }

  /// Dimensions in the order in which levels first mention them; those of one level (diagonals) in their own.
  static std::vector<int> storage_order(const Format& f) {
    std::vector<int> order;
    const FormatSpec& s = f.spec();
    for (int l = 0; l < f.num_levels(); ++l) {
      std::vector<int> stack{f.level(l).expr};
      const auto before = static_cast<std::ptrdiff_t>(order.size());
      while (!stack.empty()) {
        const ExprNode& x = s.exprs[static_cast<std::size_t>(stack.back())];
        stack.pop_back();
        if (x.op == ExprNode::dim) {
          if (std::find(order.begin(), order.end(), x.a) == order.end()) order.push_back(x.a);
          continue;
        }
        if (x.b >= 0) stack.push_back(x.b);
        stack.push_back(x.a);
      }
      std::sort(order.begin() + before, order.end());
    }
    return order;
  }

  const Assignment& a_;
  const std::map<std::string, TensorType>& operands_;
  std::vector<std::string> bound_;  ///< indices of the reductions around
};

/// Its dimensions are called as the indices of the result.
Format compressed_format(const Choice& c, const std::vector<std::string>& indices) {
  FormatBuilder b(indices);
  // CSR times CSC would be dense in both: a product of sparse matrices must not fill memory.
  bool all_dense = c.order.size() > 1;
  for (char dense : c.dense_levels) all_dense = all_dense && dense;
  // A dense level below a compressed one would be filled in: it stands above.
  std::vector<int> order = c.order;
  const auto is_dense = [&](int d) { return c.dense_levels[static_cast<std::size_t>(d)] != 0; };
  if (!all_dense) std::stable_partition(order.begin(), order.end(), is_dense);
  for (int d : order) {
    const bool dense = is_dense(d) && !(all_dense && d == order.back());
    b.level(b.dim(d), Level{.kind = dense ? LevelKind::dense : LevelKind::compressed});
  }
  return b.build();
}

}  // namespace

ResultFormat result_format(const Assignment& a, const std::map<std::string, TensorType>& operands,
                           const EvaluateOptions& options) {
  const int rank = static_cast<int>(a.indices.size());
  if (rank == 0) return {Format(), "the result is a single number"};
  Choice c = Chooser(a, operands).choose(a.total());
  if (options.mask && c.kind == Choice::pattern && !takes_some(*c.format)) {
    c.kind = Choice::compressed;
    c.why = "all operands are sparse";
  }
  switch (c.kind) {
    case Choice::pattern: return {*c.format, c.why};
    case Choice::compressed: return {compressed_format(c, a.indices), c.why};
    default:
      if (options.mask && !options.complement_mask && !options.mask->format().is_all_dense() &&
          options.mask->rank() == rank)
        return {options.mask->format(), "pattern of the mask"};
      return {conversion::dense_format(rank), c.why.empty() ? "no operand is sparse" : c.why};
  }
}

Format evaluation::wanted_format(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                 const EvaluateOptions& options) {
  if (options.format) return *options.format;
  std::map<std::string, TensorType> types;
  for (const auto& [name, t] : operands) types.emplace(name, t.type());
  return result_format(a, types, options).format;
}

}  // namespace strata
