//===- Call.cpp - one call of an entry point ------------------------------===//

#include "cuda/standin/Call.h"

namespace pipemesh::cuda::standin {

Call::Call(const char *name) : who(caller()), name(name), object(who.trace.isOn()) {
  object.add("call", std::string(name));
  if (options().faults.empty())
    return;
  uint64_t number = ++who.calls[name];
  for (const Fault &candidate : options().faults)
    if (candidate.call == name && candidate.number == number &&
        (candidate.rank < 0 || candidate.rank == who.rank))
      fault = &candidate;
}

int Call::done(int result) {
  if (!who.trace.isOn())
    return result;
  if (result)
    object.add("result", result);
  line = who.trace.write(object.text());
  if (result && result != CUDA_ERROR_NOT_READY)
    who.trace.flush();
  return result;
}

int Call::polled(uint64_t handle, int result, bool isWritten) {
  if (!who.trace.isOn())
    return result;
  auto [it, isNew] = who.trace.polls.try_emplace({name, handle}, result);
  if (!isNew && it->second == result && !isWritten)
    return result;
  it->second = result;
  return done(result);
}

} // namespace pipemesh::cuda::standin
