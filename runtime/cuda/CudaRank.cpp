//===- CudaRank.cpp - One rank on a GPU -----------------------------------===//

#include "cuda/CudaRank.h"

#include "cuda/NcclCarrier.h"
#include "cuda/StagedCarrier.h"

#include <cstring>
#include <unistd.h>

namespace pipemesh::cuda {

using namespace runtime;

CudaRank::CudaRank(const CudaJob &job, int device, const Program &program,
                   const Mesh &mesh, int64_t rank, Transport &transport,
                   std::vector<Group *> groups, const HostOptions &options,
                   const std::atomic<bool> &aborted, int spin)
    : Rank(program, mesh, rank, transport, std::move(groups), /*votes=*/false, options,
           aborted, spin),
      job(job), plan(job.plans[mesh.role(rank)]), ordinal(device) {}

CudaRank::~CudaRank() {
  stopsWatching.store(true);
  if (watcher.joinable())
    watcher.join();
  if (!device)
    return;
  try {
    device->enter();
  } catch (const Error &) {
    return;
  }
  carrier.reset();
  if (graph)
    job.libraries.cuGraphExecDestroy(graph);
  products.clear();
  attentions.clear();
  if (blas)
    job.libraries.cublasLtDestroy(blas);
  if (dnn)
    job.libraries.cudnn().cudnnDestroy(dnn);
}

void CudaRank::prepareMath() {
  const pmrt_role &role = program.role;
  job.libraries.checkBlas(job.libraries.cublasLtCreate(&blas), "cublasLtCreate");
  const std::string &folder = job.options.algorithms;
  Algorithms algorithms(
      job.libraries,
      folder.empty() ? "" : cat(folder, "/role-", mesh.role(rank), ".json"),
      device->getInfo().name);
  for (uint32_t b = 0; b < role.num_bodies; ++b)
    for (uint64_t i = 0; i < role.bodies[b].num_instructions; ++i) {
      const pmrt_instruction &instruction = role.bodies[b].instructions[i];
      if (instruction.opcode == PMRT_OP_GEMM) {
        auto &product = products[instruction.descriptor];
        if (!product)
          product = std::make_unique<Product>(
              job.libraries, blas,
              *static_cast<const pmrt_gemm *>(instruction.descriptor), memory,
              role.device->workspaces[ComputeStream].bytes, job.options.products,
              algorithms);
      } else if (instruction.opcode == PMRT_OP_ATTENTION) {
        const Cudnn &cudnn = job.libraries.cudnn();
        if (!dnn) {
          cudnn.check(cudnn.cudnnCreate(&dnn), "cudnnCreate");
          cudnn.check(cudnn.cudnnSetStream(dnn, streams[ComputeStream]),
                      "cudnnSetStream");
        }
        auto &attention = attentions[instruction.descriptor];
        if (!attention)
          attention = std::make_unique<Attention>(
              cudnn, dnn,
              *static_cast<const pmrt_attention *>(instruction.descriptor));
      }
    }
  // One of the ranks that all choose alike writes them down.
  int64_t first = 0;
  while (mesh.role(first) != mesh.role(rank))
    ++first;
  if (first == rank)
    algorithms.save();
}

void CudaRank::allocate() {
  running.rank = rank;
  setRunning(&running);
  device = std::make_unique<Device>(job.libraries, ordinal);
  const pmrt_role &role = program.role;
  auto microBatches = static_cast<uint64_t>(mesh.microBatches());
  layout.emplace(role, microBatches, plan);
  std::vector<int64_t> table;
  for (uint64_t m = 0; m < microBatches; ++m) {
    std::vector<int64_t> own = mesh.coordinates(rank, static_cast<int64_t>(m));
    table.insert(table.end(), own.begin(), own.end());
  }
  memory = device->allocate(layout->bytes, "the program's arena");
  if (!table.empty())
    job.libraries.check(job.libraries.cuMemcpyHtoD_v2(memory + layout->coordinatesAt,
                                                      table.data(),
                                                      table.size() * sizeof(int64_t)),
                        "cuMemcpyHtoD");
  streams.resize(plan.numStreams());
  for (uint32_t s = 0; s < plan.numStreams(); ++s)
    if (s == ComputeStream || plan.uses(s))
      streams[s] = device->makeStream();
  for (uint32_t e = 0; e < plan.numEvents(); ++e)
    events.push_back(device->makeEvent());
  progress = std::make_unique<Progress>(*device, plan.numStreams());
  device->load(*role.device);
  for (uint32_t k = 0; k < role.num_kernels; ++k)
    functions.push_back(device->function(role.kernels[k].name));
  prepareMath();
  if (job.options.staged) {
    carrier = std::make_unique<StagedCarrier>(
        *device, StagedCarrier::Host{role, rank, transport, groups, memberIndex,
                                     patience, [this] { return record.step.load(); }});
  } else {
    uint64_t began = nanoseconds();
    auto keepWaiting = [this, began](const std::string &what) {
      stopWhenAsked();
      if (options.deadline && nanoseconds() - began > options.deadline)
        throw Error(cat("waits for ", what, " longer than --deadline; not all ranks "
                                            "have come"),
                    lateStatus);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    };
    carrier = std::make_unique<NcclCarrier>(
        job.libraries,
        std::make_unique<Communicators>(job.libraries, job.id,
                                        static_cast<int>(mesh.ranks()),
                                        static_cast<int>(rank), job.divisions,
                                        keepWaiting),
        job.divisions, mesh, role, plan, rank);
  }
  endsFragment.resize(plan.getLaunches().size());
  std::map<uint32_t, size_t> lastOf;
  for (size_t i = 0; i < plan.getLaunches().size(); ++i) {
    const Launch &launch = plan.getLaunches()[i];
    if (launch.stream == ComputeStream && launch.action != Launch::whole &&
        !launch.copies)
      lastOf[launch.action] = i;
  }
  std::map<size_t, uint32_t> ends;
  for (auto [action, index] : lastOf) {
    endsFragment[index] = true;
    ends[index] = action;
  }
  for (auto [index, action] : ends)
    fragmentActions.push_back(action);
  pending.resize(plan.numStreams());
  places.resize(program.mostOperands);
  if (options.deadline)
    watcher = std::thread([this] { watch(); });
}

CUdeviceptr CudaRank::place(int64_t buffer, int64_t microBatch) const {
  const pmrt_buffer &one = program.role.buffers[buffer];
  return memory + one.offset +
         (static_cast<uint64_t>(microBatch) % one.slots) * one.slot_stride;
}

CUdeviceptr CudaRank::place(const pmrt_operand &operand, uint32_t microBatch) const {
  return memory + rangeOf(program.role, operand, microBatch).begin;
}

const std::byte *CudaRank::view(int64_t buffer, int64_t microBatch) const {
  staging.resize(program.role.buffers[buffer].bytes);
  device->enter();
  if (!staging.empty())
    job.libraries.check(job.libraries.cuMemcpyDtoH_v2(staging.data(),
                                                      place(buffer, microBatch),
                                                      staging.size()),
                        "cuMemcpyDtoH of '", program.role.buffers[buffer].name, "'");
  return staging.data();
}

void CudaRank::edit(int64_t buffer, int64_t microBatch,
                    const std::function<void(std::byte *)> &fill) {
  staging.assign(program.role.buffers[buffer].bytes, std::byte(0));
  fill(staging.data());
  device->enter();
  if (!staging.empty())
    job.libraries.check(job.libraries.cuMemcpyHtoD_v2(place(buffer, microBatch),
                                                      staging.data(), staging.size()),
                        "cuMemcpyHtoD of '", program.role.buffers[buffer].name, "'");
}

void CudaRank::settle() {
  // What never ends would keep the process.
  if (carrier)
    carrier->abort();
}

void CudaRank::abandon() {
  isAbandoned.store(true);
  if (carrier)
    carrier->abort();
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

void CudaRank::runStep(int64_t step) {
  try {
    launchStep(step);
  } catch (...) {
    // What fails because communicators are gone is not what ended the job.
    while (isAbandoned.load())
      pause();
    throw;
  }
}

void CudaRank::launchStep(int64_t step) {
  record.step.store(step, std::memory_order_relaxed);
  record.set(Record::none, Record::none, Record::Running, nanoseconds());
  device->enter();
  progress->reset();
  inStep.store(true);
  uint64_t begin = nanoseconds();
  bool captures = job.options.capture && plan.captureProblem().empty() &&
                  !carrier->waitsForHost() && !afterAction;
  if (captures && !graph)
    makeGraph();
  progress->markBegin(step, streams[ComputeStream]);
  if (captures)
    job.libraries.check(job.libraries.cuGraphLaunch(graph, streams[ComputeStream]),
                        "cuGraphLaunch");
  else
    launchAll();
  progress->markEnd(step, streams[ComputeStream]);
  waitForEnd(step);
  inStep.store(false);
  time.other += nanoseconds() - begin;
  ++counts.steps;
  if (captures) {
    // The launches were counted when they were captured.
    for (const Launch &launch : plan.getLaunches())
      if (launch.action != Launch::whole && launch.instruction != Launch::whole &&
          counts.steps > 1)
        ++counts.instructions[program.role.actions[launch.action].index]
                             [launch.instruction];
  }
  record.set(Record::none, Record::none, Record::Idle, nanoseconds());
}

void CudaRank::makeGraph() {
  CUstream compute = streams[ComputeStream];
  CUgraph captured = nullptr;
  job.libraries.check(job.libraries.cuStreamBeginCapture_v2(
                          compute, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                      "cuStreamBeginCapture");
  launchAll();
  job.libraries.check(job.libraries.cuStreamEndCapture(compute, &captured),
                      "cuStreamEndCapture");
  CUresult result = job.libraries.cuGraphInstantiateWithFlags(&graph, captured, 0);
  job.libraries.cuGraphDestroy(captured);
  job.libraries.check(result, "cuGraphInstantiate");
}

void CudaRank::launchAll() {
  fragmentsLaunched = 0;
  const std::vector<Launch> &launches = plan.getLaunches();
  for (size_t i = 0; i < launches.size();) {
    size_t last = i + 1;
    while (last < launches.size() && launches[last].joinsPrevious)
      ++last;
    launch(i, last);
    i = last;
  }
  for (uint32_t event : plan.getLastWaits())
    job.libraries.check(job.libraries.cuStreamWaitEvent(streams[ComputeStream],
                                                        events[event], 0),
                        "cuStreamWaitEvent");
}

void CudaRank::launch(size_t first, size_t last) {
  const Launch &head = plan.getLaunches()[first];
  CUstream stream = streams[head.stream];
  stopWhenAsked();
  for (size_t i = first; i < last; ++i) {
    const Launch &one = plan.getLaunches()[i];
    for (uint32_t w = 0; w < one.waits; ++w)
      job.libraries.check(
          job.libraries.cuStreamWaitEvent(
              stream, events[plan.getWaits()[one.firstWait + w]], 0),
          "cuStreamWaitEvent");
  }
  if (head.action == Launch::whole) {
    zeroAccumulators();
  } else {
    const pmrt_action &action = program.role.actions[head.action];
    if (action.kind == PMRT_RUN) {
      const pmrt_body &body = program.role.bodies[action.index];
      running.body = &body;
      if (head.instruction == Launch::whole)
        launchLoops(head);
      else
        launchInstruction(head, body.instructions[head.instruction],
                          isOnce(body) ? 0 : action.micro_batch, stream);
    } else if (head.copies) {
      const pmrt_buffer &buffer = program.role.buffers[action.index];
      job.libraries.check(
          job.libraries.cuMemcpyDtoDAsync_v2(memory + layout->copiesAt + head.copyAt,
                                             place(action.index, action.micro_batch),
                                             buffer.bytes, stream),
          "cuMemcpyDtoDAsync of '", buffer.name, "'");
    } else {
      std::vector<Transfer> transfers;
      uint32_t entered = head.sequence, done = 0;
      for (size_t i = first; i < last; ++i) {
        const Launch &one = plan.getLaunches()[i];
        const pmrt_action &own = program.role.actions[one.action];
        ++counts.actions[one.action];
        done = one.sequence;
        if (beginCommunication(i))
          transfers.push_back({head.stream - FirstTransferStream,
                               mesh.peer(rank, own.peer), one.action,
                               own.kind == PMRT_SEND,
                               one.isCopied ? memory + layout->copiesAt + one.copyAt
                                            : place(own.index, own.micro_batch)});
      }
      progress->markEntered(head.stream, entered, stream);
      if (!transfers.empty())
        carrier->run(transfers, stream);
      progress->markDone(head.stream, done, stream);
    }
  }
  for (size_t i = first; i < last; ++i) {
    const Launch &one = plan.getLaunches()[i];
    if (one.records >= 0)
      job.libraries.check(job.libraries.cuEventRecord(events[one.records], stream),
                          "cuEventRecord");
    if (!endsFragment[i])
      continue;
    progress->markFragments(++fragmentsLaunched, stream);
    if (!afterAction)
      continue;
    for (CUstream each : streams)
      if (each)
        job.libraries.check(job.libraries.cuStreamSynchronize(each),
                            "cuStreamSynchronize");
    afterAction(*this, one.action);
  }
}

void CudaRank::zeroAccumulators() {
  for (uint32_t index : program.accumulators) {
    const pmrt_buffer &buffer = program.role.buffers[index];
    for (uint32_t slot = 0; slot < buffer.slots; ++slot)
      if (buffer.bytes)
        job.libraries.check(
            job.libraries.cuMemsetD8Async(place(index, slot), 0, buffer.bytes,
                                          streams[ComputeStream]),
            "cuMemsetD8Async of '", buffer.name, "'");
  }
}

void CudaRank::launchInstruction(const Launch &launch,
                                 const pmrt_instruction &instruction,
                                 uint32_t microBatch, CUstream stream) {
  running.instruction = &instruction;
  const pmrt_action &action = program.role.actions[launch.action];
  auto index = static_cast<size_t>(
      &instruction - program.role.bodies[action.index].instructions);
  ++counts.instructions[action.index][index];
  for (uint32_t o = 0; o < instruction.num_operands; ++o)
    places[o] = place(instruction.operands[o], microBatch);
  const Libraries &libraries = job.libraries;
  switch (instruction.opcode) {
  case PMRT_OP_GEMM:
    products.at(instruction.descriptor)
        ->launch(places.data(), workspace(ComputeStream), stream);
    break;
  case PMRT_OP_ATTENTION:
    attentions.at(instruction.descriptor)
        ->launch(places.data(), workspace(ComputeStream));
    break;
  case PMRT_OP_KERNEL: {
    auto number = static_cast<size_t>(&kernelOf(instruction) - program.role.kernels);
    const pmrt_launch &shape = program.role.device->launches[number];
    CUdeviceptr coordinates =
        memory + layout->coordinatesAt +
        microBatch * program.role.num_axes * sizeof(int64_t);
    CUdeviceptr scratch = workspace(ComputeStream);
    std::vector<void *> parameters;
    for (uint32_t o = 0; o < instruction.num_operands; ++o)
      parameters.push_back(&places[o]);
    parameters.push_back(&coordinates);
    parameters.push_back(&scratch);
    libraries.check(libraries.cuLaunchKernel(functions[number], shape.blocks, 1, 1,
                                             shape.threads, 1, 1, 0, stream,
                                             parameters.data(), nullptr),
                    "the launch of ", describe(instruction));
    break;
  }
  case PMRT_OP_COPY:
    if (instruction.operands[0].bytes)
      libraries.check(libraries.cuMemcpyDtoDAsync_v2(places[1], places[0],
                                                     instruction.operands[0].bytes,
                                                     stream),
                      "cuMemcpyDtoDAsync for ", describe(instruction));
    break;
  case PMRT_OP_ZERO:
    if (instruction.operands[0].bytes)
      libraries.check(libraries.cuMemsetD8Async(places[0], 0,
                                                instruction.operands[0].bytes, stream),
                      "cuMemsetD8Async for ", describe(instruction));
    break;
  case PMRT_OP_WAIT:
    break;
  default: {
    bool isOwn = launch.sequence != 0;
    if (isOwn && !beginCommunication(static_cast<size_t>(&launch -
                                                         plan.getLaunches().data())))
      break;
    if (isOwn)
      progress->markEntered(launch.stream, launch.sequence, stream);
    carrier->run(instruction, places.data(),
                 workspace(instruction.event ? StartedStream : CollectiveStream),
                 stream);
    if (isOwn)
      progress->markDone(launch.stream, launch.sequence, stream);
  }
  }
  running.instruction = nullptr;
}

void CudaRank::launchLoops(const Launch &launch) {
  const pmrt_action &action = program.role.actions[launch.action];
  const pmrt_body &body = program.role.bodies[action.index];
  uint32_t microBatch = isOnce(body) ? 0 : action.micro_batch;
  CUstream stream = streams[ComputeStream];
  for (uint64_t i = 0, next = 0; i < body.num_instructions; i = next) {
    const pmrt_instruction &instruction = body.instructions[i];
    next = i + 1;
    stopWhenAsked();
    if (instruction.opcode == PMRT_OP_JUMP) {
      next = targetOf(instruction, nullptr);
    } else if (instruction.opcode == PMRT_OP_SWITCH) {
      uint64_t index = 0;
      job.libraries.check(job.libraries.cuMemcpyDtoHAsync_v2(
                              &index, place(instruction.operands[0], microBatch),
                              std::min<uint64_t>(instruction.operands[0].bytes,
                                                 sizeof(index)),
                              stream),
                          "cuMemcpyDtoHAsync for ", describe(instruction));
      job.libraries.check(job.libraries.cuStreamSynchronize(stream),
                          "cuStreamSynchronize for ", describe(instruction));
      next = targetOf(instruction, &index);
    } else {
      launchInstruction(launch, instruction, microBatch, stream);
    }
  }
}

//===----------------------------------------------------------------------===//
// How far the GPU is
//===----------------------------------------------------------------------===//

bool CudaRank::beginCommunication(size_t index) {
  const Launch &launch = plan.getLaunches()[index];
  const pmrt_action &action = program.role.actions[launch.action];
  bool runs = comesToCommunication();
  Pending one;
  one.launch = static_cast<uint32_t>(index);
  one.sequence = launch.sequence;
  FlightEntry &entry = one.entry;
  entry.number = communications;
  entry.step = record.step.load(std::memory_order_relaxed);
  entry.microBatch = action.micro_batch;
  std::string text;
  if (action.kind == PMRT_RUN) {
    const pmrt_instruction &instruction =
        program.role.bodies[action.index].instructions[launch.instruction];
    entry.run = ++collectives[communicatorOf(instruction)];
    entry.kind = instruction.opcode;
    entry.dtype = dtypeOf(instruction);
    entry.elements = operandBytes(instruction) / dtypeSize(entry.dtype);
    text = placeOf(instruction);
  } else {
    const pmrt_buffer &buffer = program.role.buffers[action.index];
    entry.kind = action.kind == PMRT_SEND ? FlightEntry::Send : FlightEntry::Receive;
    entry.dtype = buffer.dtype;
    entry.elements = buffer.bytes / dtypeSize(buffer.dtype);
    entry.peer = static_cast<int32_t>(mesh.peer(rank, action.peer));
    text = program.info.buffers[action.index].name;
  }
  text.copy(entry.place, sizeof(entry.place) - 1);
  if (runs) {
    std::lock_guard lock(followed);
    pending[launch.stream].push_back(one);
  }
  return runs;
}

void CudaRank::follow() {
  std::lock_guard lock(followed);
  uint64_t now = nanoseconds();
  const Pending *waits = nullptr;
  for (uint32_t s = 1; s < pending.size(); ++s) {
    std::deque<Pending> &own = pending[s];
    uint32_t entered = progress->entered(s), done = progress->done(s);
    while (!own.empty() && own.front().sequence <= done) {
      if (!own.front().recorded) {
        own.front().entry.begin = now;
        own.front().recorded = &recorder.begin(own.front().entry);
      }
      if (own.front().recorded->number == own.front().entry.number)
        own.front().recorded->end = now;
      own.pop_front();
    }
    for (Pending &one : own) {
      if (one.sequence > entered)
        break;
      if (!one.recorded) {
        one.entry.begin = now;
        one.recorded = &recorder.begin(one.entry);
      }
      if (!waits || one.launch < waits->launch)
        waits = &one;
    }
  }
  if (waits) {
    const Launch &launch = plan.getLaunches()[waits->launch];
    record.set(launch.action,
               launch.instruction == Launch::whole ? Record::none : launch.instruction,
               Record::Waiting, waits->entry.begin);
    return;
  }
  uint32_t done = progress->fragments();
  if (done < fragmentActions.size())
    record.set(fragmentActions[done], Record::none, Record::Running, now);
}

void CudaRank::watch() {
  pthread_setname_np(pthread_self(), cat("watch ", rank).c_str());
  uint64_t sum = 0, since = nanoseconds();
  bool before = false;
  while (!stopsWatching.load()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    bool now = inStep.load();
    uint64_t own = progress->sum();
    if (!now || now != before || own != sum) {
      before = now;
      sum = own;
      since = nanoseconds();
      if (now)
        follow();
      continue;
    }
    follow();
    if (nanoseconds() - since < options.deadline || aborted.load())
      continue;
    // Nothing has moved for so long: the records say where.
    if (onLate)
      onLate(*this, {});
    return;
  }
}

std::string CudaRank::fragmentText() const {
  uint32_t done = progress->fragments();
  if (done >= fragmentActions.size())
    return "behind the last fragment";
  const pmrt_action &action = program.role.actions[fragmentActions[done]];
  return cat("in fragment '", program.role.bodies[action.index].name,
             "' of micro-batch ", action.micro_batch);
}

void CudaRank::failBehind(CUresult result) {
  fail("the GPU has failed ", fragmentText(), ": ", job.libraries.textOf(result),
       "; run it under compute-sanitizer to see the kernel");
}

void CudaRank::waitForEnd(int64_t step) {
  uint64_t lastLook = nanoseconds();
  while (true) {
    CUresult result = job.libraries.cuStreamQuery(streams[ComputeStream]);
    if (result == CUDA_SUCCESS)
      break;
    if (result != CUDA_ERROR_NOT_READY)
      failBehind(result);
    uint64_t now = nanoseconds();
    if (now - lastLook > 5'000'000u) {
      lastLook = now;
      transport.progress();
      if (std::string problem = carrier->problem(); !problem.empty()) {
        follow();
        carrier->abort();
        throw Error(cat(problem, "; the step was ", fragmentText()));
      }
      try {
        stopWhenAsked();
      } catch (...) {
        carrier->abort();
        throw;
      }
    }
    std::this_thread::yield();
  }
  if (!progress->hasEnded(step))
    fail("the GPU has not come to the end of step ", step,
         ", but says that it is done; the driver may be damaged");
  follow();
}

} // namespace pipemesh::cuda
