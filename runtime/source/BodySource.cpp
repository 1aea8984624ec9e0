//===- BodySource.cpp - What a step launches, as C++ ----------------------===//

#include "source/RoleSource.h"

#include "core/Instruction.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace pipemesh::source {

using namespace runtime;

std::string productText(const pmrt_gemm &gemm) {
  std::string batch;
  for (int64_t size : gemm.batch)
    if (size != 1)
      batch += cat(batch.empty() ? ", batch " : " x ", size);
  auto matrix = [](int64_t rows, int64_t columns, bool isTransposed) {
    return isTransposed ? cat("[", columns, " x ", rows, "]^T")
                        : cat("[", rows, " x ", columns, "]");
  };
  return cat(dtypeName(gemm.dtype), " [", gemm.m, " x ", gemm.n, "] ",
             gemm.accumulate ? "+= " : "= ",
             matrix(gemm.m, gemm.k, gemm.trans_a), " ",
             matrix(gemm.k, gemm.n, gemm.trans_b), batch,
             gemm.epilogue & PMRT_EPILOGUE_BIAS ? ", bias" : "",
             gemm.epilogue & PMRT_EPILOGUE_GELU ? ", gelu" : "",
             gemm.epilogue & PMRT_EPILOGUE_BEFORE ? " (its argument kept)" : "");
}

std::string RoleSource::place(const pmrt_operand &operand, bool isOnce) const {
  if (operand.buffer == PMRT_SCRATCH)
    return cat("r.scratch(", operand.offset, ")");
  bool isSlotted = !isOnce && role.buffers[operand.buffer].slots > 1;
  return cat("r.at(b::", bufferNames[operand.buffer], isSlotted ? ", m)" : ")",
             operand.offset ? cat(" + ", operand.offset) : "");
}

std::string RoleSource::slot(uint32_t buffer, uint32_t microBatch) const {
  uint32_t slot = microBatch % role.buffers[buffer].slots;
  return cat("r.at(b::", bufferNames[buffer], slot ? cat(", ", slot) : "", ")");
}

std::string RoleSource::stream(uint32_t number) const {
  return cat("r.streams[", streamNames[number], "]");
}

/// Operands have addresses of their own while the calls of an exchange are
/// made: that of the workspace, then one for each operand.
static constexpr int addressBits = 44;
static cuda::CUdeviceptr markOf(size_t index) {
  return static_cast<cuda::CUdeviceptr>(index + 1) << addressBits;
}
static std::string textOf(cuda::CUdeviceptr address,
                          const std::vector<std::string> &places) {
  uint64_t offset = address & ((cuda::CUdeviceptr(1) << addressBits) - 1);
  return places[(address >> addressBits) - 1] +
         (offset ? cat(" + ", offset) : "");
}

std::string RoleSource::exchangeCall(const std::string &indent,
                                     const cuda::ExchangeCall &one,
                                     const std::vector<std::string> &places,
                                     const std::string &communicator,
                                     uint32_t number) const {
  using cuda::ExchangeCall;
  auto at = [&](cuda::CUdeviceptr address) { return textOf(address, places); };
  auto pointerTo = [&](cuda::CUdeviceptr address) {
    return cat("pointer(", at(address), ")");
  };
  std::string own = stream(number);
  switch (one.kind) {
  case ExchangeCall::Clear:
    return call(indent + "CU(cuMemsetD8Async(",
                {at(one.to), "0", cat(one.count), own}, "));");
  case ExchangeCall::Copy: {
    const cuda::StridedCopy &copy = one.copy;
    std::string to = at(copy.to.begin), from = at(copy.from.begin);
    if (copy.rows == 1 && copy.slices == 1)
      return call(indent + "CU(cuMemcpyDtoDAsync(",
                  {to, from, cat(copy.width), own}, "));");
    if (copy.slices == 1)
      return call(indent + "r.copyRows(",
                  {to, cat(copy.to.pitch), from, cat(copy.from.pitch),
                   cat(copy.width), cat(copy.rows), streamNames[number]},
                  ");");
    return call(indent + "r.copySlices(",
                {to, cat(copy.to.pitch), cat(copy.to.height), from,
                 cat(copy.from.pitch), cat(copy.from.height), cat(copy.width),
                 cat(copy.rows), cat(copy.slices), streamNames[number]},
                ");");
  }
  case ExchangeCall::GroupStart:
    return indent + "NCCL(ncclGroupStart());\n";
  case ExchangeCall::GroupEnd:
    return indent + "NCCL(ncclGroupEnd());\n";
  case ExchangeCall::AllReduce:
  case ExchangeCall::ReduceScatter:
    return call(indent + (one.kind == ExchangeCall::AllReduce
                              ? "NCCL(ncclAllReduce("
                              : "NCCL(ncclReduceScatter("),
                {pointerTo(one.from), pointerTo(one.to), cat(one.count),
                 ncclTypeName(one.type), ncclReductionName(one.reduction),
                 communicator, own},
                "));");
  case ExchangeCall::AllGather:
    return call(indent + "NCCL(ncclAllGather(",
                {pointerTo(one.from), pointerTo(one.to), cat(one.count),
                 ncclTypeName(one.type), communicator, own},
                "));");
  case ExchangeCall::Send:
  case ExchangeCall::Receive: {
    bool sends = one.kind == ExchangeCall::Send;
    return call(indent + (sends ? "NCCL(ncclSend(" : "NCCL(ncclRecv("),
                {pointerTo(sends ? one.from : one.to), cat(one.count),
                 ncclTypeName(one.type), cat(one.peer), communicator, own},
                "));");
  }
  }
  fail("an exchange of role ", number,
       " makes a call that sources do not have");
}

std::string RoleSource::exchange(const pmrt_instruction &instruction,
                                 const cuda::Launch &launch,
                                 const std::vector<std::string> &places) const {
  uint32_t communicator = communicatorOf(instruction);
  const pmrt_communicator &own = role.communicators[communicator];
  size_t division = divisionOfCommunicator[communicator];
  std::string name = cat("r.communicators[", divisionNames[division], "]");
  int64_t members = 1;
  for (uint32_t a = 0; a < own.num_axes; ++a)
    members *= mesh.getAxes()[own.axes[a]].size;
  std::vector<cuda::CUdeviceptr> marks;
  for (uint32_t o = 0; o < instruction.num_operands; ++o)
    marks.push_back(markOf(o + 1));
  std::vector<std::string> all = {
      cat("r.workspace(", streamNames[launch.stream], ")")};
  all.insert(all.end(), places.begin(), places.end());
  auto textOfMember = [&](const std::string &indent, int64_t index) {
    std::string text;
    for (const cuda::ExchangeCall &one :
         cuda::callsOf(instruction, marks.data(), markOf(0), members, index))
      text += exchangeCall(indent, one, all, name, launch.stream);
    return text;
  };
  std::vector<std::string> texts;
  for (int64_t index = 0; index < members; ++index)
    texts.push_back(textOfMember("  ", index));
  if (std::all_of(texts.begin(), texts.end(),
                  [&](const std::string &text) { return text == texts[0]; }))
    return texts[0];
  std::string text =
      cat("  switch (r.member(", divisionNames[division], ").key) {\n");
  for (int64_t index = 0; index < members; ++index)
    text += cat("  case ", index, ":\n", textOfMember("    ", index),
                "    break;\n");
  return text + "  }\n";
}

std::string RoleSource::instruction(const pmrt_instruction &instruction,
                                    const cuda::Launch &launch,
                                    bool isOnce) const {
  std::vector<std::string> places;
  for (uint32_t o = 0; o < instruction.num_operands; ++o)
    places.push_back(place(instruction.operands[o], isOnce));
  auto bytes = [&](int operand) { return instruction.operands[operand].bytes; };
  std::string own = stream(launch.stream);
  switch (instruction.opcode) {
  case PMRT_OP_GEMM:
    places.insert(places.begin(), cat(productOf.at(instruction.descriptor)));
    if (places.size() > 4) {
      std::string behind;
      for (size_t i = 4; i < places.size(); ++i)
        behind += (behind.empty() ? "{" : ", ") + places[i];
      places.resize(4);
      places.push_back(behind + "}");
    }
    return call("  r.product(", places, ");");
  case PMRT_OP_KERNEL: {
    size_t kernel = static_cast<size_t>(&kernelOf(instruction) - role.kernels);
    return call(cat("  r.launch(k::", kernelNames[kernel], ", ",
                    isOnce ? "0" : "m", ", {"),
                places, "});");
  }
  case PMRT_OP_COPY:
    return bytes(0) ? call("  CU(cuMemcpyDtoDAsync(",
                           {places[1], places[0], cat(bytes(0)), own}, "));")
                    : "";
  case PMRT_OP_ZERO:
    return bytes(0) ? call("  CU(cuMemsetD8Async(",
                           {places[0], "0", cat(bytes(0)), own}, "));")
                    : "";
  case PMRT_OP_ALL_REDUCE:
  case PMRT_OP_ALL_GATHER:
  case PMRT_OP_REDUCE_SCATTER:
  case PMRT_OP_ALL_TO_ALL:
  case PMRT_OP_PERMUTE:
    return exchange(instruction, launch, places);
  case PMRT_OP_ATTENTION:
    fail(describe(instruction),
         " is cuDNN's, which sources do not call; take --attention=own");
  default:
    fail(describe(instruction), " (opcode ", instruction.opcode,
         ") has no source; give -o without --emit=cpp, for a bundle");
  }
}

/// What stands above a call.
static std::string titleOf(const pmrt_instruction &instruction,
                           const std::string &communicator) {
  std::string place = instruction.location ? instruction.location : "";
  std::string what;
  if (instruction.opcode == PMRT_OP_GEMM)
    what = productText(*static_cast<const pmrt_gemm *>(instruction.descriptor));
  else if (isCollective(instruction))
    what = cat(collectiveName(instruction.opcode), " over ", communicator);
  else if (instruction.opcode == PMRT_OP_COPY)
    what = "copy";
  else if (instruction.opcode == PMRT_OP_ZERO)
    what = "zero";
  return place.empty() || what.empty() ? place + what : place + ": " + what;
}

std::string RoleSource::body(const Body &body) const {
  const pmrt_body &own = role.bodies[body.index];
  std::vector<std::string> parameters = {"Rank &r"};
  if (body.usesMicroBatch)
    parameters.push_back("int m");
  if (!body.arguments.empty())
    parameters.push_back("std::initializer_list<int> events");
  std::string text = cat(
      "\n// ", own.name, ", stage ", own.stage,
      body.isOnce ? ", once a step\n"
                  : cat(", ", body.firstLaunches.size(), " micro-batches\n"),
      call(cat("void ", body.name, "("), parameters, ") {"));
  if (!body.arguments.empty())
    text += "  const int *e = events.begin();\n";
  std::string before;
  for (size_t l = 0; l < body.launches; ++l) {
    const cuda::Launch &launch = plan.getLaunches()[body.firstLaunches[0] + l];
    const pmrt_instruction &one = own.instructions[launch.instruction];
    std::string title = titleOf(
        one, isCollective(one)
                 ? laneText(mesh, role.communicators[communicatorOf(one)])
                 : "");
    if (!title.empty() && title != before)
      text += comment("  ", title);
    before = title;
    for (const Body::Event &wait : body.waits[l])
      text += cat("  r.wait(", streamNames[launch.stream], ", ", wait.text(),
                  ");\n");
    text += instruction(one, launch, body.isOnce);
    const Body::Event &record = body.records[l];
    if (record.argument >= 0 || record.ofRun[0] >= 0)
      text += cat("  r.record(", record.text(), ", ",
                  streamNames[launch.stream], ");\n");
  }
  return text + "}\n";
}

std::string RoleSource::bodies() const {
  std::string text =
      "\n//"
      "===-------------------------------------------------------------------"
      "---===//\n// A "
      "step\n//===-------------------------------------------------"
      "---------------------===//\n";
  for (const Body &one : bodyList)
    text += body(one);
  return text;
}

std::string RoleSource::zeroAccumulators() const {
  std::string text;
  for (uint32_t index : cuda::accumulatorsOf(info)) {
    const pmrt_buffer &buffer = role.buffers[index];
    for (uint32_t m = 0; m < buffer.slots && buffer.bytes; ++m)
      text += call(
          "  CU(cuMemsetD8Async(",
          {slot(index, m), "0", cat(buffer.bytes), stream(cuda::ComputeStream)},
          "));");
  }
  return text;
}

std::string RoleSource::transfers(size_t first, size_t last) const {
  const std::vector<cuda::Launch> &launches = plan.getLaunches();
  uint32_t number = launches[first].stream;
  const cuda::TransferLane &lane =
      plan.getLanes()[number - cuda::FirstTransferStream];
  std::string communicator =
      cat("r.communicators[", divisionNames[divisionOf(divisions, lane)], "]");
  std::string text;
  bool isGroup = last - first > 1;
  if (isGroup)
    text += exchangeCall("  ", {.kind = cuda::ExchangeCall::GroupStart}, {}, "",
                         number);
  for (size_t i = first; i < last; ++i) {
    const pmrt_action &action = role.actions[launches[i].action];
    const pmrt_buffer &buffer = role.buffers[action.index];
    bool sends = action.kind == PMRT_SEND;
    text += comment("  ", cat(sends ? "send '" : "receive '", buffer.name,
                              "' of micro-batch ", action.micro_batch,
                              sends ? " to" : " from", " role ", action.peer));
    std::string place = launches[i].isCopied
                            ? cat("r.copies(", launches[i].copyAt, ")")
                            : slot(action.index, action.micro_batch);
    text += exchangeCall("  ", cuda::callOf(buffer, sends, markOf(0)), {place},
                         communicator, number);
  }
  if (isGroup)
    text += exchangeCall("  ", {.kind = cuda::ExchangeCall::GroupEnd}, {}, "",
                         number);
  return text;
}

std::string RoleSource::step() const {
  const std::vector<cuda::Launch> &launches = plan.getLaunches();
  std::string text = "\nvoid step(Rank &r) {\n";
  std::vector<size_t> runs(role.num_bodies);
  for (size_t i = 0, last = 0; i < launches.size(); i = last) {
    const cuda::Launch &head = launches[i];
    bool isFirst = head.action == cuda::Launch::whole;
    const pmrt_action *action = isFirst ? nullptr : &role.actions[head.action];
    last = i + 1;
    if (!isFirst && action->kind == PMRT_RUN) {
      const Body &body =
          *std::find_if(bodyList.begin(), bodyList.end(), [&](const Body &one) {
            return one.index == action->index;
          });
      size_t run = runs[action->index]++;
      last = i + body.launches;
      std::vector<std::string> arguments = {"r"};
      if (body.usesMicroBatch)
        arguments.push_back(cat(action->micro_batch));
      for (size_t a = 0; a < body.arguments.size(); ++a)
        arguments.push_back(cat(a ? "" : "{", body.arguments[a][run],
                                a + 1 == body.arguments.size() ? "}" : ""));
      text += call(cat("  ", body.name, "("), arguments, ");");
      continue;
    }
    while (last < launches.size() && launches[last].joinsPrevious)
      ++last;
    for (size_t l = i; l < last; ++l)
      for (uint32_t w = 0; w < launches[l].waits; ++w)
        text += cat("  r.wait(", streamNames[head.stream], ", ",
                    plan.getWaits()[launches[l].firstWait + w], ");\n");
    if (isFirst) {
      text += zeroAccumulators();
    } else if (head.copies) {
      const pmrt_buffer &buffer = role.buffers[action->index];
      text += comment("  ", cat("copy '", buffer.name, "' of micro-batch ",
                                action->micro_batch, ", which is sent later"));
      text += call("  CU(cuMemcpyDtoDAsync(",
                   {cat("r.copies(", head.copyAt, ")"),
                    slot(action->index, action->micro_batch), cat(buffer.bytes),
                    stream(head.stream)},
                   "));");
    } else {
      text += transfers(i, last);
    }
    for (size_t l = i; l < last; ++l)
      if (launches[l].records >= 0)
        text += cat("  r.record(", launches[l].records, ", ",
                    streamNames[head.stream], ");\n");
  }
  for (uint32_t event : plan.getLastWaits())
    text += cat("  r.wait(compute, ", event, ");\n");
  return text + "}\n";
}

} // namespace pipemesh::source
