//===- Names.h - Words and lines of generated C++ -------------------------===//

#ifndef PIPEMESH_RUNTIME_SOURCE_NAMES_H
#define PIPEMESH_RUNTIME_SOURCE_NAMES_H

#include "core/Error.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace pipemesh::source {

using runtime::cat;
using runtime::fail;

/// Identifiers of one scope, each given once.
class Names {
public:
  /// The text with `_` for what an identifier cannot have; with a number behind
  /// it where that is taken, or a word of the language.
  std::string unique(const std::string &text);

private:
  std::set<std::string> taken;
};

/// `head` and the arguments and `tail`, over several lines where one has not
/// the space; ends with a line break.
std::string call(const std::string &head,
                 const std::vector<std::string> &arguments,
                 const std::string &tail);

/// A line or several lines that begin with //.
std::string comment(const std::string &indent, const std::string &text);

/// "0, 1 and 4 to 7".
std::string rangesText(const std::vector<int64_t> &numbers);

/// A string literal.
std::string quoted(const std::string &text);

// The names of NVIDIA's constants.
std::string dataTypeName(int type);       ///< cudaDataType
std::string computeTypeName(int type);    ///< cublasComputeType_t
std::string attributeName(int attribute); ///< cublasLtMatmulDescAttributes_t
std::string attributeValue(int attribute, int64_t value);
std::string ncclTypeName(int type);
std::string ncclReductionName(int reduction);

} // namespace pipemesh::source

#endif // PIPEMESH_RUNTIME_SOURCE_NAMES_H
