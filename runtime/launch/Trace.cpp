//===- Trace.cpp - A timeline for Perfetto --------------------------------===//

#include "core/File.h"
#include "host/Collective.h"
#include "launch/Report.h"

#include <nlohmann/json.hpp>

using json = nlohmann::ordered_json;

namespace pipemesh::runtime {

/// The other members of the communicator of a collective.
static std::vector<int64_t> peersOf(const Mesh &mesh, const pmrt_role &role,
                                    int64_t rank,
                                    const pmrt_instruction &instruction) {
  const pmrt_communicator &communicator =
      role.communicators[communicatorOf(instruction)];
  std::vector<int64_t> members = mesh.group(
      rank, std::vector<uint32_t>(communicator.axes,
                                  communicator.axes + communicator.num_axes));
  std::erase(members, rank);
  return members;
}

/// The events of this process's ranks, each with a comma behind it.
static std::string traceEvents(Job &job, uint64_t origin) {
  std::string text;
  auto add = [&](const json &event) { text += event.dump() + ",\n"; };
  for (int64_t i = 0; i < job.localSize(); ++i) {
    Rank &rank = job.local(i);
    int64_t r = rank.number();
    const pmrt_role &role = rank.getProgram().role;
    add({{"ph", "M"},
         {"name", "process_name"},
         {"pid", r},
         {"args", {{"name", job.manifest().mesh.describe(r)}}}});
    add({{"ph", "M"},
         {"name", "process_sort_index"},
         {"pid", r},
         {"args", {{"sort_index", r}}}});
    std::vector<TraceEvent> events = rank.events;
    events.insert(events.end(), rank.started.begin(), rank.started.end());
    if (!rank.started.empty())
      add({{"ph", "M"},
           {"name", "thread_name"},
           {"pid", r},
           {"tid", 1},
           {"args", {{"name", "started collectives"}}}});
    for (size_t e = 0; e < events.size(); ++e) {
      const TraceEvent &event = events[e];
      int thread = e < rank.events.size() ? 0 : 1;
      const pmrt_action &action = role.actions[event.action];
      auto span = [&](const std::string &name, const char *category,
                      uint64_t begin, uint64_t end, json arguments) {
        add({{"ph", "X"},
             {"name", name},
             {"cat", category},
             {"pid", r},
             {"tid", thread},
             {"ts", double(begin - origin) / 1e3},
             {"dur", double(end - begin) / 1e3},
             {"args", std::move(arguments)}});
      };
      if (action.kind != PMRT_RUN) {
        bool send = action.kind == PMRT_SEND;
        span(cat(send ? "send " : "receive ", role.buffers[action.index].name),
             "transfer", event.begin, event.end,
             {{"buffer", role.buffers[action.index].name},
              {"micro_batch", action.micro_batch},
              {"step", event.step},
              {"peer", job.manifest().mesh.peer(r, action.peer)},
              {"bytes", role.buffers[action.index].bytes},
              {"channel", action.channel},
              {"wait_us", double(event.waited) / 1e3}});
        continue;
      }
      const pmrt_body &body = role.bodies[action.index];
      if (!event.instruction) {
        span(body.name, "action", event.begin, event.end,
             {{"kind", kindName(body.kind)},
              {"stage", body.stage},
              {"micro_batch", action.micro_batch},
              {"step", event.step}});
        continue;
      }
      const pmrt_instruction &instruction = *event.instruction;
      json arguments;
      if (instruction.location)
        arguments["location"] = instruction.location;
      std::string name = "gemm";
      const char *category = "gemm";
      switch (instruction.opcode) {
      case PMRT_OP_GEMM: {
        const auto &gemm =
            *static_cast<const pmrt_gemm *>(instruction.descriptor);
        arguments["m"] = gemm.m;
        arguments["n"] = gemm.n;
        arguments["k"] = gemm.k;
        break;
      }
      case PMRT_OP_ATTENTION:
        name = "attention";
        category = "kernel";
        arguments["flops"] = attentionFlops(instruction);
        break;
      case PMRT_OP_KERNEL:
        name = kernelOf(instruction).name;
        category = "kernel";
        arguments["flops"] = kernelOf(instruction).flops;
        arguments["bytes"] = kernelOf(instruction).bytes;
        break;
      case PMRT_OP_ALL_REDUCE:
      case PMRT_OP_ALL_GATHER:
      case PMRT_OP_REDUCE_SCATTER:
      case PMRT_OP_ALL_TO_ALL:
      case PMRT_OP_PERMUTE:
        name = collectiveName(instruction.opcode);
        category = "collective";
        // Its start takes no time; the span beside it is what it took.
        if (instruction.event && !thread)
          name = "start of " + name;
        if (instruction.event)
          arguments["event"] = instruction.event;
        arguments["bytes"] = operandBytes(instruction);
        arguments["peers"] = peersOf(job.manifest().mesh, role, r, instruction);
        arguments["wait_us"] = double(event.waited) / 1e3;
        break;
      case PMRT_OP_COPY:
        name = category = "copy";
        break;
      case PMRT_OP_WAIT:
        name = category = "wait";
        arguments["event"] = instruction.event;
        break;
      default:
        name = category = "zero";
      }
      span(name, category, event.begin, event.end, std::move(arguments));
    }
  }
  return text;
}

void writeTrace(Job &job, const std::string &path) {
  uint64_t origin = UINT64_MAX;
  for (int64_t i = 0; i < job.localSize(); ++i)
    if (!job.local(i).events.empty())
      origin = std::min(origin, job.local(i).events.front().begin);
  for (const std::string &other :
       job.getTransport().exchange(std::to_string(origin)))
    origin = std::min<uint64_t>(origin, std::stoull(other));
  std::vector<std::string> texts = job.gatherTexts(traceEvents(job, origin));
  job.agree([&] {
    if (!job.isFirst())
      return;
    AtomicFile file(path);
    file.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    for (size_t i = 0; i < texts.size(); ++i) {
      std::string_view text = texts[i];
      bool last = i + 1 == texts.size();
      file.write(last ? text.substr(0, text.size() - 2) : text);
    }
    file.write("\n]}\n");
    file.commit();
  });
}

} // namespace pipemesh::runtime
