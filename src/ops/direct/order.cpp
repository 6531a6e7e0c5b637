// The order of the loops: every order is tried on a model of its work.
#include <algorithm>
#include <numeric>

#include "compiler/merge/iteration.h"
#include "ops/direct/unit.h"

namespace strata::direct {
namespace {

constexpr double convert_cost = 15;   ///< ns an element to store an operand in another order
constexpr double step_cost = 1.5;     ///< ns an iteration or a coordinate compared
constexpr double insert_cost = 3;     ///< ns an insertion into a workspace
constexpr int most_indices = 7;

/// The dimension that a level is, where it is a plain one.
std::optional<int> plain_dimension(const Format& f, int level) {
  const ExprNode& e = f.spec().exprs[static_cast<std::size_t>(f.level(level).expr)];
  if (e.op != ExprNode::dim) return std::nullopt;
  return e.a;
}

/// Dimensions in storage order where all levels are dense or compressed, unique and ordered; otherwise nothing.
std::optional<std::vector<int>> storage_order(const Format& f) {
  if (f.num_parts() != 1) return std::nullopt;
  std::vector<int> out;
  for (int l = 0; l < f.num_levels(); ++l) {
    const Level& level = f.level(l);
    const auto d = plain_dimension(f, l);
    const bool usable = level.kind == LevelKind::dense || (level.kind == LevelKind::compressed && level.unique && level.ordered);
    if (!d || !usable) return std::nullopt;
    out.push_back(*d);
  }
  return out;
}

/// Dense levels below the last compressed one hold fill-in.
bool holds_fill_in(const Format& f) { return f.level(f.num_levels() - 1).kind == LevelKind::dense; }

Format levels_in_order(int rank, const std::vector<int>& dims, bool dense_top) {
  std::vector<std::string> names;
  for (int d = 0; d < rank; ++d) names.push_back("d" + std::to_string(d));
  FormatBuilder b(names);
  for (std::size_t l = 0; l < dims.size(); ++l)
    b.level(b.dim(dims[l]), Level{.kind = l == 0 && dense_top ? LevelKind::dense : LevelKind::compressed});
  return b.build();
}

class Model {
 public:
  Model(const Unit& unit, const Format& wanted) : u_(unit), wanted_(wanted) {
    dense_result_ = wanted.is_all_dense();
    for (const Access& a : u_.accesses) {
      stored_.push_back(a.dense ? 0 : std::max<double>(1, static_cast<double>(a.tensor.nse())));
      kept_.push_back(a.dense ? std::nullopt : storage_order(a.tensor.format()));
      // Fill-in is missing in a semiring and in a mask.
      const bool drops = u_.drops_fill_in || static_cast<int>(stored_.size()) - 1 == u_.mask;
      if (kept_.back() && drops && holds_fill_in(a.tensor.format())) kept_.back().reset();
    }
    tail_ = wanted_tail();
    input_.nodes = u_.nodes;
    input_.mask = u_.mask;
    input_.complement = u_.complement;
  }

  /// One sparse tensor, every element of which becomes one of the result: nothing needs to be assembled.
  std::optional<Order> in_pattern() const {
    if (u_.mask >= 0 || u_.everywhere || std::find(u_.summed.begin(), u_.summed.end(), 1) != u_.summed.end()) return {};
    int first = -1;
    for (std::size_t k = 0; k < u_.accesses.size(); ++k) {
      const Access& a = u_.accesses[k];
      if (a.dense) continue;
      if (a.indices != u_.output || !kept_[k] || !(a.tensor.format() == wanted_)) return {};
      if (first < 0) first = static_cast<int>(k);
      if (!a.tensor.same_object(u_.accesses[static_cast<std::size_t>(first)].tensor)) return {};
    }
    if (first < 0) return {};
    const Access& a = u_.accesses[static_cast<std::size_t>(first)];
    Order out;
    for (int d : *kept_[static_cast<std::size_t>(first)]) out.indices.push_back(a.indices[static_cast<std::size_t>(d)]);
    if (out.indices.size() != u_.extents.size()) return {};
    out.convert.assign(u_.accesses.size(), std::nullopt);
    out.pattern = first;
    out.visits = stored_[static_cast<std::size_t>(first)];
    return out;
  }

  std::optional<Order> best(std::string& why) {
    const int n = static_cast<int>(u_.extents.size());
    if (n > most_indices) {
      why = "it has more than " + std::to_string(most_indices) + " indices";
      return std::nullopt;
    }
    std::vector<int> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::optional<Order> best;
    double least = 0;
    do {
      Order candidate;
      const auto cost = judge(order, candidate);
      if (!cost || (best && *cost >= least)) continue;
      least = *cost;
      best = std::move(candidate);
    } while (std::next_permutation(order.begin(), order.end()));
    if (!best) why = "no order of loops builds the result";
    return best;
  }

 private:
  double extent(int index) const { return static_cast<double>(u_.extents[static_cast<std::size_t>(index)]); }

  std::optional<double> judge(const std::vector<int>& order, Order& out) {
    std::vector<char> summed;
    for (int i : order) summed.push_back(u_.summed[static_cast<std::size_t>(i)]);
    out.dense_tail = ends_in_tail(order) ? static_cast<int>(tail_.size()) : 0;
    // Who counts what a reduction has met needs it to be complete in a register.
    if (u_.others && !std::is_sorted(summed.begin(), summed.end())) return std::nullopt;
    if (out.dense_tail > 0) {  // a block takes sums in any order; what stands above it does not
      int left = out.dense_tail;
      for (std::size_t v = summed.size(); v-- > 0 && left > 0;)
        if (!summed[v]) summed[v] = 1, --left;
      if (!std::is_sorted(summed.begin(), summed.end())) return std::nullopt;
    }
    if (!dense_result_ && !merging::can_assemble(summed)) return std::nullopt;
    out.indices = order;
    out.dense_result = dense_result_;
    double cost = 0;
    // Operands: as they are, or converted to this order.
    const std::size_t n = u_.accesses.size();
    std::vector<std::vector<int>> sequence(n);  // indices of each sparse operand in loop order
    std::vector<Format> formats(n);
    out.convert.assign(n, std::nullopt);
    for (std::size_t k = 0; k < n; ++k) {
      const Access& a = u_.accesses[k];
      if (a.dense) continue;
      std::vector<int> dims(a.indices.size());
      std::iota(dims.begin(), dims.end(), 0);
      const auto place = [&](int d) { return std::find(order.begin(), order.end(), a.indices[static_cast<std::size_t>(d)]) - order.begin(); };
      std::sort(dims.begin(), dims.end(), [&](int x, int y) { return place(x) < place(y); });
      for (int d : dims) sequence[k].push_back(a.indices[static_cast<std::size_t>(d)]);
      formats[k] = a.tensor.format();
      if (kept_[k] == dims) continue;
      const bool top = dims.size() > 1 && extent(sequence[k][0]) <= 4 * stored_[k] + 1024;
      formats[k] = levels_in_order(static_cast<int>(dims.size()), dims, top);
      out.convert[k] = formats[k];
      cost += convert_cost * stored_[k];
    }
    // Loops: how often each is entered, and what one entry walks.
    std::vector<std::size_t> level(n, 0);
    const auto fiber = [&](std::size_t k) {
      double before = 1, here = 1;
      for (std::size_t l = 0; l <= level[k]; ++l) {
        here *= extent(sequence[k][l]);
        if (l + 1 == level[k]) before = here;
      }
      return std::max(1e-3, std::min(here, stored_[k]) / std::min(before, stored_[k]));
    };
    double entries = 1;
    for (std::size_t v = 0; v < order.size(); ++v) {
      const double all = extent(order[v]);
      std::vector<double> fibers(n, 0);
      std::vector<char> cursor(n, 0), touched(n, 0);
      for (std::size_t k = 0; k < n; ++k) {
        if (u_.accesses[k].dense || level[k] >= sequence[k].size() || sequence[k][level[k]] != order[v]) continue;
        touched[k] = 1;
        cursor[k] = formats[k].level(static_cast<int>(level[k])).kind == LevelKind::compressed;
        fibers[k] = fiber(k);
      }
      const auto set = merging::iteration_set(input_, [&](int k) { return cursor[static_cast<std::size_t>(k)] != 0; });
      double walked = set.kind == merging::Set::everything ? all : 0;
      for (std::size_t k = 0; k < n; ++k)
        if (cursor[k]) walked += std::min(all, fibers[k]);
      cost += entries * (2 + walked) * step_cost;
      entries *= std::max(1e-6, count(set, fibers, all));
      for (std::size_t k = 0; k < n; ++k) level[k] += touched[k] != 0;
    }
    out.visits = entries;
    cost += entries * step_cost;
    if (dense_result_) return cost;
    bool seen = false;
    for (std::size_t v = 0; v < summed.size(); ++v) {
      if (seen && !summed[v]) {
        // A workspace as long as this index: it must stay small beside the work.
        if (extent(order[v]) > 65536 + 64 * std::min(entries, 1e6)) return std::nullopt;
        cost += entries * insert_cost + extent(order[v]) * step_cost;
      }
      seen = seen || summed[v];
    }
    return cost + finish(order, entries, out);
  }

  /// Indices of the dense levels below the last compressed one of the wanted format, as a block may hold them.
  std::vector<int> wanted_tail() const {
    const auto dims = storage_order(wanted_);
    if (dense_result_ || !dims || u_.combine == merging::Combine::first) return {};
    std::vector<int> out;
    double size = 1;
    for (int l = wanted_.num_levels(); l-- > 0 && wanted_.level(l).kind == LevelKind::dense;) {
      out.insert(out.begin(), u_.output[static_cast<std::size_t>((*dims)[static_cast<std::size_t>(l)])]);
      size *= extent(out.front());
    }
    return size < 1e9 ? out : std::vector<int>();
  }

  bool ends_in_tail(const std::vector<int>& order) const {
    std::vector<int> results;
    for (int i : order)
      if (u_.is_output(i)) results.push_back(i);
    return !tail_.empty() && std::equal(tail_.rbegin(), tail_.rend(), results.rbegin());
  }

  double count(const merging::Set& set, const std::vector<double>& fibers, double all) const {
    if (set.kind == merging::Set::everything) return all;
    if (set.kind == merging::Set::cursor) return std::min(all, fibers[static_cast<std::size_t>(set.operand)]);
    double share = 1, sum = 0;
    for (const auto& p : set.parts) {
      const double c = count(p, fibers, all);
      share *= c / all;
      sum += c;
    }
    return set.kind == merging::Set::both ? all * share : std::min(all, sum);
  }

  /// What it costs to bring the result into the wanted format; decides about its first level.
  double finish(const std::vector<int>& order, double entries, Order& out) const {
    std::vector<int> dims;  // of the result, in loop order
    for (int i : order)
      if (u_.is_output(i))
        dims.push_back(static_cast<int>(std::find(u_.output.begin(), u_.output.end(), i) - u_.output.begin()));
    if (dims.empty()) return 0;
    const auto wanted = storage_order(wanted_);
    const bool same = wanted && *wanted == dims && out.dense_tail == static_cast<int>(tail_.size());
    const double first = extent(u_.output[static_cast<std::size_t>(dims[0])]);
    out.dense_top = dims.size() > 1 + static_cast<std::size_t>(out.dense_tail) && (same ? wanted_.level(0).kind == LevelKind::dense : first <= 4 * entries + 1024);
    return same ? 0 : convert_cost * entries;
  }

  const Unit& u_;
  const Format& wanted_;
  bool dense_result_ = false;
  std::vector<int> tail_;  ///< indices
  std::vector<double> stored_;
  std::vector<std::optional<std::vector<int>>> kept_;
  merging::Input input_;
};

}  // namespace

std::optional<Order> choose_order(const Unit& unit, const Format& wanted, std::string& why) {
  Model model(unit, wanted);
  if (auto order = model.in_pattern()) return order;
  return model.best(why);
}

}  // namespace strata::direct
