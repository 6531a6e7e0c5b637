#pragma once
// What was computed by which generated code: for those who want to read it.
#include <string>

namespace strata::planning {

/// While one lives, everything that its thread runs is written down.
class Trace {
 public:
  Trace() : outer_(current_) { current_ = this; }
  ~Trace() { current_ = outer_; }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  const std::string& text() const { return text_; }
  static bool on() { return current_ != nullptr; }
  /// Adds a section, where somebody listens.
  static void add(const std::string& title, const std::string& text) {
    if (current_) current_->text_ += (current_->text_.empty() ? "" : "\n") + ("=== " + title) + "\n" + text;
  }

 private:
  inline static thread_local Trace* current_ = nullptr;
  Trace* outer_;
  std::string text_;
};

}  // namespace strata::planning
