// Sums of CSR matrices by hand-written loops: two at a time, from left to right, as generated code adds them; of more than two some
// rows at a time.
#include "ops/evaluate/matrix_sum.h"

#include <algorithm>

#include "backend/pool.h"
#include "format/recognise.h"
#include "kernels/isa/isa.h"
#include "ops/direct/unit.h"
#include "ops/evaluate/chain.h"
#include "ops/evaluate/front.h"
#include "ops/pod_array.h"
#include "plan/trace.h"

namespace strata::evaluation {
namespace {

using i64 = std::int64_t;
using i32 = std::int32_t;

constexpr i64 piece_work = 16384;          ///< elements that are worth a thread's attention
constexpr i64 window_work = i64{1} << 22;  ///< ... after which Ctrl-C is heard: some 10 ms
constexpr i64 cached_work = 32768;         ///< ... of which a part of the terms' sum stays near

/// The terms from left to right: what stands on the right of an operator is one access.
bool collect(const Expression& e, const std::vector<std::string>& indices, bool minus, MatrixSum& out) {
  if (e.op() == Operator::access) {
    out.terms.push_back(e.node().name);
    out.minus.push_back(minus);
    return plain_indices(e) == indices;
  }
  if (minus || (e.op() != Operator::add && e.op() != Operator::subtract) || e.argument(1).op() != Operator::access) return false;
  return collect(e.argument(0), indices, false, out) && collect(e.argument(1), indices, e.op() == Operator::subtract, out);
}

template <class V, class P> auto loop_of() {
  const auto& table = [] () -> const kernels::Loops<V>& {
    if constexpr (sizeof(V) == 8) return kernels::loops().f64;
    else return kernels::loops().f32;
  }();
  if constexpr (sizeof(P) == 8) return table.sum_i64.unite;
  else return table.sum_i32.unite;
}

/// Calls f(V*, P*) for the tensor's types of values and positions.
template <class F> auto with_types(const TensorType& t, const F& f) {
  const auto positions = [&]<class V>(V* v) { return t.pos_dtype == DType::i32 ? f(v, static_cast<i32*>(nullptr)) : f(v, static_cast<i64*>(nullptr)); };
  return t.dtype == DType::f64 ? positions(static_cast<double*>(nullptr)) : positions(static_cast<float*>(nullptr));
}

template <class T> const T* data(const Buffer& b) { return static_cast<const T*>(b.data); }

/// What one piece of the rows gives.
struct Piece {
  i64 begin = 0, end = 0, stored = 0;
  Buffer crd, values;
};

/// A matrix, or rows of one that are a sum so far.
template <class V, class P> struct Rows {
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

template <class V, class P> class Union {
 public:
  Union(std::vector<const Tensor*> terms, const std::vector<char>& minus) : first_(*terms[0]), terms_(std::move(terms)), minus_(minus), rows_(first_.part().ranges[0].size) {}

  Tensor run() {
    const i64 work = before(rows_) - before(0), threads = thread_count();
    const i64 n = threads == 1 ? 1 : std::clamp<i64>(work / piece_work, 1, 4 * threads);
    pieces_.resize(static_cast<std::size_t>(n));
    for (i64 c = 0; c < n; ++c) {
      Piece& p = pieces_[static_cast<std::size_t>(c)];
      p.begin = c == 0 ? 0 : pieces_[static_cast<std::size_t>(c) - 1].end;
      p.end = c + 1 == n ? rows_ : row_at(before(0) + work / n * (c + 1));
    }
    ends_ = PodArray<i64>(static_cast<std::size_t>(rows_));
    parallel_for(n, [&](i64 c) { unite(pieces_[static_cast<std::size_t>(c)]); });
    return joined();
  }

 private:
  /// Elements of all terms before a row.
  i64 before(i64 row) const {
    i64 n = 0;
    for (const Tensor* t : terms_) n += t->part().levels[1].pos.index(row);
    return n;
  }
  i64 row_at(i64 weight) const {
    i64 low = 0, high = rows_;
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      if (before(middle) < weight) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  /// A term from a row on.
  Rows<V, P> term(std::size_t k, i64 row) const {
    const Part& part = terms_[k]->part();
    return {data<P>(part.levels[1].pos) + row, data<i32>(part.levels[1].crd), data<V>(part.values)};
  }

  void unite(Piece& piece) {
    const i64 most = before(piece.end) - before(piece.begin) + kernels::most_united;
    piece.crd = Buffer::allocate(DType::i32, most);
    piece.values = Buffer::allocate(first_.dtype(), most);
    // What is a sum so far stays in a cache.
    const i64 window = terms_.size() == 2 ? window_work : cached_work;
    Partial<V, P> held[2];
    for (i64 row = piece.begin; row < piece.end;) {
      if (row > piece.begin) poll_interrupt();
      const i64 stop = std::clamp(row_at(before(row) + window), row + 1, piece.end);
      i64* ends = ends_.data() + row;
      const i64 came = add_all(row, stop, held, static_cast<i32*>(piece.crd.data) + piece.stored, static_cast<V*>(piece.values.data) + piece.stored, ends);
      if (piece.stored > 0)
        for (i64 i = 0; i < stop - row; ++i) ends[i] += piece.stored;
      piece.stored += came;
      row = stop;
    }
  }

  /// The sum of all terms' rows [row, stop), from left to right.
  i64 add_all(i64 row, i64 stop, Partial<V, P>* held, i32* crd, V* values, i64* ends) const {
    const i64 rows = stop - row;
    const auto add = [&](const Rows<V, P>& a, std::size_t k, i32* to_crd, V* to_values) {
      const Rows<V, P> b = term(k, row);
      return loop_of<V, P>()(0, rows, a.pos, a.crd, a.values, b.pos, b.crd, b.values, minus_[k] != 0, to_crd, to_values, ends);
    };
    Rows<V, P> sum = term(0, row);
    i64 most = sum.pos[rows] - sum.pos[0] + kernels::most_united;
    for (std::size_t k = 1; k + 1 < terms_.size(); ++k) {
      const Rows<V, P> b = term(k, row);
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

  Tensor joined() {
    std::vector<i64> starts{0};
    for (const Piece& p : pieces_) starts.push_back(starts.back() + p.stored);
    const i64 stored = starts.back();
    RawArrays arrays;
    Buffer& pos = arrays.pos[1] = Buffer::allocate(first_.type().pos_dtype, rows_ + 1);
    // Memory that is nearly full serves as it is.
    const bool adopt = pieces_.size() == 1 && 2 * stored >= pieces_[0].crd.size;
    arrays.crd[1] = adopt ? pieces_[0].crd : Buffer::allocate(DType::i32, stored);
    arrays.values = adopt ? pieces_[0].values : Buffer::allocate(first_.dtype(), stored);
    arrays.crd[1].size = arrays.values.size = stored;
    pos.set_index(0, 0);
    parallel_for(static_cast<i64>(pieces_.size()), [&](i64 c) {
      Piece& p = pieces_[static_cast<std::size_t>(c)];
      const i64 start = starts[static_cast<std::size_t>(c)];
      P* to = static_cast<P*>(pos.data) + 1;
      for (i64 i = p.begin; i < p.end; ++i) to[i] = static_cast<P>(ends_[static_cast<std::size_t>(i)] + start);
      if (!adopt && p.stored > 0) {
        std::copy_n(data<i32>(p.crd), p.stored, static_cast<i32*>(arrays.crd[1].data) + start);
        std::copy_n(data<V>(p.values), p.stored, static_cast<V*>(arrays.values.data) + start);
      }
      p.crd = p.values = {};
    });
    return make_tensor(first_.format(), first_.shape(), std::move(arrays), first_.fill(), false);
  }

  const Tensor& first_;
  const std::vector<const Tensor*> terms_;
  const std::vector<char>& minus_;
  const i64 rows_;
  std::vector<Piece> pieces_;
  PodArray<i64> ends_;  ///< of each row, within its piece
};

}  // namespace

std::optional<MatrixSum> as_matrix_sum(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options, std::string& why) {
  const auto no = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  if (const char* reason = hand_written_refusal(a, options)) return no(reason);
  MatrixSum sum;
  if (a.indices.size() != 2 || a.indices[0] == a.indices[1] || !collect(a.value, a.indices, false, sum) || sum.terms.size() < 2) return no("it is not a sum of matrices under the same indices");
  const TensorType& first = operands.at(sum.terms[0]).type();
  const auto rows = first.format.num_parts() == 1 ? rows_of(first.format, LevelKind::compressed) : std::nullopt;
  if (!rows || !first.format.level(1).unique || !first.format.level(1).ordered) return no("they are not CSR");
  if (!(wanted_format(a, operands, options) == first.format)) return no("the result has another format");
  i64 stored = 0;
  bool one_pattern = true;
  for (const auto& name : sum.terms) {
    one_pattern = one_pattern && (name == sum.terms[0] || direct::are_twins(operands.at(sum.terms[0]), operands.at(name)));
    const TensorType& t = operands.at(name).type();
    stored += operands.at(name).nse();
    if (!(t.format == first.format) || t.shape != first.shape) return no("their formats or shapes differ");
    if ((t.dtype != DType::f32 && t.dtype != DType::f64) || t.dtype != first.dtype) return no("their dtypes differ, or are neither float32 nor float64");
    if (t.shared_value || operands.at(name).part().value_stride != 1 || !t.fill.is_zero()) return no("values are shared, strided, or the fill is not 0");
    if (t.pos_dtype != first.pos_dtype || t.crd_dtype != DType::i32) return no("positions differ, or coordinates are not int32");
    if (t.pos_dtype != DType::i32 && t.pos_dtype != DType::i64) return no("positions are neither int32 nor int64");
  }
  if (one_pattern) return no("they share one pattern: a loop over its slots is faster");
  if ((options.dtype && *options.dtype != first.dtype) || (options.compute_dtype && *options.compute_dtype != first.dtype)) return no("the result has another dtype");
  if (first.pos_dtype == DType::i32 && stored > INT32_MAX) return no("int32 may not count what is stored");
  if (first.shape[static_cast<std::size_t>(rows->inner)] > INT32_MAX) return no("an extent is above 2^31 - 1");
  if (!with_types(first, []<class V, class P>(V*, P*) { return loop_of<V, P>() != nullptr; })) return no("the processor lacks AVX2");
  return sum;
}

std::optional<Tensor> matrix_sum(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  std::string why;
  const auto sum = as_matrix_sum(a, operands, options, why);
  if (!sum) return std::nullopt;
  planning::Trace::add("hand-written: a sum of matrices", a.to_string() + "\n");
  std::vector<const Tensor*> terms;
  for (const auto& name : sum->terms) terms.push_back(&operands.at(name));
  return with_types(terms[0]->type(), [&]<class V, class P>(V*, P*) { return Union<V, P>(terms, sum->minus).run(); });
}

}  // namespace strata::evaluation
