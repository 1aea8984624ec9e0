//===- DeviceTables.h - What a role for GPUs has besides ------------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_DEVICETABLES_H
#define PIPEMESH_RUNTIME_CHECK_DEVICETABLES_H

#include "check/Tables.h"

namespace pipemesh::proof {

/// Refuses launches that no GPU takes, images without the kernels' text, kernels
/// whose scratch their workspace does not hold, and workspaces that overlap what
/// the program keeps. The role's buffers have been checked.
void checkDevice(const Role &role, bool isForGpus);

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_DEVICETABLES_H
