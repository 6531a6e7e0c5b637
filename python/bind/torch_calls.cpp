// Products for strata.torch, where what Python does around a small one would be felt. No header of torch is needed: its
// tensors lend their memory through DLPack's exchange API, and results are made by their own new_empty(). Nothing here
// knows of gradients.
#include <array>
#include <vector>

#include "array.h"
#include "backend/kernel.h"
#include "execute/dense_view.h"
#include "strata/evaluate.h"
#include "strata/settings.h"
#include "tensor/same_storage.h"

namespace strata::bind {
namespace {

using i64 = std::int64_t;

/// The same pattern with other values: one for each slot, part after part.
Tensor with_all_values(const Tensor& t, const Buffer& values) {
  if (t.num_parts() == 1) return with_values(t, values);
  TensorType type = t.type();
  type.dtype = values.dtype;
  type.fill = type.fill.as(values.dtype);
  std::vector<Part> parts;
  i64 used = 0;
  for (int k = 0; k < t.num_parts(); ++k) {
    Part part = t.part(k);
    Buffer own = values;
    own.data = static_cast<char*>(values.data) + used * static_cast<i64>(size_of(values.dtype));
    own.size = part.values.size;
    used += own.size;
    part.values = std::move(own);
    parts.push_back(std::move(part));
  }
  if (used != values.size)
    throw TensorError({.what = "the values do not fit the pattern",
                       .expected = std::to_string(used) + " of them, one for each slot",
                       .got = std::to_string(values.size)});
  return make_from_parts(std::move(type), std::move(parts));
}

execution::DenseView view_of(const Array& a) {
  execution::DenseView v;
  v.dtype = a.data.dtype;
  v.data = static_cast<char*>(a.data.data) + a.offset * static_cast<i64>(size_of(v.dtype));
  v.rank = static_cast<int>(a.shape.size());
  std::copy(a.shape.begin(), a.shape.end(), v.shape);
  std::copy(a.strides.begin(), a.strides.end(), v.strides);
  return v;
}

/// Each row of a matrix, or the vector, becomes `row`.
void fill_rows(const Array& matrix, const Array& row) {
  const execution::DenseView to = view_of(matrix);
  execution::DenseView from = to;
  from.data = view_of(row).data;
  from.strides[0] = 0;
  from.strides[to.rank - 1] = row.strides[0];
  execution::assign(to, from);
}

/// Do two parts have the same slots? Mostly it is the same memory that says so.
bool same_slots(const Part& a, const Part& b) {
  bool shared = true;
  for (std::size_t l = 0; l < a.levels.size(); ++l)
    shared = shared && a.levels[l].pos.data == b.levels[l].pos.data && a.levels[l].crd.data == b.levels[l].crd.data;
  return shared || same_levels(a, b);
}

/// A matrix of one row or one column as a vector.
void drop_dimension(Array& a, std::size_t d) {
  a.shape.erase(a.shape.begin() + static_cast<std::ptrdiff_t>(d));
  a.strides.erase(a.strides.begin() + static_cast<std::ptrdiff_t>(d));
}

/// D(i,j) = A(i,j) * B(i,k) * C(j,k), or of vectors without k.
Einsum sampled_einsum(bool of_vectors) {
  Einsum e;
  if (of_vectors) e.operands = {{0, 1}, {0}, {1}};
  else e.operands = {{0, 1}, {0, 2}, {1, 2}};
  e.output = {0, 1};
  e.conjugate = {0, 0, 0};
  e.names = {"i", "j"};
  if (!of_vectors) e.names.emplace_back("k");
  e.num_indices = static_cast<int>(e.names.size());
  return e;
}

/// What is asked of torch, found once. Where one of its names is gone, no call is made at once.
class TorchCalls {
 public:
  TorchCalls() {
    const nb::object torch = nb::module_::import_("torch");
    tensor_ = torch.attr("Tensor");
    for (const char* name : {"is_neg", "is_conj", "new_empty", "new_zeros", "contiguous"})
      names_.push_back(nb::steal(PyUnicode_InternFromString(name)));
    level_ = nb::steal(PyUnicode_InternFromString("_current_level"));
    try {
      parameter_ = torch.attr("nn").attr("Parameter");
      const nb::object inner = torch.attr("_C");
      for (const char* name : {"_len_torch_dispatch_stack", "_len_torch_function_stack",
                               "_are_functorch_transforms_active", "_is_any_autocast_enabled", "_is_tracing"})
        watchers_.push_back(inner.attr(name));
      watchers_.push_back(inner.attr("_autograd").attr("_profiler_enabled"));
      forward_ad_ = nb::module_::import_("torch.autograd.forward_ad").attr("__dict__");
      const nb::object capsule = tensor_.attr("__dlpack_c_exchange_api__");
      const auto* api =
          static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), dlpack::exchange_name));
      if (!api) throw nb::python_error();
      if (api->major == 1) api_ = api;
    } catch (nb::python_error& e) {
      if (!e.matches(PyExc_AttributeError) && !e.matches(PyExc_ImportError) && !e.matches(PyExc_ValueError)) throw;
    }
  }

  nb::object mm(const Tensor& matrix, nb::handle values, nb::handle x, bool left) const {
    const nb::object packed = call_method(contiguous, values);
    return product(matrix, array_of(packed), array_of(x), std::nullopt, left, x);
  }
  nb::object mm_at_once(const Tensor& matrix, nb::handle values, nb::handle x, nb::handle c, bool left) const {
    auto v = lent(values), dense = lent(x), row = c.is_none() ? std::nullopt : lent(c);
    if (!v || !dense || (!row && !c.is_none()) || matrix.rank() != 2) return nb::none();
    const std::size_t rank = dense->shape.size();
    const DType dtype = v->data.dtype;
    const i64 inner = matrix.shape()[left ? 0 : 1], outer = matrix.shape()[left ? 1 : 0];
    const bool fits = v->shape.size() == 1 && v->contiguous() && dense->data.dtype == dtype &&
                      (rank == 1 || rank == 2) && dense->shape[left ? rank - 1 : 0] == inner;
    const bool row_fits = !row || (left && row->data.dtype == dtype && row->shape == Shape{outer});
    if (!fits || !row_fits || !nobody_watches() || is_lazy(values, dtype) || is_lazy(x, dtype) ||
        (row && is_lazy(c, dtype)))
      return nb::none();
    return product(matrix, *v, std::move(*dense), row, left, x);
  }

  nb::object sampled(const Tensor& ones, nb::handle a, nb::handle b, i64 slots, bool whole) const {
    return sample(ones, array_of(a), array_of(b), slots, whole, a);
  }
  nb::object sampled_at_once(const Tensor& ones, nb::handle a, nb::handle b, i64 slots, bool whole) const {
    auto x = lent(a), y = lent(b);
    if (!x || !y || ones.rank() != 2) return nb::none();
    const Shape &m = x->shape, &n = y->shape;
    const DType dtype = ones.dtype();
    const bool fits = x->data.dtype == dtype && y->data.dtype == dtype && m.size() == n.size() &&
                      (m.size() == 1 || (m.size() == 2 && m[1] == n[1])) && m[0] == ones.shape()[0] &&
                      n[0] == ones.shape()[1];
    if (!fits || !nobody_watches() || is_lazy(a, dtype) || is_lazy(b, dtype)) return nb::none();
    return sample(ones, std::move(*x), std::move(*y), slots, whole, a);
  }

 private:
  enum Name { is_neg, is_conj, new_empty, new_zeros, contiguous };

  nb::object call_method(Name name, nb::handle self, const Shape& numbers = {}) const {
    std::array<nb::object, 2> held;
    std::array<PyObject*, 3> all{self.ptr()};
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      held[k] = nb::int_(numbers[k]);
      all[k + 1] = held[k].ptr();
    }
    PyObject* result = PyObject_VectorcallMethod(names_[name].ptr(), all.data(), numbers.size() + 1, nullptr);
    if (!result) throw nb::python_error();
    return nb::steal(result);
  }

  /// Is there no mode, transformation, trace or profiler that wants to see this call? (The exchange API does not ask.)
  bool nobody_watches() const {
    for (const nb::object& watcher : watchers_) {
      const nb::object answer = nb::steal(PyObject_CallNoArgs(watcher.ptr()));
      if (!answer.is_valid()) throw nb::python_error();
      if (!answer.is(nb::handle(Py_False)) && nb::cast<bool>(nb::bool_(answer))) return false;
    }
    PyObject* level = PyDict_GetItemWithError(forward_ad_.ptr(), level_.ptr());
    return level && PyLong_Check(level) && PyLong_AsLong(level) < 0;
  }

  /// A view that stands for the negative or conjugate of its memory.
  bool is_lazy(nb::handle t, DType dtype) const {
    return call_method(is_neg, t).is(nb::handle(Py_True)) ||
           (is_complex(dtype) && call_method(is_conj, t).is(nb::handle(Py_True)));
  }

  /// The memory of a tensor, as long as the tensor lives; nothing where it is none of torch's own, or lends none.
  std::optional<Array> lent(nb::handle h) const {
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(h.ptr()));
    if (!api_ || (type != tensor_.ptr() && type != parameter_.ptr())) return std::nullopt;
    dlpack::Tensor t{};
    if (api_->borrow(h.ptr(), &t) != 0) {
      PyErr_Clear();
      return std::nullopt;
    }
    const auto dtype = dlpack_dtype(t.dtype);
    Shape shape(t.shape, t.shape + t.ndim);
    const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    if (!dtype || t.device.type != 1 || (!t.data && !empty)) return std::nullopt;
    return make_array(*dtype, static_cast<char*>(t.data) + t.byte_offset, std::move(shape),
                      {t.strides, t.strides + t.ndim}, false, {});
  }
  Array array_of(nb::handle h) const {
    auto array = lent(h);
    return array ? std::move(*array) : to_array(h);
  }

  /// Lets go of the GIL around work that takes longer than that does.
  static void release_for(i64 work, std::optional<NoGil>& released) {
    if (work > 20000) released.emplace();
  }

  nb::object product(const Tensor& matrix, const Array& values, Array x, const std::optional<Array>& row, bool left,
                     nb::handle like) const {
    if (matrix.rank() != 2 || x.shape.empty() || x.shape.size() > 2)
      throw TensorError({.what = "this is a product of a matrix and a vector or matrix",
                         .expected = "2 dimensions, and 1 or 2",
                         .got = std::to_string(matrix.rank()) + " and " + std::to_string(x.shape.size())});
    const Tensor a = with_all_values(matrix, values.data);
    Shape shape = x.shape;
    shape[left ? shape.size() - 1 : 0] = matrix.shape()[left ? 1 : 0];
    const nb::object result = call_method(new_empty, like, shape);
    Array y = array_of(result);
    if (row) fill_rows(y, *row);
    const std::size_t many = left ? 0 : 1;  // the dimension that the product does not sum over
    const i64 times = shape.size() == 1 ? 1 : shape[many];
    if (shape.size() == 2 && times == 1) {
      drop_dimension(x, many);
      drop_dimension(y, many);
    }
    const Tensor in = dense_tensor(x), out = dense_tensor(y);
    const Scalar one = Scalar::of(1.0), beta = Scalar::of(row ? 1.0 : 0.0);
    std::optional<NoGil> released;
    release_for(values.data.size * times, released);
    if (left) matmul_into(in, a, out, one, beta);
    else matmul_into(a, in, out, one, beta);
    released.reset();
    return result;
  }

  nb::object sample(const Tensor& ones, Array a, Array b, i64 slots, bool whole, nb::handle like) const {
    const std::size_t rank = a.shape.size();
    if (ones.format().is_all_dense() || rank != b.shape.size() || rank < 1 || rank > 2) return nb::none();
    const i64 sums = rank == 2 ? a.shape[1] : 1;
    if (rank == 2 && sums == 1 && b.shape[1] == 1) {
      drop_dimension(a, 1);
      drop_dimension(b, 1);
    }
    const std::array<Tensor, 3> operands{ones, dense_tensor(a), dense_tensor(b)};
    if (!has_compiler() && settings().engine != "interpreter") return nb::none();
    const nb::object result = call_method(whole ? new_empty : new_zeros, like, {slots});
    const Tensor out = with_all_values(ones, array_of(result).data);
    std::optional<NoGil> released;
    release_for(slots * sums, released);
    const Tensor found = strata::evaluate(sampled_einsum(a.shape.size() == 1), operands, {.format = ones.format()});
    if (found.dtype() != out.dtype()) return nb::none();
    for (int k = 0; k < out.num_parts(); ++k) {
      const Part &from = found.part(k), &to = out.part(k);
      if (!same_slots(from, ones.part(k)) || from.values.size != to.values.size) return nb::none();
      execution::assign(execution::view_of(from.values.dtype, to.values.data, to.values.size),
                        execution::view_of(from.values.dtype, from.values.data, from.values.size));
    }
    return result;
  }

  nb::object tensor_, parameter_, forward_ad_, level_;
  std::vector<nb::object> names_, watchers_;
  const dlpack::ExchangeApi* api_ = nullptr;
};

}  // namespace

void bind_torch_calls(nb::module_& m) {
  m.def(
      "with_all_values",
      [](const Tensor& t, nb::handle values) { return with_all_values(t, to_buffer(values, "values")); }, nb::arg("t"),
      nb::arg("values"),
      "The same pattern with other values: one for each slot, part after part; borrowed. TensorError.");
  const nb::arg matrix("matrix"), values("values"), x("x"), left("left"), ones("ones"), a("a"), b("b"), slots("slots"),
      whole("whole");
  nb::class_<TorchCalls>(m, "TorchCalls",
                         "Products of a sparse matrix with dense torch tensors, without Python between. Results are "
                         "fresh torch tensors; no gradients are recorded.")
      .def(nb::init<>())
      .def("mm", &TorchCalls::mm, matrix, values, x, left,
           "matrix @ x, or x @ matrix, where the matrix has these values. x: a vector or a matrix.")
      .def("mm_at_once", &TorchCalls::mm_at_once, matrix, values, x, nb::arg("c").none(), left,
           "The same, plus the row c where there is one, of ordinary tensors that fit, in a call that no mode, "
           "transformation, trace or profiler watches; otherwise None.")
      .def("sampled", &TorchCalls::sampled, ones, a, b, slots, whole,
           "The values of a @ b.T at the places of `ones`, a tensor of ones with as many slots; `whole`: none of them "
           "lies beyond the edge. None where there is no kernel.")
      .def("sampled_at_once", &TorchCalls::sampled_at_once, ones, a, b, slots, whole, "As mm_at_once is to mm.");
}

}  // namespace strata::bind
