#pragma once
// A naive oracle and a naive packer, both written for these tests alone: nothing here uses what is tested.
#include <algorithm>
#include <complex>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "strata/plan.h"
#include "strata/settings.h"

namespace strata::testing {

using Complex = std::complex<double>;
using Rng = std::mt19937_64;

inline std::int64_t pick(Rng& rng, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(high - low + 1));
}
template <class T> const T& pick(Rng& rng, const std::vector<T>& from) { return from[rng() % from.size()]; }

/// A dense array, row-major, as the oracle sees it. Absent elements are those not `stored`.
struct DenseArray {
  Shape shape;
  std::vector<Complex> v;
  std::vector<char> stored;

  explicit DenseArray(Shape s = {}) : shape(std::move(s)) {
    std::size_t n = 1;
    for (auto e : shape) n *= static_cast<std::size_t>(e);
    v.assign(n, 0);
    stored.assign(n, 1);
  }
  std::size_t at(std::span<const std::int64_t> c) const {
    std::size_t k = 0;
    for (std::size_t d = 0; d < shape.size(); ++d)
      k = k * static_cast<std::size_t>(shape[d]) + static_cast<std::size_t>(c[d]);
    return k;
  }
};

/// Calls f(coordinates) in row-major order.
template <class F> void for_each_index(const Shape& shape, F f) {
  for (auto e : shape)
    if (e == 0) return;
  std::vector<std::int64_t> c(shape.size(), 0);
  for (;;) {
    f(c);
    std::size_t d = shape.size();
    while (d > 0 && ++c[d - 1] == shape[d - 1]) c[--d] = 0;
    if (d == 0) return;
  }
}

/// Small whole numbers: sums of products are then exact in every dtype and in any order.
inline DenseArray random_array(const Shape& shape, double density, bool complex, bool non_negative, Rng& rng) {
  DenseArray a(shape);
  for (std::size_t k = 0; k < a.v.size(); ++k) {
    a.stored[k] = static_cast<double>(rng() % 1000) < density * 1000;
    if (!a.stored[k]) continue;
    a.v[k] = {static_cast<double>(pick(rng, non_negative ? 0 : -2, 2)),
              complex ? static_cast<double>(pick(rng, -2, 2)) : 0.0};
  }
  return a;
}

/// out = sum of products, by running over every index.
inline DenseArray oracle(const Einsum& e, const std::vector<DenseArray>& operands) {
  Shape extents(static_cast<std::size_t>(e.num_indices), 1);
  for (std::size_t k = 0; k < operands.size(); ++k)
    for (std::size_t d = 0; d < operands[k].shape.size(); ++d) {
      auto& x = extents[static_cast<std::size_t>(e.operands[k][d])];
      if (operands[k].shape[d] != 1) x = operands[k].shape[d];
    }
  Shape shape;
  for (int i : e.output) shape.push_back(extents[static_cast<std::size_t>(i)]);
  DenseArray out(shape);
  for_each_index(extents, [&](const std::vector<std::int64_t>& index) {
    Complex product = 1;
    std::vector<std::int64_t> c;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      c.clear();
      for (std::size_t d = 0; d < operands[k].shape.size(); ++d)
        c.push_back(operands[k].shape[d] == 1 ? 0 : index[static_cast<std::size_t>(e.operands[k][d])]);
      const Complex x = operands[k].v[operands[k].at(c)];
      product *= e.conjugate[k] ? std::conj(x) : x;
    }
    c.clear();
    for (int i : e.output) c.push_back(index[static_cast<std::size_t>(i)]);
    out.v[out.at(c)] += product;
  });
  return out;
}

inline Scalar scalar_of(Complex x, DType t) { return Scalar::of(x).as(t); }

/// A dense tensor; `order` 0: row-major, 1: column-major, 2: every second element of a larger row-major array, 3:
/// reversed.
inline Tensor dense(const DenseArray& a, DType t, int order = 0) {
  const std::size_t rank = a.shape.size();
  std::vector<std::int64_t> strides(rank);
  std::int64_t n = 1, offset = 0;
  for (std::size_t q = 0; q < rank; ++q) {
    const std::size_t d = order == 1 ? q : rank - 1 - q;
    strides[d] = n * (order == 2 ? 2 : 1);
    n *= std::max<std::int64_t>(1, a.shape[d]) * (order == 2 ? 2 : 1);
  }
  if (order == 3)
    for (std::size_t d = 0; d < rank; ++d) {
      if (a.shape[d] > 0) offset += strides[d] * (a.shape[d] - 1);
      strides[d] = -strides[d];
    }
  Buffer b = Buffer::zeros(t, n);
  for_each_index(a.shape, [&](const std::vector<std::int64_t>& c) {
    std::int64_t k = offset;
    for (std::size_t d = 0; d < rank; ++d) k += c[d] * strides[d];
    scalar_of(a.v[a.at(c)], t).store(static_cast<char*>(b.data) + k * static_cast<std::int64_t>(size_of(t)));
  });
  return borrow_dense(b, a.shape, strides, offset);
}

/// Reads a tensor back: a plain dense one by its strides, any other element by element.
inline DenseArray read(const Tensor& t) {
  DenseArray a(t.shape());
  if (!t.format().is_all_dense()) {
    for_each_index(
        a.shape, [&](const std::vector<std::int64_t>& c) { a.v[a.at(c)] = t.get(c).value_or(t.fill()).to_complex(); });
    return a;
  }
  const Part& p = t.part();
  for_each_index(a.shape, [&](const std::vector<std::int64_t>& c) {
    std::vector<std::int64_t> lvl(c.size());
    t.format().dim2lvl(c, lvl);
    std::int64_t k = p.values_offset;
    for (std::size_t l = 0; l < lvl.size(); ++l) k += lvl[l] * p.strides[l];
    a.v[a.at(c)] = Scalar::load(t.dtype(), static_cast<const char*>(p.values.data) +
                                               k * static_cast<std::int64_t>(size_of(t.dtype())))
                       .to_complex();
  });
  return a;
}

/// Packs what `a` stores into a one-part format without batch levels, level by level from sorted coordinates.
class Packer {
 public:
  Packer(const Format& format, const DenseArray& a)
      : format_(format), ranges_(format.level_ranges(a.shape)), levels_(static_cast<std::size_t>(format.num_levels())) {
    for_each_index(a.shape, [&](const std::vector<std::int64_t>& c) {
      if (!a.stored[a.at(c)]) return;
      Element e{std::vector<std::int64_t>(levels_), a.v[a.at(c)]};
      format_.dim2lvl(c, e.level);
      elements_.push_back(std::move(e));
    });
    std::stable_sort(elements_.begin(), elements_.end(),
                     [](const Element& x, const Element& y) { return x.level < y.level; });
  }

  Tensor pack(DType dtype, DType pos_dtype, DType crd_dtype) {
    std::vector<Group> groups{{0, elements_.size()}};
    RawArrays arrays;
    for (std::size_t l = 0; l < levels_; ++l) {
      const Level& level = format_.level(static_cast<int>(l));
      const LevelRange r = ranges_[l];
      std::vector<std::int64_t> pos{0}, crd;
      std::vector<Group> next;
      for (const Group& g : groups) {
        const auto children = split(g, l, level.unique && level.kind != LevelKind::singleton);
        const auto emit = [&](std::int64_t c, Group child) {
          crd.push_back(c);
          next.push_back(child);
        };
        switch (level.kind) {
          case LevelKind::dense:
          case LevelKind::range: {
            std::map<std::int64_t, Group> by(children.begin(), children.end());
            for (std::int64_t c = r.lo; c < r.lo + r.size; ++c) next.push_back(by.count(c) ? by[c] : Group{0, 0});
            break;
          }
          case LevelKind::compressed:
          case LevelKind::singleton:
          case LevelKind::bitmap:
            for (const auto& [c, child] : children) emit(c, child);
            break;
          case LevelKind::padded:
            for (const auto& [c, child] : children) emit(c, child);
            for (std::size_t k = children.size(); k < static_cast<std::size_t>(level.arg); ++k) emit(-1, {0, 0});
            break;
          case LevelKind::structured: {
            std::map<std::int64_t, Group> by(children.begin(), children.end());
            for (std::int64_t c = 0; c < r.size && by.size() < static_cast<std::size_t>(level.arg); ++c)
              by.emplace(c, Group{0, 0});
            for (const auto& [c, child] : by) emit(c, child);
            break;
          }
          case LevelKind::delta: {
            std::int64_t before = r.lo - 1;
            const std::int64_t widest = std::int64_t{1} << level.arg;
            for (const auto& [c, child] : children) {
              for (; c - before > widest; before += widest) emit(widest - 1, {0, 0});
              emit(c - before - 1, child);
              before = c;
            }
            break;
          }
          case LevelKind::batch: break;
        }
        pos.push_back(static_cast<std::int64_t>(crd.size()));
      }
      const LevelKind k = level.kind;
      if (k == LevelKind::compressed || k == LevelKind::delta || k == LevelKind::bitmap)
        arrays.pos[static_cast<int>(l)] =
            buffer(pos, pos_dtype == DType::u8 && pos.back() > 255 ? DType::i32 : pos_dtype);
      if (k != LevelKind::dense && k != LevelKind::range) arrays.crd[static_cast<int>(l)] = buffer(crd, crd_dtype);
      groups = std::move(next);
    }
    arrays.values = Buffer::zeros(dtype, static_cast<std::int64_t>(groups.size()));
    for (std::size_t k = 0; k < groups.size(); ++k)
      if (groups[k].begin < groups[k].end)
        scalar_of(elements_[groups[k].begin].value, dtype)
            .store(static_cast<char*>(arrays.values.data) + k * size_of(dtype));
    return make_tensor(format_, shape_, std::move(arrays));
  }
  Packer& shape(Shape s) {
    shape_ = std::move(s);
    return *this;
  }
  /// The most children that any parent of a padded or structured level has.
  std::int64_t widest(std::size_t l) {
    std::map<std::vector<std::int64_t>, std::map<std::int64_t, int>> rows;
    std::size_t most = 0;
    for (const auto& e : elements_) {
      auto& row = rows[{e.level.begin(), e.level.begin() + static_cast<std::ptrdiff_t>(l)}];
      row[e.level[l]] = 1;
      most = std::max(most, row.size());
    }
    return static_cast<std::int64_t>(most);
  }

 private:
  struct Element {
    std::vector<std::int64_t> level;
    Complex value;
  };
  struct Group {
    std::size_t begin, end;  ///< elements
  };

  std::vector<std::pair<std::int64_t, Group>> split(const Group& g, std::size_t l, bool merge) const {
    std::vector<std::pair<std::int64_t, Group>> out;
    for (std::size_t k = g.begin; k < g.end; ++k) {
      const std::int64_t c = elements_[k].level[l];
      if (merge && !out.empty() && out.back().first == c) out.back().second.end = k + 1;
      else out.push_back({c, {k, k + 1}});
    }
    return out;
  }
  static Buffer buffer(const std::vector<std::int64_t>& v, DType t) {
    Buffer b = Buffer::allocate(t, static_cast<std::int64_t>(v.size()));
    for (std::size_t k = 0; k < v.size(); ++k) b.set_index(static_cast<std::int64_t>(k), v[k]);
    return b;
  }

  Format format_;
  std::vector<LevelRange> ranges_;
  std::size_t levels_;
  Shape shape_;
  std::vector<Element> elements_;
};

inline Tensor pack(const std::string& format, const DenseArray& a, DType dtype, DType pos = DType::i32,
                   DType crd = DType::i32) {
  Packer p(parse_format(format, static_cast<int>(a.shape.size())), a);
  return p.shape(a.shape).pack(dtype, pos, crd);
}

/// ELL with as many slots as the longest row needs.
inline Tensor pack_ell(const DenseArray& a, DType dtype, DType crd = DType::i32) {
  const Format rows = parse_format("(i, j) -> (i : dense, j : compressed)");
  const std::int64_t k = std::max<std::int64_t>(1, Packer(rows, a).widest(1));
  return pack("(i, j) -> (i : dense, j : padded(" + std::to_string(k) + "))", a, dtype, DType::i32, crd);
}

/// Keeps what 2:4 can hold.
inline void prune_structured(DenseArray& a, int n, int m) {
  if (a.shape.empty()) return;
  const auto columns = static_cast<std::size_t>(a.shape.back());
  for (std::size_t k = 0; k < a.v.size(); ++k) {
    const std::size_t column = k % std::max<std::size_t>(1, columns), first = k - column % static_cast<std::size_t>(m);
    int before = 0;
    for (std::size_t q = first; q < k; ++q) before += a.stored[q];
    if (before >= n) a.stored[k] = 0, a.v[k] = 0;
  }
}

struct EngineScope {
  std::string before = settings().engine;
  explicit EngineScope(const std::string& engine) { settings().engine = engine; }
  ~EngineScope() { settings().engine = before; }
};

}  // namespace strata::testing
