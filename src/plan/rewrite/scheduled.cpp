// Expressions with a user's schedule: one nest of loops, as it is asked for, or a refusal that names what forbids it.
#include <algorithm>

#include "base/suggest.h"
#include "plan/nest/loops.h"
#include "plan/rewrite/direct.h"
#include "plan/rewrite/precompute.h"
#include "plan/rewrite/steps.h"

namespace strata::direct {
namespace {

using Names = std::vector<std::string>;
using Verb = Schedule::Verb;

bool contains(const Names& list, const std::string& s) { return std::find(list.begin(), list.end(), s) != list.end(); }

std::string joined(const Names& names) {
  std::string out;
  for (const auto& n : names) out += (out.empty() ? "" : ", ") + n;
  return out.empty() ? "none" : out;
}

[[noreturn]] void unsupported(const std::string& why) {
  throw Unsupported({.what = "this expression takes no schedule",
                     .expected = "an expression that becomes one nest of loops",
                     .got = why,
                     .fix = "leave schedule out: it is evaluated then"});
}

class Scheduler {
 public:
  Scheduler(const Assignment& a, const Operands& operands, const Asked& options)
      : schedule_(*options.schedule), operands_(operands) {
    if (a.accumulate) unsupported("it adds to what is there");
    problem_.assignment = a;
    problem_.options = options;
    problem_.options.schedule.reset();
    precompute();
  }

  /// Is nothing said about the loops of what is left?
  bool leaves_loops_open() const {
    return std::all_of(schedule_.verbs().begin(), schedule_.verbs().end(),
                       [](const Verb& v) { return v.kind == Verb::precompute; });
  }
  /// What is left behind the workspaces.
  const Assignment& assignment() const { return problem_.assignment; }
  const Operands& operands() const { return operands_; }
  const Asked& options() const { return problem_.options; }

  Loops apply() {
    make_problem();
    split();
    wish();
    std::string why;
    if (!make_unit(current().assignment, current().operands, current().options, why)) unsupported(why);
    auto loops = make_loops(problem_, std::move(cuts_), why);
    if (!loops) refuse("no order of loops obeys the schedule", "one that builds the result", why);
    for (const Verb& v : schedule_.verbs()) {
      if (v.kind == Verb::vectorize) check_vectorize(v, *loops);
      if (v.kind == Verb::unroll) check_coordinates(v, *loops);
    }
    return std::move(*loops);
  }

  const std::string& before() const { return before_; }  ///< what was computed first, as text

 private:
  [[noreturn]] void refuse(std::string what, std::string expected, std::string got, std::string fix = {}) const {
    throw ScheduleError({.what = std::move(what),
                         .expected = std::move(expected),
                         .got = std::move(got),
                         .fix = std::move(fix),
                         .text = schedule_.to_string()});
  }
  [[noreturn]] void refuse(const Verb& v, std::string what, std::string expected, std::string got,
                           std::string fix = {}) const {
    std::string text = schedule_.to_string();
    const std::string own = v.to_string();
    const std::size_t begin = text.find(own);
    throw ScheduleError({.what = std::move(what),
                         .expected = std::move(expected),
                         .got = std::move(got),
                         .fix = std::move(fix),
                         .text = std::move(text),
                         .where = {begin, begin + own.size()}});
  }

  void precompute() {
    for (const Verb& v : schedule_.verbs()) {
      if (v.kind != Verb::precompute) continue;
      const Assignment& w = *v.workspace;
      if (operands_.contains(w.name))
        refuse(v, "a workspace needs a name of its own", "a name that no operand has", w.name);
      for (const auto& name : w.value.operands())
        if (!operands_.contains(name))
          refuse(v, "precompute names an operand that is not there",
                 "operands of the expression, or workspaces made before", name);
      problem_.assignment.value = with_workspace(problem_.assignment.value, w);
      Asked how;
      how.semiring = problem_.options.semiring;
      how.format = v.format;
      operands_.emplace(w.name, planned(w, operands_, how).lazy);
      before_ += "first " + w.to_string() + ", " + operands_.at(w.name).type().to_string() + "\n";
    }
  }

  void make_problem() {
    const Asked options = problem_.options;
    const Assignment a = problem_.assignment;
    Operands used;
    for (const auto& name : a.value.operands()) used.emplace(name, operands_.at(name));
    std::string why;
    auto problem = direct::make_problem(a, used, options, why);
    if (!problem) unsupported(why);
    problem_ = std::move(*problem);
    std::vector<std::pair<std::string, bool>> sums;
    if (has_reduction(peeled(problem_.assignment.value, sums)))
      unsupported("a reduction stands inside it: precompute that");
    problem_.constraints.given = true;
  }

  const NestProblem& current() const { return cuts_.empty() ? problem_ : cuts_.back().problem; }
  Names loops() const {
    Names out;
    for (const auto& [name, n] : current().extents) out.push_back(name);
    return out;
  }
  void check_loop(const Verb& v, const std::string& index) const {
    if (current().extents.contains(index)) return;
    const Names known = loops();
    const std::vector<std::string_view> views(known.begin(), known.end());
    const std::string close(closest(index, views));
    refuse(v, "there is no loop over '" + index + "'", joined(known), index,
           close.empty() ? "" : "write '" + close + "'");
  }

  /// Splits of indices that are there already go together: a cut by itself would also cut the blocks of operands, in
  /// which the next index may be stored.
  void split() {
    std::vector<IndexSplit> together;
    const Verb* last = nullptr;
    const auto cut = [&] {
      if (together.empty()) return;
      auto made = by_blocks(current(), together);
      if (!made)
        refuse(*last, "this index cannot be cut", "an index whose operands can be stored in blocks", last->indices[0]);
      cuts_.push_back(std::move(*made));
      together.clear();
    };
    for (const Verb& v : schedule_.verbs()) {
      if (v.kind != Verb::split) continue;
      const bool cut_now = std::ranges::any_of(together, [&](const IndexSplit& s) { return s.index == v.indices[0]; });
      if (cut_now || !current().extents.contains(v.indices[0])) cut();
      check_loop(v, v.indices[0]);
      for (std::size_t k = 1; k < 3; ++k) {
        const bool taken = std::ranges::any_of(
            together, [&](const IndexSplit& s) { return s.outer == v.indices[k] || s.inner == v.indices[k]; });
        if (taken || current().extents.contains(v.indices[k]) || v.indices[1] == v.indices[2])
          refuse(v, "a split makes loops with names of their own", "names that no loop has", v.indices[k]);
      }
      together.push_back({v.indices[0], v.indices[1], v.indices[2], v.size});
      last = &v;
    }
    cut();
    cut_blocks(problem_, cuts_);  // their loops can be named too
  }

  void wish() {
    NestProblem& p = cuts_.empty() ? problem_ : cuts_.back().problem;
    Constraints& w = p.constraints;
    const Names& results = p.assignment.indices;
    for (const Verb& v : schedule_.verbs()) {
      if (v.kind == Verb::split || v.kind == Verb::precompute) continue;
      for (const auto& i : v.indices) check_loop(v, i);
      switch (v.kind) {
        case Verb::reorder:
          for (const auto& i : v.indices)
            if (std::count(v.indices.begin(), v.indices.end(), i) > 1)
              refuse(v, "a loop stands twice in reorder", "each once", i);
          if (!w.order.empty()) refuse(v, "the loops are ordered twice", "one reorder", "another");
          w.order = v.indices;
          break;
        case Verb::parallelize:
          if (!results.empty() && !contains(results, v.indices[0]))
            refuse(v, "chunks of " + v.indices[0] + " would add to the same elements of " + p.assignment.name,
                   "an index of the result: " + joined(results), v.indices[0] + ", which is summed",
                   "reorder an index of the result to the outside");
          set_place(v, w.outermost, "outermost");
          break;
        case Verb::vectorize:
          if (!contains(results, v.indices[0]))
            refuse(
                v,
                "the sum over " + v.indices[0] + " adds its terms one after the other: vectors would round differently",
                "an index of the result: " + joined(results), v.indices[0]);
          set_place(v, w.innermost, "innermost");
          break;
        case Verb::unroll:
          if (!p.constants.contains(v.indices[0]))
            refuse(v, "only a loop whose extent is known can be unrolled", "the inner loop of a split", v.indices[0],
                   "split(" + v.indices[0] + ", " + v.indices[0] + "o, " + v.indices[0] + "i, 4); unroll(" +
                       v.indices[0] + "i)");
          w.unrolled.push_back(v.indices[0]);
          break;
        default:
          if (p.options.format->is_all_dense())
            refuse(v, "a dense result is not assembled", "a sparse result", "dense", "give format=");
          w.assembly = v.assembly;
      }
    }
  }

  void set_place(const Verb& v, std::string& place, const char* which) const {
    if (!place.empty() && place != v.indices[0])
      refuse(v, std::string("two loops cannot be the ") + which + " one", place, v.indices[0]);
    place = v.indices[0];
  }

  /// Does the loop run over all coordinates?
  void check_coordinates(const Verb& v, const Loops& loops) const {
    const Unit& u = loops.unit;
    const int i = static_cast<int>(std::find(u.names.begin(), u.names.end(), v.indices[0]) - u.names.begin());
    for (std::size_t k = 0; k < u.accesses.size(); ++k) {
      const Access& a = u.accesses[k];
      const auto d = std::find(a.indices.begin(), a.indices.end(), i) - a.indices.begin();
      if (a.dense || d == static_cast<std::ptrdiff_t>(a.indices.size())) continue;
      const Format format = loops.order.convert[k].value_or(a.tensor.format());
      for (const Level& level : format.levels())
        if (format.spec().exprs[static_cast<std::size_t>(level.expr)].a == d && level.kind != LevelKind::dense)
          refuse(v,
                 "the loop over " + v.indices[0] + " walks what " + a.name +
                     " stores: its coordinates do not follow one another",
                 "an index that sparse operands store densely", v.indices[0] + " in " + format.to_string(),
                 "convert " + a.name + " to a format whose level of " + v.indices[0] +
                     " is dense, or choose another index");
    }
  }

  void check_vectorize(const Verb& v, const Loops& loops) const {
    check_coordinates(v, loops);
    if (loops.order.dense_result || loops.order.pattern >= 0) return;
    const auto& output = loops.unit.output;
    int last = loops.order.dense_tail;
    for (auto i = loops.order.indices.rbegin(); i != loops.order.indices.rend() && last > 0; ++i) {
      if (std::find(output.begin(), output.end(), *i) == output.end()) continue;
      if (loops.unit.names[static_cast<std::size_t>(*i)] == v.indices[0]) return;
      --last;
    }
    refuse(v, "elements along " + v.indices[0] + " are appended one after the other",
           "a result that is dense along " + v.indices[0], loops.format.to_string());
  }

  const Schedule& schedule_;
  Operands operands_;
  NestProblem problem_;
  std::vector<Blocked> cuts_;
  std::string before_;
};

}  // namespace

Explained planned_as_scheduled(const Assignment& a, const Operands& operands, const Asked& options) {
  Scheduler scheduler(a, operands, options);
  const std::string first = "schedule  " + options.schedule->to_string() + "\n" + scheduler.before();
  if (scheduler.leaves_loops_open()) {
    auto [last, text] = planned(scheduler.assignment(), scheduler.operands(), scheduler.options());
    return {std::move(last), [first, told = std::move(text)] { return first + "then " + told(); }};
  }
  const auto loops = std::make_shared<const Loops>(scheduler.apply());
  Asked open = options;  // without a compiler there are no loops to arrange
  open.schedule.reset();
  return {as_step(
              loops, *scheduler.options().format, options.result_dtype,
              [a, operands, open] { return planned(a, operands, open).lazy; }, "as scheduled: ", scheduler.before()),
          [first, loops] { return first + loops->describe(); }};
}

}  // namespace strata::direct
