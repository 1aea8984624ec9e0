//===- CpuTarget.cpp - processor, object files, linking -------------------===//

#include "pipemesh/Lower/Kernels/CpuTarget.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"

using namespace pipemesh;

#define PIPEMESH_STRING(x) #x
#define PIPEMESH_TEXT(x) PIPEMESH_STRING(x)
#define PIPEMESH_LLVM_MAJOR PIPEMESH_TEXT(LLVM_VERSION_MAJOR)

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// Once, whatever thread comes first.
static void initializeTargets() {
  [[maybe_unused]] static const bool done = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
}

/// The widest vector registers of the features, in float32 elements. On
/// processors with AVX-512 its 512 bits are used only when the name's tuning
/// prefers them; the sizes of models favour it, so it is always taken.
static unsigned getWidth(llvm::ArrayRef<std::string> features) {
  auto has = [&](llvm::StringRef name) {
    return llvm::is_contained(features, name.str());
  };
  return has("+avx512f") ? 16 : has("+avx2") || has("+avx") ? 8 : 4;
}

CpuTarget CpuTarget::getHost() {
  CpuTarget target;
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    target.features.push_back(
        ((feature.second ? "+" : "-") + feature.first()).str());
  llvm::sort(target.features);
  target.vectorWidth = getWidth(target.features);
  return target;
}

static llvm::Expected<const llvm::Target *>
lookupTarget(const std::string &triple) {
  initializeTargets();
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), message);
  if (!target)
    return makeError("no code generator for '" + triple + "': " + message);
  return target;
}

llvm::Expected<CpuTarget> CpuTarget::get(llvm::StringRef cpu,
                                         llvm::StringRef features,
                                         unsigned vectorWidth) {
  if (vectorWidth & (vectorWidth - 1))
    return makeError("vector width " + llvm::Twine(vectorWidth) +
                     " is not a power of two");
  CpuTarget target = getHost();
  if (!cpu.empty() && cpu != "native") {
    llvm::Expected<const llvm::Target *> code = lookupTarget(target.triple);
    if (!code)
      return code.takeError();
    std::unique_ptr<llvm::MCSubtargetInfo> info(
        (*code)->createMCSubtargetInfo(llvm::Triple(target.triple), "", ""));
    if (!info || !info->isCPUStringValid(cpu))
      return makeError("unknown processor '" + cpu + "' for '" + target.triple +
                       "'; `llc -mcpu=help` lists the names, 'native' is this "
                       "machine");
    info.reset((*code)->createMCSubtargetInfo(llvm::Triple(target.triple), cpu,
                                              features));
    target.cpu = cpu.str();
    target.features.clear();
    for (llvm::StringRef feature :
         {"sse4.1", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw",
          "avx512dq", "avx512vl", "avx512bf16"})
      if (info->checkFeatures(("+" + feature).str()))
        target.features.push_back(("+" + feature).str());
  }
  llvm::SmallVector<llvm::StringRef> given;
  features.split(given, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef feature : given) {
    feature = feature.trim();
    if (!feature.starts_with("+") && !feature.starts_with("-"))
      return makeError("feature '" + feature +
                       "' needs a sign, as in '+avx2' or '-fma'");
    llvm::erase_if(target.features, [&](const std::string &other) {
      return llvm::StringRef(other).drop_front() == feature.drop_front();
    });
    target.features.push_back(feature.str());
  }
  target.vectorWidth = vectorWidth ? vectorWidth : getWidth(target.features);
  return target;
}

llvm::Error pipemesh::emitObject(llvm::Module &module, const CpuTarget &target,
                                 llvm::StringRef path) {
  llvm::Expected<const llvm::Target *> code = lookupTarget(target.triple);
  if (!code)
    return code.takeError();
  llvm::CodeGenOptLevel level =
      target.optimizationLevel >= 3   ? llvm::CodeGenOptLevel::Aggressive
      : target.optimizationLevel == 0 ? llvm::CodeGenOptLevel::None
                                      : llvm::CodeGenOptLevel::Default;
  llvm::TargetOptions options;
  // A role is linked with all kernels, and keeps what it calls.
  options.FunctionSections = options.DataSections = true;
  std::unique_ptr<llvm::TargetMachine> machine((*code)->createTargetMachine(
      llvm::Triple(target.triple), target.cpu, llvm::join(target.features, ","),
      options, llvm::Reloc::PIC_, std::nullopt, level));
  if (!machine)
    return makeError("no code generator for processor '" + target.cpu + "'");
  module.setTargetTriple(llvm::Triple(target.triple));
  module.setDataLayout(machine->createDataLayout());
  // 512-bit registers are used where the kernels ask for them.
  if (target.vectorWidth >= 16)
    for (llvm::Function &function : module)
      function.addFnAttr("prefer-vector-width", "512");
  std::string problem;
  llvm::raw_string_ostream problemStream(problem);
  if (llvm::verifyModule(module, &problemStream))
    return makeError("invalid module: " + problem);

  // The kernels are vectors already; the loop and block vectorisers would only
  // widen the remainders.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder passes(machine.get(), tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(graphs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::OptimizationLevel optimization =
      target.optimizationLevel >= 3   ? llvm::OptimizationLevel::O3
      : target.optimizationLevel == 2 ? llvm::OptimizationLevel::O2
      : target.optimizationLevel == 1 ? llvm::OptimizationLevel::O1
                                      : llvm::OptimizationLevel::O0;
  llvm::ModulePassManager pipeline =
      optimization == llvm::OptimizationLevel::O0
          ? passes.buildO0DefaultPipeline(optimization)
          : passes.buildPerModuleDefaultPipeline(optimization);
  pipeline.run(module, modules);

  std::error_code error;
  llvm::raw_fd_ostream out(path, error, llvm::sys::fs::OF_None);
  if (error)
    return makeError("cannot write '" + path + "': " + error.message());
  llvm::legacy::PassManager emission;
  if (machine->addPassesToEmitFile(emission, out, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return makeError("'" + target.triple + "' has no object files");
  emission.run(module);
  out.close();
  if (out.has_error())
    return makeError("cannot write '" + path + "': " + out.error().message());
  return llvm::Error::success();
}

llvm::Error pipemesh::linkSharedObject(llvm::ArrayRef<std::string> objects,
                                       llvm::StringRef path) {
  llvm::ErrorOr<std::string> linker = llvm::sys::findProgramByName(
      "ld.lld", {"/usr/lib/llvm-" PIPEMESH_LLVM_MAJOR "/bin"});
  if (!linker)
    linker = llvm::sys::findProgramByName("ld.lld");
  if (!linker)
    return makeError("cannot find the linker ld.lld; install the package "
                     "lld-" PIPEMESH_LLVM_MAJOR " or put ld.lld on PATH");
  llvm::SmallVector<llvm::StringRef> arguments{
      *linker, "-shared", "--gc-sections", "-z", "now", "-o", path};
  for (const std::string &object : objects)
    arguments.push_back(object);
  std::string message;
  llvm::SmallString<128> log;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("link", "log", log))
    return makeError("cannot make a temporary file: " + error.message());
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, log.str(),
                                                log.str()};
  int status = llvm::sys::ExecuteAndWait(*linker, arguments, std::nullopt,
                                         redirects, 0, 0, &message);
  if (status != 0) {
    if (auto text = llvm::MemoryBuffer::getFile(log))
      message += (*text)->getBuffer().rtrim().str();
    llvm::sys::fs::remove(log);
    return makeError("linking '" + path + "' failed: " + message);
  }
  llvm::sys::fs::remove(log);
  return llvm::Error::success();
}
