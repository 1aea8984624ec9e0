//===- RowExchange.h - rows of a cut dimension that change owner -*- C++ -*-===//
//
// A static slice, a pad, a concatenation and a reversal along a cut dimension are
// tables: which row of which operand each row of the result is. From the table
// follows what each rank lacks and who has it; that is sent in permutes, and
// nothing else is.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SHARD_PARTITION_ROWEXCHANGE_H
#define PIPEMESH_LIB_SHARD_PARTITION_ROWEXCHANGE_H

#include "../Exchange.h"
#include "IndexMath.h"

namespace pipemesh {

/// Which row a row of the result is.
struct SourceRow {
  enum { Zero = -1, Fill = -2 };
  /// Of the operands, or a constant.
  int32_t operand = Zero;
  int64_t row = 0;
};

using RowExchange = Exchange;

/// The exchange with the fewest rows; none where a table would be large, or it
/// would take many parts. The cuts are over the same axes, or none.
std::optional<RowExchange> planRowExchange(llvm::ArrayRef<SourceRow> rows,
                                           llvm::ArrayRef<Cut> operands,
                                           const Cut &result);

/// This rank's rows of the result along `dim`. `fill` is a scalar, or null where
/// no row asks for it.
mlir::Value exchangeRows(BlockBuilder &b, mlir::ValueRange operands,
                         mlir::Value fill, unsigned dim,
                         const RowExchange &exchange, const Axes &axes);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PARTITION_ROWEXCHANGE_H
