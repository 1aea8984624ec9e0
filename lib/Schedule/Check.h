//===- Check.h - errors and checks of lib/Schedule --------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SCHEDULE_CHECK_H
#define PIPEMESH_LIB_SCHEDULE_CHECK_H

#include "pipemesh/Schedule/Schedule.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace pipemesh::schedule {

template <typename... Args>
llvm::Error fail(const char *format, Args &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

/// A number as it is written, without zeros at its end.
inline std::string toText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

/// Each action names a stage of its rank and a micro-batch that exist, and is
/// there once.
llvm::Error checkActions(const Schedule &schedule);

} // namespace pipemesh::schedule

#endif // PIPEMESH_LIB_SCHEDULE_CHECK_H
