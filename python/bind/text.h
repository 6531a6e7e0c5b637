#pragma once
// Python's texts as C++ strings. nanobind's own caster copies them where no exception may pass: a text for whose copy
// there is no memory would end the process.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace strata::bind {

/// The text of a str, as UTF-8, valid as long as the object. MemoryError; st.Error for one that UTF-8 cannot express.
std::string_view utf8_of(nanobind::handle text);

}  // namespace strata::bind

namespace nanobind::detail {

/// Keeps the object, and copies its text where the function is called.
template <> struct type_caster<std::string> {
  using Value = std::string;
  static constexpr auto Name = const_name("str");
  template <class T> using Cast = std::string;
  template <class T> static constexpr bool can_cast() { return true; }

  bool from_python(handle object, std::uint32_t, cleanup_list*) noexcept {
    source = object;
    return PyUnicode_Check(object.ptr()) != 0;
  }
  static handle from_cpp(const std::string& text, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  }
  explicit operator std::string() const { return std::string(strata::bind::utf8_of(source)); }

  handle source;
};

}  // namespace nanobind::detail
