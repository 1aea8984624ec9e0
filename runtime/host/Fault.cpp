//===- Fault.cpp - Failures on purpose, for tests -------------------------===//

#include "host/Fault.h"

#include "core/Error.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace pipemesh::runtime {

void Fault::happen() const {
  if (kind == Kill)
    kill(getpid(), SIGKILL);
  while (true)
    pause();
}

std::optional<Fault> parseFault(const std::string &text) {
  if (text.empty())
    return std::nullopt;
  Fault fault;
  long rank = 0, step = 0;
  char kind[8];
  int end = 0;
  if (std::sscanf(text.c_str(), "%5[a-z]:rank=%ld,step=%ld%n", kind, &rank,
                  &step, &end) != 3 ||
      end != static_cast<int>(text.size()) ||
      (std::string(kind) != "kill" && std::string(kind) != "stall"))
    fail("PMRUN_FAULT is '", text,
         "', but 'kill:rank=R,step=S' or 'stall:rank=R,step=S' is needed");
  fault.kind = kind[0] == 'k' ? Fault::Kill : Fault::Stall;
  fault.rank = rank;
  fault.step = step;
  return fault;
}

std::optional<Fault> faultOfEnvironment() {
  const char *text = std::getenv("PMRUN_FAULT");
  return parseFault(text ? text : "");
}

} // namespace pipemesh::runtime
