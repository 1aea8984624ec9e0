//===- Prove.cpp - The proof of a whole program ---------------------------===//

#include "check/Prove.h"

#include "check/Conditions.h"
#include "check/InFlight.h"
#include "check/Order.h"
#include "check/Step.h"

#include <algorithm>
#include <set>

namespace pipemesh::proof {

static uint64_t roundUp(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// At least what oneDNN packs of a product at one time: of its column-major view
/// up to 10,000 rows (our columns) in panels of 48, and up to 384 columns in panels
/// of 8, both as deep as a pass of at most 384 over k; and five pages to align them.
/// Found from the sizes that oneDNN 2.6 allocates on a processor with AVX2; those of
/// AVX-512 are from its blocking.
/// Batch dimensions may be rows of one product.
static uint64_t packedBytes(const pmrt_gemm &gemm) {
  auto rows = static_cast<uint64_t>(gemm.m);
  for (int64_t size : gemm.batch)
    rows *= static_cast<uint64_t>(size);
  uint64_t depth = std::min<uint64_t>(gemm.k, 384);
  return 4 * depth *
             (roundUp(std::min<uint64_t>(gemm.n, 10000), 48) +
              roundUp(std::min<uint64_t>(rows, 384), 8)) +
         5 * 4096;
}

/// Counts of a role, and what its ranks need beside the arena.
static RoleProof countRole(const Role &role,
                           const std::vector<BodyFacts> &bodies) {
  const pmrt_role &table = role.table;
  RoleProof proof;
  proof.file = role.info.file;
  proof.bodies = table.num_bodies;
  proof.actions = table.num_actions;
  proof.arena = table.arena_bytes;
  // On a GPU all of it lies in the arena's workspaces.
  bool isOnHost = !table.device;
  for (uint32_t b = 0; b < table.num_bodies; ++b) {
    const pmrt_body &body = table.bodies[b];
    proof.instructions += body.num_instructions;
    for (uint64_t i = 0; i < body.num_instructions; ++i) {
      const pmrt_instruction &instruction = body.instructions[i];
      if (instruction.opcode == PMRT_OP_KERNEL && isOnHost)
        proof.kernelScratch = std::max(
            proof.kernelScratch,
            static_cast<const pmrt_kernel *>(instruction.descriptor)
                ->scratch_bytes);
      if (instruction.opcode == PMRT_OP_GEMM && isOnHost) {
        proof.gemmPacking = std::max(
            proof.gemmPacking,
            packedBytes(*static_cast<const pmrt_gemm *>(
                instruction.descriptor)));
      }
    }
  }
  for (uint64_t a = 0; a < table.num_actions; ++a) {
    const pmrt_action &action = table.actions[a];
    if (action.kind == PMRT_RUN)
      proof.collectives += bodies[action.index].collectives.size();
    proof.sends += action.kind == PMRT_SEND;
    proof.receives += action.kind == PMRT_RECEIVE;
  }
  return proof;
}

/// Groups of ranks that meet: of each set of axes as many as there are ranks
/// beside them.
static uint64_t countGroups(const Tables &tables) {
  std::set<std::vector<uint32_t>> sets;
  for (const Role &role : tables.roles)
    for (uint32_t c = 0; c < role.table.num_communicators; ++c) {
      const pmrt_communicator &info = role.table.communicators[c];
      std::vector<uint32_t> axes(info.axes, info.axes + info.num_axes);
      std::sort(axes.begin(), axes.end());
      sets.insert(axes);
    }
  uint64_t groups = 0;
  for (const std::vector<uint32_t> &axes : sets) {
    auto members = static_cast<uint64_t>(tables.manifest.mesh.ranks());
    for (uint32_t axis : axes)
      members /= static_cast<uint64_t>(
          tables.manifest.mesh.getAxes()[axis].size);
    groups += members;
  }
  return groups;
}

static void checkMemory(const Proof &proof) {
  for (size_t r = 0; r < proof.roles.size(); ++r) {
    const RoleProof &role = proof.roles[r];
    if (proof.memoryLimit && role.peak() > proof.memoryLimit)
      refuse("memory", "a rank of role ", r, " needs ", role.peak(),
             " bytes at its peak, but has ", proof.memoryLimit, ": arena ",
             role.arena, ", scratch of kernels ",
             role.threads * role.kernelScratch,
             ", matrices packed by oneDNN ", role.threads * role.gemmPacking,
             ", transfers under way ", role.inFlight,
             role.threads > 1 ? cat("; it has ", role.threads, " threads")
                              : std::string());
  }
}

Proof prove(const Manifest &manifest,
            const std::vector<const pmrt_role *> &roles,
            const ProveOptions &options) {
  Tables tables(manifest, roles);
  checkTables(tables);
  std::vector<std::vector<BodyFacts>> bodies;
  for (const Role &role : tables.roles) {
    auto &list = bodies.emplace_back();
    for (uint32_t b = 0; b < role.table.num_bodies; ++b)
      list.push_back(readBody(role, b));
  }
  std::vector<std::string> uniform = checkConditions(tables, bodies);
  for (const Role &role : tables.roles)
    checkStep(tables, role, bodies[role.number]);
  for (const Role &role : tables.roles)
    checkInFlight(role);
  OrderFacts order = checkOrder(tables, bodies);

  Proof proof;
  proof.ranks = manifest.mesh.ranks();
  proof.microBatches = tables.microBatches;
  proof.communicators = countGroups(tables);
  proof.channels = order.channels;
  proof.transfers = order.transfers;
  proof.meetings = order.meetings;
  proof.memoryLimit = options.memoryLimit;
  proof.needsNoBuffers = order.needsNoBuffers;
  proof.cycleWithoutBuffers = order.cycleWithoutBuffers;
  bool loops = false, kernels = false;
  for (const Role &role : tables.roles) {
    RoleProof &counted =
        proof.roles.emplace_back(countRole(role, bodies[role.number]));
    counted.inFlight = order.inFlight[role.number];
    counted.threads = options.threads;
    counted.live = findLive(role);
    proof.actions += counted.actions;
    auto ranks = static_cast<uint64_t>(proof.ranks) / tables.roles.size();
    proof.collectives += counted.collectives * ranks;
    kernels |= role.table.num_kernels > 0;
    for (uint32_t b = 0; b < role.table.num_bodies; ++b)
      for (uint64_t i = 0; i < role.table.bodies[b].num_instructions; ++i)
        loops |= isJump(role.table.bodies[b].instructions[i]);
  }
  if (kernels)
    proof.reliesOn.push_back(
        "kernels read and write their operands as the tables state, and nothing "
        "else");
  if (loops)
    proof.reliesOn.push_back("loops end");
  for (const std::string &body : uniform)
    proof.reliesOn.push_back(
        cat("kernels of ", body,
            " that conditions of collectives are computed by give the same on "
            "ranks that hand them the same"));
  checkMemory(proof);
  return proof;
}

} // namespace pipemesh::proof
