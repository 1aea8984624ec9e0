//===- Trace.h - what was called, a line for each call --------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_TRACE_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_TRACE_H

#include <concepts>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace pipemesh::cuda::standin {

/// Bytes of device memory: the first one's address, and how many.
using Bytes = std::pair<uint64_t, uint64_t>;

/// The file of one thread's calls. Lines may also come from who does the work.
class Trace {
public:
  /// Opens FOLDER/NAME.jsonl; writes nothing where `folder` is empty.
  Trace(const std::string &folder, const std::string &name, const char *mode);

  bool isOn() const { return file >= 0; }
  /// Appends an object's text and returns its number, from 0.
  uint64_t write(const std::string &line);
  void flush();
  /// The last result of each poll that was written, by call and handle.
  std::map<std::pair<std::string, uint64_t>, int> polls;

private:
  std::mutex lock;
  int file = -1;
  uint64_t lines = 0;
  std::string waiting;

  void flushLocked();
};

/// A JSON object that is being written.
class Object {
public:
  explicit Object(bool isOn) : isOn(isOn) {}
  template <std::integral T> Object &add(const char *name, T number) {
    if (isOn) {
      key(name);
      if constexpr (std::is_same_v<T, bool>)
        fields += number ? "true" : "false";
      else
        fields += std::to_string(number);
    }
    return *this;
  }
  Object &add(const char *key, const std::string &text);
  Object &add(const char *key, const std::vector<Bytes> &ranges);
  /// [address,bytes], or for several numbers as many.
  Object &addList(const char *key, const std::vector<uint64_t> &numbers);
  std::string text() const { return "{" + fields + "}"; }

private:
  bool isOn;
  std::string fields;
  void key(const char *name);
};

} // namespace pipemesh::cuda::standin

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_TRACE_H
