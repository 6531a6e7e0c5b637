// Elements of a tensor, one by one: t[i, j], t.get((i, j)), iteration.
#include "bind.h"
#include "tensor/levels/level_storage.h"

namespace strata::bind {
namespace {

/// Stored elements, gathered once and handed out one by one.
struct StoredIterator {
  std::vector<std::int64_t> coordinates;
  std::vector<unsigned char> values;
  DType dtype;
  std::size_t rank, next = 0, count = 0;
};

StoredIterator stored(const Tensor& t) {
  StoredIterator it{{}, {}, t.dtype(), static_cast<std::size_t>(t.rank())};
  const NoGil no_gil;
  const std::size_t width = size_of(t.dtype());
  storage::require_memory(t.nse(), static_cast<std::int64_t>(it.rank * sizeof(std::int64_t) + width));
  for_each_stored(t, [&](std::span<const std::int64_t> c, const void* v) {
    it.coordinates.insert(it.coordinates.end(), c.begin(), c.end());
    const auto* bytes = static_cast<const unsigned char*>(v);
    it.values.insert(it.values.end(), bytes, bytes + width);
    ++it.count;
  });
  return it;
}

/// Negative coordinates count from the end, as in NumPy. IndexError comes from the core.
Shape element(const Tensor& t, nb::handle key) {
  nb::object tuple = PyTuple_Check(key.ptr()) ? nb::borrow(key) : nb::object(nb::make_tuple(key));
  Shape c;
  for (nb::handle item : tuple) {
    if (PySlice_Check(item.ptr()) || item.ptr() == Py_Ellipsis || item.is_none())
      throw Unsupported({.what = "slices of a sparse tensor are not part of this version",
                         .expected = "one integer per dimension, e.g. t[0, 1]",
                         .got = nb::cast<std::string>(nb::repr(item)),
                         .fix = "slice what to_scipy() or to_dense() gives"});
    const Index index = to_index(item);
    if (!index.is_integer)
      throw DTypeError({.what = "a coordinate is not an integer",
                        .expected = "one integer per dimension",
                        .got = Py_TYPE(item.ptr())->tp_name});
    if (index.overflow)
      throw IndexError({.what = "a coordinate does not fit 64 bits", .got = nb::cast<std::string>(nb::repr(item))});
    const std::size_t d = c.size();
    const bool from_end = index.value < 0 && d < t.shape().size() && index.value >= -t.shape()[d];
    c.push_back(from_end ? index.value + t.shape()[d] : index.value);
  }
  return c;
}

}  // namespace

void bind_elements(nb::module_& m, nb::class_<Tensor>& tensor) {
  nb::class_<StoredIterator>(m, "StoredIterator", "Iterates over (coordinates, value) of the stored elements.")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__len__", [](const StoredIterator& it) { return it.count - it.next; }, nb::lock_self())
      .def(
          "__next__",
          [](StoredIterator& it) {
            if (it.next == it.count) throw nb::stop_iteration();
            const std::size_t k = it.next++;
            return nb::make_tuple(from_shape({it.coordinates.data() + k * it.rank, it.rank}),
                                  from_scalar(Scalar::load(it.dtype, it.values.data() + k * size_of(it.dtype))));
          },
          nb::lock_self());

  tensor
      .def(
          "__getitem__",
          [](const Tensor& t, nb::handle key) {
            const auto value = t.get(element(t, key));
            return from_scalar(value ? *value : t.fill());
          },
          nb::arg("coords"),
          "The element at these coordinates (negative ones count from the end); the fill where it is absent. "
          "IndexError.")
      .def(
          "get",
          [](const Tensor& t, nb::handle key) -> nb::object {
            const auto value = t.get(element(t, key));
            return value ? from_scalar(*value) : nb::none();
          },
          nb::arg("coords"), "As t[coords], but None where the element is absent (a stored 0 is present).")
      .def("__iter__", &stored, "Stored elements as (coordinates, value), in storage order.")
      .def("__bool__", [](const Tensor& t) -> bool {
        if (t.rank() == 0) return !t.get({}).value_or(t.fill()).is_zero();
        throw TensorError({.what = "the truth value of a tensor is ambiguous",
                           .expected = "a tensor of no dimensions",
                           .fix = "compare with strata.equal(a, b), or look at t.nse"});
      });
}

}  // namespace strata::bind
