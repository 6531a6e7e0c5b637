#include "plan/rewrite/hoist_reductions.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "convert/convert_elements.h"
#include "expr/chain.h"
#include "plan/nest/problem.h"
#include "plan/rewrite/fold.h"
#include "plan/rewrite/ones.h"
#include "plan/rewrite/places.h"
#include "plan/rewrite/steps.h"

namespace strata::direct {
namespace {

/// Takes reductions out of an elementwise tree: each becomes an operand of its own.
class HoistReductions {
 public:
  /// `output`: the indices of the whole result.
  HoistReductions(const Operands& operands, const Asked& options, const std::vector<std::string>& output,
                  bool rows_are_full)
      : operands_(operands), options_(options), output_(output), rows_are_full_(rows_are_full) {
    // In a semiring what sums start from stands for what is missing; of `any` the first value counts, and there is
    // none.
    zeros_are_values_ = options.format->is_all_dense() && options.semiring.kind() != Semiring::any;
  }

  /// What dense operands compute under a sparse mask is a product with ones in its pattern.
  Expression times_mask(const Expression& e) {
    if (options_.semiring != Semiring::plus_times || !is_factor(options_, output_.size())) return e;
    if (options_.mask->format().is_all_dense() || !everywhere(e)) return e;
    return mask_as_factor(*options_.mask, DType::boolean, output_, operands_) * e;
  }
  Expression apply(const Expression& e) {
    if (is_reduction(e.op())) return evaluated(e);
    const bool before = zeros_are_values_;
    const bool of_sums =
        e.op() == Operator::divide && e.argument(0).op() == Operator::sum && e.argument(1).op() == Operator::sum;
    const auto rows = before && of_sums ? presence(e.argument(0)) : std::nullopt;
    zeros_are_values_ = before && (rows || asks_for_values(e));
    Expression out = below(e);
    zeros_are_values_ = before;
    if (rows && !rows->second) out = out.argument(0) * rows->first / out.argument(1);
    return out;
  }
  /// Beside a reduction a sparse factor becomes one tensor that stores each element once and nothing else, whatever
  /// stores it: places to compute in.
  Expression with_carriers(const Expression& e) {
    const Expression below = arguments(e, [&](const Expression& a) { return with_carriers(a); });
    if (!has_reduction(below) || options_.semiring != Semiring::plus_times) return below;
    const auto factors = hiding(below);
    const bool signs_count = divides_by_reduction(below);
    const auto carries = [&](const Expression& f) {
      const auto access = carrier_of(f, operands_);
      return access && (!signs_count || stores_all(operands_.at(access->node().name).format()));
    };
    if (std::ranges::any_of(factors, carries)) return below;
    for (const Expression& f : factors)
      if (hides(f, operands_)) return replaced(below, f, carrier(f));
    return below;
  }
  /// What several reductions hold is carried out once, before them.
  Expression shared(const Expression& e) {
    const bool before = std::exchange(zeros_are_values_, false);
    static_cast<void>(inner(e, 0, true));
    const Expression out = inner(e, 0, false);
    zeros_are_values_ = before;
    return out;
  }
  /// Work on single elements that the products of several reductions hold is done once, before them.
  Expression shared_work(const Expression& e) {
    if (options_.semiring != Semiring::plus_times) return e;
    note_work(e);
    return without_work(e);
  }
  void looks_for_quotients(const Expression& body) {
    divides_ = options_.semiring == Semiring::plus_times && has_quotient(body);
  }
  Hoisted take(Expression value) {
    return {std::move(value), std::move(operands_), std::move(all_rows_), std::move(not_nothing_), std::move(steps_)};
  }

 private:
  /// Is this the same where an argument is absent and where it is 0? In a dense result; an absent factor, or numerator,
  /// hides infinities and zeros beside it.
  static bool asks_for_values(const Expression& e) { return e.op() != Operator::multiply && !is_quotient(e.op()); }

  /// Where a sum of products with one sparse factor has terms: an access that is true there, and whether that is
  /// everywhere. Nothing where it is of another kind.
  std::optional<std::pair<Expression, bool>> presence(const Expression& sum) {
    const auto free = sum.free_indices();
    std::optional<Expression> sparse;
    for (const Expression& f : chain_of(sum).factors) {
      if (everywhere(f) || (!has_reduction(f) && !hides(f, operands_))) continue;  // it leaves out no term
      const auto access = carrier_of(f, operands_);
      if (!access || sparse) return std::nullopt;
      sparse = access;
    }
    if (!sparse) return std::nullopt;
    std::vector<std::string> kept;
    for (const auto& i : sparse->free_indices())
      if (std::ranges::find(free, i) != free.end()) kept.push_back(i);
    if (kept.empty()) return std::nullopt;
    const Lazy rows = projected({operands_.at(sparse->node().name), sparse->free_indices()}, kept);
    const Expression access = Expression::plain_access("#rows" + std::to_string(operands_.size()), kept);
    if (rows_are_full_) all_rows_.push_back(rows);
    else operands_.emplace(access.node().name, rows);
    return std::pair(access, rows_are_full_);
  }

  /// Has this sum terms wherever the places around it have elements, because it walks these very elements? Then it may
  /// be dense: where it would be missing nobody asks.
  bool is_met_in_places(const Expression& sum) const {
    if (!places_.tensor || sum.op() != Operator::sum || options_.semiring != Semiring::plus_times) return false;
    std::optional<Expression> sparse;
    for (const Expression& f : chain_of(sum).factors) {
      if (everywhere(f) || (!has_reduction(f) && !hides(f, operands_))) continue;  // it leaves out no term
      const auto access = carrier_of(f, operands_);
      if (!access || (sparse && !(*sparse == *access))) return false;
      sparse = access;
    }
    if (!sparse || !operands_.at(sparse->node().name).is_twin_of(*places_.tensor)) return false;
    const auto own = sparse->free_indices(), free = sum.free_indices();
    if (own.size() != places_.indices.size() || own.size() != sparse->node().indices.size()) return false;
    double everywhere = 1;
    for (std::size_t d = 0; d < own.size(); ++d) {
      if (std::ranges::find(free, own[d]) == free.end()) continue;
      if (own[d] != places_.indices[d]) return false;
      everywhere *= static_cast<double>(places_.tensor->shape()[d]);
    }
    const auto stands = [&](const std::string& i) { return std::ranges::find(own, i) != own.end(); };
    return std::ranges::all_of(free, stands) && everywhere <= 4 * places_.tensor->stats().stored + 1024;
  }

  /// The access to a factor that was computed once.
  Expression carrier(const Expression& f) {
    for (const auto& [factor, access] : carriers_)
      if (factor == f) return access;
    Assignment a{.name = "#carrier" + std::to_string(operands_.size()),
                 .indices = f.free_indices(),
                 .accumulate = false,
                 .value = f,
                 .text = {}};
    std::vector<int> dims(a.indices.size());
    std::iota(dims.begin(), dims.end(), 0);
    carry_out(a, {.format = conversion::levels_in_order(dims, dims.size() > 1)});
    return carriers_.emplace_back(f, a.target()).second;
  }
  /// Does it divide by a reduction of dense operands, whose zeros have a sign? In a format with fill-in they have none.
  bool divides_by_reduction(const Expression& e) const {
    if (is_reduction(e.op())) return false;
    if (is_quotient(e.op()) && holds_dense_reduction(e.argument(1))) return true;
    return std::ranges::any_of(e.node().arguments, [&](const Expression& a) { return divides_by_reduction(a); });
  }
  bool holds_dense_reduction(const Expression& e) const {
    if (is_reduction(e.op())) return everywhere(e);
    return std::ranges::any_of(e.node().arguments, [&](const Expression& a) { return holds_dense_reduction(a); });
  }
  /// What a product or a quotient is absent with, wherever one of these is.
  static std::vector<Expression> hiding(const Expression& e) {
    if (is_quotient(e.op())) {
      const auto above = hiding(e.argument(0));
      return above.empty() ? std::vector{e.argument(0)} : above;
    }
    if (e.op() != Operator::multiply) return {};
    std::vector<Expression> out;
    for (const Expression& f : factors_of(e)) {
      const auto inside = hiding(f);
      if (inside.empty()) out.push_back(f);
      else out.insert(out.end(), inside.begin(), inside.end());
    }
    return out;
  }
  static Expression replaced(const Expression& e, const Expression& what, const Expression& by) {
    if (e == what) return by;
    return arguments(e, [&](const Expression& a) { return replaced(a, what, by); });
  }

  Expression below(const Expression& e) {
    return within(e, [&] { return arguments(e, [&](const Expression& a) { return apply(a); }); });
  }

  /// Calls f with the places that e's arguments are asked for.
  template <class F>
  Expression within(const Expression& e, const F& f) {
    if (options_.semiring == Semiring::plus_times)
      for (const Expression& x : hiding(e))
        if (const auto access = carrier_of(x, operands_)) {
          // Beside a sparse factor the others matter where that stores something.
          Places inside{operands_.at(access->node().name), access->free_indices()};
          std::swap(places_, inside);
          const Expression out = f();
          std::swap(places_, inside);
          return out;
        }
    return f();
  }

  /// Notes the reductions inside of reductions, or carries out those that were noted twice.
  Expression inner(const Expression& e, int depth, bool notes) {
    if (is_reduction(e.op()) && depth > 0) {
      const auto same = [&](const auto& x) { return x.first == e && x.second == places_; };
      if (notes) noted_.emplace_back(e, places_);
      else if (std::count_if(noted_.begin(), noted_.end(), same) > 1) return evaluated(e);
    }
    const int below = depth + (is_reduction(e.op()) ? 1 : 0);
    const Places before = places_;
    if (is_reduction(e.op()) && std::ranges::find(places_.indices, e.node().name) != places_.indices.end())
      places_ = {};  // an index of its own
    const Expression out =
        within(e, [&] { return arguments(e, [&](const Expression& a) { return inner(a, below, notes); }); });
    places_ = before;
    return out;
  }

  std::optional<Work> work_in(const Expression& e) const {
    if (e.op() != Operator::sum) return std::nullopt;
    const auto chain = chain_of(e);
    if (std::any_of(chain.factors.begin(), chain.factors.end(), has_reduction)) return std::nullopt;
    return work_of(chain.factors, operands_);
  }

  void note_work(const Expression& e) {
    if (const auto work = work_in(e)) return noted_work_.push_back(work->value);
    for (const auto& a : e.node().arguments) note_work(a);
  }

  /// The sums and products around work that was noted twice, which becomes an operand.
  Expression without_work(const Expression& e) {
    const auto work = work_in(e);
    if (!work) return arguments(e, [&](const Expression& a) { return without_work(a); });
    if (std::count(noted_work_.begin(), noted_work_.end(), work->value) < 2) return e;
    auto at = std::find_if(done_work_.begin(), done_work_.end(), [&](const auto& x) { return x.first == work->value; });
    if (at == done_work_.end()) {
      const Assignment first = work->as_operand(operands_);
      carry_out(first, {.format = work->format});
      at = done_work_.emplace(done_work_.end(), work->value, first.target());
    }
    return under(chain_of(e).sums, work->rest ? at->second * *work->rest : at->second);
  }

  void carry_out(const Assignment& a, const Asked& options) {
    auto [result, text] = planned(a, operands_, options);
    operands_.emplace(a.name, std::move(result));
    steps_.push_back(std::move(text));
  }

  /// A reduction that occurs twice is carried out once.
  struct Done {
    Expression reduction;
    Places places;
    bool dense;
    Expression access;
  };
  template <class F>
  static Expression arguments(const Expression& e, const F& f) {
    Expression::Node n = e.node();
    bool changed = false;
    for (auto& a : n.arguments) {
      Expression b = f(a);
      changed = changed || !(b == a);
      a = std::move(b);
    }
    return changed ? Expression(std::move(n)) : e;
  }

  /// Has it a value everywhere, because dense operands give it one?
  bool everywhere(const Expression& e) const {
    if (e.op() == Operator::access) return operands_.at(e.node().name).format().is_all_dense();
    bool all = true, some = false;
    for (const auto& a : e.node().arguments) {
      if (a.op() == Operator::constant) continue;
      const bool here = everywhere(a);
      all = all && here;
      some = some || here;
    }
    return e.op() == Operator::multiply ? all : some;
  }

  Expression evaluated(const Expression& e) {
    Assignment inner;
    inner.name = "#" + std::to_string(operands_.size());  // no user's name looks so
    inner.indices = e.free_indices();
    const bool dense = zeros_are_values_ && e.op() == Operator::sum &&
                       std::all_of(inner.indices.begin(), inner.indices.end(), [&](const auto& i) {
                         return std::find(output_.begin(), output_.end(), i) != output_.end();
                       });
    for (const Done& d : done_)
      if (d.reduction == e && d.places == places_ && d.dense == dense) return d.access;
    inner.value = e;
    Asked options;
    options.semiring = options_.semiring;
    // What is missing stays missing: in a dense tensor it would become a value.
    const auto rank = inner.indices.size();
    const bool in_places = everywhere(e) && restrict_to(places_, inner, options, operands_);
    if (!in_places && (dense || (rank > 0 && is_met_in_places(e)))) {
      options.format = conversion::dense_format(static_cast<int>(rank));
    } else if (!in_places && rank > 0 && !everywhere(e)) {
      std::vector<int> dims(rank);
      std::iota(dims.begin(), dims.end(), 0);
      options.format = conversion::levels_in_order(dims, rank > 1);
    }
    carry_out(inner, options);
    if (rank == 0 && divides_ && !everywhere(e)) note_number(e, operands_.at(inner.name));
    const Expression access = inner.target();
    done_.push_back({e, places_, dense, access});
    return access;
  }

  void note_number(const Expression& e, const Lazy& number) {
    const auto factors = chain_of(e).factors;
    const bool one = factors.size() == 1 && factors[0].op() == Operator::access;
    not_nothing_.emplace_back(number, one ? std::optional(operands_.at(factors[0].node().name)) : std::nullopt);
  }

  static bool has_quotient(const Expression& e) {
    return is_quotient(e.op()) || std::ranges::any_of(e.node().arguments, has_quotient);
  }

  Operands operands_;
  const Asked& options_;
  const std::vector<std::string>& output_;
  const bool rows_are_full_;
  std::vector<std::function<std::string()>> steps_;
  std::vector<Lazy> all_rows_;
  std::vector<std::pair<Lazy, std::optional<Lazy>>> not_nothing_;
  bool zeros_are_values_ = false, divides_ = false;
  Places places_;
  std::vector<Done> done_;
  std::vector<std::pair<Expression, Places>> noted_;
  std::vector<Expression> noted_work_;
  std::vector<std::pair<Expression, Expression>> done_work_, carriers_;  ///< and the access to it
};

}  // namespace

Hoisted hoist_reductions(const Expression& body, const std::vector<std::string>& indices, const Operands& operands,
                         const Asked& options, bool rows_are_full) {
  HoistReductions lift(operands, options, indices, rows_are_full);
  lift.looks_for_quotients(body);
  Expression value = lift.apply(lift.shared_work(lift.shared(lift.with_carriers(lift.times_mask(body)))));
  return lift.take(std::move(value));
}

}  // namespace strata::direct
