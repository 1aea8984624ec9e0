//===- PrintJson.cpp - schedules and timelines as JSON --------------------===//

#include "pipemesh/Schedule/Print.h"
#include "llvm/ADT/STLExtras.h"

using namespace pipemesh::schedule;
namespace json = llvm::json;

static json::Value toJson(const Item &item) {
  if (!item.partner)
    return item.action.str();
  return json::Array{"FB", item.action.str(), item.partner->str()};
}

void pipemesh::schedule::printJson(
    const Schedule &schedule, const Timeline &timeline, llvm::raw_ostream &os,
    llvm::ArrayRef<std::pair<llvm::StringRef, json::Value>> more) {
  os << "{";
  const char *separator = "\n ";
  auto add = [&](llvm::StringRef key, const json::Value &value) {
    os << separator << json::Value(key) << ": " << value;
    separator = ",\n ";
  };
  if (!schedule.name.empty())
    add("schedule", schedule.name);
  add("ranks", schedule.getNumRanks());
  if (schedule.getNumStages() % schedule.getNumRanks() == 0)
    add("chunks_per_rank", schedule.getNumStages() / schedule.getNumRanks());
  add("rank_of_stage", json::Array(schedule.rankOfStage));
  add("microbatches", schedule.microBatches);
  add("makespan", timeline.makespan);
  add("span", json::Array(timeline.span));
  add("busy", json::Array(timeline.busy));
  add("bubble", timeline.bubble);
  add("peak_until_weight_grad", json::Array(timeline.peakUntilWeightGradient));
  add("peak_until_input_grad", json::Array(timeline.peakUntilInputGradient));
  add("peak_memory", json::Array(timeline.peakMemory));
  for (auto &[key, value] : more)
    add(key, value);
  os << separator << "\"actions\": [";
  separator = "\n  ";
  for (const ActionList &list : schedule.lists) {
    json::Array row;
    for (const Item &item : list)
      row.push_back(toJson(item));
    os << separator << json::Value(std::move(row));
    separator = ",\n  ";
  }
  os << "]\n}\n";
}

void pipemesh::schedule::printPerfetto(const Schedule &schedule,
                                       const Timeline &timeline,
                                       llvm::raw_ostream &os) {
  static constexpr llvm::StringLiteral names[] = {
      "forward", "input_gradient", "weight_gradient", "backward", "update"};
  constexpr double microseconds = 1000;
  json::OStream out(os);
  out.object([&] {
    out.attribute("displayTimeUnit", "ms");
    out.attributeArray("traceEvents", [&] {
      for (int64_t rank = 0; rank < schedule.getNumRanks(); ++rank)
        out.object([&] {
          out.attribute("name", "thread_name");
          out.attribute("ph", "M");
          out.attribute("pid", 0);
          out.attribute("tid", rank);
          out.attributeObject("args", [&] {
            out.attribute("name", "rank " + std::to_string(rank));
          });
        });
      for (int64_t rank = 0; rank < schedule.getNumRanks(); ++rank)
        for (auto [item, time] :
             llvm::zip(schedule.lists[rank], timeline.items[rank])) {
          const Item &entry = item;
          const Interval &interval = time;
          out.object([&] {
            out.attribute("name", entry.str());
            out.attribute("cat", "action");
            out.attribute("ph", "X");
            out.attribute("pid", 0);
            out.attribute("tid", rank);
            out.attribute("ts", interval.start * microseconds);
            out.attribute("dur",
                          (interval.end - interval.start) * microseconds);
            llvm::StringRef kind = names[static_cast<int>(entry.action.kind)];
            out.attributeObject("args", [&] {
              out.attribute("kind", entry.partner ? "overlapped" : kind);
              out.attribute("stage", entry.action.stage);
              out.attribute("micro_batch", entry.action.microBatch);
            });
          });
        }
    });
  });
  os << "\n";
}
