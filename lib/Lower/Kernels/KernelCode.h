//===- KernelCode.h - building the function of a kernel ---------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_KERNELS_KERNELCODE_H
#define PIPEMESH_LIB_LOWER_KERNELS_KERNELCODE_H

#include "KernelPlan.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/Kernels/KernelBuilder.h"

namespace pipemesh {

/// The function under construction, with short forms of what kernels need. All
/// indices are i64.
class KernelCode {
public:
  /// Creates the function and leaves the builder behind the loads of the
  /// operands' pointers.
  KernelCode(mlir::ModuleOp module, llvm::StringRef name, pmrt::FusedOp op,
             const CpuTarget &target);
  virtual ~KernelCode() = default;

  mlir::OpBuilder builder;
  mlir::Location loc;
  pmrt::FusedOp fused;
  unsigned vectorWidth;
  /// Of LLVM's dialect, or of the gpu dialect.
  mlir::FunctionOpInterface function;
  mlir::Value begin, end, scratch, context;
  /// Buffers of the fused op's block arguments and of its results.
  llvm::DenseMap<mlir::Value, mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> results;

  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  mlir::Value constant(mlir::Type type, double value);

  /// The address of element `index` behind `pointer`.
  mlir::Value address(mlir::Value pointer, mlir::Type element,
                      mlir::Value index);
  mlir::Value address(mlir::Value pointer, mlir::Type element, int64_t index);

  /// Reads or writes `width` elements (1: a scalar) at an address; booleans are
  /// i1 in registers and bytes in memory.
  /// The address is a multiple of `alignment` bytes; 0: of one element's.
  mlir::Value load(mlir::Value address, mlir::Type element, unsigned width,
                   unsigned alignment = 0);
  void store(mlir::Value value, mlir::Value address, mlir::Type element,
             unsigned alignment = 0);

  /// A scalar repeated over a vector.
  mlir::Value splat(mlir::Value scalar, unsigned width);

  /// for (i = low; i < high; i += step); `body` gets i and the carried values,
  /// and returns the next ones. The builder is inside during the call.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value low, mlir::Value high, int64_t step, mlir::ValueRange inits,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body);

  /// The values of one of two pieces of code, of which only one runs.
  llvm::SmallVector<mlir::Value>
  choose(mlir::Value predicate, mlir::TypeRange types,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> first,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> second);
  /// Code that runs where the predicate holds.
  void when(mlir::Value predicate, llvm::function_ref<void()> body);

  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value divide(mlir::Value a, int64_t b);
  mlir::Value remainder(mlir::Value a, int64_t b);
  mlir::Value isBelow(mlir::Value a, mlir::Value b);
  /// 0 <= a < limit.
  mlir::Value isInside(mlir::Value a, int64_t limit);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value predicate, mlir::Value a, mlir::Value b);

  /// The row-major position of an element, and back.
  mlir::Value linearize(llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<mlir::Value> indices);
  llvm::SmallVector<mlir::Value> delinearize(llvm::ArrayRef<int64_t> shape,
                                             mlir::Value position);

  /// Loops over all indices of a box, in order, with carried values.
  llvm::SmallVector<mlir::Value>
  loopOver(llvm::ArrayRef<int64_t> shape, mlir::ValueRange inits,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(
               llvm::ArrayRef<mlir::Value>, mlir::ValueRange)>
               body);

  /// Element `position` of an operand or a result of the kernel, by the value of
  /// the fused body that it is.
  mlir::Value loadElement(mlir::Value operand, mlir::Value position);
  void storeElement(unsigned result, mlir::Type element, mlir::Value value,
                    mlir::Value position);
  /// An integer in a register as i64.
  mlir::Value toIndex(mlir::Value value, mlir::Type element);

  /// The address of a constant tensor's elements.
  mlir::Value constantTable(stablehlo::ConstantOp op);

  /// Called in front of a kernel whose iterations, from `begin` to `end`, are
  /// each made by themselves.
  virtual void beginIterations() {}

  /// The rank's coordinate on the mesh's axis of this number, as i64.
  virtual mlir::Value loadCoordinate(int64_t axis);

  /// Returns from the function.
  virtual void finish();

protected:
  /// Leaves everything but the builder to who derives from it.
  KernelCode(mlir::Operation *module, pmrt::FusedOp op, unsigned vectorWidth);

  /// Where constant tables lie.
  virtual unsigned getTableSpace() const { return 0; }

private:
  /// A module of the builtin or of the gpu dialect.
  mlir::Operation *module;
};

/// Each of these fills the function and says how large its parallel loop is.
/// They fail with a diagnostic that names the op without code.
mlir::LogicalResult emitRowKernel(KernelCode &code, const KernelBody &body,
                                  const KernelPlan &plan, KernelInfo &info);
mlir::LogicalResult emitElementKernel(KernelCode &code, const KernelBody &body,
                                      const KernelPlan &plan, KernelInfo &info);
mlir::LogicalResult emitEmbeddingKernel(KernelCode &code, mlir::Operation *op,
                                        KernelInfo &info);
mlir::LogicalResult emitAttentionKernel(KernelCode &code, mlir::Operation *op,
                                        KernelInfo &info);

/// What a kind of processor has its own loops for.
struct KernelEmitters {
  mlir::LogicalResult (*rows)(KernelCode &code, const KernelBody &body,
                              const KernelPlan &plan, KernelInfo &info);
  mlir::LogicalResult (*attention)(KernelCode &code, mlir::Operation *op,
                                   KernelInfo &info);
  mlir::LogicalResult (*embedding)(KernelCode &code, mlir::Operation *op,
                                   KernelInfo &info);
};

/// Fills the function of a fused op. Fails with a diagnostic that names the op
/// without code.
mlir::LogicalResult emitKernel(KernelCode &code, pmrt::FusedOp op,
                               const KernelEmitters &emitters,
                               KernelInfo &info);

/// A readable symbol for the kernel of this number.
std::string getKernelName(pmrt::FusedOp op, size_t index);

/// The bytes that a kernel reads and writes, and its operations.
void countWork(pmrt::FusedOp op, KernelInfo &info);

/// Kernels of ops that stand alone, each from the index of a result's element, a
/// line or a block; in ReductionKernels.cpp, SortKernel.cpp, ScatterKernel.cpp
/// and RandomKernel.cpp.
mlir::LogicalResult emitReduceKernel(KernelCode &code, stablehlo::ReduceOp op,
                                     KernelInfo &info);
mlir::LogicalResult emitWindowKernel(KernelCode &code,
                                     stablehlo::ReduceWindowOp op,
                                     KernelInfo &info);
mlir::LogicalResult emitConvolutionKernel(KernelCode &code,
                                          stablehlo::ConvolutionOp op,
                                          KernelInfo &info);
mlir::LogicalResult emitProductKernel(KernelCode &code,
                                      stablehlo::DotGeneralOp op,
                                      KernelInfo &info);
mlir::LogicalResult emitSortKernel(KernelCode &code, stablehlo::SortOp op,
                                   KernelInfo &info);
mlir::LogicalResult emitScatterKernel(KernelCode &code, stablehlo::ScatterOp op,
                                      KernelInfo &info);
mlir::LogicalResult emitRandomKernel(KernelCode &code,
                                     stablehlo::RngBitGeneratorOp op,
                                     KernelInfo &info);

/// The values that a region of scalars returns for the arguments. Fails with a
/// diagnostic at an op without code.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
emitScalarRegion(KernelCode &code, mlir::Region &region,
                 llvm::ArrayRef<mlir::Value> arguments);

/// The value of `op` as a scalar, for ops without operands other than
/// constants with many elements: splat constants and mesh coordinates. Null for
/// any other op.
mlir::Value emitScalarSource(KernelCode &code, mlir::Operation *op);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_KERNELS_KERNELCODE_H
