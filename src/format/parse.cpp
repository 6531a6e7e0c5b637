// Format texts at run time: the constexpr parser, and a FormatError that says how to mend what it found.
#include <algorithm>
#include <map>
#include <mutex>

#include "base/dtype_name.h"
#include "base/fork_mutex.h"
#include "base/suggest.h"
#include "format/own_name.h"
#include "format/print.h"
#include "format/registered_levels.h"
#include "strata/format_parse.h"

namespace strata {
namespace {

/// Names that users registered, by lower-case name.
struct FormatRegistry {
  struct RegisteredFormat {
    std::string name, text;
    FormatSpec spec;
  };
  std::mutex& mutex = fork_mutex<FormatRegistry>();
  std::map<std::string, RegisteredFormat, std::less<>> entries;
};
FormatRegistry& registry() {
  static FormatRegistry* r = new FormatRegistry;  // outlives every static destructor that may still parse
  return *r;
}

std::string lower_case(std::string_view s) {
  std::string out(s);
  std::transform(out.begin(), out.end(), out.begin(), detail::lower);
  return out;
}

detail::FoundLevel find_level(std::string_view name) {
  const int kind = levels::find_registered(name);
  if (kind < 0) return {};
  return {kind, levels::registered(static_cast<LevelKind>(kind)).takes_number};
}

bool find_registered(std::string_view name, FormatSpec& found) {
  FormatRegistry& r = registry();
  std::lock_guard lock(r.mutex);
  const auto it = r.entries.find(lower_case(name));
  if (it == r.entries.end()) return false;
  found = it->second.spec;
  return true;
}

/// Short texts parsed lately: programs write the same few names over and over (10 us each otherwise).
class Recent {
 public:
  std::shared_ptr<const FormatSpec> find(std::string_view text, int rank) {
    if (text.size() > longest) return nullptr;
    std::lock_guard lock(mutex_);
    const auto it = specs_.find(std::pair<int, std::string_view>(rank, text));
    return it == specs_.end() ? nullptr : it->second;
  }
  /// `generation` is that from before parsing: a name may have been registered meanwhile.
  void add(std::string_view text, int rank, std::shared_ptr<const FormatSpec> spec, std::uint64_t generation) {
    if (text.size() > longest) return;
    std::lock_guard lock(mutex_);
    if (generation != generation_) return;
    if (specs_.size() >= most) specs_.clear();
    specs_.emplace(std::pair<int, std::string>(rank, text), std::move(spec));
  }
  std::uint64_t generation() {
    std::lock_guard lock(mutex_);
    return generation_;
  }
  void forget() {
    std::lock_guard lock(mutex_);
    ++generation_;
    specs_.clear();
  }

 private:
  static constexpr std::size_t longest = 128, most = 256;
  struct Less {
    using is_transparent = void;
    template <class A, class B> bool operator()(const A& a, const B& b) const {
      return a.first != b.first ? a.first < b.first : std::string_view(a.second) < std::string_view(b.second);
    }
  };
  std::mutex& mutex_ = fork_mutex<Recent>();
  std::uint64_t generation_ = 0;
  std::map<std::pair<int, std::string>, std::shared_ptr<const FormatSpec>, Less> specs_;
};
Recent& recent() {
  static Recent* r = new Recent;
  return *r;
}

std::string quoted_list(std::span<const std::string_view> words) {
  std::string out;
  for (const auto w : words) out += (out.empty() ? "" : ", ") + std::string(w);
  return out;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  const auto near = closest(word, candidates);
  return near.empty() ? "" : "write '" + std::string(near) + "'";
}

/// "BSR(m, n[, batch[, dense]])", or the bare name where that means something.
std::string with_numbers(const detail::NamedFormat& f) {
  const bool bare = f.numbers.empty() || f.numbers.front() == '[';
  return std::string(f.name) + (bare ? "" : "(" + std::string(f.numbers) + ")");
}

/// The name that `word` begins with ("csr_matrix", "BSR2x2"), or the nearest one.
std::string name_suggestion(std::string_view word) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const detail::NamedFormat* begins = nullptr;
  for (const auto& f : detail::named_formats)
    if (word.size() > f.name.size() && !is_letter(word[f.name.size()]) &&
        (!begins || f.name.size() > begins->name.size()) && detail::same_word(word.substr(0, f.name.size()), f.name))
      begins = &f;
  if (begins) return "write '" + with_numbers(*begins) + "'";
  const auto names = format_names();
  std::vector<std::string_view> views(names.size());
  std::transform(names.begin(), names.end(), views.begin(),
                 [](const auto& n) { return std::string_view(n.first).substr(0, n.first.find('(')); });
  return suggestion(word, views);
}

[[noreturn]] void raise(const detail::FormatParser& parser, std::string_view text) {
  using Fault = detail::FormatFault;
  const Fault& f = parser.fault;
  const std::string got(text.substr(f.where.begin, std::min<std::size_t>(f.where.end - f.where.begin, 100)));
  Problem p{.what = {},
            .expected = f.expected,
            .got = got,
            .fix = f.fix,
            .text = std::string(text),
            .where = {f.where.begin, f.where.end}};
  for (const char* c = f.what; *c; ++c) {
    if (*c == '%') p.what += got;
    else p.what += *c;
  }
  const std::span<const std::string_view> dims(parser.names.data(), static_cast<std::size_t>(parser.num_names));
  switch (f.hint) {
    case Fault::level_type: {
      const std::vector<std::string> types = level_types();
      const std::vector<std::string_view> names(types.begin(), types.end());
      for (std::size_t k = detail::level_kind_words.size(); k < names.size(); ++k) p.expected += ", " + types[k];
      p.fix = suggestion(got, names);
      if (p.fix.empty()) p.fix = "a type of your own is made known by register_level";
      break;
    }
    case Fault::property: p.fix = suggestion(got, detail::property_words); break;
    case Fault::dimension:
      p.expected = dims.empty() ? "no dimension at all" : quoted_list(dims);
      p.fix = suggestion(got, dims);
      break;
    case Fault::name: p.fix = name_suggestion(got); break;
    case Fault::numbers:
      if (const auto* named =
              detail::find_named_format(std::string_view(got).substr(0, got.find_first_of(" \t\r\n#("))))
        p.fix = "write '" + with_numbers(*named) + "'";
      break;
    case Fault::other_half: {
      ExprNode other = parser.spec.exprs[static_cast<std::size_t>(f.node)];
      other.op = other.op == ExprNode::div ? ExprNode::mod : ExprNode::div;
      p.fix = "add a level '" + print_expr(parser.spec, other, dims) + "'";
      break;
    }
    case Fault::skew_side: {
      const ExprNode& skew = parser.spec.exprs[static_cast<std::size_t>(f.node)];
      p.fix = "add a level '" + print_expr(parser.spec, parser.spec.exprs[static_cast<std::size_t>(skew.a)], dims) +
              "' or '" + print_expr(parser.spec, parser.spec.exprs[static_cast<std::size_t>(skew.b)], dims) + "'";
      break;
    }
    case Fault::missing_level: p.fix = "add a level '" + got + " : dense'"; break;
    case Fault::none: break;
  }
  throw FormatError(std::move(p));
}

}  // namespace

Format parse_format(std::string_view text, int rank) {
  if (rank > max_dims)
    throw FormatError({.what = "too many dimensions",
                       .expected = "at most " + std::to_string(max_dims),
                       .got = std::to_string(rank)});
  if (const auto known = recent().find(text, rank)) return Format(known);
  const auto generation = recent().generation();
  detail::FormatParser parser(text, rank, {find_registered, find_level});
  if (!parser.parse()) raise(parser, text);
  auto spec = std::make_shared<const FormatSpec>(parser.spec);
  recent().add(text, rank, spec, generation);
  return Format(std::move(spec));
}

void register_format(std::string_view name, std::string_view text) {
  if (!is_own_name(name))
    throw FormatError({.what = "a format cannot have this name",
                       .expected = "a letter, then letters, digits and '_': at most 64 characters",
                       .got = std::string(name.substr(0, 100))});
  if (detail::find_named_format(name) || detail::same_word(name, "TensorFormat"))
    throw FormatError({.what = "the name '" + std::string(name) + "' is built in",
                       .expected = "a name of your own",
                       .got = std::string(name)});
  if (is_dtype_name(lower_case(name)))
    throw FormatError({.what = "'" + std::string(name) + "' is the name of a dtype",
                       .expected = "a name of your own",
                       .got = std::string(name)});
  const Format format = parse_format(text);
  FormatRegistry::RegisteredFormat entry{std::string(name), format.to_string(), format.spec()};
  {
    FormatRegistry& r = registry();
    std::lock_guard lock(r.mutex);
    r.entries.insert_or_assign(lower_case(name), std::move(entry));
  }
  recent().forget();
}

std::vector<std::pair<std::string, std::string>> format_names() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& f : detail::named_formats)
    out.emplace_back(std::string(f.name) + (f.numbers.empty() ? "" : "(" + std::string(f.numbers) + ")"),
                     std::string(f.meaning));
  FormatRegistry& r = registry();
  std::lock_guard lock(r.mutex);
  for (const auto& [key, entry] : r.entries) out.emplace_back(entry.name, entry.text);
  return out;
}

}  // namespace strata
