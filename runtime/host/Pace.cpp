//===- Pace.cpp - Fragments that sleep instead of computing ---------------===//

#include "host/Pace.h"

#include "core/Error.h"
#include "pmrt/pmrt.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <sstream>

namespace pipemesh::runtime {

static std::vector<std::string> cellsOf(const std::string &line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) {
    size_t begin = cell.find_first_not_of(" \t\r");
    size_t end = cell.find_last_not_of(" \t\r");
    cells.push_back(
        begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  if (!line.empty() && line.back() == ',')
    cells.emplace_back();
  return cells;
}

Pace Pace::parse(const std::string &text, const std::string &file) {
  static const std::vector<std::string> columns = {
      "stage", "F", "I", "W", "B", "U", "transfer", "activation", "kept"};
  Pace pace;
  std::istringstream in(text);
  std::vector<std::string> header;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::vector<std::string> cells = cellsOf(line);
    if (std::all_of(cells.begin(), cells.end(),
                    [](const std::string &cell) { return cell.empty(); }))
      continue;
    if (header.empty()) {
      for (const std::string &name : cells)
        if (std::find(columns.begin(), columns.end(), name) == columns.end())
          fail("'", file, "' has the column '", name,
               "'; known are stage, F, I, W, B, U, transfer, activation and "
               "kept");
      header = cells;
      continue;
    }
    if (cells.size() != header.size())
      fail("line ", number, " of '", file, "' has ", cells.size(),
           " cells, but the header has ", header.size());
    Stage stage;
    bool hasBackward = false;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string &name = header[i];
      if (name == "B" && cells[i].empty())
        continue;
      char *end = nullptr;
      double value = std::strtod(cells[i].c_str(), &end);
      if (cells[i].empty() || *end || !(value >= 0) || value > 1e9)
        fail("'", name, "' in line ", number, " of '", file, "' is '", cells[i],
             "', but must be a number of milliseconds");
      if (name == "stage" && value != static_cast<double>(pace.stages.size()))
        fail("line ", number, " of '", file, "' is for stage ", cells[i],
             ", but stage ", pace.stages.size(), " is next");
      if (name == "F")
        stage.forward = value;
      else if (name == "I")
        stage.input = value;
      else if (name == "W")
        stage.weight = value;
      else if (name == "B")
        stage.backward = value, hasBackward = true;
      else if (name == "U")
        stage.update = value;
    }
    if (!hasBackward)
      stage.backward = stage.input + stage.weight;
    pace.stages.push_back(stage);
  }
  if (pace.stages.empty())
    fail("'", file, "' has no row of a stage below its header");
  return pace;
}

uint64_t Pace::of(uint32_t kind, uint32_t stage) const {
  if (stage >= stages.size())
    fail("stage ", stage, " has no row among the ", stages.size(),
         " of the given pace");
  const Stage &of = stages[stage];
  double milliseconds = kind == PMRT_FORWARD           ? of.forward
                        : kind == PMRT_INPUT_GRADIENT  ? of.input
                        : kind == PMRT_WEIGHT_GRADIENT ? of.weight
                        : kind == PMRT_BACKWARD        ? of.backward
                        : kind == PMRT_UPDATE          ? of.update
                                                       : 0;
  return static_cast<uint64_t>(std::llround(milliseconds * 1e6));
}

void Pace::sleepUntil(uint64_t nanoseconds) {
  timespec moment;
  moment.tv_sec = static_cast<time_t>(nanoseconds / 1000000000);
  moment.tv_nsec = static_cast<long>(nanoseconds % 1000000000);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, nullptr))
    ;
}

} // namespace pipemesh::runtime
