#pragma once
// What goes wrong, in three families: mistakes of the user (Error and its children), failures of the machine
// (RuntimeFailure), and our own bugs (InternalError).
#include <cstddef>
#include <stdexcept>
#include <string>

namespace strata {

/// Half-open range of bytes in a source text.
struct Span {
  std::size_t begin = 0, end = 0;
};

/// What a message tells: what is wrong, what was expected, what came, how to mend it, and where.
/// Empty parts are left out of the printed text. `text` and `where` print as a line with carets below it.
struct Problem {
  std::string what;
  std::string expected = {};
  std::string got = {};
  std::string fix = {};
  std::string text = {};
  Span where = {};
};

/// The printed form of a problem; lines after the first are indented.
std::string to_string(const Problem& problem);

/// A mistake of the user. `what()` is the whole printed message.
class Error : public std::runtime_error {
 public:
  explicit Error(Problem problem) : std::runtime_error(to_string(problem)), problem_(std::move(problem)) {}
  const Problem& problem() const { return problem_; }

 private:
  Problem problem_;
};

/// A format text or object has no meaning.
class FormatError : public Error {
  using Error::Error;
};
/// Shapes, buffers or invariants are wrong.
class TensorError : public Error {
  using Error::Error;
};
/// A dtype that cannot serve here.
class DTypeError : public TensorError {
  using TensorError::TensorError;
};
/// A coordinate out of range.
class IndexError : public TensorError {
  using TensorError::TensorError;
};
/// An einsum or index notation is wrong.
class ExpressionError : public Error {
  using Error::Error;
};
/// A plan is used wrongly.
class PlanError : public Error {
  using Error::Error;
};
/// A schedule that the expression does not allow.
class ScheduleError : public Error {
  using Error::Error;
};
/// A file is malformed or cannot be read or written.
class FileError : public Error {
  using Error::Error;
};
/// A linear system could not be solved.
class SolveError : public Error {
  using Error::Error;
};
/// The matrix is singular, by its structure or to working precision.
class SingularError : public SolveError {
  using SolveError::SolveError;
};
/// The matrix is not positive definite where it must be.
class IndefiniteError : public SolveError {
  using SolveError::SolveError;
};
/// Legal, but not built: says what would work.
class Unsupported : public Error {
  using Error::Error;
};

/// A failure at run time that is nobody's mistake: a compiler that fails, a device that is gone.
class RuntimeFailure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A bug of ours. Please report it.
class InternalError : public std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace strata
