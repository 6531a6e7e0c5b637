#include "plan/nest/expand.h"

#include <algorithm>
#include <numeric>

#include "convert/convert_elements.h"
#include "strata/convert.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;

/// Finds the values of the indices for which an access names a given element.
class Solver {
 public:
  explicit Solver(const Affine& a) : a_(a), known_(a.names.size()), values_(a.names.size()) {}

  /// How many elements one may become.
  double copies() {
    double out = 1;
    std::vector<char> known(a_.names.size());
    for (const auto& terms : a_.terms) {
      double all = 1, largest = 1;
      for (const auto& t : terms) {
        if (known[t.index]) continue;
        known[t.index] = 1;
        const auto extent = static_cast<double>(a_.extents[t.index]);
        all *= extent;
        largest = std::max(largest, extent);
      }
      out *= all / largest;
    }
    return out;
  }

  template <class F>
  void each(const i64* coordinates, const F& f) {
    coordinates_ = coordinates;
    dimension(0, f);
  }

 private:
  template <class F>
  void dimension(std::size_t d, const F& f) {
    if (d == a_.terms.size()) return f(values_);
    i64 rest = coordinates_[d] - a_.constants[d];
    std::vector<Affine::Coefficient> open;
    for (const auto& t : a_.terms[d]) {
      if (known_[t.index]) rest -= t.coefficient * values_[t.index];
      else open.push_back(t);
    }
    // The one that goes furthest is computed, the others are tried.
    std::sort(open.begin(), open.end(),
              [&](const auto& x, const auto& y) { return a_.extents[x.index] < a_.extents[y.index]; });
    choose(d, open, 0, rest, f);
  }

  template <class F>
  void choose(std::size_t d, const std::vector<Affine::Coefficient>& open, std::size_t k, i64 rest, const F& f) {
    if (k == open.size()) {
      if (rest == 0) dimension(d + 1, f);
      return;
    }
    const auto [index, coefficient] = open[k];
    known_[index] = 1;
    if (k + 1 == open.size()) {
      if (rest % coefficient == 0 && rest / coefficient >= 0 && rest / coefficient < a_.extents[index]) {
        values_[index] = rest / coefficient;
        dimension(d + 1, f);
      }
    } else {
      for (i64 x = 0; x < a_.extents[index]; ++x) {
        values_[index] = x;
        choose(d, open, k + 1, rest - coefficient * x, f);
      }
    }
    known_[index] = 0;
  }

  const Affine& a_;
  std::vector<char> known_;
  std::vector<i64> values_;
  const i64* coordinates_ = nullptr;
};

Format compressed(int rank) {
  std::vector<int> dims(static_cast<std::size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  return conversion::levels_in_order(dims, false);
}

}  // namespace

Affine affine(const Expression& e, const Shape& shape, const std::map<std::string, i64>& extents) {
  Affine out;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const AffineIndex& index = e.node().indices[d];
    out.constants.push_back(index.constant);
    auto& terms = out.terms.emplace_back();
    const bool stretches = index.is_plain() && shape[d] == 1 && extents.at(index.terms[0].index) != 1;
    out.stretched = out.stretched || stretches;
    for (const auto& t : index.terms) {
      const auto at = std::find(out.names.begin(), out.names.end(), t.index);
      terms.push_back({static_cast<std::size_t>(at - out.names.begin()), stretches ? 0 : t.coefficient});
      if (at != out.names.end()) continue;
      out.names.push_back(t.index);
      out.extents.push_back(extents.at(t.index));
    }
  }
  return out;
}

double copies(const Affine& a) { return Solver(a).copies(); }

Format expanded_format(const Affine& a) {
  if (const auto order = order_of_expanded(a)) return conversion::levels_in_order(*order, false);
  return compressed(static_cast<int>(a.names.size()));
}

Tensor expanded(const Tensor& given, const Affine& a, bool drops_fill_in) {
  // Sorted, and each element once.
  const Tensor t = is_in_order(given.format()) ? given
                                               : convert(given, compressed(given.rank()),
                                                         {.zeros = drops_fill_in ? Zeros::automatic : Zeros::keep});
  if (auto ordered = expanded_in_order(t, a)) return *ordered;
  Solver solver(a);
  const auto width = size_of(t.dtype());
  std::vector<std::vector<i64>> columns(a.names.size());
  std::vector<char> values;
  for_each_stored(t, [&](std::span<const i64> coordinates, const void* value) {
    solver.each(coordinates.data(), [&](const std::vector<i64>& found) {
      for (std::size_t v = 0; v < found.size(); ++v) columns[v].push_back(found[v]);
      values.insert(values.end(), static_cast<const char*>(value), static_cast<const char*>(value) + width);
    });
  });
  const auto n = static_cast<i64>(values.size() / width);
  const auto rank = static_cast<int>(a.names.size());
  std::vector<Buffer> coords;
  for (const auto& c : columns) {
    Buffer b = Buffer::allocate(DType::i64, n);
    std::copy(c.begin(), c.end(), static_cast<i64*>(b.data));
    coords.push_back(std::move(b));
  }
  Buffer v = Buffer::allocate(t.dtype(), n);
  std::copy(values.begin(), values.end(), static_cast<char*>(v.data));
  return with_fill(from_coo(coords, v, a.extents, compressed(rank)), t.fill());
}

}  // namespace strata::direct
