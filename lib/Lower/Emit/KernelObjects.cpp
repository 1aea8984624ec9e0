//===- KernelObjects.cpp --------------------------------------------------===//

#include "KernelObjects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ThreadPool.h"

using namespace mlir;
using namespace pipemesh;

/// The same on every machine, so that a bundle does not depend on where it is
/// compiled.
static constexpr unsigned kParts = 4;

KernelObjects::KernelObjects(ModuleOp module, const CpuTarget &target)
    : module(module), target(target) {}

KernelObjects::~KernelObjects() {
  modules.clear();
  contexts.clear();
}

LogicalResult KernelObjects::build() {
  std::vector<std::unique_ptr<KernelBuilder>> builders;
  for (unsigned part = 0; part < kParts; ++part)
    builders.push_back(std::make_unique<KernelBuilder>(module.getContext(),
                                                       target, part, kParts));
  auto result = module.walk([&](pmrt::CallOp call) {
    auto [entry, isNew] = infos.try_emplace(call.getKernel());
    if (!isNew)
      return WalkResult::advance();
    auto function = module.lookupSymbol<func::FuncOp>(call.getKernel());
    if (!function || function.isExternal()) {
      call.emitOpError("calls '") << call.getKernel()
                                  << "', which is no kernel";
      return WalkResult::interrupt();
    }
    auto fused = *function.getBody().front().getOps<pmrt::FusedOp>().begin();
    auto info = builders[(infos.size() - 1) % kParts]->getOrCreate(fused);
    if (failed(info))
      return WalkResult::interrupt();
    entry->second = *info;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (auto &builder : builders) {
    if (builder->getKernels().empty())
      continue;
    contexts.push_back(std::make_unique<llvm::LLVMContext>());
    auto code = builder->finish(*contexts.back());
    if (failed(code))
      return failure();
    for (const KernelInfo &info : builder->getKernels())
      (*code)->getFunction(info.name)->setVisibility(
          llvm::GlobalValue::HiddenVisibility);
    modules.push_back(std::move(*code));
  }
  return success();
}

KernelEntry KernelObjects::lookup(StringRef function) const {
  const KernelInfo &info = infos.find(function)->second;
  return {info.name,  info.extent, info.grain, info.scratchBytes,
          info.flops, info.bytes};
}

llvm::Error pipemesh::emitObjects(llvm::ArrayRef<llvm::Module *> modules,
                                  llvm::ArrayRef<std::string> paths,
                                  const CpuTarget &target) {
  std::vector<std::string> problems(modules.size());
  {
    llvm::DefaultThreadPool pool;
    for (size_t i = 0; i < modules.size(); ++i)
      pool.async([&, i] {
        if (llvm::Error error = emitObject(*modules[i], target, paths[i]))
          problems[i] = llvm::toString(std::move(error));
      });
    pool.wait();
  }
  for (const std::string &problem : problems)
    if (!problem.empty())
      return llvm::createStringError(problem);
  return llvm::Error::success();
}
