#include "reference/assemble.h"

#include <algorithm>

#include "base/checked.h"
#include "convert/convert_elements.h"
#include "reference/groups.h"

namespace strata::evaluation {

Tensor assemble(const Tree& tree, int root, const Mask* mask, const ResultDescription& to) {
  const std::size_t width = size_of(to.dtype);
  const auto each = [&](const auto& f) {
    tree.for_each_slab(root, mask, to.output, [&](Rows rows, const NodeValues& v) {
      std::vector<const Ints*> dims;
      for (int o : to.output) dims.push_back(rows.column(o));
      Column values = cast(v.values, to.dtype);
      Ints there;
      const bool some = !v.present.empty();
      if (some) there = present_rows(v);
      f(dims, values, some ? &there : nullptr, rows.n);
    });
  };
  if (to.format.is_all_dense() && to.format == conversion::dense_format(to.format.rank())) {
    const auto n = checked_product(to.shape);
    if (!n || *n > INT64_MAX / 16) throw std::bad_alloc();
    Buffer out = Buffer::allocate(to.dtype, *n);
    std::vector<char> one(width);
    store(to.fill, one.data());
    for (std::int64_t k = 0; k < *n; ++k)
      std::copy_n(one.data(), width, static_cast<char*>(out.data) + k * static_cast<std::int64_t>(width));
    std::vector<char> bytes;
    each([&](const std::vector<const Ints*>& dims, const Column& values, const Ints* there, std::int64_t rows) {
      bytes.resize(values.size() * width);
      store(values, bytes.data());
      const std::int64_t count = there ? static_cast<std::int64_t>(there->size()) : rows;
      for (std::int64_t k = 0; k < count; ++k) {
        const auto r = static_cast<std::size_t>(there ? (*there)[static_cast<std::size_t>(k)] : k);
        std::int64_t at = 0;
        for (std::size_t d = 0; d < dims.size(); ++d) at = at * to.shape[d] + (*dims[d])[r];
        std::copy_n(bytes.data() + r * width, width,
                    static_cast<char*>(out.data) + at * static_cast<std::int64_t>(width));
      }
    });
    std::vector<std::int64_t> strides(to.shape.size());
    std::int64_t step = 1;
    for (std::size_t d = strides.size(); d-- > 0;) {
      strides[d] = step;
      step *= std::max<std::int64_t>(to.shape[d], 1);
    }
    return borrow_dense(out, to.shape, strides);
  }
  const auto emit = [&](const conversion::Sink& sink) {
    std::vector<char> bytes;
    each([&](const std::vector<const Ints*>& dims, const Column& values, const Ints* there, std::int64_t rows) {
      const Column chosen = there ? gather(values, *there, to.fill) : values;
      bytes.resize(chosen.size() * width);
      store(chosen, bytes.data());
      std::vector<Ints> columns(dims.size());
      constexpr std::int64_t step = 1 << 12;
      const std::int64_t count = there ? static_cast<std::int64_t>(there->size()) : rows;
      std::vector<const std::int64_t*> starts(dims.size());
      if (there)
        for (std::size_t d = 0; d < dims.size(); ++d)
          for (auto r : *there) columns[d].push_back((*dims[d])[static_cast<std::size_t>(r)]);
      for (std::int64_t begin = 0; begin < count; begin += step) {
        for (std::size_t d = 0; d < dims.size(); ++d) starts[d] = (there ? columns[d].data() : dims[d]->data()) + begin;
        sink({static_cast<int>(std::min(step, count - begin)), starts.data(),
              bytes.data() + static_cast<std::size_t>(begin) * width});
      }
    });
  };
  return conversion::assemble({emit}, to.dtype, to_scalar(to.fill), to.shape, to.format, {});
}

}  // namespace strata::evaluation
