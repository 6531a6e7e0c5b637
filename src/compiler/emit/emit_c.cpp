// One kernel as C. Two functions come out: the loops, whose buffers are restrict parameters (the only place where clang
// believes restrict), and the entry that unpacks the arguments.
#include "compiler/emit/emit_c.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/small_float.h"
#include "compiler/emit/c_expression.h"
#include "compiler/passes/simplify.h"
#include "strata/error.h"

namespace strata {

using ir::Expr;
using ir::Stmt;
using ir::StmtNode;
using ir::ValueNode;

namespace {

/// What the body refers to, and every name in it.
struct Uses {
  std::set<int> buffers;
  std::set<std::string> names;  ///< read: variables, scalars, begin, end, chunk
  std::set<std::string> declared;

  void visit(const Expr& e) {
    if (!e) return;
    if (e->kind == ValueNode::load) buffers.insert(e->index);
    if (e->kind == ValueNode::variable || e->kind == ValueNode::scalar_param) names.insert(e->name);
    for (const auto& a : e->args) visit(a);
  }
  void visit(const Stmt& s) {
    for (const auto* e : {&s->index, &s->value, &s->begin, &s->end}) visit(*e);
    if (s->kind == StmtNode::store || s->kind == StmtNode::store_or || s->kind == StmtNode::prefetch)
      buffers.insert(s->buffer);
    if (s->kind == StmtNode::let || s->kind == StmtNode::declare || s->kind == StmtNode::loop) declared.insert(s->name);
    for (const auto& child : s->body) visit(child);
  }
};

/// Words in lines of at most 120 characters, further lines indented.
std::string in_lines(const std::string& start, const std::vector<std::string>& words, const std::string& finish) {
  std::string result, line = start;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? "," : finish);
    if (line.size() + word.size() + 1 > 120) {
      result += line + "\n";
      line = "    ";
    } else if (i > 0) {
      line += " ";
    }
    line += word;
  }
  return result + line + (words.empty() ? finish : "") + "\n";
}

class Emitter {
 public:
  explicit Emitter(const ir::Function& f)
      : f_(f), expression_(prologue_, f_, [this](const std::string& name) { return c_name(name); }) {}

  std::string run() {
    uses_.visit(f_.body);
    for (const auto& b : f_.buffers) taken_.insert(b.name);
    for (const auto& s : f_.scalars) taken_.insert(s);
    for (const char* name : {"begin", "end", "chunk"}) taken_.insert(name);
    for (const auto& name : uses_.declared) taken_.insert(name);
    scopes_.emplace_back();
    body(f_.body);
    return finish();
  }

 private:
  // --- the frame ----------------------------------------------------------------------------------------------------

  std::string finish() {
    std::vector<std::string> parameters, arguments;
    for (int i : uses_.buffers) {
      const auto& b = f_.buffers.at(static_cast<std::size_t>(i));
      const DType t = !b.packed_bits ? Prologue::storage_type(b.dtype) : b.written ? DType::u64 : DType::u8;
      parameters.push_back((b.written ? "" : "const ") + prologue_.type(t) + "* restrict " + b.name);
      arguments.push_back("buffers[" + std::to_string(i) + "]");
    }
    std::vector<std::string> ignored;
    if (arguments.empty()) ignored.push_back("buffers");
    bool any_scalar = false;
    for (std::size_t i = 0; i < f_.scalars.size(); ++i)
      if (uses_.names.count(f_.scalars[i])) {
        any_scalar = true;
        parameters.push_back("i64 " + f_.scalars[i]);
        arguments.push_back("scalars[" + std::to_string(i) + "]");
      }
    if (!any_scalar) ignored.push_back("scalars");
    for (const char* name : {"begin", "end", "chunk"}) {
      if (!uses_.names.count(name)) {
        ignored.push_back(name);
        continue;
      }
      parameters.push_back(std::string("i64 ") + name);
      arguments.push_back(name);
    }
    if (parameters.empty()) parameters.push_back("void");
    std::string text = prologue_.text() + "\n";
    text += in_lines("static __attribute__((noinline)) i32 " + f_.name + "_loops(", parameters, ") {") + text_ +
            "  return 0;\n}\n\n";
    text += "i32 " + f_.name + "(void* const* buffers, const i64* scalars, i64 begin, i64 end, i64 chunk) {\n";
    for (const auto& name : ignored) text += "  (void)" + name + ";\n";
    return text + in_lines("  return " + f_.name + "_loops(", arguments, ");") + "}\n";
  }

  // --- names --------------------------------------------------------------------------------------------------------

  std::string c_name(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto it = scope->find(name); it != scope->end()) return it->second.c_name;
    return name;  // a scalar, begin, end or chunk
  }
  bool is_visible(const std::string& name) const {
    return std::any_of(scopes_.begin(), scopes_.end(), [&](const auto& scope) { return scope.count(name) > 0; });
  }
  std::string fresh(const std::string& stem) {
    std::string name = stem;
    for (int n = 2; !taken_.insert(name).second; ++n) name = stem + "_" + std::to_string(n);
    return name;
  }
  /// A name that hides an outer one is printed as another, because in C its own initial value would already mean
  /// itself.
  std::string declare(const std::string& name, bool is_mutable) {
    std::string as = is_visible(name) ? fresh(name) : name;
    scopes_.back()[name] = {as, is_mutable};
    return as;
  }
  bool is_mutable(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto it = scope->find(name); it != scope->end()) return it->second.is_mutable;
    return false;
  }
  /// Has the same value whenever it is evaluated.
  bool is_steady(const Expr& e) const {
    if (e->kind == ValueNode::load || (e->kind == ValueNode::variable && is_mutable(e->name))) return false;
    return std::all_of(e->args.begin(), e->args.end(), [this](const Expr& a) { return is_steady(a); });
  }

  // --- statements ---------------------------------------------------------------------------------------------------

  void line(const std::string& text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }

  void body(const Stmt& s) {
    scopes_.emplace_back();
    ++depth_;
    statement(*s);
    --depth_;
    scopes_.pop_back();
  }

  const ir::BufferParam& buffer(int index) const { return f_.buffers.at(static_cast<std::size_t>(index)); }

  void statement(const StmtNode& s) {
    switch (s.kind) {
      case StmtNode::block:
        for (const auto& child : s.body) statement(*child);
        break;
      case StmtNode::let:
      case StmtNode::declare: {
        const std::string value = expression_(s.value);
        const std::string type = prologue_.type(s.value->type);
        const bool is_let = s.kind == StmtNode::let;
        line((is_let ? "const " : "") + type + " " + declare(s.name, !is_let) + " = " + value + ";");
        break;
      }
      case StmtNode::assign: line(c_name(s.name) + " = " + expression_(s.value) + ";"); break;
      case StmtNode::store: store(s); break;
      case StmtNode::store_or: {
        const auto& b = buffer(s.buffer);
        const std::string index = expression_(s.index), value = expression_(s.value);
        if (b.packed_bits)
          line(prologue_.or_packed() + "(" + b.name + ", " + index + ", " + std::to_string(b.packed_bits) + ", (u64)(" +
               value + "));");
        else line("__atomic_fetch_or(&" + b.name + "[" + index + "], " + value + ", __ATOMIC_RELAXED);");
        break;
      }
      case StmtNode::loop: loop(s); break;
      case StmtNode::while_loop:
        line("while (" + expression_(s.value) + ") {");
        body(s.body.at(0));
        line("}");
        break;
      case StmtNode::branch: branch(s); break;
      case StmtNode::prefetch: {
        const auto& b = buffer(s.buffer);
        const std::string index = expression_(s.index, 13);
        const std::string bytes = b.packed_bits ? index + " * " + std::to_string(b.packed_bits) + " / 8"
                                                : index + " * " + std::to_string(size_of(b.dtype));
        line(prologue_.prefetch(s.second_level) + "(" + b.name + ", " + bytes + ", " + (b.written ? "1" : "0") + ");");
        break;
      }
      case StmtNode::fail: line("return " + std::to_string(s.status) + ";"); break;
      case StmtNode::comment: {
        std::string text = s.name;
        std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\\'; }, ' ');
        line("// " + text);
        break;
      }
    }
  }

  void store(const StmtNode& s) {
    const auto& b = buffer(s.buffer);
    const std::string element = b.name + "[" + expression_(s.index) + "]", value = expression_(s.value);
    const int lanes = s.value->type.lanes;
    const bool small_float = is_small_float(b.dtype);
    if (lanes == 1) {
      line(element + " = " + (small_float ? prologue_.narrow(b.dtype) + "(" + value + ")" : value) + ";");
    } else if (small_float) {
      line(prologue_.store(b.dtype, lanes) + "(&" + element + ", " + value + ");");
    } else {
      const std::string type = prologue_.storage(b.dtype, lanes);
      line("*(" + type + "*)&" + element + " = " +
           (b.dtype == DType::boolean ? "(" + type + ")(" + expression_(s.value, 14) + " & 1)" : value) + ";");
    }
  }

  void loop(const StmtNode& s) {
    std::string end = expression_(s.end, 11);
    const std::string begin = expression_(s.begin);
    if (!is_steady(s.end)) {
      const std::string stop = fresh(s.name + "_stop");
      line("const i64 " + stop + " = " + expression_(s.end) + ";");
      end = stop;
    }
    if (s.loop_kind == ir::LoopKind::unrolled) {
      const std::int64_t from = s.begin->value.to_int64(), to = s.end->value.to_int64();
      const std::int64_t times = to > from ? (to - from - 1) / s.step + 1 : 0;
      if (times > 1 && times <= 1024) {
        prologue_.unroll();
        line("UNROLL(" + std::to_string(times) + ")");
      }
    }
    if (s.loop_kind == ir::LoopKind::simd) {
      prologue_.simd();
      line("SIMD");
    }
    scopes_.emplace_back();
    const std::string name = declare(s.name, false);
    const std::string next = s.step == 1 ? "++" + name : name + " += " + std::to_string(s.step);
    line("for (i64 " + name + " = " + begin + "; " + name + " < " + end + "; " + next + ") {");
    body(s.body.at(0));
    line("}");
    scopes_.pop_back();
  }

  void branch(const StmtNode& first) {
    const StmtNode* s = &first;
    std::string open = "if (";
    for (;;) {
      line(open + expression_(s->value) + ") {");
      body(s->body.at(0));
      if (s->body.size() < 2) break;
      const StmtNode& otherwise = *s->body[1];
      const StmtNode* only =
          otherwise.kind == StmtNode::block && otherwise.body.size() == 1 ? otherwise.body[0].get() : &otherwise;
      if (only->kind != StmtNode::branch) {
        line("} else {");
        body(s->body[1]);
        break;
      }
      open = "} else if (";
      s = only;
    }
    line("}");
  }

  struct Name {
    std::string c_name;
    bool is_mutable;
  };

  const ir::Function& f_;
  Prologue prologue_;
  CExpression expression_;
  Uses uses_;
  std::set<std::string> taken_;
  std::vector<std::map<std::string, Name>> scopes_;
  std::string text_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string emit_c(const ir::Function& f) {
  ir::verify(f);
  const ir::Function simple = simplify(f);
  return Emitter(simple).run();
}

}  // namespace strata
