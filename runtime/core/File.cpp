//===- File.cpp - Mapped input files and atomic output files --------------===//

#include "core/File.h"

#include "core/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pipemesh::runtime {

std::string shapeText(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

int64_t elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t dimension : shape)
    count *= dimension;
  return count;
}

MappedFile::MappedFile(const std::string &path, const std::string &what)
    : name(path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    fail("cannot read ", what, " '", path, "': ", std::strerror(errno));
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    fail("cannot read ", what, " '", path, "': it is not a regular file");
  }
  length = static_cast<uint64_t>(status.st_size);
  if (length) {
    void *address =
        mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) {
      int error = errno;
      close(descriptor);
      fail("cannot map ", what, " '", path, "': ", std::strerror(error));
    }
    bytes = static_cast<const std::byte *>(address);
  }
  close(descriptor);
}

MappedFile::~MappedFile() {
  if (bytes)
    munmap(const_cast<std::byte *>(bytes), length);
}

std::string readTextFile(const std::string &path, const std::string &what) {
  MappedFile file(path, what);
  return std::string(reinterpret_cast<const char *>(file.data()), file.size());
}

AtomicFile::AtomicFile(const std::string &path)
    : target(path), temporary(path + ".tmp-" + std::to_string(getpid())) {
  descriptor =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0)
    fail("cannot write '", path, "': ", std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  close(descriptor);
  unlink(temporary.c_str());
}

void AtomicFile::write(const void *data, uint64_t bytes) {
  const char *position = static_cast<const char *>(data);
  while (bytes) {
    // The kernel writes at most 2 GiB at once.
    ssize_t written =
        ::write(descriptor, position, bytes < (1u << 30) ? bytes : (1u << 30));
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      fail("cannot write '", target,
           "': ", written ? std::strerror(errno) : "no space",
           "; what was there before is kept");
    position += written;
    bytes -= static_cast<uint64_t>(written);
  }
}

void AtomicFile::commit() {
  if (fsync(descriptor) != 0 || close(descriptor) != 0) {
    int error = errno;
    descriptor = -1;
    unlink(temporary.c_str());
    fail("cannot write '", target, "': ", std::strerror(error),
         "; what was there before is kept");
  }
  descriptor = -1;
  if (rename(temporary.c_str(), target.c_str()) != 0) {
    int error = errno;
    unlink(temporary.c_str());
    fail("cannot write '", target, "': ", std::strerror(error));
  }
  // The name itself is durable once the folder is synced.
  std::filesystem::path folder = std::filesystem::path(target).parent_path();
  int directory =
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (directory >= 0) {
    fsync(directory);
    close(directory);
  }
}

void writeTextFile(const std::string &path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void copyFileAtomically(const std::string &from, const std::string &to) {
  MappedFile source(from, "file");
  AtomicFile file(to);
  file.write(source.data(), source.size());
  file.commit();
}

void checkWritable(const std::string &path, const std::string &flag) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty())
    folder = ".";
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    fail(flag, ": '", path, "' is a folder; name a file");
  if (!std::filesystem::is_directory(folder, error))
    fail(flag, ": the folder '", folder.string(),
         "' does not exist; create it first");
  if (access(folder.c_str(), W_OK) != 0)
    fail(flag, ": the folder '", folder.string(),
         "' is not writable: ", std::strerror(errno));
}

} // namespace pipemesh::runtime
