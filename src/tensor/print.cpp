// The printed form of a tensor, line by line as nvmath-python's universal sparse tensor prints itself.
#include <algorithm>
#include <cstdio>

#include "tensor/tensor_impl.h"

namespace strata {
namespace {

/// "[a, b, c] #3"; beyond 32 items the first 32 and "...", beyond 64 the last 32 too.
std::string list(std::int64_t n, const std::function<std::string(std::int64_t)>& item) {
  std::string s = "[";
  const auto append = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) s += (s.size() > 1 ? ", " : "") + item(k);
  };
  append(0, std::min<std::int64_t>(n, 32));
  if (n > 32) s += ", ...";
  if (n > 64) append(n - 32, n);
  return s + "] #" + std::to_string(n);
}

std::string numbers(std::span<const std::int64_t> values) {
  std::string s = "[";
  for (std::size_t k = 0; k < values.size(); ++k) s += (k ? ", " : "") + std::to_string(values[k]);
  return s + "]";
}

std::string line(const std::string& name, const std::string& text) {
  return name + std::string(name.size() < 9 ? 9 - name.size() : 0, ' ') + ": " + text + "\n";
}

/// The type of coordinates: packed ones by their bits. Where several kinds mix, the unpacked arrays' type.
std::string crd_type(const Tensor& t) {
  int bits = 0;
  bool plain = false;
  for (int k = 0; k < t.num_parts(); ++k)
    for (std::size_t l = 0; l < t.part(k).ranges.size(); ++l) {
      const Level& level = t.part(k).format.level(static_cast<int>(l));
      const int b = level.kind == LevelKind::bitmap ? 1 : packed_bits(level, t.part(k).ranges[l].size);
      if (b) bits = std::max(bits, b);
      else if (storage::has_crd(level.kind)) plain = true;
    }
  return bits && !plain ? "uint" + std::to_string(bits) : std::string(name_of(t.type().crd_dtype));
}

std::string print_part(const Tensor& t, const Part& p) {
  std::string s;
  const auto count = batches(p);
  std::vector<std::vector<storage::LevelView>> views;
  std::vector<std::vector<std::int64_t>> counts;
  for (std::int64_t b = 0; b < count; ++b) {
    views.push_back(level_views(p, b));
    counts.push_back(level_counts(p, views.back()));
  }
  // Batches stand one behind the other.
  const auto concatenated = [&](const auto& length, const auto& item) {
    std::int64_t n = 0;
    std::vector<std::int64_t> starts;
    for (std::size_t b = 0; b < views.size(); ++b) starts.push_back(n), n += length(b);
    return list(n, [&](std::int64_t k) {
      std::size_t b = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), k) - starts.begin()) - 1;
      return item(b, k - starts[b]);
    });
  };
  for (std::size_t l = static_cast<std::size_t>(batch_levels(p)); l < p.ranges.size(); ++l)
    if (storage::has_pos(p.format.level(static_cast<int>(l)).kind))
      s += line("pos[" + std::to_string(l) + "]",
                concatenated([&](std::size_t b) { return counts[b][l] + 1; },
                             [&](std::size_t b, std::int64_t k) { return std::to_string(views[b][l].pos[k]); }));
  for (std::size_t l = static_cast<std::size_t>(batch_levels(p)); l < p.ranges.size(); ++l) {
    const LevelKind kind = p.format.level(static_cast<int>(l)).kind;
    if (!storage::has_crd(kind)) continue;
    if (kind == LevelKind::bitmap) {  // its coordinates, as if it were compressed
      const Buffer crd = t.num_parts() == 1 ? t.crd(static_cast<int>(l))
                                            : make_from_parts(
                                                  [&] {
                                                    TensorType type = t.type();
                                                    type.format = p.format;
                                                    return type;
                                                  }(),
                                                  {p})
                                                  .crd(static_cast<int>(l));
      const std::int64_t each = count ? crd.size / count : 0;
      s += line("crd[" + std::to_string(l) + "]",
                concatenated([&](std::size_t b) { return counts[b][l + 1]; },
                             [&](std::size_t b, std::int64_t k) {
                               return std::to_string(crd.index(static_cast<std::int64_t>(b) * each + k));
                             }));
      continue;
    }
    s += line(
        "crd[" + std::to_string(l) + "]",
        concatenated([&](std::size_t b) { return storage::crd_entries(views[b][l], counts[b][l], counts[b][l + 1]); },
                     [&](std::size_t b, std::int64_t k) { return std::to_string(views[b][l].coordinate(k)); }));
  }
  const auto width = static_cast<std::int64_t>(size_of(t.dtype()));
  const auto value = [&](std::int64_t slot) {
    return Scalar::load(t.dtype(), static_cast<const char*>(p.values.data) + slot * width).to_string();
  };
  if (count_slots(p, t.shape()) == 0) return s;
  if (p.format.is_all_dense()) {
    const std::int64_t n = counts[0].back();
    s += line("values", list(n, [&](std::int64_t k) {
                std::int64_t slot = p.values_offset;
                for (std::size_t l = p.ranges.size(); l-- > 0; k /= p.ranges[l].size)
                  slot += k % p.ranges[l].size * p.strides[l];
                return value(slot);
              }));
    return s;
  }
  s += line("values",
            concatenated([&](std::size_t b) { return counts[b].back(); },
                         [&](std::size_t b, std::int64_t k) {
                           return value(static_cast<std::int64_t>(b) * (batch_levels(p) ? p.values_batch_stride : 0) +
                                        k * p.value_stride);
                         }));
  return s;
}

std::string level_sizes(const Part& p) {
  std::vector<std::int64_t> sizes;
  for (const LevelRange& r : p.ranges) sizes.push_back(r.size);
  return numbers(sizes);
}

}  // namespace

std::string to_string(const Tensor& t) {
  int levels = 0;
  for (int k = 0; k < t.num_parts(); ++k) levels += t.part(k).format.num_levels();
  std::string s = "---- Sparse Tensor<VAL=" + std::string(name_of(t.dtype())) +
                  ",POS=" + std::string(name_of(t.type().pos_dtype)) + ",CRD=" + crd_type(t) +
                  ",DIM=" + std::to_string(t.rank()) + ",LVL=" + std::to_string(levels) + ">\n";
  s += line("format", t.format().to_blog_string());
  s += line("device", t.type().device.to_string());
  s += line("dim", numbers(t.shape()));
  if (t.num_parts() == 1) s += line("lvl", level_sizes(t.part()));
  s += line("nse", std::to_string(t.nse()));
  if (!t.fill().same_bits(Scalar::zero(t.dtype()))) s += line("fill", t.fill().to_string());
  for (int k = 0; k < t.num_parts(); ++k) {
    const Part& p = t.part(k);
    if (t.num_parts() > 1) {
      s += line("part[" + std::to_string(k) + "]", p.format.to_blog_string());
      s += line("lvl", level_sizes(p));
    }
    s += print_part(t, p);
  }
  s += line("data", std::to_string(t.nbytes()) + " bytes");
  double size = 1;
  for (auto e : t.shape()) size *= static_cast<double>(e);
  char percent[64];
  std::snprintf(percent, sizeof percent, "%.2f%%",
                size > 0 ? 100.0 - 100.0 * static_cast<double>(t.nse()) / size : 0.0);
  return s + line("sparsity", percent) + "----";
}

}  // namespace strata
