//===- KernelLowering.cpp - from loops over vectors to LLVM ---------------===//

#include "KernelLowering.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace pipemesh;

LogicalResult pipemesh::optimizeKernel(Operation *function) {
  IRRewriter rewriter(function->getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
  return success();
}

static LogicalResult checkMath(Operation *module) {
  WalkResult result = module->walk([](Operation *op) {
    if (!isa_and_present<math::MathDialect>(op->getDialect()) ||
        isa<math::SqrtOp, math::FmaOp, math::AbsFOp, math::AbsIOp, math::CeilOp,
            math::FloorOp, math::RoundEvenOp, math::CopySignOp, math::TruncOp,
            math::RoundOp, math::CtPopOp, math::CountLeadingZerosOp>(op))
      return WalkResult::advance();
    op->emitError("has no expansion for ")
        << op->getResult(0).getType()
        << " in a kernel; convert to float32 first";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Functions on float32 become polynomials. Those without one are calls of the C
/// library already.
LogicalResult pipemesh::expandMath(Operation *module, bool expandHalf) {
  RewritePatternSet patterns(module->getContext());
  // Half precision is a matter of bits where the processor does not know it.
  if (expandHalf)
    arith::populateExpandBFloat16Patterns(patterns);
  populateMathPolynomialApproximationPatterns(patterns);
  GreedyRewriteConfig config;
  if (failed(applyPatternsGreedily(module, std::move(patterns), config)))
    return failure();
  return checkMath(module);
}

static LogicalResult lowerToLLVM(ModuleOp module) {
  MLIRContext *context = module.getContext();
  {
    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    ConversionTarget target(*context);
    target.addIllegalDialect<scf::SCFDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(module, target, std::move(patterns))))
      return failure();
  }
  LLVMTypeConverter converter(context);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  arith::populateArithExpandOpsPatterns(patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

FailureOr<std::unique_ptr<llvm::Module>>
pipemesh::lowerKernels(ModuleOp module, const CpuTarget &target,
                       llvm::LLVMContext &llvmContext) {
  if (failed(expandMath(module, /*expandHalf=*/true)) ||
      failed(lowerToLLVM(module)))
    return failure();
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, llvmContext, "kernels");
  if (!result)
    return failure();
  for (llvm::Function &function : *result) {
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  return result;
}
