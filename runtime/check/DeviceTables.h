//===- DeviceTables.h - What a role for GPUs has besides ------------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_DEVICETABLES_H
#define PIPEMESH_RUNTIME_CHECK_DEVICETABLES_H

#include "check/Tables.h"

namespace pipemesh::proof {

/// Refuses launches that no GPU takes, images without the kernels' text, kernels
/// whose scratch their workspace does not hold, and workspaces that overlap what
/// the program keeps. The role's buffers have been checked.
void checkDevice(const Role &role, bool isForGpus);

/// What is wrong with an instruction of attention: a host's role, a type or a mask
/// that there is not, operands that are smaller or larger than their tensors, rows
/// that overlap, a workspace that is none of the role's; or nothing.
std::string attentionProblem(const pmrt_role &table,
                             const pmrt_instruction &instruction);

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_DEVICETABLES_H
