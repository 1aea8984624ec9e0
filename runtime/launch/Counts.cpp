//===- Counts.cpp - What each rank did, counted while it ran --------------===//

#include "launch/Counts.h"

#include "host/Collective.h"
#include "launch/Report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

using json = nlohmann::ordered_json;

namespace pipemesh::runtime {

/// A count of all steps as one of each.
static double perStep(uint64_t count, uint64_t steps) {
  return static_cast<double>(count) /
         static_cast<double>(std::max<uint64_t>(steps, 1));
}

/// Whole numbers without a fraction.
static json number(double value) {
  auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? json(whole) : json(value);
}

static json collectiveCounts(const pmrt_role &role, const pmrt_body &body,
                             const pmrt_instruction &instruction, double runs,
                             const json &coordinates) {
  const pmrt_communicator &communicator =
      role.communicators[communicatorOf(instruction)];
  json axes = json::array();
  int64_t members = 1, member = 0;
  for (uint32_t i = 0; i < communicator.num_axes; ++i) {
    const pmrt_axis &axis = role.axes[communicator.axes[i]];
    axes.push_back(axis.name);
    members *= axis.size;
    member = member * axis.size + coordinates.value(axis.name, int64_t(0));
  }
  bool reduce = instruction.opcode == PMRT_OP_ALL_REDUCE;
  return {{"kind", collectiveName(instruction.opcode)},
          {"axes", std::move(axes)},
          {"group_size", members},
          {"operands", reduce ? instruction.num_operands : 1},
          {"operand_bytes", operandBytes(instruction)},
          {"wire_bytes", static_cast<int64_t>(wireBytes(instruction, members, member))},
          {"runs", number(runs)},
          {"module", instruction.location ? instruction.location : ""},
          {"fragment", kindName(body.kind)}};
}

json countsOf(const Job &job, const Rank &rank) {
  const Program &program = rank.getProgram();
  const pmrt_role &role = program.role;
  const Mesh &mesh = job.manifest().mesh;
  uint64_t steps = rank.counts.steps;
  json result;
  result["rank"] = rank.number();
  result["role"] = mesh.role(rank.number());
  json coordinates = json::object();
  std::vector<int64_t> position = mesh.coordinates(rank.number());
  for (size_t i = 0; i < position.size(); ++i)
    if (mesh.getAxes()[i].kind != AxisKind::Temporal)
      coordinates[mesh.getAxes()[i].name] = position[i];
  result["coordinates"] = coordinates;

  double flops = 0;
  json communication = json::array();
  for (uint32_t b = 0; b < role.num_bodies; ++b)
    for (uint64_t i = 0; i < role.bodies[b].num_instructions; ++i) {
      const pmrt_instruction &instruction = role.bodies[b].instructions[i];
      double runs = perStep(rank.counts.instructions[b][i], steps);
      if (instruction.opcode == PMRT_OP_GEMM)
        flops += runs * program.plan(b, i).flops();
      else if (instruction.opcode == PMRT_OP_KERNEL)
        flops += runs * static_cast<double>(kernelOf(instruction).flops);
      else if (instruction.opcode == PMRT_OP_ATTENTION)
        flops += runs * attentionFlops(instruction);
      else if (isCollective(instruction))
        communication.push_back(
            collectiveCounts(role, role.bodies[b], instruction, runs,
                             coordinates));
    }

  // One entry for each channel that the role sends on.
  std::map<std::pair<uint32_t, uint32_t>, size_t> places;
  std::vector<uint64_t> sent;
  size_t firstTransfer = communication.size();
  uint32_t fragment = 0;
  for (uint64_t a = 0; a < role.num_actions; ++a) {
    const pmrt_action &action = role.actions[a];
    if (action.kind == PMRT_RUN)
      fragment = role.bodies[action.index].kind;
    if (action.kind != PMRT_SEND)
      continue;
    auto [place, fresh] =
        places.try_emplace({action.peer, action.channel}, sent.size());
    if (fresh) {
      json axes = json::array();
      for (const Axis &axis : mesh.getAxes())
        if (axis.kind == AxisKind::Stage)
          axes.push_back(axis.name);
      uint64_t bytes = role.buffers[action.index].bytes;
      communication.push_back({{"kind", "transfer"},
                               {"axes", std::move(axes)},
                               {"group_size", 2},
                               {"operands", 1},
                               {"operand_bytes", bytes},
                               {"wire_bytes", bytes},
                               {"runs", 0},
                               {"module", role.buffers[action.index].name},
                               {"fragment", kindName(fragment)}});
      sent.push_back(0);
    }
    sent[place->second] += rank.counts.actions[a];
  }
  for (size_t i = 0; i < sent.size(); ++i)
    communication[firstTransfer + i]["runs"] = number(perStep(sent[i], steps));

  uint64_t weights = 0;
  for (const BufferInfo &buffer : program.info.buffers)
    if (buffer.kind == BufferKind::State && buffer.role == "parameter")
      weights += buffer.bytes;
  const TimeSpent &time = rank.time;
  result["flops"] = number(flops);
  result["weight_bytes"] = weights;
  result["weight_bytes_read"] = rank.counts.weightBytesRead;
  result["arena_bytes"] = role.arena_bytes;
  if (const Slices *slices = rank.liveSlices()) {
    result["live_bytes"] = slices->mark();
    result["live_place"] = slices->markPlace();
  }
  result["busy_share"] = static_cast<double>(time.busy()) /
                         std::max<double>(double(time.total()), 1);
  json milliseconds = json::object();
  for (auto &[name, nanoseconds] :
       {std::pair("gemm", time.gemm), std::pair("kernels", time.kernels),
        std::pair("collectives", time.collectives),
        std::pair("transfers", time.transfers),
        std::pair("waiting", time.waiting), std::pair("other", time.other)})
    milliseconds[name] = perStep(nanoseconds, steps) / 1e6;
  result["step_ms"] = milliseconds;
  result["communication"] = communication;
  return result;
}

json countsOfAll(Job &job, const StartMemory &start) {
  json own = json::object();
  own["ranks"] = json::array();
  for (int64_t i = 0; i < job.localSize(); ++i)
    own["ranks"].push_back(countsOf(job, job.local(i)));
  own["peak_memory_bytes"] = peakMemory();
  own["memory"] = memoryOf(job, start);
  std::vector<std::string> texts = job.gatherTexts(own.dump());
  json result = {{"format", "pipemesh-report"},
                 {"version", 1},
                 {"hash", job.manifest().hash},
                 {"steps", job.local(0).counts.steps},
                 {"ranks", json::array()},
                 {"memory", json::array()}};
  if (!job.isFirst())
    return result;
  for (const std::string &text : texts) {
    json process = json::parse(text);
    bool single = texts.size() == 1;
    if (single)
      result["peak_memory_bytes"] = process["peak_memory_bytes"];
    json memory = process["memory"];
    if (!single)
      memory["rank"] = process["ranks"][0]["rank"];
    result["memory"].push_back(std::move(memory));
    for (json &rank : process["ranks"]) {
      if (!single)
        rank["peak_memory_bytes"] = process["peak_memory_bytes"];
      result["ranks"].push_back(std::move(rank));
    }
  }
  return result;
}

/// "dp", "tp" of ["tp.kv", "tp.group"], "dp,pp".
static std::string axisName(const json &axes) {
  std::vector<std::string> names;
  for (const json &axis : axes) {
    std::string name = axis.get<std::string>();
    name = name.substr(0, name.find('.'));
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ",") + name;
  return text;
}

/// "1.234 MB".
static std::string megabytes(double bytes) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.3f MB", bytes / 1e6);
  return text;
}

std::string countsTable(const json &counts) {
  std::string text;
  char line[400];
  auto print = [&](const char *format, auto... arguments) {
    std::snprintf(line, sizeof(line), format, arguments...);
    text += line;
  };
  struct Sum {
    double calls = 0, bytes = 0;
  };
  std::map<std::string, Sum> kinds, modules;
  print("%-28s %12s %12s %12s %12s %7s\n", "each step, by rank", "MFLOP",
        "weights", "arena", "sent", "busy");
  for (const json &rank : counts["ranks"]) {
    std::string name;
    for (auto &[axis, index] : rank["coordinates"].items())
      name += cat(name.empty() ? "" : ", ", axis, "=", index.get<int64_t>());
    double sent = 0;
    for (const json &entry : rank["communication"]) {
      double runs = entry["runs"].get<double>();
      double bytes = runs * entry["wire_bytes"].get<double>();
      if (entry["group_size"].get<int64_t>() < 2)
        continue;
      sent += bytes;
      std::string axes = axisName(entry["axes"]);
      std::string kind = entry["kind"].get<std::string>();
      char key[300];
      std::snprintf(key, sizeof(key), "  %-8s %-15s", axes.c_str(),
                    kind.c_str());
      kinds[key].calls += runs;
      kinds[key].bytes += bytes;
      std::snprintf(key, sizeof(key), "  %-8s %-15s %-9s %s", axes.c_str(),
                    kind.c_str(), entry["fragment"].get<std::string>().c_str(),
                    entry["module"].get<std::string>().c_str());
      modules[key].calls += runs;
      modules[key].bytes += bytes;
    }
    print("  rank %-3ld %-18s %12.3f %12s %12s %12s %6.1f%%\n",
          long(rank["rank"].get<int64_t>()), name.c_str(),
          rank["flops"].get<double>() / 1e6,
          megabytes(rank["weight_bytes"].get<double>()).c_str(),
          megabytes(rank["arena_bytes"].get<double>()).c_str(),
          megabytes(sent).c_str(), 100 * rank["busy_share"].get<double>());
  }
  for (const json &rank : counts["ranks"])
    if (rank.contains("live_bytes"))
      text += cat("  rank ", rank["rank"].get<int64_t>(), " has ",
                  rank["live_bytes"].get<uint64_t>(),
                  " bytes of its arena and of kernels' scratch in use at the "
                  "most, at ",
                  rank["live_place"].get<std::string>(), "\n");
  text += memoryTable(counts["memory"]);
  if (kinds.empty())
    return text + "no rank sends anything\n";
  auto list = [&](const char *title, const std::map<std::string, Sum> &sums,
                  size_t most) {
    std::vector<std::pair<std::string, Sum>> entries(sums.begin(), sums.end());
    std::sort(entries.begin(), entries.end(), [](const auto &a, const auto &b) {
      return a.second.bytes != b.second.bytes ? a.second.bytes > b.second.bytes
                                              : a.first < b.first;
    });
    size_t widest = 26;
    for (size_t i = 0; i < std::min(most, entries.size()); ++i)
      widest = std::max(widest, entries[i].first.size());
    print("%-*s %10s %14s\n", int(widest), title, "calls", "bytes");
    for (size_t i = 0; i < std::min(most, entries.size()); ++i)
      print("%-*s %10.0f %14s\n", int(widest), entries[i].first.c_str(),
            entries[i].second.calls,
            megabytes(entries[i].second.bytes).c_str());
    if (entries.size() > most)
      print("  and %zu more\n", entries.size() - most);
  };
  list("each step, all ranks", kinds, SIZE_MAX);
  list("by module", modules, 20);
  return text;
}

} // namespace pipemesh::runtime
