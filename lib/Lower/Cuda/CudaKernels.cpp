//===- CudaKernels.cpp - the GPU kernels of a program ---------------------===//

#include "pipemesh/Lower/Cuda/CudaKernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh;
namespace json = llvm::json;

CudaKernels::CudaKernels(ModuleOp module)
    : module(module), own(ModuleOp::create(module.getLoc())), builder(*own) {}

LogicalResult CudaKernels::build() {
  unsigned refused = 0, asked = 0;
  module.walk([&](pmrt::CallOp call) {
    auto [entry, isNew] = kernelOf.try_emplace(call.getKernel());
    if (!isNew)
      return;
    ++asked;
    auto function = module.lookupSymbol<func::FuncOp>(call.getKernel());
    pmrt::FusedOp fused =
        *function.getBody().front().getOps<pmrt::FusedOp>().begin();
    if (isa<pm::AttentionOp, pm::AttentionGradOp>(
            fused.getBody().front().front()))
      attention.insert(call.getKernel());
    FailureOr<GpuKernelInfo> info = builder.getOrCreate(fused);
    if (succeeded(info))
      entry->second = *info;
    else
      ++refused;
  });
  if (refused == 0)
    return success();
  return module.emitError()
         << refused << " of " << asked
         << " kernels have no code for GPUs (above); compile the model in types "
            "that have, or without the ops that are named";
}

LogicalResult CudaKernels::compile() {
  auto fail = [&](llvm::Error error) {
    return emitError(UnknownLoc::get(module.getContext()),
                     llvm::toString(std::move(error)));
  };
  CudaToolkit toolkit = CudaToolkit::find();
  llvm::Expected<std::string> text = compileToPtx(builder.getModule(), toolkit);
  if (!text)
    return fail(text.takeError());
  ptx = std::move(*text);
  if (toolkit.getProgram("ptxas").empty())
    return success();
  for (unsigned processor : {80, 90}) {
    llvm::Expected<Cubin> cubin = assemble(ptx, processor, toolkit);
    if (!cubin)
      return fail(cubin.takeError());
    cubins.push_back(std::move(*cubin));
  }
  return success();
}

namespace {

class KernelWriter {
public:
  KernelWriter(ModuleOp module, const std::string &folder)
      : module(module), folder(folder), made(module) {}

  LogicalResult run();

private:
  ModuleOp module;
  std::string folder;
  CudaKernels made;

  LogicalResult write(StringRef name, StringRef content);
  json::Array listLaunches();
  json::Object describe(const GpuKernelInfo &info, ArrayRef<Cubin> cubins);
};

LogicalResult KernelWriter::write(StringRef name, StringRef content) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    stream << content;
    stream.close();
    error = stream.error();
  }
  if (!error)
    return success();
  stream.clear_error();
  return emitError(UnknownLoc::get(module.getContext()), "cannot write '")
         << path << "': " << error.message();
}

/// The instructions of each body in their order: what runs for which module.
json::Array KernelWriter::listLaunches() {
  json::Array bodies;
  for (auto role : module.getOps<pmrt::RoleOp>())
    role.walk([&](pmrt::BodyOp body) {
      json::Array launches;
      int64_t kernels = 0, attentions = 0, products = 0;
      body.walk([&](Operation *op) {
        std::string name;
        if (auto call = dyn_cast<pmrt::CallOp>(op)) {
          name = made.lookup(call.getKernel()).name;
          ++(made.isAttention(call.getKernel()) ? attentions : kernels);
        } else if (isa<pmrt::AttentionOp>(op)) {
          name = "attention by cuDNN";
          ++attentions;
        } else if (isa<pmrt::GemmOp>(op)) {
          name = "matrix product";
          ++products;
        } else {
          return;
        }
        launches.push_back(json::Object{
            {"run", name}, {"module", pm::getModelName(op->getLoc()).str()}});
      });
      bodies.push_back(json::Object{{"role", role.getSymName()},
                                    {"body", body.getSymName()},
                                    {"kernels", kernels},
                                    {"attention", attentions},
                                    {"matrix_products", products},
                                    {"launches", std::move(launches)}});
    });
  return bodies;
}

json::Object KernelWriter::describe(const GpuKernelInfo &info,
                                    ArrayRef<Cubin> cubins) {
  json::Object object{{"name", info.name},
                      {"blocks", info.blocks},
                      {"threads", info.threads},
                      {"scratch_bytes", static_cast<int64_t>(info.scratchBytes)},
                      {"bytes", static_cast<int64_t>(info.bytes)},
                      {"flops", static_cast<int64_t>(info.flops)}};
  for (const Cubin &cubin : cubins) {
    auto it = cubin.resources.find(info.name);
    if (it == cubin.resources.end())
      continue;
    const GpuResources &used = it->second;
    object["sm_" + std::to_string(cubin.processor)] =
        json::Object{{"registers", used.registers},
                     {"shared_bytes", used.sharedBytes},
                     {"stack_bytes", used.stackBytes},
                     {"spill_store_bytes", used.spillStoreBytes},
                     {"spill_load_bytes", used.spillLoadBytes}};
  }
  return object;
}

LogicalResult KernelWriter::run() {
  if (failed(made.build()))
    return failure();
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return emitError(UnknownLoc::get(module.getContext()),
                     "cannot create folder '")
           << folder << "': " << error.message();
  std::string text;
  llvm::raw_string_ostream stream(text);
  made.getFunctions().print(stream);
  if (failed(write("kernels.mlir", text + "\n")) || failed(made.compile()) ||
      failed(write("kernels.ptx", made.getPtx())))
    return failure();
  for (const Cubin &cubin : made.getCubins())
    if (failed(write("kernels.sm_" + std::to_string(cubin.processor) + ".cubin",
                     cubin.image)))
      return failure();
  json::Array kernels;
  for (const GpuKernelInfo &info : made.getKernels())
    kernels.push_back(describe(info, made.getCubins()));
  json::Object report{{"kernels", std::move(kernels)},
                      {"assembled", !made.getCubins().empty()},
                      {"bodies", listLaunches()}};
  return write("kernels.json",
               llvm::formatv("{0:2}\n", json::Value(std::move(report))).str());
}

} // namespace

LogicalResult pipemesh::writeCudaKernels(ModuleOp module,
                                         const std::string &folder) {
  return KernelWriter(module, folder).run();
}
