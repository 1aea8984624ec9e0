//===- Fault.cpp - Failures on purpose ------------------------------------===//

#include "host/Fault.h"

#include "core/Error.h"

#include <charconv>
#include <chrono>
#include <csignal>
#include <map>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace pipemesh::runtime {

void Fault::happen(bool alone) const {
  if (kind == Slow) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return;
  }
  if (kind == Kill && alone)
    kill(getpid(), SIGKILL);
  while (true)
    pause();
}

[[noreturn]] static void refuse(const std::string &text) {
  fail("--inject is '", text,
       "', but kill, stall, skip, wrong-size or slow is needed with a rank and "
       "the number of one of its collectives and transfers: kill:rank=3,op=200, "
       "slow:rank=0,op=7,ms=500; or, for kill and stall, with a step: "
       "stall:rank=3,step=2");
}

std::optional<Fault> parseFault(const std::string &text) {
  static const std::map<std::string, Fault::Kind> kinds = {
      {"kill", Fault::Kill},
      {"stall", Fault::Stall},
      {"skip", Fault::Skip},
      {"wrong-size", Fault::WrongSize},
      {"slow", Fault::Slow}};
  if (text.empty())
    return std::nullopt;
  size_t colon = text.find(':');
  auto kind = kinds.find(text.substr(0, colon));
  if (colon == std::string::npos || kind == kinds.end())
    refuse(text);
  Fault fault;
  fault.kind = kind->second;
  std::map<std::string, int64_t> values;
  std::istringstream rest(text.substr(colon + 1));
  for (std::string part; std::getline(rest, part, ',');) {
    size_t equals = part.find('=');
    int64_t value = 0;
    const char *end = part.data() + part.size();
    if (equals == std::string::npos)
      refuse(text);
    auto [at, error] =
        std::from_chars(part.data() + equals + 1, end, value);
    if (error != std::errc() || at != end || value < 0 ||
        !values.emplace(part.substr(0, equals), value).second)
      refuse(text);
  }
  auto take = [&](const char *name) -> std::optional<int64_t> {
    auto found = values.find(name);
    if (found == values.end())
      return std::nullopt;
    int64_t value = found->second;
    values.erase(found);
    return value;
  };
  std::optional<int64_t> rank = take("rank"), operation = take("op"),
                         step = take("step"), milliseconds = take("ms");
  bool canStep = fault.kind == Fault::Kill || fault.kind == Fault::Stall;
  if (!values.empty() || text.back() == ',' || !rank ||
      operation.has_value() == step.has_value() || (step && !canStep) ||
      (operation && *operation == 0) ||
      (milliseconds && fault.kind != Fault::Slow))
    refuse(text);
  fault.rank = *rank;
  if (operation)
    fault.operation = static_cast<uint64_t>(*operation);
  fault.step = step.value_or(0);
  fault.milliseconds = milliseconds.value_or(fault.milliseconds);
  return fault;
}

} // namespace pipemesh::runtime
