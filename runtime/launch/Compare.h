//===- Compare.h - One step beside another one ----------------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_COMPARE_H
#define PIPEMESH_RUNTIME_LAUNCH_COMPARE_H

#include "launch/Session.h"

namespace pipemesh::runtime {

/// Runs one step of `session` on the batch and compares it with what
/// `options.compare` names: another bundle, run on the same weights (or those
/// of --compare-weights), or a .safetensors file of `logits` and `grad.NAME`.
/// Compared are, in this order, the activations that both bundles keep under
/// one name, in the order in which the model makes them, the logits, the loss,
/// the gradients, their norm and the parameters after the step.
///
/// Two values agree when they differ by no more than the tolerance times the
/// largest magnitude of their tensor, or a hundredth of the largest of all
/// tensors of its kind. A parameter whose gradient is that small is left out:
/// an optimizer that divides by the gradient's magnitude follows its noise.
///
/// Returns what was compared; throws an Error that names the first tensor that
/// departs, both values, their place, rank and module.
std::string compareStep(Session &session, const Options &options,
                        const Batch &batch);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_COMPARE_H
