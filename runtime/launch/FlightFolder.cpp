//===- FlightFolder.cpp - Where the ranks record what they exchange -------===//

#include "launch/FlightFolder.h"

#include "host/FlightRecorder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <unistd.h>

namespace pipemesh::runtime {

namespace fs = std::filesystem;

FlightFolder::FlightFolder(const Options &options, Transport *transport)
    : folder(options.flightRecorder), stays(!folder.empty()) {
  std::random_device random;
  std::string name = cat("pmrun-flight-", getpid(), "-", random());
  // Processes of one machine share the folder; each machine has its own.
  if (transport)
    name = transport->exchange(name)[0];
  const char *given = std::getenv("TMPDIR");
  if (!stays)
    folder = (fs::path(given && *given ? given : "/tmp") / name).string();
  auto make = [&] {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      fail("cannot make the folder of flight records '", folder,
           "': ", error.message(), "; --flight-recorder=DIR names another one");
  };
  if (transport)
    agree(*transport, make);
  else
    make();
}

FlightFolder::~FlightFolder() {
  if (stays)
    return;
  // Processes of one machine share it.
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

std::string flightTable(const std::string &folder) {
  constexpr size_t most = 16;
  std::vector<FlightLog> logs;
  std::error_code error;
  for (const fs::directory_entry &file : fs::directory_iterator(folder, error))
    if (file.path().extension() == ".flight")
      logs.push_back(readFlight(file.path().string()));
  if (error)
    fail("cannot read '", folder, "': ", error.message());
  if (logs.empty())
    fail("there is no flight record in '", folder, "'");
  std::sort(logs.begin(), logs.end(),
            [](auto &a, auto &b) { return a.rank < b.rank; });
  // A clock of the machine, that all its ranks read; those of others count to
  // the time at which their records were asked for.
  uint64_t here = 0;
  for (const FlightLog &log : logs)
    for (const FlightEntry &entry : log.entries)
      if (!log.fromElsewhere)
        here = std::max({here, entry.begin, entry.end});
  std::string text = cat("bundle ", logs[0].hash, "; seconds before the last "
                                                  "time in any record\n");
  auto before = [](uint64_t last, uint64_t time) {
    char number[32];
    std::snprintf(number, sizeof(number), "%.6f",
                  static_cast<double>(last - std::min(last, time)) * 1e-9);
    return std::string(number);
  };
  for (const FlightLog &log : logs) {
    text += cat(log.who, ": ", log.entries.size(), " of its last ",
                FlightRecorder::capacity, " operations\n");
    uint64_t last = log.fromElsewhere ? log.readAt : here;
    size_t kept = std::min(most, log.entries.size());
    for (size_t i = log.entries.size() - kept; i < log.entries.size(); ++i) {
      const FlightEntry &entry = log.entries[i];
      text += cat("  ", before(last, entry.begin),
                  entry.end ? cat(" to ", before(last, entry.end)) : " unfinished",
                  "  ", entryDetails(entry), "\n");
    }
  }
  return text;
}

} // namespace pipemesh::runtime
