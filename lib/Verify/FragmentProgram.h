//===- FragmentProgram.h - programs of fragments ----------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_VERIFY_FRAGMENTPROGRAM_H
#define PIPEMESH_LIB_VERIFY_FRAGMENTPROGRAM_H

#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Verify/Program.h"

namespace pipemesh::interp {

/// The fragments of the program's module, run in the order of its actions.
llvm::FailureOr<std::unique_ptr<Program>>
loadFragmentProgram(pm::ProgramOp program);

} // namespace pipemesh::interp

#endif // PIPEMESH_LIB_VERIFY_FRAGMENTPROGRAM_H
