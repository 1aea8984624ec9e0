//===- Error.h - One-line failures ----------------------------------------===//
//
// Whatever a user can cause ends in an `Error`: one line that names the thing,
// the value and the way out. pmrun prints it and exits with its status.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_CORE_ERROR_H
#define PIPEMESH_RUNTIME_CORE_ERROR_H

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace pipemesh::runtime {

/// What pmrun exits with, besides 0 and the numbers of signals.
enum ExitStatus {
  failedStatus = 1,
  lateStatus = 3,    ///< ranks waited longer than the deadline
  mismatchStatus = 4 ///< ranks met with different operations
};

class Error : public std::runtime_error {
public:
  explicit Error(const std::string &text, int status = failedStatus)
      : std::runtime_error(text), exitStatus(status) {}
  int status() const { return exitStatus; }

private:
  int exitStatus;
};

/// Joins the text of all arguments.
template <typename... Args> std::string cat(const Args &...args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

template <typename... Args> [[noreturn]] void fail(const Args &...args) {
  throw Error(cat(args...));
}

/// The value, with "nan" for every kind of NaN.
inline std::string numberText(double value) {
  return value != value ? "nan" : cat(value);
}

using Shape = std::vector<int64_t>;

/// "[2, 3]".
std::string shapeText(const Shape &shape);

/// Number of elements; 1 for a scalar.
int64_t elementCount(const Shape &shape);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_ERROR_H
