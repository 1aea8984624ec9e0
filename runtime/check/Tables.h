//===- Tables.h - A role's tables, found to be well formed ----------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_TABLES_H
#define PIPEMESH_RUNTIME_CHECK_TABLES_H

#include "check/Refused.h"
#include "core/Manifest.h"
#include "pmrt/pmrt.h"

#include <vector>

namespace pipemesh::proof {

using runtime::Manifest;
using runtime::RoleInfo;

/// The tables of one role and what the manifest says of them.
struct Role {
  const pmrt_role &table;
  const RoleInfo &info;
  uint32_t number;
  /// Buffers that lie in the same bytes have one number here.
  std::vector<uint32_t> place = {};
  /// Whether a buffer holds a value of each micro-batch.
  std::vector<bool> perMicroBatch = {};
};

/// The tables of a whole program.
struct Tables {
  Tables(const Manifest &manifest, const std::vector<const pmrt_role *> &roles);

  const Manifest &manifest;
  std::vector<Role> roles;
  uint32_t microBatches;
};

/// Size of an element of a pmrt_dtype; 0 where there is no such type.
uint64_t elementBytes(uint32_t dtype);
std::string dtypeText(uint32_t dtype);
const char *opcodeText(uint32_t opcode);
const char *kindText(uint32_t kind);

bool isCollective(const pmrt_instruction &instruction);
bool isJump(const pmrt_instruction &instruction);
uint32_t communicatorOf(const pmrt_instruction &instruction);
uint32_t dtypeOf(const pmrt_instruction &instruction);

/// Whether a body runs once a step.
bool runsOnce(const pmrt_body &body);

/// Ranks that meet on a communicator.
uint64_t membersOf(const pmrt_role &role, uint32_t communicator);
/// Whether ranks of several roles meet there.
bool spansRoles(const pmrt_role &role, uint32_t communicator);

/// "all-gather at model.layers.0.mlp"
std::string describe(const pmrt_instruction &instruction);
/// "role 1, 'stage1_forward', instruction 5 (all-gather at model.layers.0.mlp)"
std::string describe(const Role &role, uint32_t body, uint64_t instruction);
/// "role 1, action 7: 'stage1_forward' of micro-batch 3"
std::string describe(const Role &role, uint64_t action);

/// Refuses tables whose numbers point outside of what they number, operands
/// that leave their memory, and operations whose shapes do not fit.
void checkTables(Tables &tables);

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_TABLES_H
