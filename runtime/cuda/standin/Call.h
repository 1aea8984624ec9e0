//===- Call.h - one call of an entry point --------------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_CALL_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_CALL_H

#include "cuda/standin/Work.h"

namespace pipemesh::cuda::standin {

/// Counts the call, knows what is to go wrong with it, and writes its line.
class Call {
public:
  explicit Call(const char *name);

  Caller &who;
  /// What was asked to go wrong with it; null mostly.
  const Fault *fault = nullptr;

  bool fails() const { return fault && fault->kind == Fault::Error; }
  bool isStuck() const { return fault && fault->kind != Fault::Error; }
  template <typename... T> Call &add(const char *key, const T &...value) {
    object.add(key, value...);
    return *this;
  }
  Call &addList(const char *key, const std::vector<uint64_t> &numbers) {
    object.addList(key, numbers);
    return *this;
  }
  Call &addReads(const std::vector<Bytes> &ranges) { return add("reads", ranges); }
  Call &addWrites(const std::vector<Bytes> &ranges) { return add("writes", ranges); }

  /// Writes the line and returns the result.
  int done(int result = 0);
  /// The same with the error that was asked for.
  int failed() { return done(fault->code); }
  /// A poll of a handle, which is not written when it says what it said before.
  int polled(uint64_t handle, int result, bool isWritten);
  /// The number of the line that was written.
  uint64_t line = 0;

private:
  const char *name;
  Object object;
};

} // namespace pipemesh::cuda::standin

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_CALL_H
