// COO <-> CSR and CSC.
#include <atomic>

#include "base/share.h"
#include "base/sum_in_pairs.h"
#include "convert/fast/support.h"

namespace strata::fast {

std::optional<Tensor> rows_to_coo(const Tensor& t, const Goal& goal) {
  std::optional<Tensor> result;
  with_rows_like(t, goal, coordinates_of(goal.format),
                 [&]<class S, class I>(const S* pos, i64 rows, i64 stored, IndexTypes types, I) {
                   Buffer ends = Buffer::zeros(dtype_of<I>(), 2), row_crd = Buffer::allocate(dtype_of<I>(), stored);
                   static_cast<I*>(ends.data)[1] = static_cast<I>(stored);
                   I* r = static_cast<I*>(row_crd.data);
                   for_rows(pos, rows, [&](i64 begin, i64 end) {
                     for (i64 i = begin; i < end; ++i) std::fill(r + pos[i], r + pos[i + 1], static_cast<I>(i));
                   });
                   const Shared same(t, stored);
                   result = assemble(t, goal, types, {{ends, row_crd}, {{}, same.crd}}, same.values);
                 });
  return result;
}

namespace {

/// Sorts one row's elements by column, keeping the order of equal ones.
template <class E> void sort_row(E* begin, E* end) {
  if (end - begin > 32) {
    const auto less = [](const E& a, const E& b) { return a.column < b.column; };
    if (!std::is_sorted(begin, end, less)) std::stable_sort(begin, end, less);
    return;
  }
  for (E* s = begin; s < end; ++s) {
    const E e = *s;
    E* u = s;
    for (; u > begin && u[-1].column > e.column; --u) *u = u[-1];
    *u = e;
  }
}

template <class S, class I, class V>
Tensor bucket(const Tensor& t, const Goal& goal, IndexTypes types, const S* row, const S* column, i64 stored, i64 rows,
              i64 columns) {
  struct RowElement {
    I column;
    V value;
  };
  const V* v = static_cast<const V*>(t.part().values.data);
  const i64 parts = std::min<i64>(slices(stored, 8), thread_count());
  Buffer counts = Buffer::zeros(dtype_of<I>(), parts * rows), starts = Buffer::zeros(DType::i64, rows + 1),
         kept = Buffer::zeros(dtype_of<I>(), rows + 1);
  I* next = static_cast<I*>(counts.data);
  parallel_for(parts, [&](i64 c) {
    I* h = next + c * rows;
    in_steps(begin_of_share(stored, c, parts), begin_of_share(stored, c + 1, parts), [&](i64 begin, i64 end) {
      for (i64 k = begin; k < end; ++k) ++h[row[k]];
    });
  });
  i64 total = 0;
  i64* start = static_cast<i64*>(starts.data);
  for (i64 i = 0; i < rows; ++i) {
    start[i] = total;
    for (i64 c = 0; c < parts; ++c) {
      const I n = next[c * rows + i];
      next[c * rows + i] = static_cast<I>(total);
      total += n;
    }
  }
  start[rows] = total;
  Buffer scratch = Buffer::allocate(DType::u8, total * static_cast<i64>(sizeof(RowElement)));
  RowElement* elements = static_cast<RowElement*>(scratch.data);
  const bool far = scratch.bytes() > cached;
  parallel_for(parts, [&](i64 c) {
    I* h = next + c * rows;
    in_steps(begin_of_share(stored, c, parts), begin_of_share(stored, c + 1, parts), [&](i64 begin, i64 end) {
      bool outside = false;
      for (i64 k = begin; k < end; ++k) {
        if (far) {
          __builtin_prefetch(h + row[std::min(k + 2 * early, stored - 1)], 1);
          __builtin_prefetch(elements + h[row[std::min(k + early, stored - 1)]], 1);
        }
        const S at = column[k];
        outside |= static_cast<std::uint64_t>(at) >= static_cast<std::uint64_t>(columns);
        elements[h[row[k]]++] = {static_cast<I>(at), v[k]};
      }
      if (outside) throw SourceChanged();
    });
  });
  // Sort each row, add what is there twice (in the order it came), and count what is left.
  I* pos = static_cast<I*>(kept.data);
  for_rows(start, rows, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      RowElement *first = elements + start[i], *last = elements + start[i + 1], *out = first;
      sort_row(first, last);
      for (const RowElement* s = first; s < last; ++out) {
        const RowElement* run = s + 1;
        while (run < last && run->column == s->column) ++run;
        *out = {s->column,
                sum_in_pairs(
                    0, run - s, [s](i64 k) { return s[k].value; }, [](V a, V b) { return static_cast<V>(a + b); })};
        s = run;
      }
      pos[i + 1] = static_cast<I>(out - first);
    }
  });
  const i64 nse = scan(pos, rows);
  Buffer crd = Buffer::allocate(dtype_of<I>(), nse), values = Buffer::allocate(t.dtype(), nse);
  I* oc = static_cast<I*>(crd.data);
  V* ov = static_cast<V*>(values.data);
  for_rows(pos, rows, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      const RowElement* s = elements + start[i];
      for (i64 q = pos[i]; q < static_cast<i64>(pos[i + 1]); ++q, ++s) {
        oc[q] = s->column;
        ov[q] = s->value;
      }
    }
  });
  return assemble(t, goal, types, {{}, {kept, crd}}, values);
}

/// Are the elements sorted, and is none there twice? Lists that users give as they come are, more often than not.
template <class S> bool ascends(const S* row, const S* column, i64 stored) {
  std::atomic<bool> all{true};
  const i64 parts = slices(stored, 64);
  parallel_for(parts, [&](i64 c) {
    in_steps(std::max<i64>(1, begin_of_share(stored, c, parts)), begin_of_share(stored, c + 1, parts),
             [&](i64 begin, i64 end) {
               for (i64 at = begin; at < end && all.load(std::memory_order_relaxed); at += 1024) {
                 bool every = true;
                 for (i64 k = at; k < std::min(at + 1024, end); ++k)
                   every &= (row[k - 1] < row[k]) | ((row[k - 1] == row[k]) & (column[k - 1] < column[k]));
                 if (!every) all.store(false, std::memory_order_relaxed);
               }
             });
  });
  return all.load();
}

/// Sorted and free of duplicates: only pos has to be made; coordinates and values are shared, or copied where the
/// tensor does not say that it is sorted (it stands for lists of the caller's then).
template <class S, class I> Tensor sorted(const Tensor& t, const Goal& goal, IndexTypes types, const S* row, i64 stored,
                                          i64 rows, bool shares) {
  Buffer out_pos = Buffer::zeros(dtype_of<I>(), rows + 1);
  I* pos = static_cast<I*>(out_pos.data);
  in_steps(0, stored, [&](i64 begin, i64 end) {
    for (i64 k = begin; k < end; ++k) ++pos[row[k] + 1];
  });
  scan(pos, rows);
  const Shared same(t, stored);
  if (shares) return assemble(t, goal, types, {{}, {out_pos, same.crd}}, same.values);
  return assemble(t, goal, types, {{}, {out_pos, same.crd.cast(same.crd.dtype)}}, same.values.cast(t.dtype()));
}

}  // namespace

std::optional<Tensor> coo_to_rows(const Tensor& t, const Goal& goal) {
  const auto from = coordinates_of(t.format()), to = rows_of(goal.format, LevelKind::compressed);
  if (!from || !to) return {};
  const bool swap = from->outer != to->outer;
  const Level &first = t.format().level(0), &second = t.format().level(1);
  const LevelArrays &outer = t.part().levels[0], &inner = t.part().levels[1];
  if (outer.crd.dtype != inner.crd.dtype || (outer.crd.dtype != DType::i32 && outer.crd.dtype != DType::i64)) return {};
  const i64 stored = outer.pos.index(1), rows = extent(t, to->outer), columns = extent(t, to->inner);
  if (stored < 0 || stored > std::min(outer.crd.size, inner.crd.size)) throw SourceChanged();
  const auto types = index_types(goal, t.shape(), stored);
  if (!types || mostly_empty(rows, stored)) return {};
  std::optional<Tensor> result;
  with_index(outer.crd.dtype, [&]<class S>(S) {
    if (!aligned<S>(outer.crd) || !aligned<S>(inner.crd)) return;
    const Steady<S> counted((swap ? inner : outer).crd, stored, rows);
    const S *row = counted.data(), *column = static_cast<const S*>((swap ? outer : inner).crd.data);
    with_index(types->widest(), [&]<class I>(I) {
      const bool known = first.ordered && second.ordered && second.unique;
      if (!swap && (known || ascends(row, column, stored))) {
        result = sorted<S, I>(t, goal, *types, row, stored, rows, known);
        return;
      }
      const auto run = [&]<class V>(V) {
        result = bucket<S, I, V>(t, goal, *types, row, column, stored, rows, columns);
      };
      switch (t.dtype()) {
        case DType::f64: return run(double{});
        case DType::f32: return run(float{});
        case DType::i32: return run(std::uint32_t{});  // wraps
        case DType::i64: return run(std::uint64_t{});
        case DType::c64: return run(std::complex<float>{});
        case DType::c128: return run(std::complex<double>{});
        default: return;
      }
    });
  });
  return result;
}

}  // namespace strata::fast
