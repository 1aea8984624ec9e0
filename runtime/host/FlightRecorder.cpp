//===- FlightRecorder.cpp - What a rank exchanged last --------------------===//

#include "host/FlightRecorder.h"

#include "core/File.h"
#include "host/Collective.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

namespace pipemesh::runtime {

namespace {

constexpr char magic[8] = {'P', 'M', 'F', 'L', 'I', 'G', 'H', '1'};

/// What lies in the file.
struct Image {
  char magic[8];
  int64_t rank, process;
  char who[128], hash[128];
  std::atomic<uint64_t> count; ///< of entries so far
  alignas(64) FlightEntry entries[FlightRecorder::capacity];
};

} // namespace

static const char *dtypeName(uint32_t dtype) {
  static constexpr const char *names[] = {
      "f32", "f64", "bf16", "f16", "i32", "i64", "i1",  "u32",
      "u64", "i8",  "u8",   "i16", "u16", "c64", "c128"};
  return dtype < std::size(names) ? names[dtype] : "values";
}

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

FlightLog readFlight(const std::string &path) {
  MappedFile mapped(path, "flight record");
  const auto *image = reinterpret_cast<const Image *>(mapped.data());
  if (mapped.size() != sizeof(Image) ||
      std::memcmp(image->magic, magic, sizeof(magic)) != 0)
    fail("'", path, "' is no flight record of this release of pmrun");
  FlightLog log{image->rank,
                image->process,
                fieldText(image->who),
                fieldText(image->hash),
                {}};
  uint64_t count = image->count.load(std::memory_order_acquire);
  uint64_t kept = std::min(count, FlightRecorder::capacity);
  for (uint64_t i = count - kept; i < count; ++i) {
    FlightEntry entry = image->entries[i % FlightRecorder::capacity];
    entry.place[sizeof(entry.place) - 1] = 0;
    log.entries.push_back(entry);
  }
  return log;
}

std::string processText(const std::string &path) {
  int64_t process = 0;
  try {
    process = readFlight(path).process;
  } catch (const Error &) {
    return "";
  }
  std::ifstream file(cat("/proc/", process, "/stat"));
  std::string text;
  std::getline(file, text);
  // The state stands behind the name, which is in parentheses.
  size_t name = text.rfind(')');
  char state = name == std::string::npos || name + 2 >= text.size()
                   ? 'X'
                   : text[name + 2];
  return state == 'X' || state == 'Z'   ? ", its process is gone"
         : state == 'T' || state == 't' ? ", its process is stopped"
                                        : "";
}

std::string axesOf(const FlightEntry &entry) {
  std::string place = fieldText(entry.place);
  return place.substr(0, place.find(" at "));
}

uint64_t lastCollective(const std::string &path, const std::string &axes) {
  try {
    FlightLog log = readFlight(path);
    for (size_t i = log.entries.size(); i-- > 0;)
      if (log.entries[i].run && axesOf(log.entries[i]) == axes)
        return log.entries[i].run;
  } catch (const Error &) {
    // There is nothing to tell then.
  }
  return 0;
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

} // namespace pipemesh::runtime
