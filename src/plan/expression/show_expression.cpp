// Expressions without data: planning looks at types.
#include <algorithm>

#include "base/small_float.h"
#include "base/suggest.h"
#include "compiler/emit/c_file.h"
#include "convert/convert_elements.h"
#include "plan/expression/front.h"
#include "plan/plan_impl.h"
#include "plan/program.h"
#include "plan/rewrite/direct.h"
#include "plan/rewrite/index_values.h"
#include "plan/rewrite/mask.h"
#include "plan/rewrite/padded.h"
#include "plan/rewrite/steps.h"
#include "strata/convert.h"

namespace strata {
namespace {

/// How often each operand is indexed.
void collect_ranks(const Expression& e, std::map<std::string, int>& ranks) {
  if (e.op() == Operator::access) ranks[e.node().name] = static_cast<int>(e.node().indices.size());
  for (const auto& a : e.node().arguments) collect_ranks(a, ranks);
}

TensorType type_of(const std::string& name, int rank, const SymbolicOperand& operand, std::int64_t extent,
                   std::string_view text) {
  TensorType t = planning::dense_type(Shape(static_cast<std::size_t>(rank), extent), operand.dtype);
  t.format = parse_format(operand.format, rank);
  if (t.format.rank() != rank)
    throw ExpressionError({.what = "operand " + name + " does not fit its format",
                           .expected = std::to_string(t.format.rank()) + " dimensions, as in " + t.format.to_string(),
                           .got = std::to_string(rank) + " in the expression",
                           .text = std::string(text),
                           .where = {0, text.size()}});
  return t;
}

/// Indices whose values are meant, as no operand has their names.
std::vector<std::string> index_values_of(const Assignment& a, const auto& operands) {
  auto out = index_values(a);
  std::erase_if(out, [&](const std::string& name) { return operands.contains(name); });
  return out;
}

/// The expression over operands that have types alone.
struct Symbolic {
  Assignment assignment;
  std::map<std::string, TensorType> types;
  std::optional<Format> format;  ///< of the result
  int sparse = 0;                ///< operands
  /// As an einsum over `names`, where it is one product of tensors.
  std::optional<Einsum> einsum(std::vector<std::string>& names) const {
    if (!index_values_of(assignment, types).empty()) return std::nullopt;
    return evaluation::as_einsum(assignment, types, names);
  }
};

Symbolic symbolic(std::string_view text, const std::map<std::string, SymbolicOperand>& operands, std::int64_t extent) {
  Symbolic out{.assignment = parse_assignment(text), .types = {}, .format = {}};
  const Assignment& a = out.assignment;
  std::map<std::string, int> ranks;
  collect_ranks(a.value, ranks);
  if (a.accumulate) ranks[a.name] = static_cast<int>(a.indices.size());
  for (const auto& name : index_values_of(a, operands)) ranks.erase(name);
  for (const auto& [name, operand] : operands) {
    if (ranks.contains(name)) continue;
    if (name == a.name) {
      out.format = type_of(name, static_cast<int>(a.indices.size()), operand, extent, text).format;
      continue;
    }
    std::vector<std::string_view> known;
    std::string all;
    known.push_back(a.name);
    for (const auto& [n, rank] : ranks) {
      known.push_back(n);
      all += (all.empty() ? "" : ", ") + n;
    }
    const std::string close(closest(name, known));
    throw ExpressionError({.what = "the expression has no operand '" + name + "'",
                           .expected = all.empty() ? "none" : all,
                           .got = name,
                           .fix = close.empty() ? "" : "write '" + close + "'",
                           .text = std::string(text),
                           .where = {0, text.size()}});
  }
  for (const auto& [name, rank] : ranks) {
    const auto it = operands.find(name);
    out.types.emplace(name, type_of(name, rank, it == operands.end() ? SymbolicOperand{} : it->second, extent, text));
    out.sparse += !out.types.at(name).format.is_all_dense();
  }
  return out;
}

/// Is it a plain product with a dense result?
bool is_product(const Symbolic& s, const SymbolicOptions& options) {
  std::vector<std::string> names;
  return s.einsum(names) && s.sparse <= 1 && !s.assignment.accumulate && !options.schedule && !options.mask &&
         options.semiring == Semiring::plus_times && (!s.format || s.format->is_all_dense());
}

/// What planning sees of a tensor of this type.
planning::Lazy seen(int position, const TensorType& t) {
  return planning::Lazy::given(position, t, planning::stats_for(t));
}

struct Seen {
  planning::Operands operands;
  planning::Asked asked;
};

/// The operands by their types, and the options with a mask of the result's shape.
Seen see(const Symbolic& s, const SymbolicOptions& options, std::int64_t extent) {
  Seen out{.operands = {},
           .asked = {.format = s.format,
                     .semiring = options.semiring,
                     .complement_mask = options.complement_mask,
                     .schedule = options.schedule}};
  int position = 0;
  for (const auto& [name, t] : s.types) out.operands.emplace(name, seen(position++, t));
  if (options.mask)
    out.asked.mask = seen(position, type_of("mask", static_cast<int>(s.assignment.indices.size()),
                                            {*options.mask, DType::boolean}, extent, s.assignment.text));
  out.asked = evaluation::with_true_mask(std::move(out.asked));
  return out;
}

}  // namespace

std::string show_expression(std::string_view text, const std::map<std::string, SymbolicOperand>& operands,
                            std::int64_t extent, bool code, const SymbolicOptions& options) {
  const Symbolic s = symbolic(text, operands, extent);
  Seen all = see(s, options, extent);
  all.asked.generated = code;
  evaluation::check_names(s.assignment, all.operands);
  const auto [result, how] = direct::planned(s.assignment, all.operands, all.asked);
  return code ? how() + "\n" + planning::Program(result).code() : how();
}

namespace {

/// A tensor that main() can be read with: two elements a row at most, small numbers. Where the text holds for its own
/// extent alone (trailing dense ones up to 128), of that, else of a tiny one, of which the text asks for `least`.
Tensor tiny(TensorType t, std::int64_t least) {
  const std::int64_t extent = t.shape.empty() ? 1 : t.shape[0] > 128 ? std::max<std::int64_t>(4, least) : t.shape[0];
  t.shape.assign(t.shape.size(), extent);
  const bool dense = t.format.is_all_dense();
  std::int64_t n = dense ? 1 : 2 * extent;
  for (std::size_t d = 0; dense && d < t.shape.size(); ++d) n *= extent;
  std::vector<Buffer> coordinates;
  std::int64_t step = n;
  for (std::size_t d = 0; d < t.shape.size(); ++d) {
    Buffer b = Buffer::allocate(DType::i64, n);
    step = dense ? step / extent : 1;
    const bool last = d + 1 == t.shape.size();
    for (std::int64_t k = 0; k < n; ++k)
      b.set_index(k, dense ? k / step % extent : (k / 2 + (last ? k % 2 : 0)) % extent);
    coordinates.push_back(std::move(b));
  }
  const Buffer values = Buffer::allocate(t.dtype, n);
  for (std::int64_t k = 0; k < n; ++k)
    Scalar::of(k % 9 + 1).as(t.dtype).store(static_cast<char*>(values.data) +
                                            k * static_cast<std::int64_t>(size_of(t.dtype)));
  return from_coo(coordinates, values, t.shape, t.format);
}

/// main() for the kernel of a product.
std::string main_of(const Symbolic& s, const Seen& all, const std::string& name) {
  planning::Operands operands;
  std::vector<Tensor> tensors;
  std::map<std::string, Tensor> by_name;
  const std::int64_t least = direct::least_extent(s.assignment, all.operands, all.asked);
  for (const auto& [operand, t] : s.types) {
    const Tensor own = tiny(t, least);
    operands.emplace(operand, seen(static_cast<int>(tensors.size()), own.type()));
    tensors.push_back(own);
    // Sums of narrow numbers are made, and left, in float32.
    by_name.emplace(operand, is_small_float(t.dtype) ? convert(own, own.format(), {.dtype = DType::f32}) : own);
  }
  const Tensor expected = to_dense(evaluate(s.assignment, by_name));
  return direct::emit_main(s.assignment, all.operands, operands, tensors, all.asked, name, expected);
}

}  // namespace

std::string emit_expression(std::string_view text, const std::map<std::string, SymbolicOperand>& operands,
                            std::int64_t extent, const SymbolicOptions& options, const EmitOptions& emit) {
  const Symbolic s = symbolic(text, operands, extent);
  if (emit.main && !is_product(s, options))
    throw Unsupported({.what = "main() is written for one product with a dense result",
                       .expected = "such as y(i) = A(i,j) * x(j), with at most one sparse operand",
                       .got = s.assignment.to_string(),
                       .fix = "emit it without main: the first comment says how it is called"});
  if (evaluation::has_padding(s.assignment.value))
    throw Unsupported({.what = "a padded access has no kernel: it reads a padded copy of its operand",
                       .expected = "accesses that stay inside",
                       .got = s.assignment.to_string(),
                       .fix = "pad the operand first, and leave '?' out"});
  const Seen all = see(s, options, extent);
  if (const auto whole = evaluation::with_index_values(s.assignment, all.operands))
    return rename_function(direct::emit(whole->assignment, whole->operands, all.asked), emit.name);
  const std::string file = rename_function(direct::emit(s.assignment, all.operands, all.asked), emit.name);
  return emit.main ? file + main_of(s, all, emit.name) : file;
}

}  // namespace strata
