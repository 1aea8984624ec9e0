//===- ActionLists.cpp - schedules as text --------------------------------===//

#include "pipemesh/Schedule/ActionLists.h"
#include "Check.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace pipemesh::schedule;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::StringRef;

static constexpr llvm::StringLiteral communication[] = {"SEND_F", "RECV_F",
                                                        "SEND_B", "RECV_B"};
static constexpr llvm::StringLiteral parameterSharding[] = {
    "UNSHARD", "RESHARD", "REDUCE_GRAD"};
/// Larger numbers are mistakes, not stages or micro-batches.
static constexpr int64_t largestNumber = int64_t(1) << 20;

namespace {
class Parser {
public:
  Parser(StringRef text) : text(text) {}
  Expected<Schedule> run(std::vector<std::string> &remarks);

private:
  Error parseRow(StringRef line);
  Error parseCell(StringRef cell);
  /// None where the cell is one to ignore.
  Expected<std::optional<Action>> parseAction(StringRef cell);
  Error place();
  template <typename... Args> Error wrong(const char *format, Args &&...args) {
    std::string what = llvm::formatv(format, std::forward<Args>(args)...);
    return fail("line {0}: {1}", line, what);
  }

  StringRef text;
  size_t line = 0;
  Schedule schedule;
  llvm::MapVector<StringRef, int64_t> ignored;
};
} // namespace

Expected<std::optional<Action>> Parser::parseAction(StringRef cell) {
  StringRef stage = cell.take_while(llvm::isDigit);
  StringRef word = cell.drop_front(stage.size());
  StringRef kind = word.take_while(
      [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
  StringRef number = word.drop_front(kind.size());
  int64_t stageNumber = 0, microBatch = 0;
  auto known = [&]() -> std::optional<ActionKind> {
    for (ActionKind k :
         {ActionKind::Forward, ActionKind::BackwardInput,
          ActionKind::BackwardWeight, ActionKind::Backward, ActionKind::Update})
      if (kind.size() == 1 && kind[0] == getLetter(k))
        return k;
    return std::nullopt;
  }();
  bool isIgnored = llvm::is_contained(communication, kind) ||
                   llvm::is_contained(parameterSharding, kind);
  bool needsNumber = known && *known != ActionKind::Update;
  if ((!known && !isIgnored) || stage.empty() ||
      stage.getAsInteger(10, stageNumber) || stageNumber > largestNumber ||
      (number.empty()
           ? needsNumber
           : number.getAsInteger(10, microBatch) || microBatch > largestNumber))
    return wrong("'{0}' is no action; actions are a stage, one of F, I, W, B "
                 "and a micro-batch, such as 2F0, or a pair such as "
                 "(0F3;3B1)OVERLAP_F_B",
                 cell);
  if (isIgnored) {
    ++ignored[kind];
    return std::nullopt;
  }
  return Action{*known, static_cast<int32_t>(stageNumber),
                static_cast<int32_t>(microBatch)};
}

Error Parser::parseCell(StringRef cell) {
  ActionList &list = schedule.lists.back();
  if (!cell.starts_with("(")) {
    Expected<std::optional<Action>> action = parseAction(cell);
    if (!action)
      return action.takeError();
    if (*action)
      list.push_back(**action);
    return Error::success();
  }
  auto [inside, kind] = cell.drop_front().split(')');
  SmallVector<StringRef> parts;
  inside.split(parts, ';');
  if (kind != "OVERLAP_F_B" || parts.size() != 2)
    return wrong("'{0}' is no pair of actions such as (0F3;3B1)OVERLAP_F_B",
                 cell);
  SmallVector<Action, 2> actions;
  for (StringRef part : parts) {
    Expected<std::optional<Action>> action = parseAction(part.trim());
    if (!action)
      return action.takeError();
    if (!*action)
      return wrong("'{0}' overlaps what is no computation", cell);
    actions.push_back(**action);
  }
  list.push_back(Item(actions[0], actions[1]));
  return Error::success();
}

Error Parser::parseRow(StringRef row) {
  schedule.lists.emplace_back();
  SmallVector<StringRef> cells;
  row.split(cells, ',');
  for (StringRef cell : cells) {
    cell = cell.trim();
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
      cell = cell.drop_front().drop_back().trim();
    if (cell.empty())
      continue;
    if (Error error = parseCell(cell))
      return error;
  }
  return Error::success();
}

/// Each stage lies on the rank whose row has it.
Error Parser::place() {
  llvm::DenseMap<int32_t, int32_t> rankOf;
  int32_t last = -1;
  for (auto [rank, list] : llvm::enumerate(schedule.lists))
    for (const Item &item : list)
      for (const std::optional<Action> &action :
           {std::optional<Action>(item.action), item.partner}) {
        if (!action)
          continue;
        auto [entry, isNew] = rankOf.try_emplace(action->stage, rank);
        if (!isNew && entry->second != int32_t(rank))
          return fail("stage {0} is in the rows of ranks {1} and {2}; a stage "
                      "lies on one rank",
                      action->stage, entry->second, rank);
        last = std::max(last, action->stage);
        schedule.microBatches =
            std::max<int64_t>(schedule.microBatches, action->microBatch + 1);
      }
  if (last < 0)
    return fail("no row has an action");
  for (int32_t stage = 0; stage <= last; ++stage) {
    auto entry = rankOf.find(stage);
    if (entry == rankOf.end())
      return fail("no row has stage {0}, but there is a stage {1}", stage,
                  last);
    schedule.rankOfStage.push_back(entry->second);
  }
  for (auto [rank, list] : llvm::enumerate(schedule.lists))
    if (list.empty())
      return fail("the row of rank {0} has no action", rank);
  return Error::success();
}

Expected<Schedule> Parser::run(std::vector<std::string> &remarks) {
  SmallVector<StringRef> lines;
  text.rtrim().split(lines, '\n');
  for (StringRef row : lines) {
    ++line;
    if (Error error = parseRow(row))
      return std::move(error);
  }
  if (Error error = place())
    return std::move(error);
  if (!ignored.empty()) {
    std::vector<std::string> counts;
    int64_t total = 0;
    for (auto &[kind, count] : ignored) {
      total += count;
      counts.push_back(llvm::formatv("{0} {1}", count, kind));
    }
    remarks.push_back(llvm::formatv(
        "ignored {0} cells of communication and of parameter sharding ({1}): "
        "both follow from the program",
        total, llvm::join(counts, ", ")));
  }
  if (Error error = validate(schedule))
    return std::move(error);
  return std::move(schedule);
}

Expected<Schedule>
pipemesh::schedule::parseActionLists(StringRef text,
                                     std::vector<std::string> &remarks) {
  return Parser(text).run(remarks);
}

std::string pipemesh::schedule::printActionLists(const Schedule &schedule) {
  std::string text;
  for (const ActionList &list : schedule.lists) {
    for (auto [i, item] : llvm::enumerate(list)) {
      if (i != 0)
        text += ',';
      text += item.str();
    }
    text += '\n';
  }
  return text;
}
