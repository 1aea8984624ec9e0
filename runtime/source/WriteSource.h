//===- WriteSource.h - The C++ source of a bundle, for other programs -----===//
//
// Includes nothing of the runtime, so that a program without exceptions can use
// it.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_SOURCE_WRITESOURCE_H
#define PIPEMESH_RUNTIME_SOURCE_WRITESOURCE_H

#include <string>

namespace pipemesh::source {

/// Writes FOLDER/role-N.cpp for each role of a bundle for GPUs; the folder is
/// made, or has sources already, which are replaced. Returns what is wrong, or
/// nothing.
std::string writeSources(const std::string &bundle,
                         const std::string &folder) noexcept;

} // namespace pipemesh::source

#endif // PIPEMESH_RUNTIME_SOURCE_WRITESOURCE_H
