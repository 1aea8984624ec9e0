//===- Trace.cpp - what was called, a line for each call ------------------===//

#include "cuda/standin/Trace.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace pipemesh::cuda::standin {

Trace::Trace(const std::string &folder, const std::string &name, const char *mode) {
  if (folder.empty())
    return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::string path = folder + "/" + name + ".jsonl";
  file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    std::fprintf(stderr, "PMRT_STANDIN_TRACE: cannot write '%s': %s\n", path.c_str(),
                 std::strerror(errno));
    _exit(2);
  }
  write(std::string("{\"trace\":1,\"mode\":\"") + mode + "\"}");
}

uint64_t Trace::write(const std::string &line) {
  if (file < 0)
    return 0;
  std::lock_guard guard(lock);
  waiting += line;
  waiting += '\n';
  if (waiting.size() > 32768)
    flushLocked();
  return lines++;
}

void Trace::flush() {
  std::lock_guard guard(lock);
  flushLocked();
}

void Trace::flushLocked() {
  const char *at = waiting.data(), *end = at + waiting.size();
  while (at < end) {
    ssize_t written = ::write(file, at, end - at);
    if (written <= 0)
      break;
    at += written;
  }
  waiting.clear();
}

void Object::key(const char *name) {
  if (!fields.empty())
    fields += ',';
  fields += '"';
  fields += name;
  fields += "\":";
}

Object &Object::add(const char *name, const std::string &text) {
  if (!isOn)
    return *this;
  key(name);
  fields += '"';
  for (char c : text) {
    if (c == '"' || c == '\\')
      fields += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      fields += ' ';
    else
      fields += c;
  }
  fields += '"';
  return *this;
}

Object &Object::add(const char *name, const std::vector<Bytes> &ranges) {
  if (!isOn)
    return *this;
  key(name);
  fields += '[';
  bool isFirst = true;
  for (auto [address, bytes] : ranges) {
    fields += isFirst ? "[" : ",[";
    isFirst = false;
    fields += std::to_string(address);
    fields += ',';
    fields += std::to_string(bytes);
    fields += ']';
  }
  fields += ']';
  return *this;
}

Object &Object::addList(const char *name, const std::vector<uint64_t> &numbers) {
  if (!isOn)
    return *this;
  key(name);
  fields += '[';
  bool isFirst = true;
  for (uint64_t number : numbers) {
    if (!isFirst)
      fields += ',';
    isFirst = false;
    fields += std::to_string(number);
  }
  fields += ']';
  return *this;
}

} // namespace pipemesh::cuda::standin
