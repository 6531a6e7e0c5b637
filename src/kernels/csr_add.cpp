// Sums of CSR matrices: two at a time, from left to right, as generated code adds them; of more than two some rows at a
// time.
#include "kernels/csr_add.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "backend/piece_starts.h"
#include "backend/pod_array.h"
#include "backend/pool.h"
#include "base/checked.h"
#include "base/share.h"
#include "base/stream_copy.h"
#include "kernels/isa/isa.h"

namespace strata::kernels {
namespace {

using i64 = std::int64_t;
using i32 = std::int32_t;

constexpr i64 piece_work = 32768;  ///< elements that are worth a thread's attention, and whose sum stays near it

template <class V, class P> auto loop_of() {
  const auto& table = []() -> const ValueLoops<V>& {
    if constexpr (sizeof(V) == 8) return loops().f64;
    else return loops().f32;
  }();
  if constexpr (sizeof(P) == 8) return table.sum_i64.csr_add_rows;
  else return table.sum_i32.csr_add_rows;
}

/// Calls f(V*, P*) for the tensor's types of values and positions.
template <class F> auto with_types(const TensorType& t, const F& f) {
  const auto positions = [&]<class V>(V* v) {
    return t.pos_dtype == DType::i32 ? f(v, static_cast<i32*>(nullptr)) : f(v, static_cast<i64*>(nullptr));
  };
  return t.dtype == DType::f64 ? positions(static_cast<double*>(nullptr)) : positions(static_cast<float*>(nullptr));
}

template <class T> const T* data(const Buffer& b) { return static_cast<const T*>(b.data); }

/// A matrix, or rows of one that are a sum so far.
template <class V, class P> struct CsrView {
  const P* pos;
  const i32* crd;
  const V* values;
};

/// Memory of rows that are a sum so far.
template <class V, class P> struct Partial {
  PodArray<P> pos;
  PodArray<i32> crd;
  PodArray<V> values;
  void resize(i64 rows, i64 most) {
    pos.resize(static_cast<std::size_t>(rows + 1));
    crd.resize(static_cast<std::size_t>(most)), values.resize(static_cast<std::size_t>(most));
  }
};

/// The sum of some rows, until it is known where it belongs.
template <class V> struct SumPiece {
  i64 number = 0, begin = 0, end = 0, stored = 0;
  PodArray<i64> ends;  ///< of each row
  PodArray<i32> crd;
  PodArray<V> values;
};

/// What one thread has in its own caches.
template <class V, class P> struct Worker {
  Partial<V, P> held[2];
  std::vector<SumPiece<V>> waiting, spare;
  SumPiece<V> spare_piece() {
    if (spare.empty()) return {};
    SumPiece<V> p = std::move(spare.back());
    spare.pop_back();
    return p;
  }
};

/// Pieces of the rows, summed by whoever is free, are copied to their places from the caches of the thread that made
/// them; a piece whose place is known before is made there (with one thread all are).
template <class V, class P> class Union {
 public:
  Union(std::vector<const Tensor*> terms, const std::vector<char>& minus)
      : first_(*terms[0]),
        terms_(std::move(terms)),
        minus_(minus),
        rows_(first_.part().ranges[0].size),
        columns_(first_.part().ranges[1].size),
        most_(before(rows_) - before(0)),
        pieces_(ceil_div(std::max<i64>(most_, 1), piece_work)),
        starts_(pieces_) {}

  Tensor run() {
    pos_ = Buffer::allocate(first_.type().pos_dtype, rows_ + 1);
    pos_.set_index(0, 0);
    crd_ = Buffer::allocate(DType::i32, most_ + most_united);
    values_ = Buffer::allocate(first_.dtype(), most_ + most_united);
    parallel_for(pieces_, [&](i64) { csr_add_rows(starts_.take()); });
    std::vector<const SumPiece<V>*> rest;
    for (const auto& w : workers_)
      if (w)
        for (const SumPiece<V>& p : w->waiting) rest.push_back(&p);
    parallel_for(static_cast<i64>(rest.size()), [&](i64 k) { place(*rest[static_cast<std::size_t>(k)]); });
    return whole(*starts_.start(pieces_));
  }

 private:
  /// Elements of all terms before a row.
  i64 before(i64 row) const {
    i64 n = 0;
    for (const Tensor* t : terms_) n += t->part().levels[1].pos.index(row);
    return n;
  }
  /// Where a piece begins: as many elements each, by whole rows.
  i64 first_row(i64 piece) const {
    if (piece == 0 || piece == pieces_) return piece == 0 ? 0 : rows_;
    const i64 weight = before(0) + begin_of_share(most_, piece, pieces_);
    return partition_point(0, rows_, [&](i64 row) { return before(row) < weight; });
  }
  /// A term from a row on.
  CsrView<V, P> term(std::size_t k, i64 row) const {
    const Part& part = terms_[k]->part();
    return {data<P>(part.levels[1].pos) + row, data<i32>(part.levels[1].crd), data<V>(part.values)};
  }
  Worker<V, P>& worker() {
    auto& w = workers_[static_cast<std::size_t>(worker_index())];
    if (!w) w = std::make_unique<Worker<V, P>>();
    return *w;
  }
  i32* crd(i64 at) const { return static_cast<i32*>(crd_.data) + at; }
  V* values(i64 at) const { return static_cast<V*>(values_.data) + at; }

  void csr_add_rows(i64 number) {
    Worker<V, P>& w = worker();
    SumPiece<V> p = w.spare_piece();
    p.number = number, p.begin = first_row(number), p.end = first_row(number + 1);
    p.ends.resize(static_cast<std::size_t>(p.end - p.begin));
    // (What is written behind a piece's end belongs to the next one, which has no place before this one's size is
    // told.)
    if (const auto start = starts_.start(number)) {
      p.stored = add_all(p.begin, p.end, w.held, crd(*start), values(*start), p.ends.data());
      place_rows(p, *start);
      starts_.set_size(number, p.stored);
      w.spare.push_back(std::move(p));
    } else {
      const auto most = static_cast<std::size_t>(before(p.end) - before(p.begin) + most_united);
      p.crd.resize(most), p.values.resize(most);
      p.stored = add_all(p.begin, p.end, w.held, p.crd.data(), p.values.data(), p.ends.data());
      starts_.set_size(number, p.stored);
      w.waiting.push_back(std::move(p));
    }
    while (!w.waiting.empty() && starts_.start(w.waiting.front().number)) {
      place(w.waiting.front());
      w.spare.push_back(std::move(w.waiting.front()));
      w.waiting.erase(w.waiting.begin());
    }
  }

  void place_rows(const SumPiece<V>& p, i64 start) const {
    P* to = static_cast<P*>(pos_.data) + 1 + p.begin;
    for (i64 i = 0; i < p.end - p.begin; ++i) to[i] = static_cast<P>(p.ends[static_cast<std::size_t>(i)] + start);
  }
  void place(const SumPiece<V>& p) const {
    const i64 start = *starts_.start(p.number);
    place_rows(p, start);
    stream_copy(crd(start), p.crd.data(), static_cast<std::size_t>(p.stored) * sizeof(i32));
    stream_copy(values(start), p.values.data(), static_cast<std::size_t>(p.stored) * sizeof(V));
  }

  /// The sum of all terms' rows [row, stop), from left to right.
  i64 add_all(i64 row, i64 stop, Partial<V, P>* held, i32* crd, V* values, i64* ends) const {
    const i64 rows = stop - row;
    const auto add = [&](const CsrView<V, P>& a, std::size_t k, i32* to_crd, V* to_values) {
      const CsrView<V, P> b = term(k, row);
      return loop_of<V, P>()(0, rows, columns_, a.pos, a.crd, a.values, b.pos, b.crd, b.values, minus_[k] != 0, to_crd,
                             to_values, ends);
    };
    CsrView<V, P> sum = term(0, row);
    i64 most = sum.pos[rows] - sum.pos[0] + most_united;
    for (std::size_t k = 1; k + 1 < terms_.size(); ++k) {
      const CsrView<V, P> b = term(k, row);
      most += b.pos[rows] - b.pos[0];
      Partial<V, P>& to = held[k % 2];
      to.resize(rows, most);
      add(sum, k, to.crd.data(), to.values.data());
      to.pos[0] = 0;
      for (i64 i = 0; i < rows; ++i) to.pos[static_cast<std::size_t>(i + 1)] = static_cast<P>(ends[i]);
      sum = {to.pos.data(), to.crd.data(), to.values.data()};
    }
    return add(sum, terms_.size() - 1, crd, values);
  }

  Tensor whole(i64 stored) {
    // Memory that is nearly full serves as it is.
    if (2 * stored < most_) {
      const Buffer from[] = {crd_, values_};
      crd_ = Buffer::allocate(DType::i32, stored), values_ = Buffer::allocate(first_.dtype(), stored);
      const i64 n = ceil_div(stored, piece_work);
      parallel_for(n, [&](i64 c) {
        const i64 begin = begin_of_share(stored, c, n), end = begin_of_share(stored, c + 1, n);
        std::copy(data<i32>(from[0]) + begin, data<i32>(from[0]) + end, crd(begin));
        std::copy(data<V>(from[1]) + begin, data<V>(from[1]) + end, values(begin));
      });
    }
    crd_.size = values_.size = stored;
    RawArrays arrays;
    arrays.pos[1] = std::move(pos_), arrays.crd[1] = std::move(crd_), arrays.values = std::move(values_);
    return make_tensor(first_.format(), first_.shape(), std::move(arrays), first_.fill(), false);
  }

  const Tensor& first_;
  const std::vector<const Tensor*> terms_;
  const std::vector<char>& minus_;
  const i64 rows_, columns_, most_, pieces_;
  PieceStarts starts_;
  Buffer pos_, crd_, values_;  ///< of the result
  std::array<std::unique_ptr<Worker<V, P>>, max_threads> workers_;
};

}  // namespace

bool can_csr_add(const TensorType& t) {
  return with_types(t, []<class V, class P>(V*, P*) { return loop_of<V, P>() != nullptr; });
}

Tensor csr_add(std::vector<const Tensor*> terms, const std::vector<char>& minus) {
  const TensorType& type = terms[0]->type();
  return with_types(type, [&]<class V, class P>(V*, P*) { return Union<V, P>(std::move(terms), minus).run(); });
}

}  // namespace strata::kernels
