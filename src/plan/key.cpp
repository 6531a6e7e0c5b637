#include "plan/key.h"

#include <algorithm>

#include "expr/index_letter.h"
#include "plan/product.h"

namespace strata::planning {
namespace {

template <class T> bool both(const T* a, const T* b) { return a == b || (a && b && *a == *b); }

/// (What its indices are called changes nothing.)
bool both(const Einsum* a, const Einsum* b) {
  return a == b || (a && b && a->num_indices == b->num_indices && a->operands == b->operands &&
                    a->output == b->output && a->conjugate == b->conjugate);
}

/// Do two ask the same, whatever the operands store? Every field is named: one more does not compile.
bool same(const Asking& x, const Asking& y) {
  const auto& [assignment, einsum, product, options, to, names, tensors, types, counts] = x;
  const auto& [format, dtype, compute_dtype, result_dtype, semiring, mask, complement_mask, schedule, general] =
      *options;
  const EvaluateOptions& o = *y.options;
  const std::size_t size = x.size();
  if (size != y.size() || !(to == y.to) || dtype != o.dtype || compute_dtype != o.compute_dtype ||
      result_dtype != o.result_dtype || !(semiring == o.semiring) || complement_mask != o.complement_mask ||
      general != o.general || format != o.format || schedule != o.schedule)
    return false;
  if (!both(einsum, y.einsum) || !both(product, y.product) || !both(assignment, y.assignment)) return false;
  if (!einsum && !std::ranges::equal(names, y.names)) return false;  // (an einsum's are A, B, ...)
  for (std::size_t k = 0; k < size; ++k)
    if (!(x.type(k) == y.type(k))) return false;
  return true;
}

/// The first tensor that differs from this one in its values alone; itself.
int twin_of(std::span<const Tensor> tensors, std::size_t k) {
  for (std::size_t p = 0; p < k && !tensors[k].format().is_all_dense(); ++p)
    if (share_pattern(tensors[p], tensors[k])) return static_cast<int>(p);
  return static_cast<int>(k);
}

}  // namespace

Assignment plain_assignment(const Einsum& e) {
  Einsum named = canonical(e);
  for (int i = 0; i < named.num_indices; ++i) named.names.push_back(index_letter(i));
  return to_assignment(named);
}

const EvaluateOptions Asking::nothing;

Counts counts_of(std::span<const Tensor> tensors) {
  Counts out;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const Tensor& t = tensors[k];
    const bool dense = t.format().is_all_dense();
    out.stats.push_back(dense ? stats_for(t.type(), places_of(t.shape())) : counted(t)->stats);
    out.twins.push_back(twin_of(tensors, k));
  }
  return out;
}

bool are_counts_of(std::span<const Tensor> tensors, const Counts& counts) {
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    if (counts.twins[k] != twin_of(tensors, k)) return false;
    // (Of a dense one the type says it all.)
    if (!tensors[k].format().is_all_dense() && !(counted(tensors[k])->stats == counts.stats[k])) return false;
  }
  return true;
}

bool still_hold(const Counts& planned, std::span<const Tensor> tensors) {
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    if (planned.twins[k] != twin_of(tensors, k)) return false;
    if (tensors[k].format().is_all_dense()) continue;  // the type says it all
    const auto c = counted(tensors[k]);
    const Stats &a = planned.stats[k], &b = c->stats;
    if (a.each_slot != b.each_slot || a.full != b.full || (a.slots == 0) != (b.slots == 0)) return false;
  }
  return true;
}

Key::Key(const Asking& a) : options_(*a.options), to_(a.to), names_(a.names.begin(), a.names.end()) {
  options_.mask.reset();
  if (a.assignment) assignment_ = *a.assignment;
  if (a.product) product_ = *a.product;
  if (a.product) einsum_ = *a.einsum;
  else if (a.einsum) assignment_ = plain_assignment(*a.einsum);
  for (std::size_t k = 0; a.einsum && k < a.einsum->operands.size(); ++k) names_.push_back(operand_name(k));
  for (std::size_t k = 0; k < a.size(); ++k) types_.push_back(a.type(k));
}

Asking Key::asking() const {
  return {.assignment = assignment_ ? &*assignment_ : nullptr,
          .einsum = einsum_ ? &*einsum_ : nullptr,
          .product = product_ ? &*product_ : nullptr,
          .options = &options_,
          .to = to_,
          .names = names_,
          .types = types_,
          .counts = counts ? &*counts : nullptr};
}

bool Key::answers(const Asking& asked, const Einsum* in_words_of) const {
  Asking own = asking();
  if (in_words_of) own.einsum = in_words_of, own.assignment = nullptr;
  return same(own, asked) && epoch_.is_now();
}

bool Key::operator==(const Key& o) const {
  return same(asking(), o.asking()) && epoch_ == o.epoch_ && counts == o.counts;
}

std::size_t Key::hash() const {
  std::size_t h = types_.size();
  const auto mix = [&h](std::size_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ull, h ^= h >> 29; };
  for (const TensorType& t : types_) mix(t.hash());
  if (assignment_) mix(assignment_->value.hash());
  if (assignment_) mix(assignment_->indices.size());
  if (einsum_)
    for (const auto& indices : einsum_->operands)
      for (int i : indices) mix(static_cast<std::size_t>(i));
  if (einsum_)
    for (int i : einsum_->output) mix(static_cast<std::size_t>(i) + 64);
  if (product_) mix(product_->type.hash()), mix(static_cast<std::size_t>(product_->compute));
  if (options_.format) mix(options_.format->hash());
  for (const auto& t : {options_.dtype, options_.compute_dtype, options_.result_dtype, to_.dtype})
    mix(t ? static_cast<std::size_t>(*t) + 1 : 0);
  if (counts)
    for (const Stats& s : counts->stats) mix(static_cast<std::size_t>(std::min(s.stored, 1e18)));
  return h;
}

}  // namespace strata::planning
