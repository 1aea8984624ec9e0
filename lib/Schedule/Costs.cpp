//===- Costs.cpp ----------------------------------------------------------===//

#include "pipemesh/Schedule/Costs.h"
#include "Check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace pipemesh::schedule;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::StringRef;

double StageCosts::getTime(ActionKind kind) const {
  switch (kind) {
  case ActionKind::Forward:
    return forward;
  case ActionKind::BackwardInput:
    return input;
  case ActionKind::BackwardWeight:
    return weight;
  case ActionKind::Backward:
    return getBackward();
  case ActionKind::Update:
    return update;
  }
  return 0;
}

static Error parseNumber(StringRef text, StringRef what, double &value) {
  if (text.trim().getAsDouble(value) || !std::isfinite(value) || value < 0)
    return fail("{0} must be a number from 0 on, but is '{1}'", what,
                text.trim());
  return Error::success();
}

/// Numbers between commas into the first of the places.
static Error parseNumbers(StringRef text, StringRef what,
                          llvm::ArrayRef<StringRef> names,
                          llvm::ArrayRef<double *> places) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  if (parts.size() > places.size())
    return fail("{0} are at most {1} numbers, {2}, but '{3}' has {4}", what,
                places.size(), llvm::join(names, ","), text, parts.size());
  for (auto [part, name, place] :
       llvm::zip_first(parts, names.take_front(parts.size()),
                       places.take_front(parts.size())))
    if (Error error = parseNumber(part, name, *place))
      return error;
  return Error::success();
}

Error Costs::parseTimes(StringRef text) {
  for (StageCosts &stage : stages) {
    double backward = -1;
    if (Error error =
            parseNumbers(text, "costs", {"F", "I", "W", "transfer", "B", "U"},
                         {&stage.forward, &stage.input, &stage.weight,
                          &stage.transfer, &backward, &stage.update}))
      return error;
    if (backward >= 0)
      stage.backward = backward;
  }
  return Error::success();
}

Error Costs::parseMemory(StringRef text) {
  for (StageCosts &stage : stages)
    if (Error error = parseNumbers(text, "memory", {"ACTIVATION", "W"},
                                   {&stage.activation, &stage.kept}))
      return error;
  return Error::success();
}

Expected<Costs> Costs::parseTable(StringRef text) {
  static constexpr llvm::StringLiteral columns[] = {
      "stage", "F", "I", "W", "B", "U", "transfer", "activation", "kept"};
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  SmallVector<StringRef> header;
  std::vector<StageCosts> stages;
  for (auto [index, line] : llvm::enumerate(lines)) {
    line = line.trim();
    if (line.empty())
      continue;
    SmallVector<StringRef> cells;
    line.split(cells, ',');
    for (StringRef &cell : cells)
      cell = cell.trim();
    if (header.empty()) {
      for (auto [column, name] : llvm::enumerate(cells)) {
        if (!llvm::is_contained(columns, name))
          return fail("unknown column '{0}' of costs; known are {1}", name,
                      llvm::join(llvm::ArrayRef(columns), ", "));
        if (llvm::is_contained(llvm::ArrayRef(cells).take_front(column), name))
          return fail("column '{0}' of costs is there twice", name);
      }
      if (!llvm::is_contained(cells, "F"))
        return fail("a table of costs needs a column 'F'");
      header = cells;
      continue;
    }
    if (cells.size() != header.size())
      return fail("line {0} of the costs has {1} cells, but the header {2}",
                  index + 1, cells.size(), header.size());
    StageCosts stage;
    for (auto [name, cell] : llvm::zip(header, cells)) {
      if (name == "B" && cell.empty())
        continue;
      std::string what =
          llvm::formatv("'{0}' in line {1} of the costs", name, index + 1);
      double value = 0;
      if (Error error = parseNumber(cell, what, value))
        return std::move(error);
      if (name == "stage") {
        if (value != stages.size())
          return fail("line {0} of the costs is for stage {1}, but stage {2} "
                      "is next",
                      index + 1, cell, stages.size());
      } else if (name == "F") {
        stage.forward = value;
      } else if (name == "I") {
        stage.input = value;
      } else if (name == "W") {
        stage.weight = value;
      } else if (name == "B") {
        stage.backward = value;
      } else if (name == "U") {
        stage.update = value;
      } else if (name == "transfer") {
        stage.transfer = value;
      } else if (name == "activation") {
        stage.activation = value;
      } else {
        stage.kept = value;
      }
    }
    stages.push_back(stage);
  }
  if (stages.empty())
    return fail("a table of costs needs a header and a row for each stage");
  return Costs(std::move(stages));
}

Error Costs::checkStages(int64_t count) const {
  if (size() == 1 || int64_t(size()) == count)
    return Error::success();
  return fail("costs of {0} stages are given, but the schedule has {1}", size(),
              count);
}
