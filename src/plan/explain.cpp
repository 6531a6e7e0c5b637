// explain(): what was asked, in which order, and why each candidate was refused or chosen.
#include <algorithm>

#include "plan/plan_impl.h"

namespace strata::planning {
namespace {

/// Rows of two columns; further lines of the second stay in its column.
std::string table(const std::vector<std::pair<std::string, std::string>>& rows, std::size_t indent) {
  std::size_t width = 0;
  for (const auto& r : rows) width = std::max(width, r.first.size());
  std::string out;
  for (const auto& r : rows) {
    std::string text = r.second;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    out += std::string(indent, ' ') + r.first + std::string(width - r.first.size() + 2, ' ');
    for (char c : text) {
      out += c;
      if (c == '\n') out += std::string(indent + width + 2, ' ');
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

}  // namespace

std::string refusals(const Choice& choice) {
  std::string out;
  for (auto r = choice.reports.begin(); r != choice.reports.end();) {
    const auto other = std::find_if(r, choice.reports.end(), [&](const Report& o) { return o.reason != r->reason; });
    for (auto same = r; same != other; ++same) out += (same == r ? "" : ", ") + same->candidate;
    out += ": " + r->reason + "\n";
    r = other;
  }
  return out;
}

std::string explain(const Einsum& e, const Choice& choice) {
  const Product& p = choice.product;
  std::vector<std::pair<std::string, std::string>> operands;
  for (std::size_t k = 0; k < p.operands.size(); ++k) operands.emplace_back(operand_name(k), p.operands[k].to_string());
  operands.emplace_back(
      operand_name(p.operands.size()),
      p.output.to_string() + (p.compute == p.output.dtype ? "" : ", sums in " + std::string(name_of(p.compute))));
  std::vector<std::pair<std::string, std::string>> asked;
  for (const auto& r : choice.reports)
    asked.emplace_back(std::string(static_cast<std::size_t>(2 * r.depth), ' ') + r.candidate,
                       (r.chosen ? "chosen   " : "refused  ") + r.reason);
  std::vector<std::pair<std::string, std::string>> how{{"kernel", choice.runner->name()}};
  for (auto& d : choice.runner->details()) how.push_back(std::move(d));
  return e.to_string() + "\n" + table(operands, 2) + "\ncandidates\n" + table(asked, 2) + "\n" + table(how, 0);
}

}  // namespace strata::planning
