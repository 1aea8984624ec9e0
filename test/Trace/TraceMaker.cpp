//===- TraceMaker.cpp - Traces of programs made in memory -----------------===//

#include "TraceMaker.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace pipemesh::trace::test {

namespace {

struct Span {
  uint64_t begin, end;
  bool writes;
};

bool conflict(const std::vector<Span> &a, const std::vector<Span> &b) {
  for (const Span &x : a)
    for (const Span &y : b)
      if (x.begin < y.end && y.begin < x.end && (x.writes || y.writes))
        return true;
  return false;
}

/// One instruction of one action, or a transfer.
struct Work {
  const pmrt_action *action;
  const pmrt_instruction *instruction; ///< null of a transfer
  std::vector<Span> spans;
  uint32_t node = 0;
};

constexpr uint32_t computeStream = 1, collectiveStream = 2, startedStream = 3;
constexpr uint64_t workspaceBytes = 1 << 16;

std::vector<Work> worksOf(const pmrt_role &role) {
  std::vector<Work> works;
  for (uint64_t a = 0; a < role.num_actions; ++a) {
    const pmrt_action &action = role.actions[a];
    auto slotOf = [&](const pmrt_buffer &buffer) {
      return buffer.offset +
             action.micro_batch % buffer.slots * buffer.slot_stride;
    };
    if (action.kind != PMRT_RUN) {
      const pmrt_buffer &buffer = role.buffers[action.index];
      works.push_back({&action,
                       nullptr,
                       {{slotOf(buffer), slotOf(buffer) + buffer.bytes,
                         action.kind == PMRT_RECEIVE}}});
      continue;
    }
    const pmrt_body &body = role.bodies[action.index];
    bool isOnce = body.kind == PMRT_PROLOGUE || body.kind == PMRT_REDUCE ||
                  body.kind == PMRT_UPDATE;
    for (uint64_t i = 0; i < body.num_instructions; ++i) {
      const pmrt_instruction &instruction = body.instructions[i];
      if (instruction.opcode == PMRT_OP_WAIT)
        continue;
      Work work{&action, &instruction, {}};
      for (uint32_t o = 0; o < instruction.num_operands; ++o) {
        const pmrt_operand &place = instruction.operands[o];
        uint64_t begin = role.scratch_offset;
        if (place.buffer != PMRT_SCRATCH)
          begin = isOnce ? role.buffers[place.buffer].offset
                         : slotOf(role.buffers[place.buffer]);
        begin += place.offset;
        work.spans.push_back(
            {begin, begin + place.bytes, (place.access & PMRT_WRITE) != 0});
      }
      works.push_back(std::move(work));
    }
  }
  return works;
}

/// An order of the works of all roles in which both ends of a transfer come
/// together, and works on the same bytes come in the order of the program.
std::vector<uint32_t> launchOrder(std::vector<std::vector<Work>> &roles) {
  uint32_t nodes = 0;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> transfers;
  for (std::vector<Work> &works : roles) {
    std::map<uint32_t, uint32_t> numbers;
    for (Work &work : works) {
      if (work.instruction) {
        work.node = nodes++;
        continue;
      }
      auto [found, isNew] = transfers.try_emplace(
          {work.action->channel, numbers[work.action->channel]++}, nodes);
      nodes += isNew;
      work.node = found->second;
    }
  }
  std::vector<std::vector<uint32_t>> behind(nodes);
  std::vector<uint32_t> open(nodes);
  auto add = [&](uint32_t before, uint32_t after) {
    behind[before].push_back(after);
    ++open[after];
  };
  for (const std::vector<Work> &works : roles) {
    uint32_t last = ~0u;
    std::map<uint32_t, uint32_t> ofChannel;
    for (size_t i = 0; i < works.size(); ++i) {
      if (works[i].instruction) {
        if (last != ~0u)
          add(last, works[i].node);
        last = works[i].node;
        continue;
      }
      auto [found, isNew] =
          ofChannel.try_emplace(works[i].action->channel, works[i].node);
      if (!isNew)
        add(found->second, works[i].node);
      found->second = works[i].node;
      for (size_t j = 0; j < works.size(); ++j)
        if (j != i && conflict(works[i].spans, works[j].spans) &&
            (works[j].instruction || j < i))
          j < i ? add(works[j].node, works[i].node)
                : add(works[i].node, works[j].node);
    }
  }
  std::set<uint32_t> ready;
  for (uint32_t node = 0; node < nodes; ++node)
    if (!open[node])
      ready.insert(node);
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    uint32_t node = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(node);
    for (uint32_t next : behind[node])
      if (--open[next] == 0)
        ready.insert(next);
  }
  if (order.size() != nodes)
    throw std::runtime_error("transfers have no order that suits all roles");
  return order;
}

/// The calls of one rank.
class RankMaker {
public:
  RankMaker(const SampleProgram &program, const MakeOptions &options,
            uint32_t rank, std::vector<json> &lines)
      : mesh(program.manifest.mesh), role(program.tables[mesh.role(rank)]),
        info(program.manifest.roles[mesh.role(rank)]), options(options),
        rank(rank), lines(lines),
        base((uint64_t(1) << 40) + (uint64_t(rank) << 32)) {}

  void start(const std::vector<std::vector<Work>> &roles);
  void step(const std::vector<const Work *> &works, uint32_t number);
  void finish();

private:
  struct Done {
    uint32_t stream, tick;
    std::vector<Span> spans;
  };

  json &call(const char *name) {
    lines.push_back({{"call", name}});
    if (isCaptured)
      lines.back()["captured"] = true;
    return lines.back();
  }
  json rangesOf(uint64_t begin, uint64_t end) const {
    return json::array({json::array({base + begin, end - begin})});
  }
  json rangesOf(const Span &span) const {
    return rangesOf(span.begin, span.end);
  }
  uint64_t workspace(uint32_t stream) const {
    return role.arena_bytes + (stream - 1) * workspaceBytes;
  }
  uint32_t group() const { return openGroup; }
  void waitFor(uint32_t stream, uint32_t other);
  /// Lets `stream` wait for what the spans need.
  void order(uint32_t stream, const std::vector<Span> &spans);
  void ran(uint32_t stream, const std::vector<Span> &spans);
  void run(const Work &work);
  void collective(const Work &work);
  void permute(const Work &work);
  void allToAll(const Work &work);
  void transfer(const Work &work);
  void launch(const Work &work);
  void writeWord(uint32_t word, uint64_t value) {
    json &line = call("cuStreamWriteValue32_v2");
    line["stream"] = computeStream;
    line["address"] = progress + 4 * word;
    line["value"] = value;
  }

  const runtime::Mesh &mesh;
  const pmrt_role &role;
  const runtime::RoleInfo &info;
  const MakeOptions &options;
  uint32_t rank;
  std::vector<json> &lines;
  uint64_t base, progress = 0, coordinates = 0;
  bool isCaptured = false, hasGraph = false;
  uint32_t openGroup = 0, groups = 0, events = 0;
  std::vector<uint64_t> communicators;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> pairs; ///< sender, receiver
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> pairStream;
  std::vector<uint32_t> streams;
  std::vector<Done> done;
  std::map<uint32_t, uint32_t> ticks;
  std::map<uint32_t, std::map<uint32_t, uint32_t>> clocks;
};

} // namespace

void RankMaker::start(const std::vector<std::vector<Work>> &roles) {
  uint64_t bytes = role.arena_bytes + 64 * workspaceBytes;
  lines.push_back(
      {{"trace", 1}, {"mode", options.touches ? "compute" : "record"}});
  call("cuInit");
  json &memory = call("cuMemAlloc_v2");
  memory["bytes"] = bytes;
  memory["address"] = base;
  coordinates = role.arena_bytes + 63 * workspaceBytes;
  progress = 4096 * (rank + 1);
  json &pinned = call("cuMemHostAlloc");
  pinned["bytes"] = 256;
  pinned["host"] = 77 + rank;
  pinned["device"] = progress;
  call("cuMemcpyHtoD_v2")["writes"] =
      rangesOf(coordinates, coordinates + 8 * role.num_axes);
  json &init = call("ncclCommInitRankConfig");
  init["comm"] = 1;
  init["id"] = "c0ffee";
  init["rank"] = rank;
  init["ranks"] = mesh.ranks();
  init["result"] = 7;
  json &poll = call("ncclCommGetAsyncError");
  poll["comm"] = 1;
  poll["error"] = 0;
  uint64_t comm = 2;
  auto split = [&](int64_t color, int64_t key) {
    json &line = call("ncclCommSplit");
    line["parent"] = 1;
    line["color"] = color;
    line["key"] = key;
    line["comm"] = color < 0 ? 0 : comm;
    return color < 0 ? 0 : comm++;
  };
  for (uint32_t c = 0; c < role.num_communicators; ++c) {
    const pmrt_communicator &info = role.communicators[c];
    communicators.push_back(
        split(mesh.group(rank, {info.axes, info.axes + info.num_axes}).front(),
              rank));
  }
  std::set<std::pair<uint32_t, uint32_t>> ways;
  for (uint32_t r = 0; r < roles.size(); ++r)
    for (const Work &work : roles[r])
      if (!work.instruction && work.action->kind == PMRT_SEND)
        ways.insert({r, work.action->peer});
  auto own = static_cast<uint32_t>(mesh.role(rank));
  streams = {computeStream, collectiveStream, startedStream};
  for (auto [from, to] : ways) {
    bool isEnd = own == from || own == to;
    pairs[{from, to}] =
        split(isEnd ? std::min(mesh.peer(rank, from), mesh.peer(rank, to)) : -1,
              own == from ? 0 : 1);
    if (isEnd) {
      streams.push_back(static_cast<uint32_t>(streams.size()) + 1);
      pairStream[{from, to}] = streams.back();
    }
  }
  for (uint32_t stream : streams)
    call("cuStreamCreate")["stream"] = stream;
  json &module = call("cuModuleLoadData");
  module["module"] = 1;
  module["kind"] = "ptx";
  module["bytes"] = 100;
  json &function = call("cuModuleGetFunction");
  function["module"] = 1;
  function["function"] = 1;
  function["name"] = "kernel";
  events = 64;
  for (uint32_t event = 1; event <= events; ++event)
    call("cuEventCreate")["event"] = event;
  events = 0;
  // Weights.
  for (uint32_t b = 0; b < role.num_buffers; ++b) {
    json &copy = call("cuMemcpyHtoDAsync_v2");
    copy["stream"] = computeStream;
    copy["writes"] = rangesOf(role.buffers[b].offset,
                              role.buffers[b].offset + role.buffers[b].bytes);
  }
  call("cuStreamSynchronize")["stream"] = computeStream;
}

void RankMaker::waitFor(uint32_t stream, uint32_t other) {
  uint32_t event = ++events;
  if (event > 64) {
    call("cuEventCreate")["event"] = event;
  }
  json &record = call("cuEventRecord");
  record["event"] = event;
  record["stream"] = other;
  json &wait = call("cuStreamWaitEvent");
  wait["stream"] = stream;
  wait["event"] = event;
  auto &clock = clocks[stream];
  for (auto [of, tick] : clocks[other])
    clock[of] = std::max(clock[of], tick);
  clock[other] = std::max(clock[other], ticks[other]);
}

void RankMaker::order(uint32_t stream, const std::vector<Span> &spans) {
  for (auto it = done.rbegin(); it != done.rend(); ++it)
    if (it->stream != stream && clocks[stream][it->stream] < it->tick &&
        conflict(it->spans, spans))
      waitFor(stream, it->stream);
}

void RankMaker::ran(uint32_t stream, const std::vector<Span> &spans) {
  done.push_back({stream, ++ticks[stream], spans});
}

void RankMaker::launch(const Work &work) {
  const auto &kernel =
      *static_cast<const pmrt_kernel *>(work.instruction->descriptor);
  json parameters = json::array();
  for (const Span &span : work.spans)
    parameters.push_back(base + span.begin);
  parameters.push_back(base + coordinates);
  parameters.push_back(base + workspace(computeStream));
  json &line = call("cuLaunchKernel");
  line["stream"] = computeStream;
  line["kernel"] = kernel.name;
  line["blocks"] = 4;
  line["threads"] = 128;
  line["shared"] = 0;
  line["parameters"] = parameters;
  if (!options.touches)
    return;
  size_t at = lines.size() - 1;
  json reads = json::array(), writes = json::array();
  for (uint32_t o = 0; o < work.instruction->num_operands; ++o) {
    json range = json::array({base + work.spans[o].begin, 4});
    uint32_t access = work.instruction->operands[o].access;
    if (access & PMRT_READ)
      reads.push_back(range);
    if (access & PMRT_WRITE)
      writes.push_back(range);
  }
  reads.push_back(json::array({base + coordinates, 8}));
  writes.push_back(json::array({base + workspace(computeStream), 256}));
  lines.push_back({{"touched", at}, {"reads", reads}, {"writes", writes}});
}

void RankMaker::collective(const Work &work) {
  const auto &all =
      *static_cast<const pmrt_collective *>(work.instruction->descriptor);
  if (mesh.group(rank, {role.communicators[all.communicator].axes,
                        role.communicators[all.communicator].axes +
                            role.communicators[all.communicator].num_axes})
          .size() == 1)
    return;
  uint32_t stream = work.instruction->event ? startedStream : collectiveStream;
  order(stream, work.spans);
  uint32_t opcode = work.instruction->opcode;
  bool reduces = opcode == PMRT_OP_ALL_REDUCE;
  uint32_t parts = reduces ? work.instruction->num_operands : 1;
  bool isGroup = parts > 1;
  if (isGroup) {
    openGroup = ++groups;
    call("ncclGroupStart")["group"] = openGroup;
  }
  for (uint32_t p = 0; p < parts; ++p) {
    json &line = call(reduces                        ? "ncclAllReduce"
                      : opcode == PMRT_OP_ALL_GATHER ? "ncclAllGather"
                                                     : "ncclReduceScatter");
    line["comm"] = communicators[all.communicator];
    line["stream"] = stream;
    line["count"] = all.counts[reduces ? p : 0];
    line["type"] = "f32";
    if (opcode != PMRT_OP_ALL_GATHER)
      line["reduction"] = all.reduction == PMRT_MAX ? 2 : 0;
    line["reads"] = rangesOf(work.spans[reduces ? p : 0]);
    line["writes"] = rangesOf(work.spans[reduces ? p : 1]);
    line["group"] = openGroup;
  }
  if (isGroup) {
    call("ncclGroupEnd")["group"] = openGroup;
    openGroup = 0;
  }
  ran(stream, work.spans);
}

void RankMaker::permute(const Work &work) {
  const auto &all =
      *static_cast<const pmrt_permute *>(work.instruction->descriptor);
  const pmrt_communicator &info = role.communicators[all.communicator];
  std::vector<int64_t> members =
      mesh.group(rank, {info.axes, info.axes + info.num_axes});
  if (members.size() == 1)
    return;
  auto own = static_cast<int32_t>(
      std::find(members.begin(), members.end(), rank) - members.begin());
  order(collectiveStream, work.spans);
  openGroup = ++groups;
  call("ncclGroupStart")["group"] = openGroup;
  auto one = [&](bool sends, int32_t peer) {
    json &line = call(sends ? "ncclSend" : "ncclRecv");
    line["comm"] = communicators[all.communicator];
    line["stream"] = collectiveStream;
    line["count"] = all.count;
    line["type"] = 7;
    line["peer"] = peer;
    line[sends ? "reads" : "writes"] = rangesOf(work.spans[sends ? 0 : 1]);
    line["group"] = openGroup;
  };
  for (int32_t m = 0; m < static_cast<int32_t>(members.size()); ++m)
    if (all.sources[m] == own)
      one(true, m);
  if (all.sources[own] >= 0)
    one(false, all.sources[own]);
  call("ncclGroupEnd")["group"] = openGroup;
  openGroup = 0;
  ran(collectiveStream, work.spans);
}

void RankMaker::allToAll(const Work &work) {
  const auto &all =
      *static_cast<const pmrt_all_to_all *>(work.instruction->descriptor);
  const pmrt_communicator &info = role.communicators[all.communicator];
  std::vector<int64_t> members =
      mesh.group(rank, {info.axes, info.axes + info.num_axes});
  if (members.size() == 1)
    return;
  order(collectiveStream, work.spans);
  uint64_t bytes = work.spans[0].end - work.spans[0].begin;
  uint64_t packed = workspace(collectiveStream), unpacked = packed + bytes;
  auto copy = [&](uint64_t from, uint64_t to) {
    json &line = call("cuMemcpy3DAsync_v2");
    line["stream"] = collectiveStream;
    line["reads"] = rangesOf(from, from + bytes);
    line["writes"] = rangesOf(to, to + bytes);
  };
  copy(work.spans[0].begin, packed);
  openGroup = ++groups;
  call("ncclGroupStart")["group"] = openGroup;
  uint64_t piece = bytes / members.size();
  for (uint64_t m = 0; m < members.size(); ++m)
    for (bool sends : {true, false}) {
      if (members[m] == rank)
        continue;
      json &line = call(sends ? "ncclSend" : "ncclRecv");
      line["comm"] = communicators[all.communicator];
      line["stream"] = collectiveStream;
      line["count"] = piece / 4;
      line["type"] = "f32";
      line["peer"] = m;
      uint64_t at = (sends ? packed : unpacked) + m * piece;
      line[sends ? "reads" : "writes"] = rangesOf(at, at + piece);
      line["group"] = openGroup;
    }
  call("ncclGroupEnd")["group"] = openGroup;
  openGroup = 0;
  copy(unpacked, work.spans[1].begin);
  ran(collectiveStream, work.spans);
}

void RankMaker::transfer(const Work &work) {
  bool sends = work.action->kind == PMRT_SEND;
  auto own = static_cast<uint32_t>(mesh.role(rank));
  std::pair<uint32_t, uint32_t> way = sends ? std::pair(own, work.action->peer)
                                            : std::pair(work.action->peer, own);
  uint32_t stream = pairStream.at(way);
  order(stream, work.spans);
  const Span &span = work.spans[0];
  json &line = call(sends ? "ncclSend" : "ncclRecv");
  line["comm"] = pairs.at(way);
  line["stream"] = stream;
  line["count"] = (span.end - span.begin) / 4;
  line["type"] = "f32";
  line["peer"] = sends ? 1 : 0;
  line[sends ? "reads" : "writes"] = rangesOf(span);
  line["group"] = 0;
  ran(stream, work.spans);
}

void RankMaker::run(const Work &work) {
  if (!work.instruction) {
    transfer(work);
    return;
  }
  switch (work.instruction->opcode) {
  case PMRT_OP_ALL_REDUCE:
  case PMRT_OP_ALL_GATHER:
  case PMRT_OP_REDUCE_SCATTER:
    collective(work);
    return;
  case PMRT_OP_PERMUTE:
    permute(work);
    return;
  case PMRT_OP_ALL_TO_ALL:
    allToAll(work);
    return;
  default:
    break;
  }
  order(computeStream, work.spans);
  switch (work.instruction->opcode) {
  case PMRT_OP_KERNEL:
    launch(work);
    break;
  case PMRT_OP_GEMM: {
    const auto &gemm =
        *static_cast<const pmrt_gemm *>(work.instruction->descriptor);
    json &line = call("cublasLtMatmul");
    line["stream"] = computeStream;
    line["m"] = gemm.n;
    line["n"] = gemm.m;
    line["k"] = gemm.k;
    line["batch"] = 1;
    line["type"] = 0;
    line["compute"] = 68;
    line["epilogue"] = 1;
    json reads = rangesOf(work.spans[0]);
    reads.push_back(rangesOf(work.spans[1])[0]);
    if (gemm.accumulate)
      reads.push_back(rangesOf(work.spans[2])[0]);
    line["reads"] = reads;
    line["writes"] = rangesOf(work.spans[2]);
    line["workspace"] = json::array({base + workspace(computeStream), 1024});
    break;
  }
  case PMRT_OP_COPY: {
    json &line = call("cuMemcpyDtoDAsync_v2");
    line["stream"] = computeStream;
    line["reads"] = rangesOf(work.spans[0]);
    line["writes"] = rangesOf(work.spans[1]);
    break;
  }
  case PMRT_OP_ZERO: {
    json &line = call("cuMemsetD8Async");
    line["stream"] = computeStream;
    line["writes"] = rangesOf(work.spans[0]);
    break;
  }
  default:
    throw std::runtime_error("an instruction that no trace is made of");
  }
  ran(computeStream, work.spans);
}

void RankMaker::step(const std::vector<const Work *> &works, uint32_t number) {
  done.clear();
  clocks.clear();
  ticks.clear();
  auto all = [&] {
    for (uint32_t b = 0; b < role.num_buffers; ++b) {
      if (info.buffers[b].kind != runtime::BufferKind::Accumulator ||
          info.buffers[b].init != runtime::BufferInit::Zero)
        continue;
      Span span{role.buffers[b].offset,
                role.buffers[b].offset + role.buffers[b].bytes, true};
      json &line = call("cuMemsetD8Async");
      line["stream"] = computeStream;
      line["writes"] = rangesOf(span);
      ran(computeStream, {span});
    }
    for (const Work *work : works)
      run(*work);
    for (uint32_t stream : streams)
      if (stream != computeStream &&
          clocks[computeStream][stream] < ticks[stream])
        waitFor(computeStream, stream);
  };
  if (options.captures && !hasGraph) {
    call("cuStreamBeginCapture_v2")["stream"] = computeStream;
    isCaptured = true;
    for (uint32_t stream : streams)
      if (stream != computeStream)
        waitFor(stream, computeStream);
    // Streams that have joined the graph have to come back to it.
    for (uint32_t stream : streams)
      if (stream != computeStream)
        ran(stream, {});
    for (uint32_t stream : streams)
      ticks[stream] = 0;
    done.clear();
    all();
    isCaptured = false;
    call("cuStreamEndCapture")["graph"] = 1;
    json &line = call("cuGraphInstantiateWithFlags");
    line["graph"] = 1;
    line["executable"] = 1;
    hasGraph = true;
  }
  json &input = call("cuMemcpyHtoDAsync_v2");
  input["stream"] = computeStream;
  input["writes"] = json::array();
  writeWord(0, number);
  if (options.captures) {
    json &line = call("cuGraphLaunch");
    line["executable"] = 1;
    line["stream"] = computeStream;
  } else {
    all();
  }
  writeWord(1, number);
  uint32_t event = 1;
  json &record = call("cuEventRecord");
  record["event"] = event;
  record["stream"] = computeStream;
  json &early = call("cuEventQuery");
  early["event"] = event;
  early["result"] = 600;
  call("cuEventQuery")["event"] = event;
}

void RankMaker::finish() {
  for (uint32_t stream : streams)
    call("cuStreamDestroy_v2")["stream"] = stream;
  call("ncclCommDestroy")["comm"] = 1;
  call("cuMemFreeHost")["host"] = 77 + rank;
  call("cuMemFree_v2")["address"] = base;
}

MadeTrace::MadeTrace(const SampleProgram &program, const MakeOptions &options)
    : manifest(program.manifest), program(program) {
  std::vector<std::vector<Work>> roles;
  for (const pmrt_role &role : program.tables)
    roles.push_back(worksOf(role));
  std::vector<uint32_t> order = launchOrder(roles);
  std::vector<uint32_t> place(order.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    place[order[i]] = i;
  ranks.resize(static_cast<size_t>(manifest.mesh.ranks()));
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<const Work *> works;
    for (const Work &work : roles[manifest.mesh.role(rank)])
      works.push_back(&work);
    std::sort(works.begin(), works.end(), [&](const Work *a, const Work *b) {
      return place[a->node] < place[b->node];
    });
    RankMaker maker(program, options, rank, ranks[rank]);
    maker.start(roles);
    for (uint32_t step = 1; step <= options.steps; ++step)
      maker.step(works, step);
    maker.finish();
  }
}

size_t MadeTrace::find(uint32_t rank, const Fits &fits, size_t which) const {
  for (size_t i = 0; i < ranks[rank].size(); ++i)
    if (fits(ranks[rank][i]) && which-- == 0)
      return i;
  throw std::runtime_error("no such line");
}

size_t MadeTrace::find(uint32_t rank, const std::string &call,
                       size_t which) const {
  return find(
      rank, [&](const json &line) { return line.value("call", "") == call; },
      which);
}

void MadeTrace::move(uint32_t rank, size_t from, size_t to) {
  json line = ranks[rank][from];
  insert(rank, to, line);
  erase(rank, from < to ? from : from + 1);
}

void MadeTrace::write(const std::string &directory) const {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    std::ofstream file(directory + "/rank-" + std::to_string(rank) + ".jsonl");
    for (const json &line : ranks[rank])
      file << line.dump() << "\n";
  }
}

Facts MadeTrace::prove(Refusals &refusals) const {
  Folder folder;
  write(folder.path());
  std::vector<const pmrt_role *> roles;
  for (const pmrt_role &role : program.tables)
    roles.push_back(&role);
  return proveTrace(folder.path(), manifest, roles, refusals);
}

std::string MadeTrace::refusals() const {
  Refusals refusals;
  try {
    prove(refusals);
  } catch (const runtime::Error &error) {
    return std::string("error: ") + error.what() + "\n";
  }
  std::string text;
  for (const Refusals::Refusal &refusal : refusals.refusals())
    text += refusal.rule + ": " + refusal.text + "\n";
  return text;
}

Folder::Folder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "pipemesh-trace-XXXXXX")
          .string();
  if (!mkdtemp(pattern.data()))
    throw std::runtime_error("cannot make a folder");
  name = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(name, ignored);
}

} // namespace pipemesh::trace::test
