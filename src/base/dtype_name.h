#pragma once
#include <string_view>

namespace strata {

/// Does parse_dtype() read it as a dtype, be it to say that it has two meanings?
bool is_dtype_name(std::string_view name);

}  // namespace strata
