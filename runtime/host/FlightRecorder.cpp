//===- FlightRecorder.cpp - What a rank exchanged last --------------------===//

#include "host/FlightRecorder.h"

#include "core/File.h"
#include "host/Collective.h"
#include "host/Sync.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

namespace pipemesh::runtime {

namespace {

constexpr char magic[8] = {'P', 'M', 'F', 'L', 'I', 'G', 'H', '2'};

/// What lies in the file.
struct Image {
  char magic[8];
  int64_t rank, process;
  char who[128], hash[128];
  uint64_t readAt; ///< of a copy that was sent: when it was taken
  int64_t processState; ///< the same
  Record activity;
  std::atomic<uint64_t> count; ///< of entries so far
  alignas(64) FlightEntry entries[FlightRecorder::capacity];
};

} // namespace

std::string entryText(const FlightEntry &entry) {
  if (entry.kind == FlightEntry::Send || entry.kind == FlightEntry::Receive) {
    bool send = entry.kind == FlightEntry::Send;
    return cat(send ? "send" : "receive", " #", entry.number, " of '",
               entry.place, "' ", send ? "to" : "from", " rank ", entry.peer);
  }
  return cat(collectiveName(entry.kind), " #", entry.run, " over ",
             entry.place);
}

std::string entryDetails(const FlightEntry &entry) {
  return cat(entryText(entry), " (", entry.elements, " ",
             dtypeName(entry.dtype), ", micro-batch ", entry.microBatch,
             ", step ", entry.step, ")");
}

FlightRecorder::FlightRecorder(const std::string &path, int64_t rank,
                               const std::string &who,
                               const std::string &hash) {
  int descriptor = -1;
  if (!path.empty()) {
    descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0 || ftruncate(descriptor, sizeof(Image)) != 0) {
      std::string reason = std::strerror(errno);
      if (descriptor >= 0)
        close(descriptor);
      fail("cannot write the flight record '", path, "': ", reason,
           "; --flight-recorder=DIR names another folder");
    }
  }
  memory = mmap(nullptr, sizeof(Image), PROT_READ | PROT_WRITE,
                      descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED,
                      descriptor, 0);
  std::string reason = std::strerror(errno);
  if (descriptor >= 0)
    close(descriptor);
  if (memory == MAP_FAILED)
    fail("cannot map the flight record '", path, "': ", reason);
  // New pages are zero.
  auto &image = *static_cast<Image *>(memory);
  std::memcpy(image.magic, magic, sizeof(magic));
  image.rank = rank;
  image.process = getpid();
  new (&image.activity) Record;
  who.copy(image.who, sizeof(image.who) - 1);
  hash.copy(image.hash, sizeof(image.hash) - 1);
}

FlightRecorder::~FlightRecorder() { munmap(memory, sizeof(Image)); }

FlightEntry &FlightRecorder::begin(const FlightEntry &entry) {
  auto &image = *static_cast<Image *>(memory);
  uint64_t count = image.count.load(std::memory_order_relaxed);
  FlightEntry &place = image.entries[count % capacity];
  place = entry;
  image.count.store(count + 1, std::memory_order_release);
  return place;
}

Record &FlightRecorder::activity() const {
  return static_cast<Image *>(memory)->activity;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

std::string flightPath(const std::string &folder, int64_t rank) {
  return (std::filesystem::path(folder) / cat("rank-", rank, ".flight"))
      .string();
}

/// Text of a field that another process wrote.
template <size_t size> static std::string fieldText(const char (&field)[size]) {
  return std::string(field, strnlen(field, size));
}

/// State of a process of this machine.
static char stateOf(int64_t process) {
  std::ifstream file(cat("/proc/", process, "/stat"));
  std::string text;
  std::getline(file, text);
  // It stands behind the name, which is in parentheses.
  size_t name = text.rfind(')');
  return name == std::string::npos || name + 2 >= text.size() ? 'X'
                                                              : text[name + 2];
}

static FlightLog logOf(const Image &image) {
  FlightLog log;
  log.rank = image.rank;
  log.process = image.process;
  log.who = fieldText(image.who);
  log.hash = fieldText(image.hash);
  log.fromElsewhere = image.readAt != 0;
  log.readAt = log.fromElsewhere ? image.readAt : nanoseconds();
  log.processState = log.fromElsewhere ? static_cast<char>(image.processState)
                                       : stateOf(image.process);
  log.activity = image.activity.read();
  uint64_t count = image.count.load(std::memory_order_acquire);
  uint64_t kept = std::min(count, FlightRecorder::capacity);
  for (uint64_t i = count - kept; i < count; ++i) {
    FlightEntry entry = image.entries[i % FlightRecorder::capacity];
    entry.place[sizeof(entry.place) - 1] = 0;
    log.entries.push_back(entry);
  }
  return log;
}

FlightLog FlightRecorder::log() const {
  return logOf(*static_cast<const Image *>(memory));
}

static bool isImage(const void *data, size_t size) {
  return size == sizeof(Image) && std::memcmp(data, magic, sizeof(magic)) == 0;
}

FlightLog readFlight(const std::string &path) {
  MappedFile mapped(path, "flight record");
  if (!isImage(mapped.data(), mapped.size()))
    fail("'", path, "' is no flight record of this release of pmrun");
  return logOf(*reinterpret_cast<const Image *>(mapped.data()));
}

std::optional<FlightEntry> lastFlight(const std::string &path) {
  try {
    FlightLog log = readFlight(path);
    if (!log.entries.empty())
      return log.entries.back();
  } catch (const Error &) {
    // There is nothing to tell then.
  }
  return std::nullopt;
}

std::string packFlight(const std::string &path) {
  std::string bytes;
  try {
    MappedFile mapped(path, "flight record");
    if (!isImage(mapped.data(), mapped.size()))
      return "";
    bytes.assign(reinterpret_cast<const char *>(mapped.data()), mapped.size());
  } catch (const Error &) {
    return "";
  }
  int64_t process;
  std::memcpy(&process, bytes.data() + offsetof(Image, process),
              sizeof(process));
  uint64_t now = nanoseconds();
  int64_t state = stateOf(process);
  std::memcpy(bytes.data() + offsetof(Image, readAt), &now, sizeof(now));
  std::memcpy(bytes.data() + offsetof(Image, processState), &state,
              sizeof(state));
  return bytes;
}

void unpackFlight(const std::string &bytes, const std::string &folder,
                  int64_t rank) {
  if (!isImage(bytes.data(), bytes.size()))
    fail("what came of rank ", rank,
         " is no flight record of this release of pmrun");
  // Under its name when it is whole: a reader may be there.
  std::string path = flightPath(folder, rank), part = path + ".part";
  std::ofstream file(part, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0)
    fail("cannot write '", path, "'");
}

std::string processText(const FlightLog &log) {
  switch (log.processState) {
  case 'X':
  case 'Z':
    return ", its process is gone";
  case 'T':
  case 't':
    return ", its process is stopped";
  default:
    return "";
  }
}

} // namespace pipemesh::runtime
