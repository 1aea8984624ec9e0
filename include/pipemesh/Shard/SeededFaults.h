//===- SeededFaults.h - faults on purpose, to test the tests ----*- C++ -*-===//
//
// For tests only: `pmcheck random --seed-fault=NAME` and `pmcheck passes` plant
// one fault in propagation or partitioning, to show that running random programs
// finds it, and that the test of a case fails with it. Nothing else sets one, and
// no option of a compiler does.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_SHARD_SEEDEDFAULTS_H
#define PIPEMESH_SHARD_SEEDEDFAULTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace pipemesh {

enum class Fault {
  None,
  DroppedMask,      ///< Padding is summed.
  WrongNeutral,     ///< Padding of a maximum or minimum is zero.
  LostLastRow,      ///< A mask hides the last element.
  OneRowTooMany,    ///< A mask shows the first element behind the end.
  SwappedAxes,      ///< The number of a block counts the axes the other way.
  OffByOneBlock,    ///< Offsets are those of blocks that are one smaller.
  FirstBlock,       ///< Each rank takes the first block of what all have.
  LocalIota,        ///< An iota counts from zero on each rank.
  DroppedSum,       ///< An all-reduce is left out.
  SumOfMaxima,      ///< An all-reduce of maxima or minima adds.
  FewerAxes,        ///< An all-reduce leaves out its last axis.
  GatherOrder,      ///< Gathered blocks stand in the other order of the axes.
  ScatterOrder,     ///< Scattered blocks go to the other order of the axes.
  PartialNonlinear, ///< Partial values flow through any op.
  PartialProduct,   ///< One that is partial is added to one that is not.
  TrustedPadding,   ///< All padding counts as zero.
  UnmaskedLookup,   ///< A lookup takes rows of other ranks as its own.
  DroppedExchange,  ///< A loss takes one sum of ranks for all.
  MoveOrder,        ///< An all-to-all takes the axes in the other order.
  PermuteBack,      ///< A permute sends where it should receive from.
  StaleCarry,       ///< A loop's next value is not brought to its sharding.
  LocalMove,        ///< Ops whose elements move run on the blocks as they are.
  // Of these random programs do not tell: more bytes move, or few programs have
  // what they concern.
  WholeReshards,    ///< A reshard makes the whole value.
  StrayCut,         ///< An argument that nothing uses is cut.
  NoRule,           ///< Ops of the pm dialect have no sharding rule.
  LocalRunning,     ///< A running sum begins anew with each block.
  DroppedPermute,   ///< A permute that the program has is left out.
  FloorBlocks,      ///< Blocks are of the size rounded down.
  WholeCarry,       ///< What a loop carries is whole.
  TornReshape,      ///< A reshape takes its operand as it lies.
};
/// Faults of which values tell.
constexpr unsigned kNumFaultsOfValues = static_cast<unsigned>(Fault::LocalMove);

/// Whether this fault is planted.
bool isSeeded(Fault fault);
/// Plants a fault.
void seedFault(Fault fault);
/// The names of all faults, in the order of the enumeration from 1 on.
llvm::ArrayRef<llvm::StringRef> getFaultNames();

} // namespace pipemesh

#endif // PIPEMESH_SHARD_SEEDEDFAULTS_H
