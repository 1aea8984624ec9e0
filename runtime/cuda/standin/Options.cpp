//===- Options.cpp - how the stand-ins behave -----------------------------===//

#include "cuda/standin/Options.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <unistd.h>

namespace pipemesh::cuda::standin {

namespace {

[[noreturn]] void refuse(const char *name, const std::string &value,
                         const char *wanted) {
  std::fprintf(stderr, "%s is '%s', but %s is needed\n", name, value.c_str(), wanted);
  _exit(2);
}

std::string valueOf(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

bool read(const std::string &text, int64_t &number) {
  const char *end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end && !text.empty();
}

int64_t numberOf(const char *name, int64_t otherwise, int64_t least) {
  std::string value = valueOf(name);
  if (value.empty())
    return otherwise;
  int64_t number = 0;
  if (!read(value, number) || number < least)
    refuse(name, value, least ? "a number from 1" : "a number from 0");
  return number;
}

Fault faultOf(const std::string &text, const std::string &all) {
  auto wrong = [&]() {
    refuse("PMRT_STANDIN_FAULT", all,
           "a list of CALL:N[:rank=R]:error=CODE, CALL:N[:rank=R]:async=CODE or "
           "CALL:N[:rank=R]:stuck");
  };
  std::istringstream parts(text);
  std::string part;
  Fault fault;
  int64_t number = 0;
  bool hasKind = false;
  std::getline(parts, fault.call, ':');
  if (!std::getline(parts, part, ':') || !read(part, number) || number < 1)
    wrong();
  fault.number = number;
  while (std::getline(parts, part, ':')) {
    size_t equals = part.find('=');
    std::string key = part.substr(0, equals);
    number = 0;
    if (equals != std::string::npos && !read(part.substr(equals + 1), number))
      wrong();
    if ((key == "stuck") != (equals == std::string::npos))
      wrong();
    if (key == "rank") {
      fault.rank = static_cast<int>(number);
      continue;
    }
    if (hasKind || (key != "stuck" && key != "async" && key != "error"))
      wrong();
    hasKind = true;
    fault.kind = key == "stuck"   ? Fault::Stuck
                 : key == "async" ? Fault::Async
                                  : Fault::Error;
    fault.code = static_cast<int>(number);
  }
  if (!hasKind || (fault.kind == Fault::Async && fault.call.rfind("nccl", 0) != 0))
    wrong();
  return fault;
}

Options readAll() {
  Options options;
  std::string mode = valueOf("PMRT_STANDIN");
  if (!mode.empty() && mode != "record" && mode != "compute")
    refuse("PMRT_STANDIN", mode, "record or compute");
  options.isComputing = mode == "compute";
  options.order = numberOf("PMRT_STANDIN_ORDER", 0, 0);
  options.devices = static_cast<int>(numberOf("PMRT_STANDIN_DEVICES", 8, 1));
  options.memory = numberOf("PMRT_STANDIN_MEMORY", options.memory, 1);
  options.capability = static_cast<int>(numberOf("PMRT_STANDIN_CAPABILITY", 90, 1));
  std::string links = valueOf("PMRT_STANDIN_LINKS");
  if (!links.empty() && links != "pci" && links != "nvlink")
    refuse("PMRT_STANDIN_LINKS", links, "pci or nvlink");
  options.hasLinks = links != "pci";
  options.trace = valueOf("PMRT_STANDIN_TRACE");
  std::string faults = valueOf("PMRT_STANDIN_FAULT");
  std::istringstream list(faults);
  for (std::string text; std::getline(list, text, ',');)
    options.faults.push_back(faultOf(text, faults));
  return options;
}

} // namespace

const Options &options() {
  static const Options &all = *new Options(readAll());
  return all;
}

} // namespace pipemesh::cuda::standin
