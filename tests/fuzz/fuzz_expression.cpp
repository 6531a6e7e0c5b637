// Any bytes are an expression or a typed error that points into them; what an assignment prints is read back as the
// same.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "strata/error.h"
#include "strata/expr.h"
#include "strata/expression.h"

namespace {

template <class Parse>
void parsed(std::string_view text, Parse parse) {
  using namespace strata;
  try {
    parse();
  } catch (const Error& e) {  // ExpressionError, or Unsupported where another door takes it
    if (e.problem().where.end > text.size() && !e.problem().text.empty()) std::abort();
    if (e.problem().what.empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strata;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  parsed(text, [&] {
    const std::string printed = parse_assignment(text).to_string();
    try {
      if (parse_assignment(printed).to_string() != printed) std::abort();
    } catch (const ExpressionError& e) {  // numbers and parentheses make it longer than it was
      if (printed.size() <= 65536 && e.problem().what.find("too") == std::string::npos) std::abort();
    }
  });
  parsed(text, [&] { static_cast<void>(parse_expression(text)); });
  parsed(text, [&] {
    std::vector<std::string> names;
    const Einsum e = parse_index_notation(text, names);
    if (names.size() != e.operands.size()) std::abort();
  });
  parsed(text, [&] {  // as many dimensions as there are letters, or one more
    std::vector<int> ranks(1, 0);
    for (const char c : text.substr(0, text.find('-'))) {
      if (c == ',') ranks.push_back(0);
      else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) ++ranks.back();
    }
    if (size % 4 == 0) ++ranks.front();
    if (*std::max_element(ranks.begin(), ranks.end()) > 32) return;
    static_cast<void>(parse_einsum(text, ranks));
  });
  return 0;
}
