#include "reference/leaf.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "convert/convert_elements.h"

namespace strata::evaluation {
namespace {

/// A dense row-major copy of the values, 8 or 16 bytes each.
OperandElements read_dense(const Tensor& t) {
  const Tensor d = convert(t, conversion::dense_format(t.rank()));
  const Part& part = d.part(0);
  OperandElements out{.dense = true,
                      .fill_in = false,
                      .shape = d.shape(),
                      .coords = {},
                      .values = nullptr,
                      .fill = of_scalar(d.fill())};
  const auto width = static_cast<std::int64_t>(size_of(d.dtype()));
  const std::int64_t n = d.size().value();
  const char* base = static_cast<const char*>(part.values.data);
  std::vector<std::int64_t> strides = part.strides;
  std::int64_t step = 1;
  bool packed = true;
  for (std::size_t l = strides.size(); l-- > 0;) {
    packed = packed && (strides[l] == step || d.shape()[l] == 1);
    step *= d.shape()[l];
  }
  if (n == 0) {
    out.values = std::make_shared<Column>(zeros(d.dtype(), 0));
  } else if (packed) {
    out.values =
        std::make_shared<Column>(load(d.dtype(), base + part.values_offset * width, static_cast<std::size_t>(n)));
  } else {
    std::vector<char> bytes(static_cast<std::size_t>(n * width));
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t rest = k, at = part.values_offset;
      for (std::size_t l = strides.size(); l-- > 0;) {
        at += rest % d.shape()[l] * strides[l];
        rest /= d.shape()[l];
      }
      std::copy_n(base + at * width, width, bytes.data() + k * width);
    }
    out.values = std::make_shared<Column>(load(d.dtype(), bytes.data(), static_cast<std::size_t>(n)));
  }
  return out;
}

OperandElements read_sparse(const Tensor& t, Zeros zeros) {
  conversion::Elements elements(conversion::dense_format(t.rank()), t.shape(), t.dtype());
  conversion::stored_elements(t, zeros).emit([&](const conversion::ElementChunk& p) { elements.append(p); });
  elements.sort_and_combine();
  OperandElements out{.dense = false,
                      .fill_in = t.format().can_hold_fill(),
                      .shape = t.shape(),
                      .coords = {},
                      .values = nullptr,
                      .fill = of_scalar(t.fill())};
  for (std::size_t d = 0; d < t.shape().size(); ++d) {
    out.coords.emplace_back(static_cast<std::size_t>(elements.size()));
    elements.column(d, 0, elements.size(), out.coords.back().data());
  }
  out.values = std::make_shared<Column>(load(t.dtype(), elements.values(), static_cast<std::size_t>(elements.size())));
  return out;
}

}  // namespace

OperandElements read_operand(const Tensor& t, const Semiring& semiring) {
  OperandElements out;
  if (t.format().is_all_dense()) {
    out = read_dense(t);
  } else if (semiring == Semiring::plus_times) {
    out = read_sparse(t, Zeros::keep);
  } else {
    const Column fill = of_scalar(t.fill());
    const bool missing = is_zero(fill) || to_scalar(fill).same_bits(to_scalar(identity(addition(semiring), t.dtype())));
    out = missing ? read_sparse(t, Zeros::automatic) : read_dense(t);
  }
  if (semiring == Semiring::or_and) {
    out.values = std::make_shared<Column>(cast(*out.values, DType::boolean));
    out.fill = cast(out.fill, DType::boolean);
  }
  return out;
}

Rows read_mask(const Tensor& t, const std::vector<int>& vars) {
  Rows out{.vars = vars, .free = {}, .coords = std::vector<Ints>(vars.size()), .n = 0, .slots = {}};
  if (!t.format().is_all_dense()) {
    OperandElements stored = read_sparse(t, Zeros::automatic);
    out.n = static_cast<std::int64_t>(stored.values->size());
    out.coords = std::move(stored.coords);
    return out;
  }
  const OperandElements d = read_dense(t);
  const Column truth = cast(*d.values, DType::boolean);
  const auto& bits = std::get<Ints>(truth.data);
  for (std::size_t k = 0; k < bits.size(); ++k) {
    if (!bits[k]) continue;
    ++out.n;
    auto rest = static_cast<std::int64_t>(k);
    for (std::size_t l = d.shape.size(); l-- > 0;) {
      out.coords[l].push_back(rest % d.shape[l]);
      rest /= d.shape[l];
    }
  }
  return out;
}

Leaf bind(int id, const OperandElements& operand, const std::vector<AffineIndex>& indices,
          const std::map<std::string, int>& variables, const Extents& extents) {
  Leaf leaf{.id = id,
            .dense = operand.dense,
            .fill_in = operand.fill_in,
            .values = operand.values,
            .fill = operand.fill,
            .rows = {},
            .vars = {},
            .strides = {},
            .offset = 0};
  const auto extent = [&](int v) { return extents[static_cast<std::size_t>(v)]; };
  const auto broadcasts = [&](std::size_t d) {
    return indices[d].is_plain() && operand.shape[d] == 1 && extent(variables.at(indices[d].terms[0].index)) != 1;
  };
  if (operand.dense) {
    std::int64_t stride = 1;
    for (std::size_t d = indices.size(); d-- > 0;) {
      if (!broadcasts(d)) {
        leaf.offset += indices[d].constant * stride;
        for (const auto& t : indices[d].terms) {
          const int v = variables.at(t.index);
          const auto at = std::find(leaf.vars.begin(), leaf.vars.end(), v);
          if (at == leaf.vars.end()) {
            leaf.vars.push_back(v);
            leaf.strides.push_back(t.coefficient * stride);
          } else {
            leaf.strides[static_cast<std::size_t>(at - leaf.vars.begin())] += t.coefficient * stride;
          }
        }
      }
      stride *= operand.shape[d];
    }
    return leaf;
  }
  Rows& rows = leaf.rows;
  rows.n = operand.values ? static_cast<std::int64_t>(operand.values->size()) : 0;
  Ints& element = rows.slots[id];
  element.resize(static_cast<std::size_t>(rows.n));
  std::iota(element.begin(), element.end(), std::int64_t{0});
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (broadcasts(d)) continue;
    const AffineIndex& index = indices[d];
    const Ints& coordinate = operand.coords[d];
    // All unknown variables but one go through their extents; the last is solved for.
    std::vector<int> unknown;
    for (const auto& t : index.terms)
      if (const int v = variables.at(t.index); !rows.has(v)) unknown.push_back(v);
    int solved = -1;
    if (!unknown.empty()) {
      solved = unknown.back();
      unknown.pop_back();
      rows.free = unknown;
      rows = expand(rows, unknown, extents);
    }
    Ints kept, found;
    std::int64_t factor = 0;
    for (const auto& t : index.terms)
      if (variables.at(t.index) == solved) factor = t.coefficient;
    const Ints& slots = rows.slots.at(id);
    for (std::size_t k = 0; k < slots.size(); ++k) {
      std::int64_t rest = coordinate[static_cast<std::size_t>(slots[k])] - index.constant;
      for (const auto& t : index.terms)
        if (const int v = variables.at(t.index); v != solved) rest -= t.coefficient * (*rows.column(v))[k];
      if (solved < 0 ? rest != 0 : rest % factor != 0 || rest / factor < 0 || rest / factor >= extent(solved)) continue;
      kept.push_back(static_cast<std::int64_t>(k));
      if (solved >= 0) found.push_back(rest / factor);
    }
    if (kept.size() != slots.size()) rows = rows.take(kept);
    if (solved >= 0) {
      rows.vars.push_back(solved);
      rows.coords.push_back(std::move(found));
    }
  }
  leaf.vars = rows.vars;
  return leaf;
}

}  // namespace strata::evaluation
