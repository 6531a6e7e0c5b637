#include "strata/schedule.h"

#include <array>
#include <charconv>

#include "base/suggest.h"
#include "expr/scanner.h"

namespace strata {
namespace {

using Kind = Schedule::Verb::Kind;

constexpr std::array<std::string_view, 7> verb_names = {"split",  "reorder",    "parallelize", "vectorize",
                                                        "unroll", "precompute", "assemble"};
constexpr std::array<std::string_view, 3> assembly_names = {"append", "workspace", "pattern"};

std::string joined(const auto& words, std::string_view between) {
  std::string out;
  for (const auto& w : words) out += (out.empty() ? "" : std::string(between)) + std::string(w);
  return out;
}

class ScheduleParser : private Scanner {
 public:
  explicit ScheduleParser(std::string_view text) : Scanner(text) {
    if (text.size() > max_expression_text) refuse("the schedule is too long", {0, 1}, "at most 65536 characters");
  }

  Schedule whole() {
    Schedule out;
    while (peek() != 0) {
      verb(out);
      if (peek() != 0) expect(';', "';' or the end");
    }
    return out;
  }

 private:
  void verb(Schedule& out) {
    const Word name = word("a verb");
    const std::size_t kind = number_of(name, verb_names, "no verb of a schedule");
    expect('(', "'('");
    switch (static_cast<Kind>(kind)) {
      case Kind::split: {
        const std::string index = word("an index").text;
        expect(',', "','");
        const std::string outer = word("the outer index").text;
        expect(',', "','");
        const std::string inner = word("the inner index").text;
        expect(',', "','");
        out.split(index, outer, inner, number());
        break;
      }
      case Kind::reorder: {
        std::vector<std::string> indices;
        do indices.push_back(word("an index").text);
        while (take(','));
        out.reorder(std::move(indices));
        break;
      }
      case Kind::parallelize: out.parallelize(word("an index").text); break;
      case Kind::vectorize: out.vectorize(word("an index").text); break;
      case Kind::unroll: out.unroll(word("an index").text); break;
      case Kind::precompute: precompute(out); break;
      case Kind::assemble:
        out.assemble(static_cast<ResultAssembly>(number_of(word("a way"), assembly_names, "no way to assemble")));
        break;
    }
    expect(')', "')'");
  }

  template <std::size_t n>
  std::size_t number_of(const Word& w, const std::array<std::string_view, n>& names, const char* what) const {
    for (std::size_t k = 0; k < n; ++k)
      if (names[k] == w.text) return k;
    const std::string close(closest(w.text, names));
    refuse(what, w.where, joined(names, ", "), w.text, close.empty() ? "" : "write '" + close + "'");
  }

  std::int64_t number() {
    peek();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(text_.data() + begin, text_.data() + at_, value);
    if (failed != std::errc() || value < 1) {
      const std::string got = begin == at_ ? here() : std::string(text_.substr(begin, at_ - begin));
      refuse("the size of a split is missing", {begin, std::max(at_, std::min(begin + 1, text_.size()))},
             "a whole number from 1 on", got);
    }
    return value;
  }

  /// T(i,k) = A(i,j) * B(j,k) : FORMAT, up to the parenthesis that closes the verb.
  void precompute(Schedule& out) {
    const std::size_t begin = at_;
    std::size_t colon = 0;
    int depth = 0;
    while (at_ < text_.size() && !(depth == 0 && text_[at_] == ')')) {
      depth += (text_[at_] == '(') - (text_[at_] == ')');
      if (text_[at_] == ':' && depth == 0 && colon == 0) colon = at_;
      ++at_;
    }
    const std::size_t end = colon == 0 ? at_ : colon;
    std::optional<Format> format;
    if (colon != 0)
      format = parse_format(text_.substr(colon + 1, at_ - colon - 1),
                            static_cast<int>(parse_assignment(text_.substr(begin, end - begin)).indices.size()));
    out.precompute(text_.substr(begin, end - begin), std::move(format));
  }
};

}  // namespace

std::string_view name_of(ResultAssembly how) { return assembly_names[static_cast<std::size_t>(how)]; }

Schedule& Schedule::add(Verb verb) {
  verbs_.push_back(std::move(verb));
  return *this;
}

Schedule& Schedule::split(std::string index, std::string outer, std::string inner, std::int64_t size) {
  if (size < 1)
    throw ExpressionError(
        {.what = "a split into pieces of no size", .expected = "a size from 1 on", .got = std::to_string(size)});
  return add({.kind = Kind::split, .indices = {std::move(index), std::move(outer), std::move(inner)}, .size = size});
}
Schedule& Schedule::reorder(std::vector<std::string> indices) {
  return add({.kind = Kind::reorder, .indices = std::move(indices)});
}
Schedule& Schedule::parallelize(std::string index) {
  return add({.kind = Kind::parallelize, .indices = {std::move(index)}});
}
Schedule& Schedule::vectorize(std::string index) {
  return add({.kind = Kind::vectorize, .indices = {std::move(index)}});
}
Schedule& Schedule::unroll(std::string index) { return add({.kind = Kind::unroll, .indices = {std::move(index)}}); }
Schedule& Schedule::precompute(std::string_view assignment, std::optional<Format> format) {
  return add({.kind = Kind::precompute, .workspace = parse_assignment(assignment), .format = std::move(format)});
}
Schedule& Schedule::assemble(ResultAssembly how) { return add({.kind = Kind::assemble, .assembly = how}); }

std::string Schedule::Verb::to_string() const {
  std::string inside = joined(indices, ", ");
  if (kind == split) inside += ", " + std::to_string(size);
  if (kind == precompute) inside = workspace->to_string() + (format ? " : " + format->to_string() : "");
  if (kind == assemble) inside = name_of(assembly);
  return std::string(verb_names[static_cast<std::size_t>(kind)]) + "(" + inside + ")";
}

std::string Schedule::to_string() const {
  std::vector<std::string> texts;
  for (const Verb& v : verbs_) texts.push_back(v.to_string());
  return joined(texts, "; ");
}

Schedule parse_schedule(std::string_view text) { return ScheduleParser(text).whole(); }

}  // namespace strata
