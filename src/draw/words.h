#pragma once
// What pictures say in words, and texts of so many columns.
#include <string>
#include <string_view>
#include <vector>

#include "strata/tensor.h"

namespace strata::pictures {

/// Columns that a text takes: every character here is one column wide.
int columns(std::string_view s);
std::string repeat(std::string_view s, int n);
/// At most n columns, the last one an ellipsis where something is cut.
std::string cut(const std::string& s, int n);
/// A text at the right end of n columns.
std::string right(const std::string& s, int n);
/// 1234567 as "1 234 567".
std::string grouped(std::int64_t n);

/// An element in a few characters: six digits of a real, four of each part of a complex number.
std::string value_text(DType dtype, const void* address);
std::string value_text(const Scalar& s);
/// "i / 2 : dense" of every level of a format of one part.
std::vector<std::string> level_texts(const Format& format);
std::string crd_type(const Level& level, const LevelRange& range, DType crd_dtype);  ///< "uint2", "int32"
std::string shape_text(const Shape& shape);                                          ///< "3 x 8", "scalar"
std::string name_or_text(const Format& format);                                      ///< "CSR", or the format's text
/// "3 x 8   int64   5 stored   76 bytes"; in pictures, where spaces run together, with dots between.
std::string facts_text(const Tensor& t);
std::string facts_line(const Tensor& t);
/// Name and facts in one line or, where there is no room, two.
std::string heading(const Tensor& t, int width);

}  // namespace strata::pictures
