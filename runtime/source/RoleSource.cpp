//===- RoleSource.cpp - The C++ source of one role ------------------------===//

#include "source/RoleSource.h"

#include "core/Instruction.h"
#include "source/Prelude.h"

#include <algorithm>
#include <cstring>

namespace pipemesh::source {

using namespace runtime;

RoleSource::RoleSource(const Manifest &manifest,
                       const std::vector<const pmrt_role *> &roles,
                       const std::vector<cuda::Plan> &plans,
                       const std::vector<cuda::Division> &divisions,
                       uint32_t number)
    : manifest(manifest), mesh(manifest.mesh), roles(roles),
      role(*roles[number]), info(manifest.roles[number]), plan(plans[number]),
      divisions(divisions), number(number) {
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
    if (mesh.role(rank) == static_cast<int64_t>(number))
      ranks.push_back(rank);
  Names inBuffers, inKernels, atTop;
  inBuffers.unique("all");
  for (const char *taken : {"Kernel", "Shape", "shapes", "ptx"})
    inKernels.unique(taken);
  for (uint32_t b = 0; b < role.num_buffers; ++b)
    bufferNames.push_back(inBuffers.unique(role.buffers[b].name));
  for (uint32_t k = 0; k < role.num_kernels; ++k)
    kernelNames.push_back(inKernels.unique(role.kernels[k].name));
  streamNames = {"compute", "collectives", "started"};
  for (const cuda::TransferLane &lane : plan.getLanes())
    streamNames.push_back(cat("from_", lane.sender, "_to_", lane.receiver));
  for (const cuda::Division &division : divisions) {
    bool isTransfer = division.name.rfind("transfers", 0) == 0;
    divisionNames.push_back(
        atTop.unique((isTransfer ? "" : "over_") + division.name));
  }
  for (uint32_t c = 0; c < role.num_communicators; ++c)
    divisionOfCommunicator.push_back(
        divisionOf(divisions, mesh, role.communicators[c]));
  findBodies();
  findProducts();
}

std::string RoleSource::Body::Event::text() const {
  return argument < 0 ? cat(ofRun[0]) : cat("e[", argument, "]");
}

void RoleSource::Body::handOver(Event &event) {
  // Where it is the same in each run, it is written into the function.
  if (std::all_of(event.ofRun.begin(), event.ofRun.end(),
                  [&](int32_t one) { return one == event.ofRun[0]; }))
    return;
  auto same = std::find(arguments.begin(), arguments.end(), event.ofRun);
  event.argument = static_cast<int32_t>(same - arguments.begin());
  if (same == arguments.end())
    arguments.push_back(event.ofRun);
}

void RoleSource::findBodies() {
  const std::vector<cuda::Launch> &launches = plan.getLaunches();
  std::vector<int64_t> bodyOf(role.num_bodies, -1);
  Names names;
  for (const char *taken :
       {"step", "setUp", "setUpDevice", "setUpProducts", "setUpRanks",
        "tearDown", "finish", "load", "save", "parse", "pointer", "fail",
        "exchangeId", "ranks", "isUsed"})
    names.unique(taken);
  for (const auto *taken : {&streamNames, &divisionNames})
    for (const std::string &name : *taken)
      names.unique(name);
  for (size_t i = 1; i < launches.size();) {
    const cuda::Launch &first = launches[i];
    const pmrt_action &action = role.actions[first.action];
    size_t last = i + 1;
    if (action.kind != PMRT_RUN) {
      i = last;
      continue;
    }
    const pmrt_body &body = role.bodies[action.index];
    if (first.instruction == cuda::Launch::whole)
      fail("'", body.name, "' of role ", number,
           " has a loop or a choice whose length the host reads, which "
           "--emit=cpp has "
           "no source for; give -o without it, for a bundle");
    while (last < launches.size() && launches[last].action == first.action)
      ++last;
    if (bodyOf[action.index] < 0) {
      bodyOf[action.index] = static_cast<int64_t>(bodyList.size());
      Body made;
      made.index = action.index;
      made.name = names.unique(body.name);
      made.launches = last - i;
      made.isOnce = runsOnce(body);
      bodyList.push_back(std::move(made));
    }
    bodyList[bodyOf[action.index]].firstLaunches.push_back(i);
    i = last;
  }
  for (Body &body : bodyList) {
    size_t runs = body.firstLaunches.size();
    for (size_t l = 0; l < body.launches; ++l) {
      std::vector<Body::Event> waits;
      Body::Event record;
      for (size_t run = 0; run < runs; ++run) {
        const cuda::Launch &launch = launches[body.firstLaunches[run] + l];
        record.ofRun.push_back(launch.records);
        while (waits.size() < launch.waits)
          waits.push_back({std::vector<int32_t>(runs, -1)});
        for (uint32_t w = 0; w < launch.waits; ++w)
          waits[w].ofRun[run] =
              static_cast<int32_t>(plan.getWaits()[launch.firstWait + w]);
        const pmrt_instruction &instruction =
            role.bodies[body.index].instructions[launch.instruction];
        body.usesMicroBatch |= instruction.opcode == PMRT_OP_KERNEL;
        for (uint32_t o = 0; o < instruction.num_operands; ++o) {
          int32_t buffer = instruction.operands[o].buffer;
          body.usesMicroBatch |=
              buffer != PMRT_SCRATCH && role.buffers[buffer].slots > 1;
        }
      }
      for (Body::Event &wait : waits)
        body.handOver(wait);
      body.handOver(record);
      body.waits.push_back(std::move(waits));
      body.records.push_back(std::move(record));
    }
    body.usesMicroBatch &= !body.isOnce;
  }
}

void RoleSource::findProducts() {
  for (const Body &body : bodyList)
    for (uint64_t i = 0; i < role.bodies[body.index].num_instructions; ++i) {
      const pmrt_instruction &instruction =
          role.bodies[body.index].instructions[i];
      if (instruction.opcode != PMRT_OP_GEMM ||
          productOf.count(instruction.descriptor))
        continue;
      const auto &gemm =
          *static_cast<const pmrt_gemm *>(instruction.descriptor);
      auto same = std::find_if(
          products.begin(), products.end(), [&](const Product &product) {
            return !std::memcmp(&product.gemm, &gemm, sizeof(gemm));
          });
      productOf[instruction.descriptor] =
          static_cast<size_t>(same - products.begin());
      if (same == products.end())
        products.push_back({gemm, cuda::ProductForm(gemm, {})});
    }
}

std::string RoleSource::text() const {
  std::string text = header() + "\n";
  if (!products.empty())
    text += "#include <cublasLt.h>\n";
  text += "#include <cuda.h>\n";
  if (usesRanks())
    text += "#include <nccl.h>\n";
  text += std::string(includesText) + callsText;
  if (!products.empty())
    text += blasCallsText;
  if (usesRanks())
    text += ncclCallsText;
  text += typesText;
  text += "\n" + constants() + buffers() + kernels();
  if (!products.empty())
    text += std::string(productTypeText) + productSpecs();
  text += communicators() + rankText;
  if (!products.empty())
    text += rankProductText;
  if (usesRanks())
    text +=
        "\n  ncclComm_t world = nullptr;\n"
        "  std::vector<ncclComm_t> communicators;\n"
        "  /// The rank's part in a communicator: its key is its place in it.\n"
        "  const Member &member(int communicator) const {\n"
        "    return ranks[row].members[communicator];\n  }\n";
  text +=
      "};\n" + setUp() + bodies() + step() + finish() + stateText + mainText;
  return text;
}

} // namespace pipemesh::source
