// Elements of a tensor, one by one: t[i, j], t.get((i, j)), iteration.
#include <algorithm>
#include <optional>

#include "bind.h"
#include "strata/ops.h"
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

/// Of one dimension; negative coordinates count from the end, as in NumPy. IndexError comes from the core.
std::int64_t coordinate(const Tensor& t, std::size_t d, nb::handle item) {
  const Index index = to_index(item);
  if (!index.is_integer)
    throw DTypeError({.what = "a coordinate is not an integer",
                      .expected = "one integer or slice per dimension",
                      .got = Py_TYPE(item.ptr())->tp_name});
  if (index.overflow)
    throw IndexError({.what = "a coordinate does not fit 64 bits", .got = nb::cast<std::string>(nb::repr(item))});
  const bool from_end = index.value < 0 && d < t.shape().size() && index.value >= -t.shape()[d];
  return from_end ? index.value + t.shape()[d] : index.value;
}

nb::object as_tuple(nb::handle key) { return PyTuple_Check(key.ptr()) ? nb::borrow(key) : nb::object(nb::make_tuple(key)); }

Shape element(const Tensor& t, nb::handle key) {
  Shape c;
  for (nb::handle item : as_tuple(key)) c.push_back(coordinate(t, c.size(), item));
  return c;
}

bool is_ellipsis(nb::handle item) { return item.ptr() == Py_Ellipsis; }

/// NumPy's basic indexing: integers, slices, one ellipsis; dimensions that are not named stay as they are.
std::vector<Slice> slices(const Tensor& t, nb::handle key) {
  const nb::object items = as_tuple(key);
  std::size_t named = 0, wholes = 0;
  for (nb::handle item : items) {
    if (item.is_none())
      throw Unsupported({.what = "a slice adds no dimensions", .expected = "integers, slices, or ...", .got = "None", .fix = "index what to_dense() gives"});
    ++(is_ellipsis(item) ? wholes : named);
  }
  const std::size_t rank = t.shape().size();
  if (named > rank || wholes > 1)
    throw IndexError({.what = named > rank ? "there are more indices than dimensions" : "'...' stands twice",
                      .expected = named > rank ? std::to_string(rank) : "one '...'",
                      .got = nb::cast<std::string>(nb::repr(key))});
  std::vector<Slice> out;
  const auto rest = [&](std::size_t n) {
    for (; n > 0; --n) out.push_back({.start = 0, .count = t.shape()[out.size()], .step = 1, .keeps = true});
  };
  for (nb::handle item : items) {
    const std::size_t d = out.size();
    if (is_ellipsis(item)) {
      rest(rank - named);
    } else if (PySlice_Check(item.ptr())) {
      Py_ssize_t start, stop, step;
      if (PySlice_Unpack(item.ptr(), &start, &stop, &step) < 0) throw nb::python_error();
      const Py_ssize_t count = PySlice_AdjustIndices(t.shape()[d], &start, &stop, step);
      out.push_back({.start = count > 0 ? start : 0, .count = count, .step = count > 1 ? step : 1, .keeps = true});
    } else {
      out.push_back({.start = coordinate(t, d, item), .count = 1, .step = 1, .keeps = false});
    }
  }
  rest(rank - out.size());
  return out;
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
          [](const Tensor& t, nb::handle key) -> nb::object {
            const std::vector<Slice> parts = slices(t, key);
            if (std::ranges::any_of(parts, &Slice::keeps)) {
              std::optional<Tensor> part;
              {
                const NoGil no_gil;
                part = slice(t, parts);
              }
              return nb::cast(std::move(*part));
            }
            Shape coordinates;
            for (const Slice& s : parts) coordinates.push_back(s.start);
            const auto value = t.get(coordinates);
            return from_scalar(value ? *value : t.fill());
          },
          nb::arg("key").none(),
          "The element at these coordinates (negative ones count from the end), the fill where it is absent; with slices a "
          "tensor, as of NumPy's basic indexing. IndexError.")
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
