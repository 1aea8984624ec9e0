//===- RunFunction.h - Runs a bundle of a whole function ------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_RUNFUNCTION_H
#define PIPEMESH_RUNTIME_LAUNCH_RUNFUNCTION_H

#include "core/Safetensors.h"
#include "host/Job.h"
#include "launch/Options.h"
#include "launch/Supervisor.h"

namespace pipemesh::runtime {

/// Throws an Error that names the tensor unless the file holds every argument of
/// the function with its type and shape, and no other ones. Tensors that are
/// called like results (`out0`) may stand beside them.
void checkArguments(const Manifest &manifest, const SafetensorsFile &file);

/// The ranks that hold the same part of a buffer must hold the same bits. Returns
/// what differs, or nothing; in every process. Collective.
std::string compareReplicas(Job &job, const TensorInfo &result);

/// Reads the arguments, gives every rank its blocks, runs the function once and
/// writes its results. Returns the exit status; throws an Error when it cannot.
/// Collective.
int runFunction(const Options &options, const std::atomic<int> *interrupts,
                std::shared_ptr<Transport> transport,
                Supervised &supervised);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_RUNFUNCTION_H
