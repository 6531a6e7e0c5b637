// st.Tensor: its type, and what compares and prints it. Its arrays are bound in storage.cpp, its elements in
// elements.cpp; verbs (conversion, products) beside their own front doors.
#include "bind.h"
#include "strata/ops.h"
#include "tensor/tensor_impl.h"

namespace strata::bind {
namespace {

std::vector<int> reversed(const Tensor& t) {
  std::vector<int> perm;
  for (int d = t.rank(); d-- > 0;) perm.push_back(d);
  return perm;
}

/// The axes of transpose(1, 0) and transpose((1, 0)); without any, all in reverse. What is no axis becomes one that the
/// core refuses.
std::vector<int> permutation(const Tensor& t, const nb::args& axes) {
  nb::object given = axes;
  if (axes.size() == 1 && !PyIndex_Check(nb::object(axes[0]).ptr())) given = axes[0];
  if (given.is_none() || nb::len(given) == 0) return reversed(t);
  std::vector<int> perm;
  for (nb::handle axis : given) {
    const Index d = to_index(axis);
    if (!d.is_integer)
      throw DTypeError({.what = "an axis is not an integer",
                        .expected = "one integer per dimension",
                        .got = Py_TYPE(axis.ptr())->tp_name});
    const std::int64_t from_end = d.value < 0 && d.value >= -t.rank() ? d.value + t.rank() : d.value;
    perm.push_back(from_end < 0 || from_end > max_dims ? max_dims : static_cast<int>(from_end));
    if (perm.size() > static_cast<std::size_t>(max_dims)) break;
  }
  return perm;
}

/// An array that a tensor borrows may know the tensor: the collector sees such cycles.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const Tensor& t = *nb::inst_ptr<Tensor>(self);
  if (!t.is_alone()) return 0;
  Tensor::Impl::of(t).forget_tensors();  // they share what is counted here
  for (int k = 0; k < t.num_parts(); ++k) {
    const Part& p = t.part(k);
    Py_VISIT(kept_alive(p.values));
    for (const LevelArrays& level : p.levels) {
      Py_VISIT(kept_alive(level.pos));
      Py_VISIT(kept_alive(level.crd));
    }
  }
  return 0;
}

int clear(PyObject* self) {
  if (nb::inst_ready(self)) {
    static const Tensor empty;
    const Tensor last = std::exchange(*nb::inst_ptr<Tensor>(self), empty);
  }
  return 0;
}

bool are_equal(nb::handle a, nb::handle b, bool storage) {
  const Tensor x = to_operand(a), y = to_operand(b);
  const NoGil no_gil;
  return storage ? same_storage(x, y) : equal(x, y);
}

const char* const equal_doc =
    "Are the shapes and all elements equal, in whatever formats, dtypes and packages, as np.array_equal says? With "
    "`storage`: are the formats, and the stored coordinates and values bit by bit (index dtypes, slots outside the "
    "tensor and spare capacity do not count)?";

}  // namespace

void bind_tensor(nb::module_& m) {
  // The operator stands in the type's slot: a call through it parses no arguments.
  static PyType_Slot slots[] = {{Py_nb_matrix_multiply, reinterpret_cast<void*>(at_operator)},
                                {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                {0, nullptr}};
  nb::class_<Tensor> tensor(
      m, "Tensor", nb::is_weak_referenceable(), nb::type_slots(slots),
      "A universal sparse tensor over arrays of your own.\n\n"
      "    Tensor('CSR', (2, 3), pos={1: [0, 1, 2]}, crd={1: [2, 0]}, values=np.array([1., 2.]))\n\n"
      "format : Format, text or name\nshape : extents\n"
      "pos, crd : {level: integer array}; borrowed (arrays of one dtype each, int8..int64 or "
      "uint8..uint64); packed levels are given unpacked\n"
      "values : array, one per slot of the last level; borrowed; any dtype of Strata; one of stride 0 "
      "stands for every slot\n"
      "fill : the value of absent elements\ncheck : walk all invariants (TensorError names the level); "
      "False is for those who know.\n\n"
      "Immutable. FormatError, TensorError, DTypeError.");
  bind_storage(m, tensor);
  bind_elements(m, tensor);
  tensor.def_prop_ro(
            "format", [](const Tensor& t) { return t.format(); }, "How the elements are stored.")
      .def_prop_ro(
          "shape", [](const Tensor& t) { return from_shape(t.shape()); }, "The extent of each dimension.")
      .def_prop_ro(
          "ndim", [](const Tensor& t) { return t.rank(); }, "Number of dimensions.")
      .def_prop_ro(
          "dtype", [](const Tensor& t) { return from_dtype(t.dtype()); },
          "A NumPy dtype, or st.DType for those that NumPy lacks.")
      .def_prop_ro(
          "pos_dtype", [](const Tensor& t) { return from_dtype(t.type().pos_dtype); },
          "The dtype of positions, the same on every level.")
      .def_prop_ro(
          "crd_dtype", [](const Tensor& t) { return from_dtype(t.type().crd_dtype); },
          "The dtype of coordinates, the same on every level; packed ones are unpacked to it.")
      .def_prop_ro(
          "fill", [](const Tensor& t) { return from_scalar(t.fill()); }, "The value of absent elements.")
      .def_prop_ro(
          "device", [](const Tensor& t) { return t.type().device.to_string(); }, "Where the arrays are: 'cpu'.")
      .def_prop_ro("nse", &Tensor::nse, "Stored elements: explicit zeros and fill-in included.")
      .def_prop_ro("nbytes", &Tensor::nbytes, "Bytes of pos, crd (packed as they are) and values in use.")
      .def_prop_ro(
          "size",
          [](const Tensor& t) {
            nb::object n = nb::int_(1);
            for (auto e : t.shape()) n = n * nb::int_(e);
            return n;
          },
          "Number of elements, absent ones included.")
      .def_prop_ro(
          "parts",
          [](const Tensor& t) {
            nb::list out;
            for (int k = 0; k < t.num_parts(); ++k) out.append(t.part_tensor(k));
            return nb::tuple(out);
          },
          "The parts of a sum as tensors; one for every other tensor.")
      .def(
          "validate",
          [](const Tensor& t) {
            NoGil no_gil;
            t.validate();
          },
          "Checks every invariant of every level; TensorError names the level.")
      .def(
          "transpose", [](const Tensor& t, nb::args axes) { return t.transpose(permutation(t, axes)); },
          nb::arg("axes"), "The same storage under permuted dimensions (reversed by default); nothing moves.")
      .def_prop_ro(
          "T", [](const Tensor& t) { return t.transpose(reversed(t)); }, "As transpose().")
      .def("equal", &are_equal, nb::arg("other"), nb::arg("storage") = false, equal_doc)
      .def(
          "drop_zeros",
          [](const Tensor& t) {
            const NoGil no_gil;
            return drop_zeros(t);
          },
          "The tensor without stored elements that hold the fill (of fill 0: zeros of either sign), in its own format. "
          "Arithmetic stores what its operands store, also where that gives zeros: A - A, A > 5.")
      .def("__repr__", [](const Tensor& t) { return to_string(t); });
  tensor.attr("__array_priority__") = 1000.0;
  m.def("equal", &are_equal, nb::arg("a"), nb::arg("b"), nb::arg("storage") = false, equal_doc);
}

}  // namespace strata::bind
