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

#include "IndexMath.h"

namespace pipemesh {

/// Which row a row of the result is.
struct SourceRow {
  enum { Zero = -1, Fill = -2 };
  /// Of the operands, or a constant.
  int32_t operand = Zero;
  int64_t row = 0;
};

/// How the members of a group exchange rows: a part is a permute, in which each
/// member sends at most `unit` rows and receives as many.
struct RowExchange {
  int64_t members = 1, unit = 0, parts = 0;
  /// For each part and member where it gets its rows from, or -1.
  llvm::SmallVector<int64_t> sources;
  /// For each member and part the rows that it sends, of its joined operands.
  std::vector<int32_t> sent;
  /// For each member and row of its block where it lies: in the joined operands,
  /// behind them in what was received, or behind that in the constants.
  std::vector<int32_t> taken;
  /// Rows that a member sends at most.
  int64_t mostSent = 0;
};

/// The exchange with the fewest rows; none where a table would be large, or it
/// would take many permutes. The cuts are over the same axes, or none.
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
