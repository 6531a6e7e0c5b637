// Names of structures.
#include <unordered_map>

#include "base/fork_mutex.h"
#include "strata/format_family.h"

namespace strata {
namespace {

using detail::NamedFamily;

/// The name of one part; ranks, batches and dense dimensions are left out where they are the ones that the bare name
/// means.
std::string name_of_part(const FormatSpec& s) {
  NamedFamily previous = NamedFamily::csf;
  for (const auto& f : detail::named_formats) {
    if (f.family == previous) continue;  // another spelling
    previous = f.family;
    if (!detail::is_family(s, f.family)) continue;
    auto numbers = detail::guess_numbers(s, f.family);
    const auto last = [&] { return numbers.values[static_cast<std::size_t>(numbers.count - 1)]; };
    switch (f.family) {
      case NamedFamily::dense:
      case NamedFamily::dense_left:
      case NamedFamily::coo:
      case NamedFamily::csf:
        if (s.num_dims == 2) numbers.count = 0;
        break;
      case NamedFamily::csr:
      case NamedFamily::csc:
      case NamedFamily::bsr:
      case NamedFamily::bsr_left:
      case NamedFamily::bsc:
      case NamedFamily::bsc_left:
        for (const int least = numbers.count - 2; numbers.count > least && last() == 0;) --numbers.count;
        break;
      default: break;
    }
    std::string out(f.name);
    for (int k = 0; k < numbers.count; ++k)
      out += (k == 0 ? "(" : ", ") + std::to_string(numbers.values[static_cast<std::size_t>(k)]);
    return numbers.count > 0 ? out + ")" : out;
  }
  return "";
}

}  // namespace

namespace {
std::string find_name(const Format& f) {
  std::string out;
  for (int k = 0; k < f.num_parts(); ++k) {
    const std::string one = name_of_part(f.part(k).spec());
    if (one.empty()) return "";
    out += (k > 0 ? " + " : "") + one;
  }
  return out;
}
}  // namespace

std::string Format::name() const {
  // Every family is tried (some 100 us), and printing asks again and again.
  struct Names;
  std::mutex& mutex = fork_mutex<Names>();
  static auto* known = new std::unordered_map<Format, std::string>;
  {
    std::lock_guard lock(mutex);
    if (const auto it = known->find(*this); it != known->end()) return it->second;
  }
  const std::string name = find_name(*this);
  std::lock_guard lock(mutex);
  if (known->size() >= 256) known->clear();
  known->emplace(*this, name);
  return name;
}

bool Format::is(std::string_view name) const {
  const auto* named = detail::find_named_format(name);
  if (!named || named->numbers.empty()) return *this == parse_format(name, rank());
  const auto any = [&](NamedFamily f) { return detail::is_family(spec(), f); };
  switch (named->family) {
    // A bare name means a matrix, of any block size; BSR and BSC also in either order inside the block.
    case NamedFamily::csr:
    case NamedFamily::csc:
    case NamedFamily::bsr_left:
    case NamedFamily::bsc_left: return rank() == 2 && any(named->family);
    case NamedFamily::bsr:
      return rank() == 2 && (any(named->family) || (detail::same_word(name, "BSR") && any(NamedFamily::bsr_left)));
    case NamedFamily::bsc:
      return rank() == 2 && (any(named->family) || (detail::same_word(name, "BSC") && any(NamedFamily::bsc_left)));
    default: return any(named->family);
  }
}

}  // namespace strata
