// The order of the loops: every order is tried on a model of its work.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/iteration.h"
#include "convert/convert_elements.h"
#include "format/recognise.h"
#include "machine/machine.h"
#include "plan/nest/aligned.h"
#include "plan/nest/flat.h"
#include "plan/nest/panels.h"
#include "plan/nest/row_order.h"
#include "plan/nest/tile.h"
#include "plan/nest/unit.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {

namespace {

constexpr double convert_cost = 30;                  ///< ns an element to store an operand in another order
constexpr double turn_cost = 12;                     ///< ... rows or lists of a matrix by columns
constexpr double rows_cost = 4;                      ///< ... in that which it has, by rows
constexpr double step_cost = 1.5;                    ///< ns an iteration
constexpr double tile_cost = 0.015;                  ///< ns a byte of values that are summed in registers;
constexpr double near_cost = 0.025;                  ///< ... of vectors that meet in memory,
constexpr double middle_cost = 0.035;                ///< ... where the result is larger than a second level,
constexpr double far_cost = 0.06;                    ///< ... or than what a core can count on of the third,
constexpr double fill_cost = 0.03;                   ///< ... which is filled first
constexpr double run_cost = 0.3;                     ///< ns an element of a list, to find where its coordinates end
constexpr double delta_cost = 0.5, bitmap_cost = 2;  ///< ns an element of such a level more than of a compressed one
constexpr double merge_cost = 5;  ///< ns a coordinate of operands that are walked together: which comes next is a guess
constexpr double insert_cost = 3;    ///< ns an insertion into a workspace
constexpr double stride_cost = 0.5;  ///< ns an access to dense memory that the innermost loop does not run along
constexpr double most_orders = 5040;
constexpr double few_rows = 16;            ///< from which other rows are chosen: not worth another storage of those
constexpr std::int64_t most_block = 4096;  ///< places of a block that a workspace has for each
constexpr double poor_block_cost = 0.5;    ///< ns an iteration where the innermost loop does not run along its rows

class Model {
 public:
  Model(const Unit& unit, const Format& wanted, const Constraints& constraints, bool strips)
      : u_(unit),
        wanted_(wanted),
        constraints_(constraints),
        bytes_of_result_(static_cast<double>(size_of(unit.compute))) {
    dense_result_ = wanted.is_all_dense();
    for (const Access& a : u_.accesses) {
      stored_.push_back(a.dense ? 0 : std::max<double>(1, static_cast<double>(a.tensor.nse())));
      kept_.push_back(a.dense ? std::nullopt : loop_order(a.tensor.format()));
      // Fill-in is missing in a mask, whose values nobody reads.
      const bool mask = static_cast<int>(stored_.size()) - 1 == u_.mask;
      if (kept_.back() && mask && a.tensor.format().can_hold_fill()) kept_.back().reset();
      if (!has_slots(a)) kept_.back().reset();
    }
    for (const int i : u_.output) bytes_of_result_ *= extent(i);
    value_cost_ = static_cast<double>(size_of(u_.compute)) *
                  (bytes_of_result_ <= static_cast<double>(machine().second_level) ? near_cost
                   : bytes_of_result_ <= static_cast<double>(far_bytes)            ? middle_cost
                                                                                   : far_cost);
    tail_ = wanted_tail();
    blocks_ = wanted_blocks();
    along_ = diagonals_of(wanted);
    if (strips && along_ >= 0 && starts_at_zero()) diagonals_ = about_diagonals(u_);
  }

  /// One sparse tensor, every element of which becomes one of the result, itself or as a sum of what dense operands
  /// have there: nothing needs to be assembled.
  std::optional<Order> in_pattern() const {
    const int first = pattern();
    if (first < 0 || constraints_.assembly.value_or(ResultAssembly::pattern) != ResultAssembly::pattern) return {};
    const Access& a = u_.accesses[static_cast<std::size_t>(first)];
    auto levels = kept_[static_cast<std::size_t>(first)];
    // Nobody minds in which order the elements of one operand come.
    if (!levels && first != u_.mask && std::ranges::count(u_.accesses, false, &Access::dense) == 1 && has_slots(a))
      levels = loop_order(a.tensor.format(), true);
    if (!levels) return {};
    Order out = into(first);
    for (int d : *levels) out.indices.push_back(a.indices[static_cast<std::size_t>(d)]);
    for (int i = 0; i < static_cast<int>(u_.extents.size()); ++i) {
      if (u_.is_output(i)) continue;
      out.indices.push_back(i);
      out.visits *= extent(i);
    }
    if (out.indices.size() != u_.extents.size()) return {};
    // The sum that most operands lie along is the innermost one, and a long one where several are.
    std::stable_sort(out.indices.begin() + std::ssize(u_.output), out.indices.end(), [&](int x, int y) {
      return strided(x) != strided(y) ? strided(x) > strided(y) : extent(x) < extent(y);
    });
    if (!granted(out.indices)) return {};
    return out;
  }

  /// The same of values alone, whatever the storage: a slot's value depends on its own, and on numbers.
  std::optional<Order> of_values() const {
    const int first = pattern();
    if (first < 0 || constraints_.given || !u_.bounds.empty() || u_.mask >= 0) return {};
    if (std::ranges::any_of(u_.accesses, [](const Access& a) { return a.dense && !a.indices.empty(); })) return {};
    const Lazy& t = u_.accesses[static_cast<std::size_t>(first)].tensor;
    const Format& f = t.format();
    if (f.num_batch_levels() > 0 || !f.is_unique() || t.stats().slots == 0) return {};
    Order out = into(first);
    out.indices = u_.output;
    out.slots = Order::alone;
    return out;
  }

  std::optional<Order> best(std::string& why) {
    // Blocks outside, what is within them inside.
    std::vector<int> outer, inner;
    for (int i = 0; i < static_cast<int>(u_.extents.size()); ++i)
      (u_.inside[static_cast<std::size_t>(i)] ? inner : outer).push_back(i);
    const auto orders = [](const std::vector<int>& list) { return std::tgamma(static_cast<double>(list.size()) + 1); };
    if (orders(outer) * orders(inner) > most_orders) {
      why = "it has too many indices: " + std::to_string(u_.extents.size());
      return std::nullopt;
    }
    std::optional<Order> best;
    double least = 0;
    std::vector<int> last;
    const auto consider = [&](const std::vector<int>& order) {
      if (!granted(order)) return;
      last = order;
      Order candidate;
      const auto cost = judge(order, candidate);
      if (!cost || (best && *cost >= least)) return;
      least = *cost;
      best = std::move(candidate);
      best->cost = least;
    };
    const bool blocks_of_rows =
        !inner.empty() && std::ranges::any_of(outer, [&](int i) { return u_.is_of_dense_alone(i); });
    do {
      do {
        std::vector<int> order = outer;
        order.insert(order.end(), inner.begin(), inner.end());
        consider(order);
        if (!blocks_of_rows) continue;
        std::ranges::stable_partition(order, [&](int i) { return !u_.is_of_dense_alone(i); });
        consider(order);
      } while (std::next_permutation(inner.begin(), inner.end()));
    } while (std::next_permutation(outer.begin(), outer.end()));
    if (best) return best;
    telling_ = true;  // why the last one was refused
    Order unused;
    if (!last.empty()) judge(last, unused);
    why = refusal_;
    return std::nullopt;
  }

 private:
  /// The access whose elements are those of the result, in its format; other sparse ones differ in their values alone.
  /// Or -1.
  int pattern() const {
    // What is summed beside it is there as a whole, or not at all.
    for (int i = 0; i < static_cast<int>(u_.extents.size()); ++i)
      if (!u_.is_output(i) && (!u_.is_of_dense_alone(i) || (extent(i) < 1 && u_.combine != merging::Combine::plus)))
        return -1;
    if (u_.others || u_.combine == merging::Combine::first || u_.skew) return -1;
    if (u_.mask >= 0 ? u_.complement || !u_.everywhere : u_.everywhere) return -1;
    int first = -1;
    for (std::size_t k = 0; k < u_.accesses.size(); ++k) {
      const Access& a = u_.accesses[k];
      if (a.dense) continue;
      if (u_.mask >= 0 && static_cast<int>(k) != u_.mask) return -1;
      if (a.indices != u_.output || !(a.tensor.format() == wanted_) || (first >= 0 && a.twin != first)) return -1;
      if (u_.drops_fill_in && wanted_.can_hold_fill()) return -1;  // some slots may have no value
      if (first < 0) first = static_cast<int>(k);
    }
    return first;
  }
  /// Is there room for a value of each element where its own stand? Batches that share one have no strides for that.
  static bool has_slots(const Access& a) {
    return a.tensor.format().num_batch_levels() == 0 || !a.tensor.type().shared_value;
  }
  Order into(int access) const {
    Order out;
    out.convert.assign(u_.accesses.size(), std::nullopt);
    out.pattern = access;
    out.visits = stored_[static_cast<std::size_t>(access)];
    return out;
  }

  double extent(int index) const { return static_cast<double>(u_.extents[static_cast<std::size_t>(index)]); }

  const std::string& name(int index) const { return u_.names[static_cast<std::size_t>(index)]; }

  /// Does the order stand as a user wants it?
  bool granted(const std::vector<int>& order) const {
    if (!constraints_.outermost.empty() && name(order.front()) != constraints_.outermost) return false;
    if (!constraints_.innermost.empty() && name(order.back()) != constraints_.innermost) return false;
    std::size_t next = 0;
    for (int i : order) {
      const auto at = static_cast<std::size_t>(
          std::find(constraints_.order.begin(), constraints_.order.end(), name(i)) - constraints_.order.begin());
      if (at == constraints_.order.size()) continue;
      if (at != next++) return false;
    }
    return true;
  }

  template <class F>
  std::optional<double> refuse(const F& why) {
    if (telling_) refusal_ = why();
    return std::nullopt;
  }

  /// Names of results inside the first sum: what stands in the way of assembling.
  std::string inside_a_sum(const std::vector<int>& order, const std::vector<char>& summed) const {
    std::string sum, results;
    for (std::size_t v = 0; v < order.size(); ++v) {
      if (summed[v] && sum.empty() && !u_.is_output(order[v])) sum = name(order[v]);
      if (!sum.empty() && !summed[v]) results += (results.empty() ? "" : ", ") + name(order[v]);
    }
    return results + " of the result would stand inside the sum over " + sum;
  }

  /// Of a reduction that counts what is absent: are the last loops those of results, the same for every sparse operand?
  /// Then one count serves a row of them.
  bool counts_by_row(const std::vector<int>& order) const {
    if (!u_.others || !dense_result_ || u_.mask >= 0 || !u_.bounds.empty()) return false;
    const auto summed = [&](int i) { return u_.summed[static_cast<std::size_t>(i)] != 0; };
    const auto inside = std::find_if(order.rbegin(), order.rend(), summed).base();
    if (inside == order.end() || summed(order.front()) ||
        !std::is_partitioned(order.begin(), inside, [&](int i) { return !summed(i); }))
      return false;
    return std::ranges::all_of(u_.accesses, [&](const Access& a) {
      return a.dense || std::none_of(inside, order.end(), [&](int i) { return std::ranges::count(a.indices, i) > 0; });
    });
  }

  std::optional<double> judge(const std::vector<int>& order, Order& out) {
    std::vector<char> summed;
    for (int i : order) summed.push_back(u_.summed[static_cast<std::size_t>(i)]);
    out.dense_tail = ends_in_tail(order) ? static_cast<int>(tail_.size()) : 0;
    // Who counts what a reduction has met needs it to be complete in a register.
    // What no element reaches must keep the fill: beside a mask its start would stay instead.
    const bool starts_elsewhere = u_.mask >= 0 && !u_.absent.same_bits(u_.fill);
    const bool by_row = counts_by_row(order);
    const bool open = (u_.others || starts_elsewhere) && !by_row && !std::is_sorted(summed.begin(), summed.end());
    const auto incomplete = [&] {
      return std::string(u_.others ? "a reduction that counts what is absent"
                                   : "a reduction under a mask, whose start is not the fill,") +
             " must be complete before the next begins: " + inside_a_sum(order, summed);
    };
    if (open && (starts_elsewhere || constraints_.given)) return refuse(incomplete);
    if (u_.skew && order[0] != u_.skew->index)
      return refuse([&] { return name(u_.skew->index) + " moves the places of the result, and must be outermost"; });
    if (out.dense_tail > 0) {  // a block takes sums in any order
      int left = out.dense_tail;
      for (std::size_t v = summed.size(); v-- > 0 && left > 0;)
        if (!summed[v]) summed[v] = 1, --left;
    }
    if (!dense_result_ && !merging::can_assemble(summed))
      return refuse([&] { return inside_a_sum(order, summed) + ", and only one can be gathered in a workspace"; });
    out.indices = order;
    out.dense_result = dense_result_;
    double cost = 0;
    // Operands: as they are, or converted to this order.
    const std::size_t n = u_.accesses.size();
    std::vector<std::vector<int>> sequence(n);  // indices of each sparse operand in loop order
    std::vector<Format> formats(n);
    std::vector<double> more(n, 0);  // ns that its levels take more than compressed ones
    out.convert.assign(n, std::nullopt);
    for (std::size_t k = 0; k < n; ++k) {
      const Access& a = u_.accesses[k];
      if (a.dense) continue;
      const std::vector<int> dims = dims_in(order, a);
      for (int d : dims) sequence[k].push_back(a.indices[static_cast<std::size_t>(d)]);
      formats[k] = a.tensor.format();
      const bool top = has_dense_top(k, dims);
      // Rows that another operand chooses, again and again, are found at once below a dense level.
      const bool chosen = top && sequence[k][0] != order[0] && formats[k].level(0).kind == LevelKind::compressed &&
                          extent(order[0]) > few_rows && is_chosen(k, sequence[k][0]);
      if (kept_[k] == dims && !chosen) continue;
      formats[k] = conversion::levels_in_order(dims, top);
      out.convert[k] = formats[k];
      cost += cost_to_convert(k, dims);
    }
    if (dense_result_ && !constraints_.given) out.tile = tile_of(u_, order);
    if (open) {  // unless all rows of a block are
      Order held = out;
      hold_blocks(u_, held);
      if (held.held.empty()) return refuse(incomplete);
    }
    // Loops: how often each is entered, and what one entry walks.
    std::vector<std::size_t> level(n, 0);
    const auto elements = [&](std::size_t k, std::size_t levels) {  // of the first so many levels
      double places = 1, stored = stored_[k];
      for (std::size_t l = 0; l < levels; ++l) places *= extent(sequence[k][l]);
      for (std::size_t l = sequence[k].size();
           l-- > levels && formats[k].level(static_cast<int>(l)).kind == LevelKind::dense;)
        stored /= extent(sequence[k][l]);
      // As it is stored its levels have been counted.
      const auto& counted = u_.accesses[k].tensor.stats().children;
      const bool known = !out.convert[k] && levels > 0 && levels <= counted.size();
      return std::min({places, stored, known ? std::max(1.0, counted[levels - 1]) : stored});
    };
    const auto fiber = [&](std::size_t k) { return std::max(1e-3, elements(k, level[k] + 1) / elements(k, level[k])); };
    double entries = 1;
    const int workspace = dense_result_ ? -1 : merging::workspace_of(summed);
    if (constraints_.assembly == ResultAssembly::append && workspace >= 0)
      return refuse([&] {
        return inside_a_sum(order, summed) + ": its elements do not come in their order, and none can be appended";
      });
    if (constraints_.assembly == ResultAssembly::workspace && workspace < 0)
      return refuse([&] { return "no index of the result stands inside a sum: nothing is to be gathered"; });
    const double pieces = out.tile < 0 ? 1 : std::ceil(extent(out.tile) / (tile_vectors * lanes_of(u_.compute))),
                 width = out.tile < 0 ? 1 : extent(out.tile) / pieces;
    bool vectors = false;  // does the innermost loop run along dense memory?
    const bool sums_in_tile = out.tile >= 0 && !out.adds_tile(u_);
    if (dense_result_ && !sums_in_tile) cost += bytes_of_result_ * fill_cost;
    for (std::size_t v = 0; v < order.size(); ++v) {
      const double all = order[v] == out.tile ? pieces : extent(order[v]);
      std::vector<double> fibers(n, 0);
      std::vector<char> cursor(n, 0), touched(n, 0);
      for (std::size_t k = 0; k < n; ++k) {
        if (u_.accesses[k].dense || level[k] >= sequence[k].size() || sequence[k][level[k]] != order[v]) continue;
        touched[k] = 1;
        // Beside a workspace the mask's row is held as bits.
        const bool held =
            static_cast<int>(k) == u_.mask && static_cast<int>(v) == workspace && level[k] + 1 == sequence[k].size();
        cursor[k] = !held && formats[k].level(static_cast<int>(level[k])).kind != LevelKind::dense;
        fibers[k] = fiber(k);
        if (cursor[k])
          more[k] += entries * cost_beside_rows(formats[k], static_cast<int>(level[k]), fibers[k],
                                                stored_[k] / elements(k, level[k]));
      }
      const auto set = merging::iteration_set(u_, [&](int k) {
        if (!cursor[static_cast<std::size_t>(k)]) return -1;
        const int twin = out.shared(u_, static_cast<std::size_t>(k));
        return twin < 0 ? k : twin;
      });
      if (by_row && !summed[v] && set.kind != merging::Set::everything)
        return refuse([&] { return "a reduction that counts what is absent must come to every " + name(order[v]); });
      double walked = set.kind == merging::Set::everything ? all : 0;
      int together = 0;
      for (std::size_t k = 0; k < n; ++k) {
        if (!cursor[k] || out.shared(u_, k) >= 0) continue;
        walked += std::min(all, fibers[k]);
        ++together;
      }
      vectors = dense_result_ && v + 1 == order.size() && !summed[v] && together == 0 &&
                set.kind == merging::Set::everything && strided(order[v]) == 0;
      cost += entries * (2 * step_cost + walked * (together > 1 ? merge_cost : vectors ? value_cost_ / 2 : step_cost));
      entries *= std::max(1e-6, count(set, fibers, all));
      for (std::size_t k = 0; k < n; ++k) level[k] += touched[k] != 0;
    }
    // Where in place is dearer than once in rows.
    for (std::size_t k = 0; k < n; ++k) {
      if (more[k] == 0) continue;
      const std::vector<int> dims = dims_in(order, u_.accesses[k]);
      const double once = cost_to_convert(k, dims);
      cost += std::min(more[k], once);
      if (more[k] > once) out.convert[k] = conversion::levels_in_order(dims, has_dense_top(k, dims));
    }
    out.visits = entries * width;
    cost += entries * (sums_in_tile    ? step_cost + tile_cost * static_cast<double>(size_of(u_.compute)) * width
                       : out.tile >= 0 ? value_cost_ * width
                       : vectors       ? value_cost_ / 2
                                       : step_cost + stride_cost * strided(order.back()));
    if (dense_result_) return cost;
    if (blocks_ && order.front() == u_.output[static_cast<std::size_t>(blocks_->dims.outer)]) {
      const double length =
          extent(u_.output[static_cast<std::size_t>(blocks_->dims.inner)]) * static_cast<double>(blocks_->rows);
      if (fits(length, entries)) {
        out.blocks = {.rows = blocks_->rows, .columns = blocks_->columns, .column_major = blocks_->column_major};
        out.dense_top = true;
        return cost + entries * insert_cost + length * step_cost;
      }
    }
    if (diagonals_ && u_.is_output(order.front())) {
      const double length = extent(u_.output[static_cast<std::size_t>(along_)]);
      if (strips_fit(*diagonals_, length, entries)) {
        out.along = along_;
        out.diagonals = *diagonals_;
        out.dense_result = true;
        return cost + entries * insert_cost + (*diagonals_ + 1) * length * step_cost;
      }
    }
    double block = 1;
    for (int i : tail_) block *= out.dense_tail > 0 ? extent(i) : 1;
    if (workspace >= 0) {
      // As long as its index, blocks and all: it must stay small beside the work.
      const double length = extent(order[static_cast<std::size_t>(workspace)]) * block;
      if (!fits(length, entries))
        return refuse([&] {
          return "a workspace over " + name(order[static_cast<std::size_t>(workspace)]) +
                 " would be large beside the work";
        });
      cost += entries / block * insert_cost + length * step_cost;
    }
    if (out.dense_tail > 0 && order.back() != u_.output[static_cast<std::size_t>(storage_order(wanted_)->back())])
      cost += entries * poor_block_cost;
    return cost + finish(order, entries, out);
  }

  /// Dimensions as the loops meet their indices.
  static std::vector<int> dims_in(const std::vector<int>& order, const Access& a) {
    std::vector<int> out(a.indices.size());
    std::iota(out.begin(), out.end(), 0);
    const auto place = [&](int d) {
      return std::find(order.begin(), order.end(), a.indices[static_cast<std::size_t>(d)]) - order.begin();
    };
    std::sort(out.begin(), out.end(), [&](int x, int y) { return place(x) < place(y); });
    return out;
  }
  bool has_dense_top(std::size_t k, const std::vector<int>& dims) const {
    return dims.size() > 1 &&
           extent(u_.accesses[k].indices[static_cast<std::size_t>(dims[0])]) <= 4 * stored_[k] + 1024;
  }
  double cost_to_convert(std::size_t k, const std::vector<int>& dims) const {
    const Format& f = u_.accesses[k].tensor.format();
    if (!has_dense_top(k, dims)) return convert_cost * stored_[k];
    if (first_dim(f) == dims[0]) return rows_cost * stored_[k];
    const bool turns =
        rows_of(f, LevelKind::compressed) || rows_of(f, LevelKind::padded) || listed_rows_of(f) || coordinates_of(f);
    return (turns ? turn_cost : convert_cost) * stored_[k];
  }

  /// Of walking the children of one position in this level, where a compressed one would take less; `fiber`: how many
  /// coordinates they have, `below`: elements.
  static double cost_beside_rows(const Format& f, int level, double fiber, double below) {
    switch (f.level(level).kind) {
      case LevelKind::delta: return delta_cost * fiber;
      case LevelKind::bitmap: return bitmap_cost * fiber;
      case LevelKind::compressed: return f.level(level).unique ? 0 : run_cost * below;
      default: return 0;
    }
  }

  /// The dimension by which a matrix is stored, where it becomes rows of that without a sort; or -1.
  static int first_dim(const Format& f) {
    if (const auto blocks = blocked_rows_of(f)) return blocks->dims.outer;
    if (const auto padded = rows_of(f, LevelKind::padded)) return padded->outer;
    if (const auto listed = listed_rows_of(f)) return listed->outer;
    if (const auto sorted = coordinates_of(f); sorted && f.level(0).ordered && f.level(1).ordered) return sorted->outer;
    return diagonals_of(f) >= 0 ? 0 : -1;
  }

  /// Elements of the smallest sparse operand: a level as long as that costs little beside it.
  double least_stored() const {
    double least = 0;
    for (std::size_t k = 0; k < u_.accesses.size(); ++k)
      if (!u_.accesses[k].dense) least = least > 0 ? std::min(least, stored_[k]) : stored_[k];
    return least;
  }

  /// Has another sparse operand this index?
  bool is_chosen(std::size_t k, int index) const {
    for (std::size_t o = 0; o < u_.accesses.size(); ++o)
      if (o != k && !u_.accesses[o].dense && std::ranges::count(u_.accesses[o].indices, index) > 0) return true;
    return false;
  }

  /// Is a workspace so long small beside the work, or beside the operands?
  bool fits(double length, double entries) const {
    double stored = 0;
    for (const double n : stored_) stored = std::max(stored, n);
    return length <= std::max(stored, 65536 + 64 * std::min(entries, 1e6));
  }

  /// Is the result a sum over whole indices, and 0 where nothing comes?
  bool starts_at_zero() const {
    const bool sums = u_.combine == merging::Combine::plus && !u_.others && u_.mask < 0;
    const Scalar zero = Scalar::zero(u_.compute);
    const bool whole = u_.bounds.empty() && std::ranges::none_of(u_.inside, [](char i) { return i != 0; });
    return sums && whole && !constraints_.given && u_.fill.same_bits(zero) && u_.absent.same_bits(zero);
  }

  /// Blocks of the wanted matrix that can be gathered from rows.
  std::optional<BlockedRows> wanted_blocks() const {
    if (!starts_at_zero()) return {};
    const auto blocks = blocked_rows_of(wanted_);
    return blocks && blocks->rows * blocks->columns <= most_block ? blocks : std::nullopt;
  }

  /// How many dense operands, or the dense result, the loop over this index strides through.
  int strided(int index) const {
    int out = dense_result_ && !u_.output.empty() && u_.is_output(index) && u_.output.back() != index;
    for (const Access& a : u_.accesses) {
      if (!a.dense || !a.tensor.format().is_identity() || a.tensor.num_parts() != 1) continue;
      const FormatSpec& s = a.tensor.format().spec();
      const auto strides = planning::assumed_strides(a.tensor.type());
      for (int l = 0; l < a.tensor.format().num_levels(); ++l) {
        const auto d = static_cast<std::size_t>(s.exprs[static_cast<std::size_t>(a.tensor.format().level(l).expr)].a);
        if (a.indices[d] == index) out += strides[static_cast<std::size_t>(l)] > 1;
      }
    }
    return out;
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
    out.dense_top =
        dims.size() > 1 + static_cast<std::size_t>(out.dense_tail) &&
        (same ? wanted_.level(0).kind == LevelKind::dense : first <= 4 * std::max(entries, least_stored()) + 1024);
    return same ? 0 : convert_cost * entries;
  }

  const Unit& u_;
  const Format& wanted_;
  const Constraints& constraints_;
  double bytes_of_result_;  ///< where it is dense
  double value_cost_ = 0;   ///< of a value that vectors add to in memory
  bool telling_ = false;
  std::string refusal_ = "no order of loops builds the result";
  bool dense_result_ = false;
  std::vector<int> tail_;  ///< indices
  int along_ = -1;
  std::optional<double> diagonals_;    ///< of the result, where the wanted format has them: its places count along_
  std::optional<BlockedRows> blocks_;  ///< of the wanted format, where rows are gathered into them
  std::vector<double> stored_;
  std::vector<std::optional<std::vector<int>>> kept_;
};

}  // namespace

bool strips_fit(double diagonals, double length, double visits) {
  constexpr double few_places = 1 << 20, most_places = 4;  // of all strips, and beside each visit
  return (diagonals + 1) * length <= few_places + most_places * visits;
}

std::optional<Order> choose_order(const Unit& unit, const Format& wanted, const Constraints& constraints, bool strips,
                                  std::string& why) {
  Model model(unit, wanted, constraints, strips);
  auto order = model.in_pattern();
  if (order && !constraints.given) order->slots = slots_of(unit, *order);
  if (!order && std::ranges::count(unit.extents, 0) > 0) {
    why = "an extent is 0";
    return std::nullopt;
  }
  if (!order) order = model.of_values();
  if (!order && constraints.assembly == ResultAssembly::pattern) {
    why = "the result has not the pattern of an operand in its own format";
    return std::nullopt;
  }
  if (!order) order = model.best(why);
  if (!order) return std::nullopt;
  order->hints.assign(unit.names.size(), merging::Hint::none);
  for (std::size_t i = 0; i < unit.names.size(); ++i) {
    if (unit.names[i] == constraints.innermost) order->hints[i] = merging::Hint::simd;
    if (std::find(constraints.unrolled.begin(), constraints.unrolled.end(), unit.names[i]) !=
        constraints.unrolled.end())
      order->hints[i] = merging::Hint::unrolled;
  }
  if (!constraints.given) hold_blocks(unit, *order);
  order->aligned = aligned_rows(unit, *order);
  order->rows = rows_in_order(unit, *order);
  if (!constraints.given) order->panels = panels_of(unit, *order);
  return order;
}

}  // namespace strata::direct
