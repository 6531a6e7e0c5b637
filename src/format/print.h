#pragma once
// Formats as text.
#include <span>
#include <string>
#include <string_view>

#include "strata/format.h"

namespace strata {

/// As it is parsed, and in the notation of NVIDIA's blog.
std::string text_of(const FormatSpec& spec);
std::string blog_text_of(const FormatSpec& spec);

/// A level expression: `(i % 32) / 4`; operands that are expressions stand in parentheses. "//" where `python`.
std::string print_expr(const FormatSpec& spec, const ExprNode& node, std::span<const std::string_view> dims,
                       bool python = false);

}  // namespace strata
