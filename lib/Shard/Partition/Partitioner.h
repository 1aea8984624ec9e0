//===- Partitioner.h - one function becomes that of a rank ------*- C++ -*-===//
//
// The function is built anew beside the original one, which stays as it is
// until the end: handlers read global types, shardings and rules from the
// original op, and build the same on what this rank holds of the operands. An
// op without a handler is copied on local types (`convertPlain`).
//
// Where blocks are short, what lies behind their end may be anything, not
// numbers included. Who mixes elements along such a dimension masks it; nobody
// else does.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SHARD_PARTITION_PARTITIONER_H
#define PIPEMESH_LIB_SHARD_PARTITION_PARTITIONER_H

#include "../LocalType.h"
#include "../Padding.h"
#include "../Reshard.h"
#include "../ShardingAlgebra.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <functional>

namespace pipemesh {

/// How a dimension is cut on the ranks that run the function.
struct Cut {
  /// Of more than one member, major to minor.
  Axes axes;
  /// Of the whole dimension, of a rank's block, and the number of blocks.
  int64_t size = 0, block = 0, blocks = 1;

  /// One block may be longer than the dimension too: that of a rank's
  /// micro-batches.
  bool isCut() const { return !axes.empty() || block != size; }
  /// Whether the last blocks are short or empty.
  bool isUneven() const { return block * blocks != size; }
};

class Partitioner {
public:
  Partitioner(mlir::func::FuncOp function, const MeshAxes &mesh,
              const Padding &padding);
  llvm::LogicalResult run();

  //===--- The original values --------------------------------------------===//

  const ValueSharding &shardingOf(mlir::Value original);
  static mlir::RankedTensorType globalTypeOf(mlir::Value original) {
    return llvm::cast<mlir::RankedTensorType>(original.getType());
  }
  mlir::RankedTensorType localTypeOf(mlir::Value original);
  /// The type of a rank's block of a value of another sharding.
  mlir::RankedTensorType localTypeOf(mlir::RankedTensorType global,
                                     const ValueSharding &sharding);
  Cut cutOf(mlir::Value original, unsigned dim);
  Cut cutOf(int64_t size, const DimCut &dim);
  /// Of every dimension.
  llvm::SmallVector<Cut> cutsOf(mlir::Value original);
  /// The axes that cut here, of more than one member.
  Axes cutting(llvm::ArrayRef<mlir::StringAttr> axes) const;
  /// The rule of an original op.
  ShardingRule ruleOf(mlir::Operation *op) const;
  /// Whether something other than zero may lie behind the end of a block.
  bool mayHoldGarbage(mlir::Value original) const {
    return !padding.isZero(original);
  }

  //===--- What this rank holds -------------------------------------------===//

  mlir::Value local(mlir::Value original) const {
    mlir::Value value = values.lookup(original);
    assert(value && "an operand is converted before its user");
    return value;
  }
  llvm::SmallVector<mlir::Value> locals(mlir::ValueRange originals) const;
  void define(mlir::Value original, mlir::Value value) {
    values[original] = value;
  }
  void define(mlir::ValueRange originals, mlir::ValueRange all);
  /// What this rank holds of an original value under another sharding; null
  /// after an error at `op`.
  mlir::Value localAs(mlir::Operation *op, mlir::Value original,
                      const ValueSharding &sharding);
  /// The same op on other operands, with results of these types and the
  /// original's attributes; its results are not yet those of the original.
  mlir::Operation *copy(mlir::Operation *op, mlir::ValueRange operands,
                        mlir::TypeRange types, bool withRegions = true);
  /// The same with the results' local types.
  mlir::Operation *copy(mlir::Operation *op, mlir::ValueRange operands);
  /// What every op does that computes the same of its blocks: masks what it
  /// sums over, and copies it.
  llvm::LogicalResult convertPlain(mlir::Operation *op);
  /// The operands, with the padding of summed dimensions masked.
  llvm::SmallVector<mlir::Value> maskedOperands(mlir::Operation *op);
  /// Whether every value of an original region has a sharding that its type can
  /// be cut by; asked before any of it is converted.
  llvm::LogicalResult check(mlir::Region &region);
  /// Converts the ops of an original block at the insertion point, up to its
  /// terminator. Its arguments are defined.
  llvm::LogicalResult convertOps(mlir::Block &original);
  /// Fills an empty region from an original one: `argumentTypes` are local, and
  /// `finish` ends it.
  llvm::LogicalResult convertRegion(
      mlir::Region &original, mlir::Region &region,
      mlir::TypeRange argumentTypes,
      llvm::function_ref<llvm::LogicalResult(mlir::Operation *)> finish);

  //===--- Coordinates (Coordinates.cpp) ----------------------------------===//

  mlir::Value constantI32(mlir::Location loc, int64_t value);
  /// A scalar.
  mlir::Value zero(mlir::Location loc, mlir::Type elementType);
  /// A scalar of i32, computed once at the function's entry.
  mlir::Value axisIndex(mlir::Location loc, mlir::StringAttr axis);
  /// The number of this rank's block.
  mlir::Value blockIndex(mlir::Location loc,
                         llvm::ArrayRef<mlir::StringAttr> axes);
  /// The global index of the first element of this rank's block: i32.
  mlir::Value offsetOf(mlir::Location loc, const Cut &cut);
  /// The size of the dimension minus that offset: how many elements of the
  /// block exist, where that is from 0 to the block's size.
  mlir::Value limitOf(mlir::Location loc, const Cut &cut);
  /// Whether an element exists: i1 of this shape.
  mlir::Value existsAlong(mlir::Location loc, llvm::ArrayRef<int64_t> shape,
                          unsigned dim, const Cut &cut);
  /// `value` where it exists along the dimension, else `otherwise`, which has
  /// the shape of `value` or is a scalar.
  mlir::Value mask(mlir::Location loc, mlir::Value value, unsigned dim,
                   const Cut &cut, mlir::Value otherwise);
  /// The same with the neutral element of a reduction.
  mlir::Value mask(mlir::Location loc, mlir::Value value, unsigned dim,
                   const Cut &cut, ReductionKind kind);
  /// This rank's piece of an original value with every uneven dimension masked
  /// by zero, as far as it may hold anything else.
  mlir::Value zeroPadded(mlir::Value original);
  /// The value on the first of the ranks that differ on the axes, and zero on
  /// the others: a part of a sum.
  mlir::Value onlyOnFirst(mlir::Location loc, mlir::Value value,
                          llvm::ArrayRef<mlir::StringAttr> axes);
  /// The block of this rank, cut from a value that all have.
  mlir::Value sliceBlock(mlir::Location loc, mlir::Value whole,
                         llvm::ArrayRef<Cut> cuts);

  /// How a dimension is cut before and after a slice.
  struct Window {
    Cut before, after;
  };
  /// This rank's smaller blocks, cut from those that it has.
  mlir::Value sliceWindows(mlir::Location loc, mlir::Value value,
                           llvm::ArrayRef<Window> windows);

  //===--- Collectives (Reshards.cpp) -------------------------------------===//

  /// Brings a value from one sharding to another; null after an error at `op`.
  mlir::Value reshard(mlir::Operation *op, mlir::Value value,
                      mlir::RankedTensorType global, const ValueSharding &from,
                      const ValueSharding &to);
  mlir::Value permute(mlir::Location loc, mlir::Value value,
                      llvm::ArrayRef<int64_t> sources,
                      llvm::ArrayRef<mlir::StringAttr> axes);
  mlir::Value allReduce(mlir::Location loc, mlir::Value value,
                        pm::ReductionKind kind,
                        llvm::ArrayRef<mlir::StringAttr> axes);
  mlir::Value allGather(mlir::Location loc, mlir::Value value, unsigned dim,
                        int64_t size, llvm::ArrayRef<mlir::StringAttr> axes);
  /// Notes at a gather what it is for: what `why` says of the op that is being
  /// converted, or what the reader of a reshard needs.
  void explainGather(mlir::Operation *gather);
  mlir::ArrayAttr axesAttr(llvm::ArrayRef<mlir::StringAttr> axes);
  /// Gives an exchange the phase of the op that is being converted.
  void setPhase(mlir::Operation *exchange);

  //===--- Forms of a value (Forms.cpp) -----------------------------------===//

  /// Notes what this rank holds of an original value under another sharding
  /// than its own, for whoever needs it later.
  void keep(mlir::Value original, const ValueSharding &sharding,
            mlir::Value value);
  /// What this rank holds of an original value under a sharding, from the form
  /// from which it is got the fastest; null after an error at `op`.
  mlir::Value bring(mlir::Operation *op, mlir::Value original,
                    const ValueSharding &to);
  /// How long that takes for an operand of `op`: nothing where a reshard beside
  /// `op` makes it anyhow. Infinite where no collective leads there.
  double secondsToBring(mlir::Operation *op, mlir::Value original,
                        const ValueSharding &to);
  /// How long it takes to bring a result that is made under `made` to the
  /// shardings that its users want.
  double secondsToUsers(mlir::Value original, const ValueSharding &made);
  double secondsBetween(mlir::RankedTensorType global, const ValueSharding &from,
                        const ValueSharding &to);
  /// Whether an op other than a reshard beside it reads an original value.
  static bool isReadAsItIs(mlir::Value original);

  /// Why the op that is being converted gathers; set by its handler.
  const char *why = nullptr;

  const MeshAxes &mesh;
  const Padding &padding;
  mlir::OpBuilder builder;

private:
  /// What this rank holds of a value under a sharding.
  struct Form {
    ValueSharding sharding;
    mlir::Value value;
    mlir::Attribute phase;
  };

  llvm::LogicalResult check(mlir::Value value);
  llvm::LogicalResult convert(mlir::Operation *op);
  /// Without the axes that do not cut here, in the blocks of those that do.
  ValueSharding onlyCutting(mlir::RankedTensorType global,
                            const ValueSharding &sharding);
  /// The forms that can be read here and may become `to`, its own one first.
  llvm::SmallVector<Form, 2> formsOf(mlir::Value original,
                                     const ValueSharding &to);
  void noteGlobalTypes();

  mlir::func::FuncOp function;
  bool temporal;
  mlir::Block *entry = nullptr;
  mlir::Attribute phase;
  /// What is being converted.
  mlir::Operation *current = nullptr;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Form, 1>> forms;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> indices;
  llvm::DenseMap<mlir::Attribute, mlir::DictionaryAttr>
      attributesWithoutShardings;
  Reshards reshards;
  /// There are few shardings and many values.
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<ValueSharding>> shardings;
  llvm::DenseMap<std::pair<mlir::Type, mlir::Attribute>, mlir::RankedTensorType>
      localTypes;
};

/// The neutral element of a reduction; null for types that have none.
mlir::TypedAttr getNeutral(ReductionKind kind, mlir::Type elementType);

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

using OpHandler = llvm::LogicalResult (*)(Partitioner &, mlir::Operation *);

/// How ops are partitioned that are not just copied, by op.
class OpHandlers {
public:
  static const OpHandlers &get();
  OpHandler lookup(mlir::Operation *op) const {
    return table.lookup(op->getName().getTypeID());
  }
  /// `handler(Partitioner &, OpTy)` partitions the op.
  template <typename OpTy, auto handler> void add() {
    table[mlir::TypeID::get<OpTy>()] = [](Partitioner &partitioner,
                                          mlir::Operation *op) {
      return handler(partitioner, llvm::cast<OpTy>(op));
    };
  }

private:
  OpHandlers();
  llvm::DenseMap<mlir::TypeID, OpHandler> table;
};

void registerDynamicSliceHandlers(OpHandlers &handlers);
void registerGatherScatterHandlers(OpHandlers &handlers);
void registerGeneratedHandlers(OpHandlers &handlers);
void registerManualHandlers(OpHandlers &handlers);
void registerRegionHandlers(OpHandlers &handlers);
void registerMovedHandlers(OpHandlers &handlers);
void registerReductionHandlers(OpHandlers &handlers);
void registerReshardHandlers(OpHandlers &handlers);
void registerSizedHandlers(OpHandlers &handlers);
void registerTopKHandlers(OpHandlers &handlers);
void registerVocabularyHandlers(OpHandlers &handlers);
void registerWindowHandlers(OpHandlers &handlers);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PARTITION_PARTITIONER_H
