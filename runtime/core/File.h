//===- File.h - Mapped input files and atomic output files ----------------===//

#ifndef PIPEMESH_RUNTIME_CORE_FILE_H
#define PIPEMESH_RUNTIME_CORE_FILE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipemesh::runtime {

/// A whole file, mapped for reading.
class MappedFile {
public:
  /// `what` names the file in messages: "data file", "weights".
  MappedFile(const std::string &path, const std::string &what);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::byte *data() const { return bytes; }
  uint64_t size() const { return length; }
  const std::string &path() const { return name; }

private:
  std::string name;
  const std::byte *bytes = nullptr;
  uint64_t length = 0;
};

/// The text of a small file.
std::string readTextFile(const std::string &path, const std::string &what);

/// A file that appears whole or not at all: it is written under a temporary
/// name in the same folder, synced, and renamed by `commit`. Without a commit
/// the temporary file is removed.
class AtomicFile {
public:
  explicit AtomicFile(const std::string &path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  void write(const void *data, uint64_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

private:
  std::string target, temporary;
  int descriptor = -1;
};

/// Writes `text` to `path` as AtomicFile does.
void writeTextFile(const std::string &path, std::string_view text);

/// Copies a file as AtomicFile does.
void copyFileAtomically(const std::string &from, const std::string &to);

/// Throws unless a file can be created in the folder of `path`; `flag` names
/// the option that asked for it.
void checkWritable(const std::string &path, const std::string &flag);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_FILE_H
