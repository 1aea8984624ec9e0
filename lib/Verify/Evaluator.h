//===- Evaluator.h - evaluation of ops on ranks in lockstep -----*- C++ -*-===//
//
// Internal to lib/Verify. All ranks advance op by op. An op that needs only its
// own rank is evaluated once for each distinct set of operands: ranks that share
// their operands share the results, so eight ranks with equal parameters cost
// what one does.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_VERIFY_EVALUATOR_H
#define PIPEMESH_LIB_VERIFY_EVALUATOR_H

#include "pipemesh/Verify/Interpreter.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"

namespace pipemesh::interp {

class Evaluator;

/// One value on each rank; null on ranks that did not compute it.
using RankTensors = llvm::SmallVector<Tensor, 1>;

/// The evaluation of an op on one rank.
struct LocalCall {
  mlir::Operation *op;
  llvm::ArrayRef<Tensor> operands;
  llvm::SmallVectorImpl<Tensor> &results;
  Evaluator &evaluator;
  unsigned rank;

  mlir::RankedTensorType getResultType(unsigned index = 0) const {
    return llvm::cast<mlir::RankedTensorType>(op->getResult(index).getType());
  }
  /// The type of an elementwise op's result: the result's element type in the
  /// shape of the operand of the highest rank. In a region that is evaluated
  /// for many elements at once it is not the type that the op has.
  mlir::RankedTensorType getElementwiseType() const;
};

using LocalHandler = llvm::LogicalResult (*)(LocalCall &call);
/// Evaluates an op on all ranks of `active`; reads and binds values itself.
using RankedHandler = llvm::LogicalResult (*)(Evaluator &evaluator,
                                              mlir::Operation *op,
                                              llvm::ArrayRef<unsigned> active);

struct Handler {
  LocalHandler local = nullptr;
  RankedHandler ranked = nullptr;
  /// The op's kernel also takes operands of a larger shape than the op's.
  bool elementwise = false;
};

/// The evaluation of every op, by its name.
class OpRegistry {
public:
  static const OpRegistry &get();
  const Handler *lookup(mlir::Operation *op) const;

  void addElementwise(llvm::StringRef name, LocalHandler handler);
  void addLocal(llvm::StringRef name, LocalHandler handler);
  void addRanked(llvm::StringRef name, RankedHandler handler);

private:
  OpRegistry();
  llvm::StringMap<Handler> handlers;
};

void registerElementwiseOps(OpRegistry &registry);
void registerShapeOps(OpRegistry &registry);
void registerContractionOps(OpRegistry &registry);
void registerReductionOps(OpRegistry &registry);
void registerIndexOps(OpRegistry &registry);
void registerSortOps(OpRegistry &registry);
void registerWindowOps(OpRegistry &registry);
void registerRandomOps(OpRegistry &registry);
void registerControlOps(OpRegistry &registry);
void registerChloOps(OpRegistry &registry);
void registerPMOps(OpRegistry &registry);
void registerManualOps(OpRegistry &registry);

class Evaluator {
public:
  explicit Evaluator(const RankGrid &grid) : grid(grid) {}

  /// Runs a region of one block on the active ranks. `arguments` has one entry
  /// a block argument.
  llvm::LogicalResult run(mlir::Region &region,
                          llvm::ArrayRef<RankTensors> arguments,
                          llvm::ArrayRef<unsigned> active,
                          llvm::SmallVectorImpl<RankTensors> &results);
  /// The same on one rank.
  llvm::LogicalResult runOnRank(mlir::Region &region,
                                llvm::ArrayRef<Tensor> arguments, unsigned rank,
                                llvm::SmallVectorImpl<Tensor> &results);

  RankTensors &lookup(mlir::Value value) { return values[value]; }
  void bind(mlir::Value value, RankTensors tensors) {
    values[value] = std::move(tensors);
  }
  /// Binds the value on some ranks, and leaves the others as they are.
  void bindOn(mlir::Value value, const RankTensors &tensors,
              llvm::ArrayRef<unsigned> ranks);

  const RankGrid &getGrid() const { return grid; }
  int64_t getMicroBatch() const { return microBatch; }
  void setMicroBatch(int64_t index) { microBatch = index; }

  /// The function that holds the op's decomposition; null after a diagnostic.
  mlir::Operation *getDecomposition(mlir::Operation *op);

  /// Guards against recursion.
  unsigned callDepth = 0;

private:
  llvm::LogicalResult runOp(mlir::Operation *op,
                            llvm::ArrayRef<unsigned> active);
  llvm::LogicalResult runLocal(mlir::Operation *op, LocalHandler handler,
                               llvm::ArrayRef<unsigned> active);
  const std::vector<llvm::SmallVector<mlir::Value, 2>> &
  getDyingValues(mlir::Block &block);

  const RankGrid &grid;
  int64_t microBatch = 0;
  llvm::DenseMap<mlir::Value, RankTensors> values;
  /// For each op of a block, in order, the values whose last use it is.
  llvm::DenseMap<mlir::Block *,
                 std::unique_ptr<std::vector<llvm::SmallVector<mlir::Value, 2>>>>
      dyingValues;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> captures;
  llvm::DenseMap<mlir::Operation *, mlir::OwningOpRef<mlir::Operation *>>
      decompositions;
};

/// A region of scalars (the body of a reduce, sort or scatter), evaluated for
/// many elements at once where all of its ops are elementwise.
class ScalarRegion {
public:
  ScalarRegion(LocalCall &call, mlir::Region &region);
  /// `arguments` are tensors of one shape, or of rank 0.
  llvm::LogicalResult run(llvm::ArrayRef<Tensor> arguments,
                          llvm::SmallVectorImpl<Tensor> &results);

  /// The name of the binary op that the region applies to its two arguments in
  /// order and returns; "" when it is anything else. A region that returns its
  /// second argument gives "second".
  llvm::StringRef getAppliedName() const { return appliedName; }

private:
  LocalCall &call;
  mlir::Region &region;
  bool elementwise = true;
  llvm::StringRef appliedName;
};

} // namespace pipemesh::interp

#endif // PIPEMESH_LIB_VERIFY_EVALUATOR_H
