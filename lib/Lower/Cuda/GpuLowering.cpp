//===- GpuLowering.cpp - from GPU functions to PTX ------------------------===//

#include "../Kernels/KernelLowering.h"
#include "DevicePower.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUCommon/GPUCommonPass.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "pipemesh/Lower/Cuda/GpuTarget.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace mlir;
using namespace pipemesh;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static LogicalResult lowerToNvvm(gpu::GPUModuleOp module) {
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
  {
    // The patterns of the gpu dialect would call the device library for what
    // processors have instructions for.
    RewritePatternSet patterns(context);
    populateMathToLLVMConversionPatterns(converter, patterns);
    ConversionTarget target(*context);
    target.addIllegalDialect<math::MathDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(module, target, std::move(patterns))))
      return failure();
  }
  populateGpuMemorySpaceAttributeConversions(
      converter, [](gpu::AddressSpace space) -> unsigned {
        return space == gpu::AddressSpace::Global      ? 1
               : space == gpu::AddressSpace::Workgroup ? 3
                                                       : 0;
      });
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  arith::populateArithExpandOpsPatterns(patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  populateGpuToNVVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<gpu::GPUModuleOp>();
  target.addLegalDialect<NVVM::NVVMDialect>();
  return applyFullConversion(module, target, std::move(patterns));
}

/// Calls of the C library become those of the device library, which is linked.
static llvm::Error linkDeviceLibrary(llvm::Module &module,
                                     const CudaToolkit &toolkit) {
  std::vector<llvm::Function *> missing;
  for (llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic())
      missing.push_back(&function);
  if (missing.empty())
    return llvm::Error::success();
  std::string path = toolkit.getDeviceLibrary();
  if (path.empty())
    return makeError("kernels call '" + missing.front()->getName() +
                     "' of the device library, but no CUDA toolkit was found; "
                     "run tools/setup --cuda, or set CUDA_HOME");
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> library =
      llvm::parseIRFile(path, diagnostic, module.getContext());
  if (!library)
    return makeError("cannot read '" + path +
                     "': " + diagnostic.getMessage());
  for (llvm::Function *function : missing) {
    std::string name = ("__nv_" + function->getName()).str();
    if (!library->getFunction(name))
      return makeError("the device library has no function '" + name + "'");
    function->setName(name);
  }
  library->setDataLayout(module.getDataLayout());
  library->setTargetTriple(module.getTargetTriple());
  bool failed = llvm::Linker::linkModules(
      module, std::move(library), llvm::Linker::LinkOnlyNeeded,
      [](llvm::Module &linked, const llvm::StringSet<> &names) {
        llvm::internalizeModule(linked, [&](const llvm::GlobalValue &value) {
          return !value.hasName() || !names.count(value.getName());
        });
      });
  if (failed)
    return makeError("cannot link '" + path + "'");
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && function.hasLocalLinkage()) {
      function.removeFnAttr(llvm::Attribute::NoInline);
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
  return llvm::Error::success();
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeMachine() {
  [[maybe_unused]] static const bool done = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return makeError("this LLVM has no code generator for NVIDIA's processors: " +
                     message);
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, "sm_" + std::to_string(kOldestGpu), "+ptx80", options,
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return makeError("no code generator for sm_" + llvm::Twine(kOldestGpu));
  return machine;
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder passes(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(graphs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, graphs, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

llvm::Expected<std::string>
pipemesh::compileToPtx(gpu::GPUModuleOp module, const CudaToolkit &toolkit) {
  if (failed(expandMath(module, /*expandHalf=*/false)) ||
      failed(lowerToNvvm(module)))
    return makeError("the kernels cannot be lowered to NVVM");
  MLIRContext &context = *module.getContext();
  registerBuiltinDialectTranslation(context);
  registerGPUDialectTranslation(context);
  registerLLVMDialectTranslation(context);
  registerNVVMDialectTranslation(context);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(module, llvmContext, "kernels");
  if (!code)
    return makeError("the kernels cannot be translated to LLVM");
  auto machine = makeMachine();
  if (!machine)
    return machine.takeError();
  code->setTargetTriple((*machine)->getTargetTriple());
  code->setDataLayout((*machine)->createDataLayout());
  definePower(*code);
  if (llvm::Error error = linkDeviceLibrary(*code, toolkit))
    return std::move(error);
  // Subnormal numbers are kept, as on the host.
  for (llvm::Function &function : *code)
    function.addFnAttr(llvm::Attribute::NoUnwind);
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  if (llvm::verifyModule(*code, &problems))
    return makeError("invalid module: " + problem);
  optimize(*code, **machine);

  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager emission;
  if ((*machine)->addPassesToEmitFile(emission, stream, nullptr,
                                      llvm::CodeGenFileType::AssemblyFile))
    return makeError("no text can be written for NVIDIA's processors");
  emission.run(*code);
  return text.str().str();
}
