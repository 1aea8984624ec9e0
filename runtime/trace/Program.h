//===- Program.h - What the ranks of a role have to call in a step --------===//

#ifndef PIPEMESH_RUNTIME_TRACE_PROGRAM_H
#define PIPEMESH_RUNTIME_TRACE_PROGRAM_H

#include "core/Manifest.h"
#include "pmrt/pmrt.h"
#include "trace/Refusals.h"

#include <vector>

namespace pipemesh::trace {

/// Bytes of a rank's arena.
struct Access {
  uint64_t begin, end;
  bool reads, writes;
};

/// One instruction of one action, or a transfer, in the order of the actions.
struct Expected {
  enum Kind : uint8_t {
    Kernel,
    Product,
    Attention,
    Copy,
    Zero,
    Collective, ///< an all-reduce, all-gather or reduce-scatter
    Exchange,   ///< an all-to-all or a permute
    Clear,      ///< an accumulator that begins at zero
    Send,
    Receive
  };
  Kind kind;
  uint32_t action; ///< of what is cleared the slot
  uint32_t index;  ///< of the instruction, or the buffer that is cleared
};

/// A role's tables as one list.
class Program {
public:
  /// Throws an Error where the tables have what has no fixed order of calls.
  Program(const runtime::Manifest &manifest, const pmrt_role &role,
          uint32_t number);

  const pmrt_role &role;
  const runtime::RoleInfo &info;
  uint32_t number;
  std::vector<Expected> list;

  const pmrt_action &actionOf(uint32_t expected) const {
    return role.actions[list[expected].action];
  }
  const pmrt_instruction &instructionOf(uint32_t expected) const {
    return role.bodies[actionOf(expected).index]
        .instructions[list[expected].index];
  }
  /// Where operand `operand` lies; the slot of a transfer is operand 0.
  Access accessOf(uint32_t expected, uint32_t operand) const;
  uint32_t operandsOf(uint32_t expected) const;
  const pmrt_kernel &kernelOf(uint32_t expected) const {
    return *static_cast<const pmrt_kernel *>(
        instructionOf(expected).descriptor);
  }

  /// "kernel 'k3' at model.layers.0.mlp, instruction 5 of 'stage1_forward' of
  /// micro-batch 3 of role 1".
  std::string describe(uint32_t expected) const;
  /// "'h0', slot 1" for bytes of the arena.
  std::string nameOf(uint64_t offset) const;
  /// Whether [begin, end) lies in an input of the program.
  bool isInput(uint64_t begin, uint64_t end) const;
  /// Whether some of [begin, end) lies in a buffer or the scratch region.
  bool isOfProgram(uint64_t begin, uint64_t end) const;

private:
  struct Place {
    uint64_t begin, end;
    uint32_t buffer;
  };
  std::vector<Place> places; ///< of buffers, by their begin
  uint64_t programEnd = 0;
};

} // namespace pipemesh::trace

#endif // PIPEMESH_RUNTIME_TRACE_PROGRAM_H
