// The arrays of a tensor: given by the caller, shown to him, copied, rebuilt from a pickle.
#include <algorithm>
#include <cstring>

#include "arguments.h"
#include "bind.h"
#include "tensor/tensor_impl.h"

namespace strata::bind {
namespace {

int level_index(const Tensor& t, nb::handle given) {
  const Index level = to_index(given);
  if (!level.is_integer)
    throw DTypeError({.what = "the number of a level is an integer", .got = Py_TYPE(given.ptr())->tp_name});
  if (t.num_parts() != 1)
    throw TensorError({.what = "levels of a sum of " + std::to_string(t.num_parts()) + " parts",
                       .expected = "a tensor of one part",
                       .fix = "take one part: t.parts[0]"});
  const int n = t.format().num_levels();
  if (level.value < 0 || level.value >= n) {
    const std::string number = nb::cast<std::string>(nb::repr(given));
    throw IndexError({.what = "there is no level " + number,
                      .expected = n ? "0 to " + std::to_string(n - 1) : "a format with levels",
                      .got = number});
  }
  return static_cast<int>(level.value);
}

/// `writable`: for exports, which stay so where their source was; a user's view of an immutable tensor is read-only.
nb::object shown(Buffer data, bool writable) {
  if (!writable && numpy_has(data.dtype)) data.read_only = true;  // torch cannot express it
  return to_package_array(data);
}

/// What a level array is: unpacked, as a user thinks of it, or the bits as they lie in memory.
enum class Packed { no, yes };

nb::object level_array(const Tensor& t, nb::handle given, bool pos, bool writable = false, Packed packed = Packed::no) {
  const int level = level_index(t, given);
  const LevelKind kind = t.format().level(level).kind;
  if (!(pos ? storage::has_pos(kind) : storage::has_crd(kind)))
    throw TensorError({.what = "level " + std::to_string(level) + " (" + std::string(name_of(kind)) + ") has no " +
                               (pos ? "pos" : "crd"),
                       .expected = pos ? "a compressed, delta or bitmap level" : "a level that stores coordinates",
                       .got = std::string(name_of(kind))});
  if (packed == Packed::yes) return shown(t.part().levels[static_cast<std::size_t>(level)].crd, writable);
  return shown(pos ? t.pos(level) : t.crd(level), writable);
}

/// The values of the slots; a shared one is shown once for each slot, by a stride of 0.
nb::object values_array(const Tensor& t, bool writable) {
  if (!t.type().shared_value) return shown(t.values(), writable);
  const std::int64_t no_stride[] = {0};
  const Shape slots{used_values(t.part())};
  Buffer one = t.values();
  if (!numpy_has(t.dtype())) return to_torch(one, slots, no_stride);
  one.read_only |= !writable;
  return to_numpy(one, slots, no_stride);
}

/// An all-dense tensor as an array over its own memory, whatever its strides; None for every other tensor.
nb::object dense_array(const Tensor& t, const std::string& package) {
  if (!t.format().is_all_dense() || t.num_parts() != 1 || !t.format().is_identity()) return nb::none();
  const Part& p = t.part();
  const auto by_level = p.strides.empty() ? row_major_strides(p.ranges) : p.strides;
  std::vector<std::int64_t> strides(static_cast<std::size_t>(t.rank()), 0);
  for (int d = 0; d < t.rank(); ++d)
    strides[static_cast<std::size_t>(d)] = by_level[static_cast<std::size_t>(t.format().completing_level(d))];
  if (package == "torch") return to_torch(p.values, t.shape(), strides, p.values_offset);
  return to_numpy(p.values, t.shape(), strides, p.values_offset);
}

/// The coordinates of the first levels as one int64 matrix, where they lie so in memory (torch's COO); otherwise None.
nb::object joined_coordinates(const Tensor& t, int levels, std::int64_t nse) {
  std::vector<Buffer> lists;
  for (int l = 0; l < levels; ++l) lists.push_back(t.crd(l));
  for (std::size_t k = 0; k < lists.size(); ++k)
    if (lists[k].dtype != DType::i64 || lists[k].read_only || lists[k].size < nse ||
        lists[k].data != static_cast<std::int64_t*>(lists[0].data) + static_cast<std::int64_t>(k) * nse)
      return nb::none();
  auto owners = std::make_shared<std::vector<Buffer>>(lists);
  return nb::cast(Buffer::borrow(DType::i64, lists[0].data, nse * levels, owners));
}

void fill_levels(nb::handle given, std::map<int, Buffer>& into, const std::string& what) {
  if (given.is_none()) return;
  if (!PyDict_Check(given.ptr()))
    throw TensorError({.what = what + "= takes a dict from level to array",
                       .expected = what + "={1: array}",
                       .got = Py_TYPE(given.ptr())->tp_name});
  // Its items at this moment: an array's own code may change the dict while it is read.
  nb::object items = nb::steal(PyDict_Items(given.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  for (nb::handle item : items) {
    const nb::handle key = PyTuple_GET_ITEM(item.ptr(), 0), value = PyTuple_GET_ITEM(item.ptr(), 1);
    const Index index = to_index(key);
    const std::string number = nb::cast<std::string>(nb::repr(key));
    if (!index.is_integer || index.value < 0 || index.value > max_levels)
      throw TensorError(
          {.what = what + "= has a key that is no level", .expected = "the number of a level", .got = number});
    into[static_cast<int>(index.value)] = to_index_buffer(value, (what + "[" + number + "]").c_str());
  }
  for (const auto& [level, array] : into)
    if (array.dtype != into.begin()->second.dtype)
      return warn_copy(what + " was copied: the levels have different dtypes, " +
                       std::string(name_of(into.begin()->second.dtype)) + " and " + std::string(name_of(array.dtype)));
}

/// Side by side, or one for every slot.
void take_values(nb::handle values, RawArrays& raw) {
  if (nb::isinstance<Buffer>(values)) {
    raw.values = held<Buffer>(values);
    return;
  }
  const Array a = to_array(values);
  if (a.shape.size() == 1 && a.shape[0] > 1 && a.strides[0] == 0) {  // one value for every slot: pattern-only graphs
    raw.values = a.data;
    raw.value_stride = 0;
  } else if (a.contiguous()) {
    raw.values = a.data;
  } else {
    warn_copy("values was copied: its elements do not lie side by side");
    raw.values = packed_copy(a);
  }
}

RawArrays raw_arrays(nb::handle pos, nb::handle crd, nb::handle values) {
  RawArrays raw;
  fill_levels(pos, raw.pos, "pos");
  fill_levels(crd, raw.crd, "crd");
  if (values.is_none()) throw TensorError({.what = "a tensor needs values", .expected = "values=array"});
  take_values(values, raw);
  return raw;
}

Tensor rebuild(const std::string& text, nb::handle shape, nb::handle pos, nb::handle crd, const Buffer& values,
               const Buffer& fill, bool shared) {
  RawArrays raw = raw_arrays(pos, crd, nb::cast(values));
  if (shared) raw.value_stride = 0;
  const Shape s = to_shape(shape);
  if (fill.dtype != values.dtype || fill.size != 1)
    throw TensorError({.what = "a damaged pickle: the fill is not one element of the values' dtype"});
  return make_tensor(parse_format(text, static_cast<int>(s.size())), s, std::move(raw),
                     Scalar::load(fill.dtype, fill.data), true);
}

Tensor join(nb::handle parts) {
  std::vector<Tensor> list;
  for (nb::handle p : parts) {
    if (!is_tensor(p)) throw DTypeError({.what = "a part of a sum is a tensor", .got = Py_TYPE(p.ptr())->tp_name});
    list.push_back(held<Tensor>(p));
  }
  return make_sum(list);
}

const char* const tensor_call = "Tensor(format, shape, pos=None, crd=None, values=None, fill=None, check=True)";

void construct(Tensor* self, nb::handle format, nb::handle shape, nb::handle pos, nb::handle crd, nb::handle values,
               nb::handle fill, nb::handle checked, const nb::kwargs& unknown) {
  refuse_unknown(unknown, tensor_call);
  require(format, "format", tensor_call);
  require(shape, "shape", tensor_call);
  const int check = PyObject_IsTrue(checked.ptr());
  if (check < 0) throw nb::python_error();
  const Shape s = to_shape(shape);
  const Format f = to_format(format, static_cast<int>(s.size()));
  RawArrays raw = raw_arrays(pos, crd, values);
  std::optional<Scalar> filler;
  if (!fill.is_none()) filler = to_scalar(fill, raw.values.dtype, "fill");
  Tensor t = [&] {
    NoGil no_gil;
    return make_tensor(f, s, std::move(raw), filler, check != 0);
  }();
  new (self) Tensor(std::move(t));
}

}  // namespace

void bind_storage(nb::module_& m, nb::class_<Tensor>& tensor) {
  const auto copy = [](const Tensor& t) {
    const NoGil no_gil;
    return own_copy(t);
  };
  tensor
      .def("__init__", &construct, nb::arg("format").none() = nb::ellipsis(), nb::arg("shape").none() = nb::ellipsis(),
           nb::arg("pos") = nb::none(), nb::arg("crd") = nb::none(), nb::arg("values") = nb::none(),
           nb::arg("fill") = nb::none(), nb::arg("check") = true, nb::arg("unknown"),
           nb::sig("def __init__(self, format: object, shape: object, pos: object | None = None, "
                   "crd: object | None = None, values: object | None = None, fill: object | None = None, "
                   "check: bool = True) -> None"))
      .def_prop_ro(
          "values", [](const Tensor& t) { return values_array(t, false); },
          "The values of the slots, 1-D: a NumPy array over the tensor's memory, which can be read only: a "
          "tensor is immutable (torch for dtypes that NumPy lacks). t.values.copy() is an array apart. "
          "TensorError for a sum.")
      .def(
          "pos", [](const Tensor& t, nb::handle level) { return level_array(t, level, true); }, nb::arg("level"),
          "Positions of a level, 1-D. TensorError where it has none.")
      .def(
          "crd",
          [](const Tensor& t, nb::handle level, bool packed) {
            return level_array(t, level, false, false, packed ? Packed::yes : Packed::no);
          },
          nb::arg("level"), nb::kw_only(), nb::arg("packed") = false,
          "Coordinates of a level, 1-D. TensorError where it has none.\n\n"
          "packed : delta, structured and bitmap as they lie in memory, for kernels of one's own: uint8, b bits a "
          "slot, the "
          "lowest bits first, eight bytes behind them that may be read; a bitmap's words of 64 bits. By default "
          "unpacked, a "
          "copy.\n\n"
          "    from_dense(np.eye(4), 'delta(4)').crd(1, packed=True)[:2].tolist() == [0x10, 0x32]")
      .def(
          "_array",
          [](const Tensor& t, const std::string& what, nb::handle level) {
            return what == "values" ? values_array(t, true) : level_array(t, level, what == "pos", true);
          },
          nb::arg("what"), nb::arg("level") = 0, "As values, pos(level) and crd(level), writable where its source was.")
      .def(
          "with_values",
          [](const Tensor& t, nb::handle values) {
            RawArrays raw;
            take_values(values, raw);
            if (!nb::isinstance<Buffer>(values) && to_array(values).shape.size() != 1)
              throw TensorError({.what = "values have one dimension", .expected = "one value for each slot"});
            const NoGil no_gil;
            return with_values(t, raw.values, raw.value_stride);
          },
          nb::arg("values"),
          "The same pattern, whose arrays are shared, with other values of any dtype: one for each slot, in the order "
          "of "
          "t.values; borrowed. The fill takes their dtype. TensorError for a sum, and for another number of values.")
      .def(
          "_raw",
          [](const Tensor& t, nb::handle given, const std::string& what) -> nb::object {
            if (what == "values") return nb::cast(t.values());
            const int level = level_index(t, given);
            return nb::cast(what == "pos" ? t.pos(level) : t.crd(level));
          },
          nb::arg("level"), nb::arg("what"), "A level's array as Memory (empty where it has none).")
      .def_prop_ro(
          "_shares_value", [](const Tensor& t) { return t.type().shared_value; },
          "Does one value stand for every slot?")
      .def("_dense", &dense_array, nb::arg("package"), "The array over an all-dense tensor's memory, or None.")
      .def("copy", copy, "A tensor with memory of its own.")
      .def("__copy__", [](const Tensor& t) { return t; })
      .def("__deepcopy__", [copy](const Tensor& t, nb::handle) { return copy(t); }, nb::arg("memo"));

  m.def(
      "fill_of",
      [](const Tensor& t) {
        Buffer b = Buffer::allocate(t.dtype(), 1);
        t.fill().store(b.data);
        return b;
      },
      nb::arg("t"), "The fill as memory of one element.");
  m.def("rebuild", &rebuild, nb::arg("format"), nb::arg("shape"), nb::arg("pos"), nb::arg("crd"), nb::arg("values"),
        nb::arg("fill"), nb::arg("shared") = false, "A tensor from its arrays; every invariant is checked.");
  m.def("joined_crd", &joined_coordinates, nb::arg("t"), nb::arg("levels"), nb::arg("nse"),
        "The coordinates of the first levels as one int64 matrix, where they lie so in memory; otherwise None.");
  m.def("make_sum", &join, nb::arg("parts"),
        "Joins tensors of one shape, dtype and fill to a sum of parts. TensorError.");
}

}  // namespace strata::bind
