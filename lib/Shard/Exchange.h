//===- Exchange.h - pieces that change owner in one permute -----*- C++ -*-===//
//
// Who lacks which piece, and who has it: from that the parts of one permute.
// Nothing here knows of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SHARD_EXCHANGE_H
#define PIPEMESH_LIB_SHARD_EXCHANGE_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace pipemesh {

/// How the members of a group exchange rows: in each part of a permute a member
/// sends at most `unit` rows and receives as many.
struct Exchange {
  int64_t members = 1, unit = 0, parts = 0;
  /// For each part and member where it gets its rows from, or -1.
  llvm::SmallVector<int64_t> sources;
  /// For each member and part the rows that it sends, of those that it has.
  std::vector<int32_t> sent;
  /// For each member and row that it needs where it lies: in what it has, behind
  /// that in what it received, or behind that in the constants.
  std::vector<int32_t> taken;
  /// Rows that a member sends at most.
  int64_t mostSent = 0;
};

class ExchangePlan {
public:
  /// Each member has so many rows; `taken` says which of them it needs, or which
  /// constant, -1, -2, ...
  ExchangePlan(int64_t members, int64_t rows, std::vector<int32_t> taken)
      : members(members), rows(rows), taken(std::move(taken)) {}

  /// `to` needs at `place`, which counts all members' rows, a row of `from`.
  void add(int64_t from, int64_t to, int32_t row, int32_t place) {
    lacking[{from, to}].push_back({row, place});
  }

  /// The exchange in which a member sends the fewest rows, in the fewest parts;
  /// none where it takes many, or a table would be large.
  std::optional<Exchange> find() const;

private:
  std::optional<Exchange> divide(int64_t unit) const;

  int64_t members, rows;
  std::vector<int32_t> taken;
  std::map<std::pair<int64_t, int64_t>,
           std::vector<std::pair<int32_t, int32_t>>>
      lacking;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_EXCHANGE_H
