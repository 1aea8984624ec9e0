//===- Program.h - A role, prepared for running ---------------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_PROGRAM_H
#define PIPEMESH_RUNTIME_HOST_PROGRAM_H

#include "core/Bundle.h"
#include "core/Instruction.h"
#include "host/Gemm.h"

#include <algorithm>
#include <memory>

namespace pipemesh::runtime {

/// What all ranks of a role share: the tables, the plans of the matrix
/// products, and facts found by walking over the actions once.
class Program {
public:
  Program(const pmrt_role &role, const RoleInfo &info);

  const pmrt_role &role;
  const RoleInfo &info;

  /// Plan of a matrix product; the instruction is one of a body of the role.
  const GemmPlan &plan(uint64_t body, uint64_t instruction) const {
    return plans[planIndex[body][instruction]];
  }

  /// Largest scratch of a call of a kernel.
  uint64_t kernelScratchBytes = 0;
  /// Largest number of operands of an instruction.
  uint32_t mostOperands = 0;

  /// For each action the buffers whose slot it is the first to touch in a
  /// step: nothing may rely on what they hold.
  std::vector<std::vector<uint32_t>> firstTouched;

  /// Where a step may still end with the state untouched: the index of the
  /// first action behind those that compute or send gradients.
  uint64_t voteAt = 0;
  /// Whether the role changes its state.
  bool updates = false;

  /// Zeroed when a step starts.
  std::vector<uint32_t> accumulators;

  /// Small float32 buffers that reduce and update read before anything writes
  /// them behind `voteAt`, such as the sum of the loss. When one is not finite,
  /// neither is the loss, and the state can still be kept.
  std::vector<uint32_t> checkedBeforeUpdate;

  /// The collectives that the role starts, by their event; null where there is
  /// none. Empty where it starts nothing.
  std::vector<const pmrt_instruction *> starts;

  /// What an event belongs to, or null.
  const pmrt_instruction *startOf(uint32_t event) const {
    return event < starts.size() ? starts[event] : nullptr;
  }

  /// Made by those who poison freed memory.
  std::shared_ptr<const class LastReads> lastReads;

  /// The most bytes into which oneDNN packs the operands of a product.
  uint64_t packedBytes() const {
    uint64_t most = 0;
    for (const GemmPlan &plan : plans)
      most = std::max(most, plan.packedBytes());
    return most;
  }

  bool writes(uint64_t body, int64_t buffer) const;

  /// Throws when an instruction reads bytes of the scratch region, or of a
  /// buffer that a step starts without, that nothing has written before in the
  /// fragment or in the step.
  void checkReads() const;

private:
  std::vector<GemmPlan> plans;
  std::vector<std::vector<uint32_t>> planIndex;
};

/// Name of a fragment kind: "forward".
const char *kindName(uint32_t kind);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_PROGRAM_H
