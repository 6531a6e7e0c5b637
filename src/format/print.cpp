#include "format/print.h"

#include "format/registered_levels.h"
#include "strata/format_fault.h"

namespace strata {
namespace {

const ExprNode& node_at(const FormatSpec& s, int e) { return s.exprs[static_cast<std::size_t>(e)]; }

std::vector<std::string_view> dim_names(const FormatSpec& s) {
  std::vector<std::string_view> out;
  for (int d = 0; d < s.num_dims; ++d) out.emplace_back(s.dims[static_cast<std::size_t>(d)].data());
  return out;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) out += (i > 0 ? ", " : "") + std::string(words[i]);
  return out;
}

bool has_number(const Level& l) {
  return l.kind == LevelKind::delta || l.kind == LevelKind::structured || (l.kind == LevelKind::padded && l.arg > 0) ||
         (levels::is_registered(l.kind) && l.arg > 0);
}

/// `delta(2)`, `compressed(nonunique, unordered)`, `dense`
std::string print_type(const Level& l) {
  std::string arguments;
  const auto add = [&](const std::string& a) { arguments += (arguments.empty() ? "" : ", ") + a; };
  if (has_number(l)) add(std::to_string(l.arg));
  if (!l.unique) add("nonunique");
  if (!l.ordered) add("unordered");
  return std::string(name_of(l.kind)) + (arguments.empty() ? "" : "(" + arguments + ")");
}

/// `<LevelFormat.DENSE>`, `(<LevelFormat.DELTA>, 2)`, `(<LevelFormat.COMPRESSED>, (<LevelProperty.NONUNIQUE>,
/// <LevelProperty.UNORDERED>))`
std::string print_blog_type(const Level& l) {
  std::string kind = "<LevelFormat.";
  for (const char c : name_of(l.kind)) kind += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  kind += ">";
  std::string properties;
  if (!l.unique) properties = "<LevelProperty.NONUNIQUE>";
  if (!l.ordered) properties += (properties.empty() ? "" : ", ") + std::string("<LevelProperty.UNORDERED>");
  if (!l.unique && !l.ordered) properties = "(" + properties + ")";
  std::string out = kind;
  if (has_number(l)) out += ", " + std::to_string(l.arg);
  if (!properties.empty()) out += ", " + properties;
  return out.size() > kind.size() ? "(" + out + ")" : out;
}

template <class Level> std::string print_parts(const FormatSpec& s, Level level) {
  std::string out;
  for (int k = 0; k < s.num_parts; ++k) {
    const auto& part = s.parts[static_cast<std::size_t>(k)];
    if (k > 0) out += " + ";
    out += level(k, -1);
    for (int l = 0; l < part.num_levels; ++l) out += (l > 0 ? ", " : "") + level(k, part.first_level + l);
    out += ")";
  }
  return out;
}

}  // namespace

std::string print_expr(const FormatSpec& spec, const ExprNode& node, std::span<const std::string_view> dims,
                       bool python) {
  const auto operand = [&](int e) {
    const ExprNode& n = node_at(spec, e);
    const std::string text = print_expr(spec, n, dims, python);
    return n.op == ExprNode::dim ? text : "(" + text + ")";
  };
  switch (node.op) {
    case ExprNode::dim: return std::string(dims[static_cast<std::size_t>(node.a)]);
    case ExprNode::div: return operand(node.a) + (python ? " // " : " / ") + std::to_string(node.n);
    case ExprNode::mod: return operand(node.a) + " % " + std::to_string(node.n);
    case ExprNode::add: return operand(node.a) + " + " + operand(node.b);
    default: return operand(node.a) + " - " + operand(node.b);
  }
}

std::string text_of(const FormatSpec& spec) {
  const auto dims = dim_names(spec);
  return print_parts(spec, [&](int, int l) {
    if (l < 0) return "(" + joined(dims) + ") -> (";
    const Level& level = spec.levels[static_cast<std::size_t>(l)];
    return print_expr(spec, node_at(spec, level.expr), dims) + " : " + print_type(level);
  });
}

std::string blog_text_of(const FormatSpec& spec) {
  const auto dims = dim_names(spec);
  return print_parts(spec, [&](int, int l) {
    if (l < 0) return "[" + joined(dims) + "] -> (";
    const Level& level = spec.levels[static_cast<std::size_t>(l)];
    const ExprNode& e = node_at(spec, level.expr);
    const std::string text = print_expr(spec, e, dims, true);
    return (e.op == ExprNode::dim ? text : "(" + text + ")") + ": " + print_blog_type(level);
  });
}

std::string_view name_of(LevelKind kind) {
  if (levels::is_registered(kind)) return levels::registered(kind).type.name;
  return detail::level_kind_words[static_cast<std::size_t>(kind)];
}

}  // namespace strata
