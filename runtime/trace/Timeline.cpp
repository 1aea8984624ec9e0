//===- Timeline.cpp - What a rank's device does, and what orders it -------===//

#include "trace/Timeline.h"

#include "trace/Memory.h"

#include <algorithm>

namespace pipemesh::trace {

std::string placeOf(const Trace &trace, uint32_t rank, const Call &call) {
  return cat("rank ", rank, ", line ", call.line + 1, ": ", trace.name(call));
}

namespace {

constexpr int64_t notReady = 600, inProgress = 7;
/// The machine code is another processor's; the text is loaded then.
constexpr int64_t noBinary = 209;

/// The most redundant waits, in percent.
constexpr uint64_t mostRedundant = 10;

class TimelineReader {
public:
  TimelineReader(const Trace &trace, uint32_t rank, uint64_t limit,
                 Refusals &refusals)
      : trace(trace), rank(rank), refusals(refusals),
        memory(trace, rank, limit, refusals) {
    streams.resize(2); // the host, and the null stream
    streamIndex[0] = 1;
  }

  Timeline read();

private:
  struct Stream {
    uint32_t tick = 0;
    uint32_t clock = 0;
    uint32_t last = none;
    /// Waits with nothing behind them yet: positions that they wait for.
    struct Pending {
      uint32_t stream, tick, call;
      bool isRedundant;
    };
    std::vector<Pending> pending;
    bool isForked = false; ///< of a graph: the first wait makes it part of it
  };
  struct Event {
    uint32_t op = none, stream = 0, tick = 0, clock = 0;
    bool isRecorded = false;
  };
  struct Graph {
    uint64_t origin = 0;
    std::vector<uint32_t> calls;
    std::unordered_map<uint64_t, uint32_t> streams;
  };

  template <typename... Args>
  void refuse(const char *rule, const Call &call, const Args &...args) {
    refusals.add(rule, placeOf(trace, rank, call), args...);
  }

  void one(uint32_t index);
  void forbidInStep(const Call &call);
  void run(uint32_t index, Graph *graph);
  void captured(uint32_t index);
  uint32_t streamOf(const Call &call, Graph *graph);
  uint32_t add(uint32_t index, uint32_t stream);
  void exchange(uint32_t index, Graph *graph);
  void endGroup(const Call &call);
  void wait(uint32_t index, uint32_t stream);
  void launchGraph(uint32_t index);
  /// The word that a value is written to.
  uint64_t progress(const Call &call);
  void hostSees(uint32_t call, uint32_t op, uint32_t stream, uint32_t tick,
                uint32_t clock);
  void join(Timeline::Clock &into, uint32_t clock, uint32_t stream,
            uint32_t tick);
  uint32_t keep(Timeline::Clock clock) {
    result.clocks.push_back(std::move(clock));
    return static_cast<uint32_t>(result.clocks.size() - 1);
  }

  const Trace &trace;
  uint32_t rank;
  Refusals &refusals;
  Memory memory;
  Timeline result;

  std::vector<Stream> streams;
  std::unordered_map<uint64_t, uint32_t> streamIndex;
  std::unordered_map<uint64_t, Event> events;
  std::unordered_map<uint64_t, Graph> graphs; ///< executables
  std::unordered_map<uint64_t, Graph> ended;  ///< not yet instantiated
  Graph capture;
  bool isCapturing = false, capturedStep = false;
  uint32_t depth = 0; ///< of NCCL groups
  std::vector<std::pair<uint32_t, Graph *>> group;
  bool inStep = false;
  uint64_t stepNumber = 0;
  uint32_t steps = 0;
};

} // namespace

void TimelineReader::join(Timeline::Clock &into, uint32_t clock,
                          uint32_t stream, uint32_t tick) {
  const Timeline::Clock &other = result.clocks[clock];
  if (into.size() < std::max<size_t>(other.size(), stream + 1))
    into.resize(std::max<size_t>(other.size(), stream + 1));
  for (size_t i = 0; i < other.size(); ++i)
    into[i] = std::max(into[i], other[i]);
  into[stream] = std::max(into[stream], tick);
}

void TimelineReader::forbidInStep(const Call &call) {
  if (!inStep && !capturedStep)
    return;
  switch (call.kind) {
  case Kind::MemAlloc:
  case Kind::MemFree:
  case Kind::HostAlloc:
  case Kind::HostFree:
  case Kind::ModuleLoad:
  case Kind::StreamSynchronize:
  case Kind::StreamQuery:
  case Kind::EventQuery:
  case Kind::StreamDestroy:
  case Kind::CommInit:
  case Kind::CommSplit:
  case Kind::CommEnd:
    refuse("synchronous", call, " stands inside step ", steps,
           ", between the writes of progress words 0 and 1, where the host may "
           "not wait; move it in front of the step or behind it");
    break;
  case Kind::Copy:
    if (!call.hasStream)
      refuse("synchronous", call, " waits for the copy inside step ", steps,
             "; copy on a stream, or outside of the step");
    break;
  default:
    break;
  }
}

uint32_t TimelineReader::streamOf(const Call &call, Graph *graph) {
  if (graph) {
    auto found = graph->streams.find(call.stream);
    return found == graph->streams.end() ? 0 : found->second;
  }
  auto found = streamIndex.find(call.stream);
  if (found != streamIndex.end())
    return found->second;
  refuse("trace", call, " names stream ", call.stream,
         ", which this rank has not created, or has destroyed");
  streams.emplace_back();
  return streamIndex[call.stream] = static_cast<uint32_t>(streams.size() - 1);
}

uint32_t TimelineReader::add(uint32_t index, uint32_t number) {
  Stream &stream = streams[number];
  auto op = static_cast<uint32_t>(result.ops.size());
  result.ops.push_back({index, number, ++stream.tick, stream.clock,
                        streams[0].clock, stream.last, none,
                        inStep ? steps : 0});
  // What the host has waited for lies before what it launches then.
  uint32_t seen = streams[0].last;
  if (number && seen != none && (stream.last == none || stream.last < seen))
    result.edges.push_back({op, seen});
  stream.last = op;
  if (number == 0) {
    Timeline::Clock clock = result.clocks[stream.clock];
    join(clock, 0, 0, stream.tick);
    stream.clock = keep(std::move(clock));
  }
  return op;
}

void TimelineReader::hostSees(uint32_t index, uint32_t op, uint32_t stream,
                              uint32_t tick, uint32_t clock) {
  if (op == none)
    return;
  Timeline::Clock seen = result.clocks[streams[0].clock];
  join(seen, clock, stream, tick);
  streams[0].clock = keep(std::move(seen));
  uint32_t here = add(index, 0);
  result.edges.push_back({here, op});
}

void TimelineReader::wait(uint32_t index, uint32_t number) {
  const Call &call = trace.calls[index];
  auto found = events.find(call.handle);
  if (found == events.end() || !found->second.isRecorded) {
    refuse("trace", call, " waits for event ", call.handle,
           found == events.end()
               ? ", which this rank has not created"
               : ", which was not recorded before, so that it "
                 "waits for nothing");
    return;
  }
  const Event event = found->second;
  Stream &stream = streams[number];
  ++result.waits;
  bool isRedundant = event.stream == number ||
                     result.at(stream.clock, event.stream) >= event.tick;
  if (stream.isForked) {
    // CUDA wants it for a stream to be part of a graph.
    isRedundant = false;
    stream.isForked = false;
  }
  auto count = [&](uint32_t at) {
    if (++result.redundant <= 5)
      result.redundantCalls.push_back(at);
  };
  if (isRedundant) {
    count(index);
  } else {
    for (Stream::Pending &other : stream.pending)
      if (!other.isRedundant &&
          result.at(event.clock, other.stream) >= other.tick) {
        other.isRedundant = true;
        count(other.call);
      }
    stream.pending.push_back({event.stream, event.tick, index, false});
  }
  Timeline::Clock clock = result.clocks[stream.clock];
  join(clock, event.clock, event.stream, event.tick);
  stream.clock = keep(std::move(clock));
  uint32_t op = add(index, number);
  if (event.op != none)
    result.edges.push_back({op, event.op});
}

uint64_t TimelineReader::progress(const Call &call) {
  uint64_t word = memory.wordOf(call);
  if (word == ~0ull) {
    refuse("memory", call, " writes to ", call.address,
           ", which is no word of the rank's progress memory");
    return word;
  }
  if (word == 0) {
    if (inStep)
      refuse("trace", call, " begins step ", steps + 1, ", but step ", steps,
             " has not ended");
    inStep = true;
    ++steps;
    if (call.count == 0 ||
        (!call.captured && stepNumber && call.count != stepNumber + 1))
      refuse("trace", call, " begins step number ", call.count,
             stepNumber ? cat(", but the last one was ", stepNumber)
                        : std::string(", but steps count from 1"));
    stepNumber = call.count;
  }
  if (word == 1) {
    if (!inStep)
      refuse("trace", call, " ends a step, but none has begun");
    else if (call.count != stepNumber)
      refuse("trace", call, " ends step number ", call.count, ", but ",
             stepNumber, " has begun");
  }
  return word;
}

void TimelineReader::exchange(uint32_t index, Graph *graph) {
  if (depth) {
    group.push_back({index, graph});
    return;
  }
  uint32_t stream = streamOf(trace.calls[index], graph);
  uint32_t op = add(index, stream);
  result.ops[op].unit = result.units++;
}

void TimelineReader::endGroup(const Call &call) {
  if (!depth) {
    refuse("trace", call, " ends a group, but none is open");
    return;
  }
  if (--depth || group.empty())
    return;
  uint32_t unit = result.units++;
  for (auto [index, graph] : group) {
    streams[streamOf(trace.calls[index], graph)].pending.clear();
    uint32_t op = add(index, streamOf(trace.calls[index], graph));
    result.ops[op].unit = unit;
  }
  group.clear();
}

/// What happens on the device, or between it and the host; `graph` is the one
/// that the call is a part of.
void TimelineReader::run(uint32_t index, Graph *graph) {
  const Call &call = trace.calls[index];
  switch (call.kind) {
  case Kind::Launch:
  case Kind::Set:
  case Kind::Product:
  case Kind::Attention:
  case Kind::Copy: {
    uint32_t stream = call.hasStream ? streamOf(call, graph) : 0;
    if (stream)
      streams[stream].pending.clear();
    add(index, stream);
    break;
  }
  case Kind::WriteValue: {
    uint64_t word = progress(call);
    uint32_t stream = streamOf(call, graph);
    streams[stream].pending.clear();
    add(index, stream);
    if (word == 1)
      inStep = false;
    break;
  }
  case Kind::AllReduce:
  case Kind::AllGather:
  case Kind::ReduceScatter:
  case Kind::Send:
  case Kind::Receive:
    if (!depth)
      streams[streamOf(call, graph)].pending.clear();
    exchange(index, graph);
    break;
  case Kind::GroupStart:
    ++depth;
    break;
  case Kind::GroupEnd:
    endGroup(call);
    break;
  case Kind::EventRecord: {
    // A graph outlives the events that it was captured with.
    if (graph)
      events.try_emplace(call.handle);
    auto found = events.find(call.handle);
    if (found == events.end()) {
      refuse("trace", call, " names event ", call.handle,
             ", which this rank has not created, or has destroyed");
      break;
    }
    uint32_t number = streamOf(call, graph);
    Stream &stream = streams[number];
    stream.pending.clear();
    found->second = {stream.last, number, stream.tick, stream.clock, true};
    break;
  }
  case Kind::StreamWait:
    wait(index, streamOf(call, graph));
    break;
  default:
    break;
  }
}

/// A call that becomes a part of the graph.
void TimelineReader::captured(uint32_t index) {
  const Call &call = trace.calls[index];
  if (!isCapturing) {
    refuse("trace", call, " is captured, but no capture has begun");
    return;
  }
  capture.calls.push_back(index);
  if (call.kind == Kind::WriteValue) {
    uint64_t word = memory.wordOf(call);
    if (word == 0)
      capturedStep = true;
    if (word == 1)
      capturedStep = false;
  }
  if (call.hasStream && !capture.streams.count(call.stream)) {
    streams.emplace_back();
    capture.streams[call.stream] = static_cast<uint32_t>(streams.size() - 1);
  }
}

void TimelineReader::launchGraph(uint32_t index) {
  const Call &call = trace.calls[index];
  auto found = graphs.find(call.other);
  if (found == graphs.end()) {
    refuse("trace", call, " launches executable ", call.other,
           ", which this rank has not instantiated");
    return;
  }
  Graph &graph = found->second;
  ++result.graphLaunches;
  uint32_t number = streamOf(call, nullptr);
  streams[number].pending.clear();
  uint32_t begin = add(index, number);
  uint32_t tick = streams[number].tick, clock = streams[number].clock;
  for (auto [captured, part] : graph.streams) {
    Stream &stream = streams[part];
    Timeline::Clock joined = result.clocks[stream.clock];
    join(joined, clock, number, tick);
    stream.clock = keep(std::move(joined));
    stream.last = begin;
    stream.pending.clear();
    stream.isForked = captured != graph.origin;
  }
  for (uint32_t inner : graph.calls)
    run(inner, &graph);
  Timeline::Clock joined = result.clocks[clock];
  std::vector<uint32_t> lasts;
  for (auto [captured, part] : graph.streams) {
    join(joined, streams[part].clock, part, streams[part].tick);
    lasts.push_back(streams[part].last);
  }
  streams[number].clock = keep(std::move(joined));
  uint32_t end = add(index, number);
  for (uint32_t last : lasts)
    if (last != begin)
      result.edges.push_back({end, last});
}

void TimelineReader::one(uint32_t index) {
  const Call &call = trace.calls[index];
  bool polls = call.kind == Kind::EventQuery || call.kind == Kind::StreamQuery;
  if (call.result != 0 && !(polls && call.result == notReady) &&
      !(call.kind == Kind::ModuleLoad && call.result == noBinary) &&
      !((isExchange(call.kind) || call.kind == Kind::CommInit ||
         call.kind == Kind::CommSplit || call.kind == Kind::CommEnd ||
         call.kind == Kind::GroupEnd || call.kind == Kind::CommError) &&
        call.result == inProgress)) {
    refuse("call", call, " failed with ", call.result);
    return;
  }
  memory.check(call);
  forbidInStep(call);
  if (call.captured) {
    captured(index);
    return;
  }
  switch (call.kind) {
  case Kind::MemAlloc:
  case Kind::MemFree:
  case Kind::HostAlloc:
  case Kind::HostFree:
    memory.follow(call);
    break;
  case Kind::StreamCreate:
    ++result.createdStreams;
    streams.emplace_back();
    streamIndex[call.stream] = static_cast<uint32_t>(streams.size() - 1);
    break;
  case Kind::StreamDestroy:
    streamOf(call, nullptr);
    streamIndex.erase(call.stream);
    break;
  case Kind::StreamQuery:
  case Kind::StreamSynchronize: {
    Stream &stream = streams[streamOf(call, nullptr)];
    if (call.result == 0)
      hostSees(index, stream.last, streamOf(call, nullptr), stream.tick,
               stream.clock);
    break;
  }
  case Kind::EventCreate:
    events[call.handle] = {};
    break;
  case Kind::EventDestroy:
    events.erase(call.handle);
    break;
  case Kind::EventQuery: {
    auto found = events.find(call.handle);
    if (found == events.end())
      refuse("trace", call, " names event ", call.handle,
             ", which this rank has not created, or has destroyed");
    else if (call.result == 0 && found->second.isRecorded)
      hostSees(index, found->second.op, found->second.stream,
               found->second.tick, found->second.clock);
    break;
  }
  case Kind::CommError:
    if (call.count != 0 && call.count != inProgress)
      refuse("call", call, " tells of the asynchronous error ", call.count);
    break;
  case Kind::CaptureBegin:
    if (isCapturing)
      refuse("trace", call, " begins a capture in another one");
    streamOf(call, nullptr);
    isCapturing = true;
    capture = {};
    capture.origin = call.stream;
    streams.emplace_back();
    capture.streams[call.stream] = static_cast<uint32_t>(streams.size() - 1);
    break;
  case Kind::CaptureEnd:
    if (!isCapturing)
      refuse("trace", call, " ends a capture, but none has begun");
    isCapturing = capturedStep = false;
    ended[call.handle] = std::move(capture);
    capture = {};
    break;
  case Kind::GraphInstantiate: {
    auto found = ended.find(call.handle);
    if (found == ended.end()) {
      refuse("trace", call, " instantiates graph ", call.handle,
             ", which this rank has not captured");
      break;
    }
    graphs[call.other] = found->second;
    break;
  }
  case Kind::GraphLaunch:
    launchGraph(index);
    break;
  default:
    run(index, nullptr);
    break;
  }
}

Timeline TimelineReader::read() {
  for (uint32_t i = 0; i < trace.calls.size() && !refusals.full(); ++i)
    one(i);
  if (inStep)
    refusals.add(
        "trace", "rank ", rank, ": step ", steps,
        " has not ended where the trace does; was the run broken off?");
  if (depth)
    refusals.add("trace", "rank ", rank,
                 ": an NCCL group is open where the trace ends");
  result.steps = steps;
  result.allocations = memory.allocations;
  result.mostBytes = memory.mostBytes;
  result.memory = std::move(memory.ofDevice);
  result.streams = static_cast<uint32_t>(streams.size());
  if (result.redundant * 100 > result.waits * mostRedundant) {
    std::string lines;
    for (uint32_t call : result.redundantCalls)
      lines += cat(lines.empty() ? "" : ", ", trace.calls[call].line + 1);
    refusals.add("redundant", "rank ", rank, ": ", result.redundant, " of ",
                 result.waits, " waits for events (",
                 result.redundant * 100 / result.waits,
                 " %) are implied by the others, but at most ", mostRedundant,
                 " % may be; the first are on lines ", lines);
  }
  return std::move(result);
}

Timeline readTimeline(const Trace &trace, uint32_t rank, uint64_t limit,
                      Refusals &refusals) {
  return TimelineReader(trace, rank, limit, refusals).read();
}

} // namespace pipemesh::trace
