//===- Prelude.h - What every generated source begins and ends with -------===//

#ifndef PIPEMESH_RUNTIME_SOURCE_PRELUDE_H
#define PIPEMESH_RUNTIME_SOURCE_PRELUDE_H

namespace pipemesh::source {

// C++17; in the order in which they stand. What uses NCCL or cuBLASLt is left
// out of a program that calls neither.
extern const char *const includesText;
extern const char *const callsText;     ///< checks of calls to the driver
extern const char *const blasCallsText; ///< of cuBLASLt's
extern const char *const ncclCallsText; ///< of NCCL's
extern const char *const typesText;     ///< Buffer, Kernel
extern const char *const productTypeText;
extern const char *const rankText;        ///< the beginning of struct Rank
extern const char *const rankProductText; ///< its functions for products
extern const char *const setUpText;
extern const char *const setUpProductsText;
extern const char *const setUpRanksText;
extern const char *const stateText; ///< files of buffers
extern const char *const mainText;

} // namespace pipemesh::source

#endif // PIPEMESH_RUNTIME_SOURCE_PRELUDE_H
