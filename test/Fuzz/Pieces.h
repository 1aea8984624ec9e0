// Small modules cut out of a large one.
#ifndef PIPEMESH_TEST_FUZZ_PIECES_H
#define PIPEMESH_TEST_FUZZ_PIECES_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace pipemesh::fuzz {

/// Texts of at most `longest` bytes: runs of ops of the functions of `text`, each
/// as a function of what it uses from outside, behind the module's meshes, and
/// with the functions that it calls where these are small. None where the text
/// does not parse.
std::vector<std::string> cutModule(llvm::StringRef text, size_t longest,
                                   mlir::MLIRContext &context);

} // namespace pipemesh::fuzz

#endif // PIPEMESH_TEST_FUZZ_PIECES_H
