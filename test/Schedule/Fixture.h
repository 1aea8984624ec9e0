//===- Fixture.h - shorthand of the schedule tests --------------*- C++ -*-===//

#ifndef PIPEMESH_TEST_SCHEDULE_FIXTURE_H
#define PIPEMESH_TEST_SCHEDULE_FIXTURE_H

#include "pipemesh/Schedule/ActionLists.h"
#include "pipemesh/Schedule/Generate.h"
#include "pipemesh/Schedule/Simulate.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <string>

namespace pipemesh::schedule {

inline Request makeRequest(const std::string &name, int64_t ranks,
                           int64_t chunks, int64_t microBatches) {
  Request request;
  request.name = name;
  request.ranks = ranks;
  request.chunks = chunks;
  request.microBatches = microBatches;
  return request;
}

/// The value, or a failed test.
template <typename T> T take(llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  ADD_FAILURE() << llvm::toString(value.takeError());
  return T();
}

inline llvm::json::Value take(llvm::Expected<llvm::json::Value> value) {
  if (value)
    return std::move(*value);
  ADD_FAILURE() << llvm::toString(value.takeError());
  return nullptr;
}

/// The message of an error; empty where there is none.
template <typename T> std::string messageOf(llvm::Expected<T> value) {
  return value ? "" : llvm::toString(value.takeError());
}

inline std::string readInput(const std::string &name) {
  auto buffer = llvm::MemoryBuffer::getFile(
      std::string(PIPEMESH_SCHEDULE_INPUTS) + "/" + name);
  if (buffer)
    return (*buffer)->getBuffer().str();
  ADD_FAILURE() << "cannot read " << name;
  return "";
}

/// A rank's list as words: "0F0 0B0".
inline std::string print(const ActionList &list) {
  std::string text;
  for (const Item &item : list)
    text += (text.empty() ? "" : " ") + item.str();
  return text;
}

inline Schedule parse(llvm::StringRef text) {
  std::vector<std::string> remarks;
  return take(parseActionLists(text, remarks));
}

} // namespace pipemesh::schedule

#endif // PIPEMESH_TEST_SCHEDULE_FIXTURE_H
