// strata-emit, which strata_add_kernel() in CMake runs: `strata emit` without Python.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "strata/evaluate.h"

namespace {

const char* const usage =
    "strata-emit EXPRESSION [NAME=FORMAT ...] [--name NAME] [--dtype DTYPE] [--extent N] [--semiring NAME]\n"
    "            [--mask FORMAT] [--complement-mask] [--main] [-o FILE]\n";

struct Command {
  std::string expression, output;
  std::map<std::string, std::string> formats;
  strata::DType dtype = strata::DType::f64;
  std::int64_t extent = 1000;
  strata::SymbolicOptions options;
  strata::EmitOptions emit;
};

std::int64_t to_number(const std::string& text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 1)
    throw std::invalid_argument("--extent takes a number from 1 on, not '" + text + "'");
  return n;
}

Command read(int count, char** words) {
  Command c;
  for (int k = 1; k < count; ++k) {
    const std::string word = words[k];
    const auto next = [&]() -> std::string {
      if (k + 1 == count) throw std::invalid_argument(word + " needs a value");
      return words[++k];
    };
    if (word == "--name") c.emit.name = next();
    else if (word == "--dtype") c.dtype = strata::parse_dtype(next());
    else if (word == "--extent") c.extent = to_number(next());
    else if (word == "--semiring") c.options.semiring = strata::parse_semiring(next());
    else if (word == "--mask") c.options.mask = next();
    else if (word == "--complement-mask") c.options.complement_mask = true;
    else if (word == "--main") c.emit.main = true;
    else if (word == "-o") c.output = next();
    else if (word.starts_with("-")) throw std::invalid_argument("no option " + word);
    else if (c.expression.empty()) c.expression = word;
    else if (const auto at = word.find('='); at != std::string::npos)
      c.formats[word.substr(0, at)] = word.substr(at + 1);
    else throw std::invalid_argument("'" + word + "' is no NAME=FORMAT");
  }
  if (c.expression.empty()) throw std::invalid_argument("an expression is needed");
  return c;
}

/// Operands that are not named are dense, of the same dtype: the expression tells them.
void names_of(const strata::Expression& e, std::map<std::string, strata::SymbolicOperand>& out, strata::DType dtype) {
  for (const auto& name : e.operands()) out.try_emplace(name, strata::SymbolicOperand{"dense", dtype});
}

}  // namespace

int main(int count, char** words) {
  try {
    const Command c = read(count, words);
    std::map<std::string, strata::SymbolicOperand> operands;
    for (const auto& [name, format] : c.formats) operands[name] = {format, c.dtype};
    names_of(strata::parse_assignment(c.expression).value, operands, c.dtype);
    const std::string text = strata::emit_expression(c.expression, operands, c.extent, c.options, c.emit);
    if (c.output.empty()) return std::fputs(text.c_str(), stdout) < 0;
    std::ofstream file(c.output);
    file << text;
    file.close();
    if (!file) throw std::invalid_argument("cannot write " + c.output);
    return 0;
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "strata-emit: %s\n%s", e.what(), usage);
  } catch (const std::exception& e) { std::fprintf(stderr, "strata-emit: %s\n", e.what()); }
  return 1;
}
