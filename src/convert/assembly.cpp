// A known pattern, filled again and again. The pattern is made by from_coo itself, of numbers in the place of values:
// so it is right for whatever from_coo builds.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/steps.h"
#include "base/share.h"
#include "base/sum_in_pairs.h"
#include "convert/coordinate_lists.h"
#include "levels/index_view.h"
#include "strata/build.h"
#include "tensor/values.h"

namespace strata {

using namespace conversion;

namespace {

/// Where the values of one part's slots come from: slot s is the sum of source[starts[s]] .. source[starts[s + 1] - 1].
/// Gathered, not scattered: each slot has one writer, and its sum one order.
struct Sources {
  Buffer starts, source;
  std::int64_t slots() const { return starts.size - 1; }
};

/// All elements in row-major order, those of one place beside each other as they came.
struct ElementsByPlace {
  PodArray<SortItem> items;
  std::vector<std::int64_t> starts;  ///< of each place in `items`, and their end
  std::vector<Buffer> coords;
  std::int64_t size() const { return static_cast<std::int64_t>(starts.size()) - 1; }
};

ElementsByPlace find_places(std::span<const Buffer> coords, std::int64_t n, const Shape& shape) {
  Elements elements(dense_format(static_cast<int>(shape.size())), shape, DType::u8);
  elements.reserve(n);
  const std::vector<char> no_values(1024);  // what is looked for is their order alone
  read_lists(coords, n, shape, [&](std::int64_t, std::int64_t count, const std::int64_t* const* dims) {
    elements.append({static_cast<int>(count), dims, no_values.data()});
  });
  ElementsByPlace found;
  found.items = elements.order();
  const auto at = [&](std::int64_t k) {
    return static_cast<std::size_t>(found.items[static_cast<std::size_t>(k)].index);
  };
  const bool single = elements.layout().used.size() == 1;
  for (std::int64_t k = 0; k < n; ++k) {
    poll_at(k);
    const auto e = static_cast<std::size_t>(k);
    if (k == 0 || (single ? found.items[e].key != found.items[e - 1].key : !elements.same_place(at(k), at(k - 1))))
      found.starts.push_back(k);
  }
  found.starts.push_back(n);
  const DType index = index_dtype_for(shape.empty() ? 0 : *std::max_element(shape.begin(), shape.end()));
  for (std::size_t d = 0; d < shape.size(); ++d) {
    found.coords.push_back(Buffer::allocate(index, found.size()));
    with_index_type(index, [&]<class T>(T) {
      auto* out = static_cast<T*>(found.coords[d].data);
      in_steps(0, found.size(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = begin; p < end; ++p)
          out[p] = static_cast<T>(
              elements.coordinate(d, static_cast<std::int64_t>(at(found.starts[static_cast<std::size_t>(p)]))));
      });
    });
  }
  return found;
}

/// `numbers`: per slot the place whose value it holds, counted from 1; anything else where it holds none.
template <class I> Sources sources_of(const Buffer& numbers, const ElementsByPlace& places) {
  const auto* number = static_cast<const std::int64_t*>(numbers.data);
  const std::int64_t slots = numbers.size, count = places.size();
  const auto place_of = [&](std::int64_t s) { return number[s] >= 1 && number[s] <= count ? number[s] - 1 : -1; };
  const auto begin_of = [&](std::int64_t p) { return places.starts[static_cast<std::size_t>(p)]; };
  Sources out{Buffer::allocate(dtype_of<I>(), slots + 1), {}};
  auto* starts = static_cast<I*>(out.starts.data);
  std::int64_t sum = 0;
  for (std::int64_t s = 0; s < slots; ++s) {
    poll_at(s);
    starts[s] = static_cast<I>(sum);
    if (const auto p = place_of(s); p >= 0) sum += begin_of(p + 1) - begin_of(p);
  }
  starts[slots] = static_cast<I>(sum);
  out.source = Buffer::allocate(dtype_of<I>(), sum);
  auto* source = static_cast<I*>(out.source.data);
  constexpr std::int64_t chunk = 1 << 14;
  parallel_for(ceil_div(slots, chunk), [&](std::int64_t c) {
    for (std::int64_t s = c * chunk; s < std::min(slots, (c + 1) * chunk); ++s)
      if (const auto p = place_of(s); p >= 0)
        for (std::int64_t k = begin_of(p), to = starts[s]; k < begin_of(p + 1); ++k, ++to)
          source[to] = static_cast<I>(places.items[static_cast<std::size_t>(k)].index);
  });
  return out;
}

template <class Tag, class I>
void fill_slots(const Sources& from, const Buffer& values, typename Tag::Storage absent, void* out) {
  using Storage = typename Tag::Storage;
  using Wide = typename Tag::Wide;
  const auto* const starts = static_cast<const I*>(from.starts.data);
  const auto* const source = static_cast<const I*>(from.source.data);
  const auto* const in = static_cast<const char*>(values.data);
  auto* const to = static_cast<Storage*>(out);
  const auto bits = [&](std::int64_t k) {
    return load_as<Storage>(in + static_cast<std::int64_t>(source[k]) * static_cast<std::int64_t>(sizeof(Storage)));
  };
  const auto value = [&](std::int64_t k) { return widen_value<Tag>(bits(k)); };
  const auto add = [](Wide a, Wide b) { return add_values<Tag>(a, b); };
  const std::int64_t slots = from.slots();
  // Chunks of equal work, which is some slots and their sources: slot s begins at work s + starts[s].
  const std::int64_t work = slots + from.source.size, chunks = std::max<std::int64_t>(work >> 15, 1);
  const auto first_of = [&](std::int64_t c) {
    const std::int64_t wanted = begin_of_share(work, c, chunks);
    const auto before = [&](std::int64_t s) { return s + static_cast<std::int64_t>(starts[s]) < wanted; };
    return c == chunks ? slots : partition_point(0, slots, before);
  };
  parallel_for(chunks, [&](std::int64_t c) {
    const std::int64_t last = first_of(c + 1);
    for (std::int64_t s = first_of(c); s < last; ++s) {
      const std::int64_t begin = starts[s], end = starts[s + 1];
      if (end - begin == 1) {
        to[s] = bits(begin);
      } else if (begin == end) {
        to[s] = absent;
      } else if (end - begin <= few_terms) {
        Wide sum = value(begin);
        for (std::int64_t k = begin + 1; k < end; ++k) sum = add(sum, value(k));
        to[s] = narrow_value<Tag>(sum);
      } else {
        to[s] = narrow_value<Tag>(static_cast<Wide>(sum_in_pairs(begin, end, value, add)));
      }
    }
  });
}

}  // namespace

struct Assembly::Impl {
  TensorType type;          ///< of the numbers
  std::vector<Part> parts;  ///< without values
  std::vector<Sources> sources;
  std::optional<DType> dtype;
  std::int64_t size = 0, nse = 0;
};

Assembly::Assembly(std::span<const Buffer> coords, const Shape& shape, const Format& format,
                   const ConvertOptions& options) {
  if (options.zeros != Zeros::automatic)
    throw TensorError({.what = "an assembly keeps the same places whatever values come",
                       .expected = "zeros as they are by default",
                       .got = options.zeros == Zeros::drop ? "drop" : "another rule",
                       .fix = "drop_zeros() of the tensors that it gives"});
  check_shape(format, shape);
  const std::int64_t n = coords.empty() ? 1 : coords[0].size;
  check_lists(coords, n, shape);
  const ElementsByPlace places = find_places(coords, n, shape);
  const Buffer numbers = Buffer::allocate(DType::i64, places.size());
  std::iota(numbers.as<std::int64_t>().begin(), numbers.as<std::int64_t>().end(), std::int64_t{1});
  ConvertOptions of_pattern = options;
  of_pattern.dtype.reset();
  const Tensor pattern = from_coo(places.coords, numbers, shape, format, of_pattern);

  auto impl = std::make_shared<Impl>();
  impl->type = pattern.type();
  impl->dtype = options.dtype;
  impl->size = n;
  impl->nse = pattern.nse();
  for (int k = 0; k < pattern.num_parts(); ++k) {
    Part part = pattern.part(k);
    impl->sources.push_back(n <= INT32_MAX ? sources_of<std::int32_t>(part.values, places)
                                           : sources_of<std::int64_t>(part.values, places));
    part.values = {};
    impl->parts.push_back(std::move(part));
  }
  impl_ = std::move(impl);
}

Tensor Assembly::assemble(const Buffer& given, std::optional<Scalar> fill) const {
  if (given.size != impl_->size)
    throw TensorError({.what = "the values do not fit the pattern",
                       .expected = std::to_string(impl_->size) + " of them, one for each coordinate",
                       .got = std::to_string(given.size)});
  const Buffer values = impl_->dtype && *impl_->dtype != given.dtype ? given.cast(*impl_->dtype) : given;
  TensorType type = impl_->type;
  type.dtype = values.dtype;
  type.fill = as_fill(fill ? fill->as(values.dtype) : Scalar::zero(values.dtype));
  std::vector<Part> parts = impl_->parts;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Sources& from = impl_->sources[k];
    parts[k].values = Buffer::allocate(values.dtype, from.slots());
    with_value_type(values.dtype, [&]<class Tag>(Tag) {
      const auto absent = load_as<typename Tag::Storage>(type.fill.bits);
      if (from.starts.dtype == DType::i32) fill_slots<Tag, std::int32_t>(from, values, absent, parts[k].values.data);
      else fill_slots<Tag, std::int64_t>(from, values, absent, parts[k].values.data);
    });
  }
  return make_from_parts(std::move(type), std::move(parts));
}

std::int64_t Assembly::size() const { return impl_->size; }
std::int64_t Assembly::nse() const { return impl_->nse; }
std::optional<DType> Assembly::dtype() const { return impl_->dtype; }
const Shape& Assembly::shape() const { return impl_->type.shape; }
const Format& Assembly::format() const { return impl_->type.format; }

}  // namespace strata
