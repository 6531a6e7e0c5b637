// Elements of a tensor, one by one: t[i, j], t.get((i, j)), t.items().
#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "bind.h"
#include "levels/level_storage.h"
#include "strata/ops.h"

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

/// True and False, Python's and NumPy's: they count as integers, but do not name a coordinate. (In NumPy they add a
/// dimension.)
bool is_truth(nb::handle item) {
  if (PyBool_Check(item.ptr())) return true;
  if (!nb::hasattr(item, "dtype") || !nb::hasattr(item, "ndim")) return false;
  return nb::cast<std::int64_t>(item.attr("ndim")) == 0 && to_dtype(item.attr("dtype")) == DType::boolean;
}

/// Of one dimension; negative coordinates count from the end, as in NumPy. IndexError comes from the core.
std::int64_t coordinate(const Tensor& t, std::size_t d, nb::handle item) {
  if (is_truth(item))
    throw DTypeError({.what = "a truth value is no coordinate",
                      .expected = "one integer or slice per dimension",
                      .got = nb::cast<std::string>(nb::repr(item)),
                      .fix = "t[[True, False, ...]] takes a truth value for each coordinate of a dimension"});
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

nb::object as_tuple(nb::handle key) {
  return PyTuple_Check(key.ptr()) ? nb::borrow(key) : nb::object(nb::make_tuple(key));
}

Shape element(const Tensor& t, nb::handle key) {
  Shape c;
  for (nb::handle item : as_tuple(key)) c.push_back(coordinate(t, c.size(), item));
  return c;
}

bool is_ellipsis(nb::handle item) { return item.ptr() == Py_Ellipsis; }

/// A list of coordinates of one dimension, or one truth value for each coordinate of it.
bool is_list(nb::handle item) {
  if (PyList_Check(item.ptr()) || PyTuple_Check(item.ptr())) return true;
  return nb::hasattr(item, "ndim") && nb::cast<std::int64_t>(item.attr("ndim")) > 0;
}

std::vector<std::int64_t> coordinates_of(const Tensor& t, std::size_t d, nb::handle item) {
  nb::object array = numpy().attr("asarray")(item);
  const auto rank = nb::cast<std::int64_t>(array.attr("ndim"));
  if (rank != 1)
    throw Unsupported({.what = "an index has several dimensions",
                       .expected = "lists of coordinates, or of truth values, of one dimension",
                       .got = std::to_string(rank) + " dimensions",
                       .fix = "st.evaluate(\"R(i,j) = A(i,j) * M(i,j)\", A=a, M=mask) keeps what a mask names"});
  const auto size = nb::cast<std::int64_t>(array.attr("size"));
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  const std::int64_t extent = t.shape()[d];
  if (kind == "b") {
    if (size != extent)
      throw IndexError({.what = "a list of truth values does not fit dimension " + std::to_string(d),
                        .expected = std::to_string(extent) + " of them",
                        .got = std::to_string(size)});
    array = numpy().attr("flatnonzero")(array);
  } else if (size > 0 && kind != "i" && kind != "u") {
    throw DTypeError({.what = "a list of coordinates holds no integers",
                      .expected = "integers, or truth values",
                      .got = nb::cast<std::string>(array.attr("dtype").attr("name"))});
  }
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(nb::cast<std::int64_t>(array.attr("size"))));
  if (kind == "u" && nb::cast<std::int64_t>(array.attr("itemsize")) == 8)
    array = numpy().attr("minimum")(array, std::numeric_limits<std::int64_t>::max());  // beyond any extent in any case
  array = numpy().attr("ascontiguousarray")(array, "int64");
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  const auto* c = static_cast<const std::int64_t*>(view.buf);
  for (std::int64_t k = 0; k < view.len / 8; ++k) out.push_back(c[k] < 0 && c[k] >= -extent ? c[k] + extent : c[k]);
  PyBuffer_Release(&view);
  return out;
}

/// Is this a key of NumPy's that is composed in Python (strata/_indexing.py): None, a tensor, an index of several
/// dimensions, or two lists?
bool is_composed(nb::handle key) {
  int lists = 0;
  const auto composed = [&](nb::handle item) {
    if (PyLong_Check(item.ptr()) || PySlice_Check(item.ptr()) || is_ellipsis(item)) return false;
    if (item.is_none() || nb::isinstance<Tensor>(item)) return true;
    if (!is_list(item)) return false;
    const bool nested = nb::hasattr(item, "ndim") ? nb::cast<std::int64_t>(item.attr("ndim")) > 1
                                                  : PySequence_Size(item.ptr()) > 0 && is_list(item[0]);
    return nested || ++lists > 1;
  };
  if (!PyTuple_Check(key.ptr())) return composed(key);
  const auto items = nb::borrow<nb::tuple>(key);
  return std::ranges::any_of(items, composed);
}

/// What is asked for: a slice per dimension, and of one of them (counted among those that stay) a list.
struct Key {
  std::vector<Slice> slices;
  std::optional<std::size_t> listed;
  std::vector<std::int64_t> coordinates;
};

/// What is not composed: integers, slices, one ellipsis, one list; dimensions that are not named stay as they are.
Key key_of(const Tensor& t, nb::handle key) {
  const nb::object items = as_tuple(key);
  std::size_t named = 0, wholes = 0;
  for (nb::handle item : items) ++(is_ellipsis(item) ? wholes : named);
  const std::size_t rank = t.shape().size();
  if (named > rank || wholes > 1)
    throw IndexError({.what = named > rank ? "there are more indices than dimensions" : "'...' stands twice",
                      .expected = named > rank ? std::to_string(rank) : "one '...'",
                      .got = nb::cast<std::string>(nb::repr(key))});
  Key out;
  auto& slices = out.slices;
  std::size_t list = 0;
  const auto rest = [&](std::size_t n) {
    for (; n > 0; --n) slices.push_back({.start = 0, .count = t.shape()[slices.size()], .step = 1, .keeps = true});
  };
  for (nb::handle item : items) {
    const std::size_t d = slices.size();
    if (is_ellipsis(item)) {
      rest(rank - named);
    } else if (PySlice_Check(item.ptr())) {
      Py_ssize_t start, stop, step;
      if (PySlice_Unpack(item.ptr(), &start, &stop, &step) < 0) throw nb::python_error();
      const Py_ssize_t count = PySlice_AdjustIndices(t.shape()[d], &start, &stop, step);
      slices.push_back({.start = count > 0 ? start : 0, .count = count, .step = count > 1 ? step : 1, .keeps = true});
    } else if (is_list(item)) {
      out.coordinates = coordinates_of(t, d, item);
      out.listed = static_cast<std::size_t>(std::ranges::count_if(slices, &Slice::keeps));
      list = d;
      rest(1);
    } else {
      slices.push_back({.start = coordinate(t, d, item), .count = 1, .step = 1, .keeps = false});
    }
  }
  rest(rank - slices.size());
  // NumPy puts the list's dimension in front where a slice separates it from an integer.
  if (out.listed)
    for (std::size_t d = 0; d < rank; ++d) {
      const auto between = std::span(slices).subspan(std::min(d, list), std::max(d, list) - std::min(d, list));
      if (!slices[d].keeps &&
          std::ranges::any_of(between, [&](const Slice& s) { return s.keeps && &s != &slices[list]; }))
        throw Unsupported({.what = "a slice stands between an integer and a list of coordinates",
                           .expected = "one after the other (NumPy moves dimensions here)",
                           .got = nb::cast<std::string>(nb::repr(key)),
                           .fix = "t[0][:, [1, 2]]: the integer first, and the list of what that gives"});
    }
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
            if (is_composed(key)) return nb::module_::import_("strata._indexing").attr("select")(t, key);
            const Key parts = key_of(t, key);
            if (std::ranges::any_of(parts.slices, &Slice::keeps)) {
              std::optional<Tensor> part;
              {
                const NoGil no_gil;
                part = slice(t, parts.slices);
                if (parts.listed) part = take(*part, *parts.listed, parts.coordinates);
              }
              return nb::cast(std::move(*part));
            }
            Shape coordinates;
            for (const Slice& s : parts.slices) coordinates.push_back(s.start);
            const auto value = t.get(coordinates);
            return from_scalar(value ? *value : t.fill());
          },
          nb::arg("key").none(),
          "The element at these coordinates (negative ones count from the end), the fill where it is absent; with "
          "slices, None, lists of coordinates or of truth values, np.ix_, and masks of the tensor's own shape (as in "
          "A[A > 2]) a tensor or an array, as NumPy indexes. IndexError.")
      .def(
          "get",
          [](const Tensor& t, nb::handle key) -> nb::object {
            const auto value = t.get(element(t, key));
            return value ? from_scalar(*value) : nb::none();
          },
          nb::arg("coords"), "As t[coords], but None where the element is absent (a stored 0 is present).")
      .def("items", &stored, "Stored elements as (coordinates, value), in storage order.")
      .def("__bool__", [](const Tensor& t) -> bool {
        if (std::ranges::all_of(t.shape(), [](std::int64_t extent) { return extent == 1; }))
          return !t.get(Shape(t.shape().size(), 0)).value_or(t.fill()).is_zero();
        throw TensorError(
            {.what = "the truth value of a tensor is ambiguous",
             .expected = "a tensor of one element",
             .got = t.type().to_string(),
             .fix = "strata.equal(a, b) compares whole tensors, t.any() and t.all() look at the elements"});
      });
}

}  // namespace strata::bind
