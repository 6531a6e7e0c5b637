// st.Tensor: what it is made of. Verbs (conversion, products) are bound beside their own front doors.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>

#include "bind.h"

namespace strata::bind {
namespace {

/// Stored elements, gathered once and handed out one by one.
struct StoredIterator {
  std::vector<std::int64_t> coordinates;
  std::vector<unsigned char> values;
  DType dtype;
  std::size_t rank, next = 0, count = 0;
};

std::string device_text(const Tensor& t) { return t.type().device.to_string(); }

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
    nb::object index = nb::steal(PyNumber_Index(item.ptr()));
    if (!index.is_valid()) {
      PyErr_Clear();
      throw DTypeError({.what = "a coordinate is not an integer",
                        .expected = "one integer per dimension",
                        .got = Py_TYPE(item.ptr())->tp_name});
    }
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    const std::size_t d = c.size();
    if (overflow)
      throw IndexError({.what = "a coordinate does not fit 64 bits", .got = nb::cast<std::string>(nb::str(index))});
    if (value < 0 && d < t.shape().size() && value >= -t.shape()[d]) value += t.shape()[d];
    c.push_back(value);
  }
  return c;
}

int level_index(const Tensor& t, int level) {
  if (t.num_parts() != 1)
    throw TensorError({.what = "levels of a sum of " + std::to_string(t.num_parts()) + " parts",
                       .expected = "a tensor of one part",
                       .fix = "take one part: t.parts[0]"});
  const int n = t.format().num_levels();
  if (level < 0 || level >= n)
    throw IndexError({.what = "there is no level " + std::to_string(level),
                      .expected = n ? "0 to " + std::to_string(n - 1) : "a format with levels",
                      .got = std::to_string(level)});
  return level;
}

nb::object level_array(const Tensor& t, int level, bool pos) {
  const Part& part = t.part();
  const LevelArrays& arrays = part.levels[static_cast<std::size_t>(level_index(t, level))];
  const LevelKind kind = t.format().level(level).kind;
  const bool has = pos ? kind == LevelKind::compressed || kind == LevelKind::delta || kind == LevelKind::bitmap
                       : kind != LevelKind::dense && kind != LevelKind::batch && kind != LevelKind::range;
  if (!has) {
    static_cast<void>(arrays);
    throw TensorError({.what = "level " + std::to_string(level) + " (" + std::string(name_of(kind)) + ") has no " +
                               (pos ? "pos" : "crd"),
                       .expected = pos ? "a compressed, delta or bitmap level" : "a level that stores coordinates",
                       .got = std::string(name_of(kind))});
  }
  return to_package_array(pos ? t.pos(level) : t.crd(level));
}

/// A tensor with memory of its own.
Tensor deep_copy(const Tensor& t) {
  auto copy = [](Buffer& b) {
    if (!b.data || b.size == 0) return;
    Buffer fresh = Buffer::allocate(b.dtype, b.size);
    std::memcpy(fresh.data, b.data, static_cast<std::size_t>(b.bytes()));
    b = fresh;
  };
  std::vector<Part> parts;
  for (int k = 0; k < t.num_parts(); ++k) {
    Part p = t.part(k);
    for (auto& level : p.levels) {
      copy(level.pos);
      copy(level.crd);
    }
    copy(p.values);
    parts.push_back(std::move(p));
  }
  return make_from_parts(t.type(), std::move(parts));
}

RawArrays raw_arrays(nb::handle pos, nb::handle crd, nb::handle values) {
  RawArrays raw;
  auto fill = [](nb::handle given, std::map<int, Buffer>& into, const char* what) {
    if (given.is_none()) return;
    if (!PyDict_Check(given.ptr()))
      throw TensorError({.what = std::string(what) + "= takes a dict from level to array",
                         .expected = std::string(what) + "={1: array}",
                         .got = Py_TYPE(given.ptr())->tp_name});
    for (auto [key, value] : nb::cast<nb::dict>(given)) {
      nb::object index = nb::steal(PyNumber_Index(key.ptr()));
      if (!index.is_valid()) {
        PyErr_Clear();
        throw TensorError({.what = std::string(what) + "= has a key that is no level",
                           .expected = "the number of a level",
                           .got = nb::cast<std::string>(nb::repr(key))});
      }
      const int level = nb::cast<int>(index);
      into[level] = to_index_buffer(value, (std::string(what) + "[" + std::to_string(level) + "]").c_str());
    }
  };
  fill(pos, raw.pos, "pos");
  fill(crd, raw.crd, "crd");
  if (values.is_none()) throw TensorError({.what = "a tensor needs values", .expected = "values=array"});
  if (nb::isinstance<Buffer>(values)) {
    raw.values = nb::cast<Buffer>(values);
  } else {
    const Array a = to_array(values);
    if (a.shape.size() == 1 && a.shape[0] > 1 && a.strides[0] == 0) {  // one value for every slot: pattern-only graphs
      raw.values = a.data;
      raw.value_stride = 0;
    } else if (a.contiguous()) {
      raw.values = a.data;
    } else if (a.shape.size() == 1) {
      raw.values = to_buffer(values, "values");
    } else {
      warn_copy("values was copied: its elements do not lie side by side");
      nb::dict options;
      options["dtype"] = from_dtype(a.data.dtype);
      raw.values =
          to_array(numpy().attr("ascontiguousarray")(to_numpy(a.data, a.shape, a.strides, a.offset), **options)).data;
    }
  }
  return raw;
}

}  // namespace

Shape to_shape(nb::handle h) {
  Shape shape;
  auto extent = [&](nb::handle item) {
    nb::object index = nb::steal(PyNumber_Index(item.ptr()));
    if (!index.is_valid()) {
      PyErr_Clear();
      throw TensorError({.what = "an extent is not an integer",
                         .expected = "a tuple of integers",
                         .got = nb::cast<std::string>(nb::repr(item))});
    }
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow || value < 0)
      throw TensorError({.what = "an extent is negative or does not fit 64 bits",
                         .expected = "0 to 9223372036854775807",
                         .got = nb::cast<std::string>(nb::str(index))});
    shape.push_back(value);
  };
  if (PyIndex_Check(h.ptr())) {
    extent(h);
    return shape;
  }
  nb::object items = nb::steal(PySequence_Fast(h.ptr(), ""));
  if (!items.is_valid()) {
    PyErr_Clear();
    throw TensorError(
        {.what = "this is not a shape", .expected = "a tuple of integers", .got = Py_TYPE(h.ptr())->tp_name});
  }
  if (PySequence_Size(items.ptr()) > max_dims)
    throw TensorError({.what = "a shape of " + std::to_string(PySequence_Size(items.ptr())) + " dimensions",
                       .expected = "at most " + std::to_string(max_dims)});
  for (nb::handle item : items) extent(item);
  return shape;
}

nb::tuple from_shape(std::span<const std::int64_t> shape) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  if (!tuple) throw nb::python_error();
  for (std::size_t d = 0; d < shape.size(); ++d)
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(d), PyLong_FromLongLong(shape[d]));
  return nb::steal<nb::tuple>(tuple);
}

void bind_tensor(nb::module_& m) {
  nb::class_<StoredIterator>(m, "StoredIterator", "Iterates over (coordinates, value) of the stored elements.")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__len__", [](const StoredIterator& it) { return it.count - it.next; })
      .def("__next__", [](StoredIterator& it) {
        if (it.next == it.count) throw nb::stop_iteration();
        const std::size_t k = it.next++;
        return nb::make_tuple(from_shape({it.coordinates.data() + k * it.rank, it.rank}),
                              from_scalar(Scalar::load(it.dtype, it.values.data() + k * size_of(it.dtype))));
      });

  // The operator stands in the type's slot: a call through it parses no arguments.
  static PyType_Slot slots[] = {{Py_nb_matrix_multiply, reinterpret_cast<void*>(at_operator)}, {0, nullptr}};
  nb::class_<Tensor>(m, "Tensor", nb::is_weak_referenceable(), nb::type_slots(slots),
                     "A universal sparse tensor over arrays of your own.\n\n"
                     "    Tensor('CSR', (2, 3), pos={1: [0, 1, 2]}, crd={1: [2, 0]}, values=np.array([1., 2.]))\n\n"
                     "format : Format, text or name\nshape : extents\n"
                     "pos, crd : {level: integer array}; borrowed (arrays of one dtype each, int8..int64 or "
                     "uint8..uint64); packed levels are given unpacked\n"
                     "values : array, one per slot of the last level; borrowed; any dtype of Strata; one of stride 0 "
                     "stands for every slot\n"
                     "fill : the value of absent elements\ncheck : walk all invariants (TensorError names the level); "
                     "False is for those who know.\n\n"
                     "Immutable. FormatError, TensorError, DTypeError.")
      .def(
          "__init__",
          [](Tensor* self, nb::handle format, nb::handle shape, nb::handle pos, nb::handle crd, nb::handle values,
             nb::handle fill, bool check) {
            const Shape s = to_shape(shape);
            const Format f = to_format(format, static_cast<int>(s.size()));
            RawArrays raw = raw_arrays(pos, crd, values);
            std::optional<Scalar> filler;
            if (!fill.is_none()) filler = to_scalar(fill, raw.values.dtype, "fill");
            Tensor t = [&] {
              NoGil no_gil;
              return make_tensor(f, s, std::move(raw), filler, check);
            }();
            new (self) Tensor(std::move(t));
          },
          nb::arg("format"), nb::arg("shape"), nb::arg("pos") = nb::none(), nb::arg("crd") = nb::none(),
          nb::arg("values") = nb::none(), nb::arg("fill") = nb::none(), nb::arg("check") = true)
      .def_prop_ro("format", [](const Tensor& t) { return t.format(); })
      .def_prop_ro("shape", [](const Tensor& t) { return from_shape(t.shape()); })
      .def_prop_ro("ndim", [](const Tensor& t) { return t.rank(); })
      .def_prop_ro(
          "dtype", [](const Tensor& t) { return from_dtype(t.dtype()); },
          "A NumPy dtype, or st.DType for those that NumPy lacks.")
      .def_prop_ro("pos_dtype", [](const Tensor& t) { return from_dtype(t.type().pos_dtype); })
      .def_prop_ro("crd_dtype", [](const Tensor& t) { return from_dtype(t.type().crd_dtype); })
      .def_prop_ro(
          "fill", [](const Tensor& t) { return from_scalar(t.fill()); }, "The value of absent elements.")
      .def_prop_ro("device", &device_text)
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
      .def_prop_ro(
          "values",
          [](const Tensor& t) {
            if (!t.type().shared_value) return to_package_array(t.values());
            const std::int64_t one_stride[] = {0};
            return to_numpy(t.values(), {t.nse()}, one_stride);
          },
          "The values of the slots, 1-D: a NumPy array over the tensor's memory (torch for dtypes that NumPy lacks). "
          "TensorError for a sum.")
      .def(
          "pos", [](const Tensor& t, int level) { return level_array(t, level, true); }, nb::arg("level"),
          "Positions of a level, 1-D. TensorError where it has none.")
      .def(
          "crd", [](const Tensor& t, int level) { return level_array(t, level, false); }, nb::arg("level"),
          "Coordinates of a level, 1-D; packed ones are unpacked. TensorError where it has none.")
      .def(
          "_raw",
          [](const Tensor& t, int level, const std::string& what) -> nb::object {
            if (what == "values") return nb::cast(t.values());
            level_index(t, level);
            return nb::cast(what == "pos" ? t.pos(level) : t.crd(level));
          },
          nb::arg("level"), nb::arg("what"), "A level's array as Memory (empty where it has none).")
      .def(
          "_dense",
          [](const Tensor& t, const std::string& package) -> nb::object {
            // An all-dense tensor as an array over its own memory, whatever its strides.
            if (!t.format().is_all_dense() || t.num_parts() != 1 || !t.format().is_identity()) return nb::none();
            const Part& p = t.part();
            const int levels = t.format().num_levels();
            std::vector<std::int64_t> strides(static_cast<std::size_t>(t.rank()), 0),
                by_level(static_cast<std::size_t>(levels), 0);
            if (!p.strides.empty()) {
              by_level = p.strides;
            } else {
              std::int64_t step = 1;
              for (int l = levels; l-- > 0;) {
                by_level[static_cast<std::size_t>(l)] = step;
                step *= std::max<std::int64_t>(p.ranges[static_cast<std::size_t>(l)].size, 1);
              }
            }
            for (int d = 0; d < t.rank(); ++d)
              strides[static_cast<std::size_t>(d)] = by_level[static_cast<std::size_t>(t.format().completing_level(d))];
            if (package == "torch") return to_torch(p.values, t.shape(), strides, p.values_offset);
            return to_numpy(p.values, t.shape(), strides, p.values_offset);
          },
          nb::arg("package"), "The array over an all-dense tensor's memory, or None.")
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
      .def(
          "__iter__",
          [](const Tensor& t) {
            StoredIterator it{{}, {}, t.dtype(), static_cast<std::size_t>(t.rank())};
            {
              NoGil no_gil;
              const std::size_t width = size_of(t.dtype());
              for_each_stored(t, [&](std::span<const std::int64_t> c, const void* v) {
                it.coordinates.insert(it.coordinates.end(), c.begin(), c.end());
                const auto* bytes = static_cast<const unsigned char*>(v);
                it.values.insert(it.values.end(), bytes, bytes + width);
                ++it.count;
              });
            }
            return it;
          },
          "Stored elements as (coordinates, value), in storage order.")
      .def("__bool__",
           [](const Tensor& t) -> bool {
             if (t.rank() == 0) return !t.get({}).value_or(t.fill()).is_zero();
             throw TensorError({.what = "the truth value of a tensor is ambiguous",
                                .expected = "a tensor of no dimensions",
                                .fix = "compare with strata.equal(a, b), or look at t.nse"});
           })
      .def(
          "validate",
          [](const Tensor& t) {
            NoGil no_gil;
            t.validate();
          },
          "Checks every invariant of every level; TensorError names the level.")
      .def(
          "transpose",
          [](const Tensor& t, nb::args axes) {
            std::vector<int> perm;
            nb::object given =
                axes.size() == 1 && !PyIndex_Check(nb::object(axes[0]).ptr()) ? nb::object(axes[0]) : nb::object(axes);
            if (given.is_none() || nb::len(given) == 0)
              for (int d = t.rank(); d-- > 0;) perm.push_back(d);
            else
              for (nb::handle d : given) {
                const auto v = nb::cast<std::int64_t>(d);
                perm.push_back(static_cast<int>(v < 0 && v >= -t.rank()         ? v + t.rank()
                                                : v < -max_dims || v > max_dims ? max_dims
                                                                                : v));
              }
            return t.transpose(perm);
          },
          nb::arg("axes"), "The same storage under permuted dimensions (reversed by default); nothing moves.")
      .def_prop_ro("T",
                   [](const Tensor& t) {
                     std::vector<int> perm;
                     for (int d = t.rank(); d-- > 0;) perm.push_back(d);
                     return t.transpose(perm);
                   })
      .def(
          "copy",
          [](const Tensor& t) {
            NoGil no_gil;
            return deep_copy(t);
          },
          "A tensor with memory of its own.")
      .def("__copy__", [](const Tensor& t) { return t; })
      .def(
          "__deepcopy__", [](const Tensor& t, nb::handle) { return deep_copy(t); }, nb::arg("memo"))
      .def(
          "equal",
          [](const Tensor& a, const Tensor& b) {
            NoGil no_gil;
            return equal(a, b);
          },
          nb::arg("other"),
          "Same structure, coordinates and values bit by bit (index dtypes, slots outside the tensor and spare "
          "capacity do not count).")
      .def(
          "__eq__",
          [](const Tensor& a, const Tensor& b) {
            NoGil no_gil;
            return equal(a, b);
          },
          nb::arg("other"), "As equal().")
      .def(
          "__eq__", [](const Tensor&, nb::handle) { return nb::borrow(Py_NotImplemented); }, nb::arg("other"))
      .def("__repr__", [](const Tensor& t) { return to_string(t); })
      .def(
          "draw_storage",
          [](const Tensor& t, int width) {
            return nb::module_::import_("strata._text").attr("Drawing")(draw_storage_text(t, width));
          },
          nb::arg("width") = 100, "The storage, level by level: an object that prints as text.");
  m.attr("Tensor").attr("__hash__") = nb::none();
  m.attr("Tensor").attr("__array_ufunc__") = nb::none();  // NumPy leaves operators to us
  m.attr("Tensor").attr("__array_priority__") = 1000.0;

  m.def(
      "equal",
      [](const Tensor& a, const Tensor& b) {
        NoGil no_gil;
        return equal(a, b);
      },
      nb::arg("a"), nb::arg("b"),
      "Same structure, coordinates and values bit by bit (index dtypes, slots outside the tensor and spare capacity do "
      "not count).");
  m.def(
      "fill_of",
      [](const Tensor& t) {
        Buffer b = Buffer::allocate(t.dtype(), 1);
        t.fill().store(b.data);
        return b;
      },
      nb::arg("t"), "The fill as memory of one element.");
  m.def(
      "rebuild",
      [](const std::string& text, nb::handle shape, nb::handle pos, nb::handle crd, const Buffer& values,
         const Buffer& fill) {
        RawArrays raw = raw_arrays(pos, crd, nb::cast(values));
        const Shape s = to_shape(shape);
        if (fill.dtype != values.dtype || fill.size != 1)
          throw TensorError({.what = "a damaged pickle: the fill is not one element of the values' dtype"});
        return make_tensor(parse_format(text, static_cast<int>(s.size())), s, std::move(raw),
                           Scalar::load(fill.dtype, fill.data), true);
      },
      nb::arg("format"), nb::arg("shape"), nb::arg("pos"), nb::arg("crd"), nb::arg("values"), nb::arg("fill"),
      "A tensor from its arrays; every invariant is checked.");
  m.def(
      "joined_crd",
      [](const Tensor& t, int levels, std::int64_t nse) -> nb::object {
        std::vector<Buffer> lists;
        for (int l = 0; l < levels; ++l) lists.push_back(t.crd(level_index(t, l)));
        for (std::size_t k = 0; k < lists.size(); ++k)
          if (lists[k].dtype != DType::i64 || lists[k].read_only || lists[k].size < nse ||
              lists[k].data != static_cast<std::int64_t*>(lists[0].data) + static_cast<std::int64_t>(k) * nse)
            return nb::none();
        auto owners = std::make_shared<std::vector<Buffer>>(lists);
        return nb::cast(Buffer::borrow(DType::i64, lists[0].data, nse * levels, owners));
      },
      nb::arg("t"), nb::arg("levels"), nb::arg("nse"),
      "The coordinates of the first levels as one int64 matrix, where they lie so in memory; otherwise None.");
  m.def(
      "make_sum",
      [](nb::handle parts) {
        std::vector<Tensor> list;
        for (nb::handle p : parts) list.push_back(nb::cast<Tensor>(p));
        return make_sum(list);
      },
      nb::arg("parts"), "Joins tensors of one shape, dtype and fill to a sum of parts. TensorError.");
}

}  // namespace strata::bind
