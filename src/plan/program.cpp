#include "plan/program.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "plan/asked.h"
#include "plan/plan_impl.h"
#include "strata/error.h"

namespace strata::planning {
namespace {

/// Are two formats the same but for the room that padded levels have?
bool alike(const Format& a, const Format& b) { return a == b || with_any_room(a) == with_any_room(b); }

/// A step that makes what was not planned would be read wrongly by the next.
const Tensor& checked(const Lazy& x, const Tensor& t) {
  if (x.step().guessed) return t;
  const bool fill = t.format().is_all_dense() || t.fill().same_bits(x.fill());
  if (t.dtype() == x.dtype() && t.shape() == x.shape() && alike(t.format(), x.format()) && fill) return t;
  throw InternalError("a step of a plan made " + t.type().to_string() + " in place of " + x.type().to_string());
}

/// What has been made so far in one run, and is still asked for.
class Frame {
 public:
  /// Without `all` what nobody asks for any more: where a run may begin anew, everything stays.
  Frame(std::span<const Tensor> given, std::span<const Program::Made> all) : given_(given) {
    for (const Program::Made& m : all) made_.push_back({m.lazy, {}, m.uses});
  }

  Tensor value(const Lazy& x) {
    if (x.position() >= 0) return given_[static_cast<std::size_t>(x.position())];
    const auto find = [&] { return std::ranges::find_if(made_, [&](const Kept& k) { return k.lazy.same_object(x); }); };
    if (const auto known = find(); known != made_.end() && known->tensor)
      return --known->left == 0 ? *std::exchange(known->tensor, std::nullopt) : *known->tensor;
    Tensor out = fresh(x);
    checked(x, out);
    const auto known = find();  // (Steps before may have added others.)
    if (known == made_.end()) made_.push_back({x, out, -1});
    else if (--known->left != 0) known->tensor = out;
    return out;
  }
  /// The same, remembered by nobody.
  Tensor fresh(const Lazy& x) {
    if (x.position() >= 0) return value(x);
    std::optional<Tensor> out;
    {
      auto inputs = inputs_of(x);
      out = x.step().make(inputs);
    }
    if (out && x.step().then) {
      out.reset();
      return value(*x.step().then);
    }
    if (out) return *std::move(out);
    if (!x.step().otherwise) throw InternalError("a step without an alternative made nothing");
    return value(x.step().otherwise());
  }
  /// By the numeric phase, where there is one and the pattern is that of the result. Otherwise nothing, and the steps
  /// before are remembered.
  std::optional<Tensor> in_pattern_of(const Tensor& earlier, const Lazy& x) {
    if (x.position() >= 0) return std::nullopt;
    const Lazy::Step& step = x.step();
    if (!step.then && !step.numeric) return std::nullopt;
    auto inputs = inputs_of(x);
    if (step.then) return in_pattern_of(earlier, step.make(inputs) ? *step.then : step.otherwise());
    return step.numeric(inputs, earlier);
  }
  Lazy::Inputs inputs_of(const Lazy& x) {
    Lazy::Inputs out;
    out.reserve(x.step().inputs.size() + 1);
    for (const Lazy& i : x.step().inputs) out.push_back(value(i));
    if (x.step().consumed) out.push_back(fresh(*x.step().consumed));
    return out;
  }

 private:
  struct Kept {
    Lazy lazy;
    std::optional<Tensor> tensor;
    int left = -1;  ///< so many will ask; below 0: nobody has counted
  };
  std::span<const Tensor> given_;
  std::vector<Kept> made_;
};

/// Calls f for each step, those that it needs first.
template <class F> void each_step(const Lazy& x, std::vector<Lazy>& seen, const F& f) {
  if (x.position() >= 0) return;
  for (const Lazy& s : seen)
    if (s.same_object(x)) return;
  seen.push_back(x);
  for (const Lazy& i : x.step().inputs) each_step(i, seen, f);
  if (x.step().consumed) each_step(*x.step().consumed, seen, f);
  if (x.step().then) each_step(*x.step().then, seen, f);
  f(x.step());
}

}  // namespace

Program::Program(Lazy result) : result_(std::move(result)) {
  const auto ask = [&](const Lazy& x) {
    if (x.position() >= 0) return;
    for (Made& m : made_)
      if (m.lazy.same_object(x)) {
        ++m.uses;
        return;
      }
    made_.push_back({x, 1});
  };
  std::vector<Lazy> seen;
  const std::function<void(const Lazy&)> visit = [&](const Lazy& x) {
    if (x.position() >= 0 || std::ranges::any_of(seen, [&](const Lazy& s) { return s.same_object(x); })) return;
    seen.push_back(x);
    const Lazy::Step& step = x.step();
    for (const Lazy& i : step.inputs) ask(i), visit(i);
    if (step.then) ask(*step.then), visit(*step.then);
    if (step.consumed) visit(*step.consumed);
  };
  visit(result_);
  if (result_.position() >= 0) return;
  const Lazy::Step& step = result_.step();
  const auto is_given = [](const Lazy& x) { return x.position() >= 0; };
  if (!step.then && !step.consumed && std::ranges::all_of(step.inputs, is_given))
    for (const Lazy& x : step.inputs) only_.push_back(static_cast<std::size_t>(x.position()));
  std::size_t next = 0;
  if (step.kernel && !only_.empty() && std::ranges::all_of(only_, [&](std::size_t k) { return k == next++; }))
    kernel_ = step.kernel;
}

Tensor Program::run(std::span<const Tensor> given) const {
  if (kernel_) return kernel_->impl().run(given, Scalar::of(1.0));
  if (!only_.empty()) {
    auto inputs = inputs_of_only(given);
    if (auto out = result_.step().make(inputs)) return *std::move(out);
    if (result_.step().otherwise) return Frame(given, made_).value(result_.step().otherwise());
  }
  return Frame(given, made_).fresh(result_);
}

Lazy::Inputs Program::inputs_of_only(std::span<const Tensor> given) const {
  Lazy::Inputs out;
  out.reserve(only_.size());
  for (const std::size_t k : only_) out.push_back(given[k]);
  return out;
}

std::optional<Tensor> Program::deliver(std::span<const Tensor> given, const Destination& to) const {
  if (kernel_ && to.out) {
    kernel_->impl().run(given, *to.out, to.alpha, to.beta);
    return to.out;
  }
  if (result_.position() >= 0 || !result_.step().deliver) return std::nullopt;
  auto inputs = only_.empty() ? Frame(given, made_).inputs_of(result_) : inputs_of_only(given);
  return result_.step().deliver(inputs, to);
}

Tensor Program::run_in_pattern_of(const Tensor& earlier, std::span<const Tensor> given) const {
  Frame frame(given, {});  // the pattern may turn out to be another one
  if (auto out = frame.in_pattern_of(earlier, result_)) return checked(result_, *out);
  return frame.fresh(result_);
}

std::string Program::reuse() const {
  if (result_.format().is_all_dense()) return {};
  Lazy last = result_;
  while (last.position() < 0 && last.step().then) last = *last.step().then;
  std::string why = "the last step is not generated loops";
  if (last.position() < 0 && last.step().no_numeric) why = last.step().no_numeric();
  return why.empty() ? "reuse: a numeric phase; guard: elements come to the earlier result's places and no others\n"
                     : "reuse: no numeric phase, " + why + "; all is computed and the patterns compared\n";
}

double Program::work() const {
  double out = 0;
  std::vector<Lazy> seen;
  each_step(result_, seen, [&](const Lazy::Step& s) { out += s.work; });
  return out;
}

std::string Program::code() const {
  std::string out;
  std::vector<Lazy> seen;
  each_step(result_, seen, [&](const Lazy::Step& s) {
    if (!s.code) return;
    const auto [title, text] = s.code();
    out += (out.empty() ? "" : "\n") + ("=== " + title) + "\n" + text;
  });
  return out + reuse();
}

}  // namespace strata::planning
