// Operands come in, dense results go out; and the one look at foreign indices that tells how they may be borrowed.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "array.h"
#include "backend/steps.h"
#include "base/checked.h"
#include "bind.h"

namespace strata::bind {
namespace {

struct Order {
  bool ordered = true, unique = true;
};

/// Are the coordinates of each segment ascending, and all different? O(stored) with one word per coordinate, needed
/// only where they do not ascend; where there are far more coordinates than elements, segments are sorted instead.
/// `pos` and `crd` hold `batches` runs one after the other. Segments that make no sense end the scan: building the
/// tensor refuses them with a better message.
template <class P, class C>
Order scan_segments(std::span<const P> pos, std::span<const C> crd, std::int64_t extent, std::int64_t batches) {
  Order order;
  std::vector<std::int64_t> seen, sorted;
  const bool many = extent / 8 > static_cast<std::int64_t>(crd.size());
  const std::size_t per_pos = pos.size() / static_cast<std::size_t>(batches),
                    per_crd = crd.size() / static_cast<std::size_t>(batches);
  std::int64_t stamp = 0;
  for (std::size_t b = 0; b < static_cast<std::size_t>(batches); ++b) {
    for (std::size_t i = 0; i + 1 < per_pos; ++i) {
      poll_at(static_cast<std::int64_t>(i) + 1);
      const auto begin = static_cast<std::int64_t>(pos[b * per_pos + i]),
                 end = static_cast<std::int64_t>(pos[b * per_pos + i + 1]);
      if (begin < 0 || end < begin || end > static_cast<std::int64_t>(per_crd)) return order;
      const C* c = crd.data() + b * per_crd;
      bool ascending = true, repeated = false;
      for (std::int64_t k = begin + 1; k < end; ++k) {
        ascending &= c[k - 1] <= c[k];
        repeated |= c[k - 1] == c[k];
      }
      if (!ascending && order.unique && !repeated && many) {
        sorted.assign(c + begin, c + end);
        std::sort(sorted.begin(), sorted.end());
        if (sorted.front() < 0 || sorted.back() >= extent) return order;
        repeated = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
      } else if (!ascending && order.unique && !repeated) {
        if (seen.empty()) seen.resize(static_cast<std::size_t>(extent), 0);
        ++stamp;
        for (std::int64_t k = begin; k < end; ++k) {
          const auto at = static_cast<std::int64_t>(c[k]);
          if (at < 0 || at >= extent) return order;
          repeated |= seen[static_cast<std::size_t>(at)] == stamp;
          seen[static_cast<std::size_t>(at)] = stamp;
        }
      }
      order.ordered &= ascending;
      order.unique &= !repeated;
      if (!order.ordered && !order.unique) return order;
    }
  }
  return order;
}

template <class F>
auto with_index(DType t, F f) {
  switch (t) {
    case DType::i8: return f(std::int8_t{});
    case DType::i16: return f(std::int16_t{});
    case DType::i32: return f(std::int32_t{});
    case DType::u8: return f(std::uint8_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::u32: return f(std::uint32_t{});
    case DType::u64: return f(std::uint64_t{});
    default: return f(std::int64_t{});
  }
}

/// Lists of coordinates: sorted lexicographically? Without repeats? (Unsorted ones may repeat: finding out means
/// sorting.)
Order scan_lists(std::span<const Buffer> lists) {
  Order order;
  const std::int64_t n = lists.empty() ? 0 : lists[0].size;
  if (n < 2) return order;
  // -1, 0, 1: how element k compares with the one before it in the dimensions seen so far.
  std::vector<signed char> compared(static_cast<std::size_t>(n), 0);
  for (const Buffer& list : lists)
    with_index(list.dtype, [&](auto zero) {
      const auto* c = static_cast<const decltype(zero)*>(list.data);
      for (std::int64_t k = 1; k < n; ++k) {
        poll_at(k);
        auto& now = compared[static_cast<std::size_t>(k)];
        if (now == 0) now = static_cast<signed char>((c[k] > c[k - 1]) - (c[k] < c[k - 1]));
      }
      return 0;
    });
  for (std::int64_t k = 1; k < n; ++k) {
    order.ordered &= compared[static_cast<std::size_t>(k)] >= 0;
    order.unique &= compared[static_cast<std::size_t>(k)] != 0;
  }
  if (!order.ordered) order.unique = false;
  return order;
}

}  // namespace

bool is_tensor(nb::handle h) {
  static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(nb::type<Tensor>().ptr());
  return Py_TYPE(h.ptr()) == type || PyType_IsSubtype(Py_TYPE(h.ptr()), type);
}

Tensor dense_tensor(const Array& a) { return borrow_dense(a.data, a.shape, a.strides, a.offset); }

Tensor to_operand(nb::handle h) {
  if (is_tensor(h)) return held<Tensor>(h);
  const bool plain = is_torch_tensor(h) ? str_of(plain_torch(h).attr("layout")) == "torch.strided"
                                        : PyObject_CheckBuffer(h.ptr()) != 0;
  if (plain || PyList_Check(h.ptr()) || PyTuple_Check(h.ptr())) return dense_tensor(to_array(h));
  const nb::object found = nb::module_::import_("strata.interop").attr("from_package")(h);
  return held<Tensor>(found);
}

namespace {

/// Does every element have memory of its own? Strides that do not nest are taken for overlapping: no slice of an array
/// has such.
bool has_own_elements(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides) {
  std::vector<std::pair<Int128, std::int64_t>> steps;  // (distance, extent)
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 0) return true;
    const Int128 step = strides[d];
    if (extents[d] > 1) steps.emplace_back(step < 0 ? -step : step, extents[d]);
  }
  std::sort(steps.begin(), steps.end());
  Int128 reach = 0;  // of the axes so far
  for (const auto& [step, extent] : steps) {
    if (step <= reach) return false;
    reach += step * (extent - 1);
  }
  return true;
}

[[noreturn]] void refuse_overlap() {
  throw TensorError({.what = "the array to write into has elements that share memory",
                     .expected = "memory of its own for each element",
                     .got = "overlapping or broadcast strides",
                     .fix = "pass a copy"});
}

}  // namespace

Tensor to_output(nb::handle h) {
  if (is_tensor(h)) {
    const Tensor& t = held<Tensor>(h);
    if (!t.format().is_all_dense())
      throw TensorError({.what = "a result can be written into a dense tensor only",
                         .expected = "an array, or a tensor whose levels are all dense",
                         .got = t.format().to_string(),
                         .fix = "leave it out: a fresh array is returned"});
    const Part& p = t.part();
    if (p.values.read_only) throw TensorError({.what = "the memory to write into is read-only"});
    Shape extents;
    for (const LevelRange& r : p.ranges) extents.push_back(r.size);
    if (!p.strides.empty() && !has_own_elements(extents, p.strides)) refuse_overlap();
    return t;
  }
  if (!is_torch_tensor(h) && !PyObject_CheckBuffer(h.ptr()) && !attribute(h, "__dlpack__"))
    throw TensorError({.what = "there is no memory to write into",
                       .expected = "a NumPy array, a torch tensor or a dense strata.Tensor",
                       .got = Py_TYPE(h.ptr())->tp_name});
  if (is_torch_tensor(h) && nb::cast<bool>(h.attr("requires_grad")) && nb::cast<bool>(h.attr("is_leaf")))
    throw Unsupported(
        {.what = "a torch tensor that requires grad cannot be written in place", .fix = "pass c.detach()"});
  const Array a = to_array(h);
  if (a.copied)
    throw TensorError(
        {.what = "nothing can be written into this array where it lies",
         .expected = "aligned elements in this machine's byte order, that are no lazy conjugate or negative",
         .fix = "give a plain array, and copy the result from it"});
  if (a.data.read_only)
    throw TensorError({.what = "the memory to write into is read-only", .expected = "a writable array"});
  if (!has_own_elements(a.shape, a.strides)) refuse_overlap();
  return dense_tensor(a);
}

Package package_of(std::span<const nb::handle> operands) {
  for (nb::handle h : operands)
    if (is_torch_tensor(h)) return Package::torch;
  return Package::numpy;
}

nb::object dense_result(const Tensor& t, Package package) {
  const Part& p = t.part();
  if (package == Package::torch) return to_torch(p.values, t.shape());
  if (t.rank() == 0 && numpy_has(t.dtype())) return from_scalar(Scalar::load(t.dtype(), p.values.data));
  if (!numpy_has(t.dtype()) && imported_torch().is_valid()) return to_torch(p.values, t.shape());
  return to_numpy(p.values, t.shape());
}

void bind_border(nb::module_& m) {
  m.def(
      "from_array", [](nb::handle array) { return dense_tensor(to_array(array)); }, nb::arg("array"),
      "A dense tensor over an array of any package (any strides), borrowed. DTypeError, Unsupported (memory of a "
      "device).");
  m.def("plain_torch", &plain_torch, nb::arg("x"),
        "A torch tensor itself, where a subclass may answer for it as it likes. Unsupported.");
  m.def("refuse_gradient", &refuse_gradient, nb::arg("x"),
        "Unsupported where a torch tensor requires gradients, which torch would record now.");
  m.def("to_operand", &to_operand, nb::arg("x"), "Anything that can stand in a product, as a Tensor.");
  m.def(
      "has_buffer",
      [](nb::handle x) {
        return PyObject_CheckBuffer(x.ptr()) && !PyBytes_Check(x.ptr()) && !PyUnicode_Check(x.ptr());
      },
      nb::arg("x").none(), "Does this object speak the buffer protocol? (bytes do, and are no numbers.)");
  m.def("is_contiguous", [](nb::handle array) { return to_array(array).contiguous(); }, nb::arg("array"));
  m.def(
      "dense_to_array",
      [](const Tensor& t, const std::string& package) {
        return dense_result(t, package == "torch" ? Package::torch : Package::numpy);
      },
      nb::arg("t"), nb::arg("package") = "numpy");
  m.def(
      "scan_segments",
      [](nb::handle pos, nb::handle crd, std::int64_t extent, std::int64_t batches) {
        const Buffer p = to_index_buffer(pos, "pos"), c = to_index_buffer(crd, "crd");
        Order order;
        if (batches > 0) {
          NoGil no_gil;
          order = with_index(p.dtype, [&](auto pz) {
            return with_index(c.dtype, [&](auto cz) {
              using P = decltype(pz);
              using C = decltype(cz);
              return scan_segments<P, C>(p.as<P>(), c.as<C>(), extent, batches);
            });
          });
        }
        return nb::make_tuple(order.ordered, order.unique);
      },
      nb::arg("pos"), nb::arg("crd"), nb::arg("extent"), nb::arg("batches") = 1,
      "(ordered, unique) of the segments crd[pos[p]:pos[p + 1]].");
  m.def(
      "scan_lists",
      [](nb::handle coords) {
        std::vector<Buffer> lists;
        for (nb::handle c : coords) lists.push_back(to_index_buffer(c, "coordinates"));
        for (const auto& l : lists)
          if (l.size != lists[0].size)
            throw TensorError({.what = "lists of coordinates of different lengths",
                               .expected = std::to_string(lists[0].size),
                               .got = std::to_string(l.size)});
        NoGil no_gil;
        const Order order = scan_lists(lists);
        return std::make_pair(order.ordered, order.unique);
      },
      nb::arg("coords"), "(ordered, unique) of lists of coordinates, compared lexicographically.");
}

}  // namespace strata::bind
