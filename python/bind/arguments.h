#pragma once
// Constructors take whatever they are given and say themselves what is wrong with it. (Functions and methods:
// strata/_calls.py.)
#include "bind.h"

namespace strata::bind {

/// Raises strata.ArgumentError: `call` is how it is called, e.g. "Format(text, rank=-1)".
[[noreturn]] void argument_error(const std::string& what, const std::string& call, const std::string& got,
                                 const std::string& fix = "");

/// Refuses arguments by names that the constructor does not have.
void refuse_unknown(const nb::kwargs& given, const std::string& call);

/// Refuses an argument that was left out; its default is `...`, for None may be what was given.
void require(nb::handle given, const char* name, const std::string& call);

/// A text that was given; anything else is refused.
std::string to_text(nb::handle given, const char* name, const std::string& call);

}  // namespace strata::bind
