//===- EmitBundle.cpp - kernels, tables and manifest to files -------------===//

#include "DeviceCode.h"
#include "KernelObjects.h"
#include "Manifest.h"
#include "RoleTables.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// Everything that decides what the program does, as 64 hexadecimal digits.
static std::string hashOf(ModuleOp module, const llvm::json::Object &manifest) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << llvm::json::Value(llvm::json::Object(manifest));
  auto digest = llvm::SHA256::hash(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  return llvm::toHex(digest, /*LowerCase=*/true);
}

/// A folder beside the bundle that is removed unless it takes its place.
namespace {
struct TemporaryFolder {
  explicit TemporaryFolder(StringRef target) : target(target) {}
  ~TemporaryFolder() {
    if (!folder.empty())
      fs::remove_directories(folder);
  }

  /// An error text, or "".
  std::string create() {
    StringRef parent = path::parent_path(target);
    if (!parent.empty())
      if (std::error_code error = fs::create_directories(parent))
        return "cannot create folder '" + parent.str() + "': " + error.message();
    if (fs::exists(target)) {
      llvm::SmallString<128> manifest(target);
      path::append(manifest, "manifest.json");
      bool empty = fs::is_directory(target);
      std::error_code error;
      if (empty)
        empty = fs::directory_iterator(target, error) == fs::directory_iterator();
      if (!empty && !fs::exists(manifest))
        return "'" + target + "' is there and is no bundle; remove it, or give "
               "another folder with -o";
    }
    llvm::SmallString<128> unique;
    fs::createUniquePath(target + ".tmp-%%%%%%", unique, /*MakeAbsolute=*/false);
    if (std::error_code error = fs::create_directory(unique))
      return "cannot create folder '" + unique.str().str() +
             "': " + error.message();
    folder = unique.str().str();
    return "";
  }

  std::string file(StringRef name) const {
    llvm::SmallString<128> full(folder);
    path::append(full, name);
    return full.str().str();
  }

  std::string commit() {
    if (fs::exists(target))
      if (std::error_code error = fs::remove_directories(target))
        return "cannot replace '" + target + "': " + error.message();
    if (std::error_code error = fs::rename(folder, target))
      return "cannot rename '" + folder + "' to '" + target +
             "': " + error.message();
    folder.clear();
    return "";
  }

  std::string target, folder;
};
} // namespace

namespace {
/// The tables of one role, in a module of their own.
struct RoleModule {
  pmrt::RoleOp role;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};
} // namespace

static LogicalResult emitRoles(ModuleOp module, const BundleOptions &options,
                               const TemporaryFolder &folder, StringRef hash,
                               const CudaKernels *onDevice,
                               ArrayRef<RoleMemory> memory) {
  KernelObjects kernels(module, options.target);
  if (!onDevice && failed(kernels.build()))
    return failure();
  std::optional<DeviceKernels> deviceKernels;
  SmallVector<DeviceImage> images;
  if (onDevice) {
    deviceKernels.emplace(*onDevice);
    images = makeImages(*onDevice);
  }
  SmallVector<RoleModule> roles;
  for (auto role : module.getOps<pmrt::RoleOp>()) {
    RoleModule &made = roles.emplace_back();
    made.role = role;
    made.context = std::make_unique<llvm::LLVMContext>();
    made.module =
        std::make_unique<llvm::Module>(role.getSymName(), *made.context);
    const KernelEntries &entries =
        onDevice ? static_cast<const KernelEntries &>(*deviceKernels) : kernels;
    if (failed(addRoleTables(*made.module, role, pm::lookupMesh(module), entries,
                             memory[roles.size() - 1], images, hash)))
      return failure();
  }

  std::vector<llvm::Module *> modules;
  std::vector<std::string> objects;
  for (auto [index, code] : llvm::enumerate(kernels.getModules())) {
    modules.push_back(code.get());
    objects.push_back(
        folder.file(("kernels_" + llvm::Twine(index) + ".o").str()));
  }
  std::vector<std::string> kernelObjects = objects;
  for (RoleModule &made : roles) {
    modules.push_back(made.module.get());
    objects.push_back(folder.file(made.role.getSymName().str() + ".o"));
  }
  if (llvm::Error error = emitObjects(modules, objects, options.target))
    return module.emitError(llvm::toString(std::move(error)));
  for (auto [index, made] : llvm::enumerate(roles)) {
    std::vector<std::string> parts = kernelObjects;
    parts.push_back(objects[kernelObjects.size() + index]);
    std::string shared = folder.file(made.role.getSymName().str() + ".so");
    if (llvm::Error error = linkSharedObject(parts, shared))
      return made.role.emitOpError() << llvm::toString(std::move(error));
  }
  for (const std::string &object : objects)
    fs::remove(object);
  return success();
}

LogicalResult pipemesh::emitBundle(ModuleOp module,
                                   const BundleOptions &options) {
  std::optional<CudaKernels> onDevice;
  if (options.backend == Backend::Cuda) {
    onDevice.emplace(module);
    if (failed(onDevice->build()) || failed(onDevice->compile()))
      return failure();
  }
  SmallVector<RoleMemory> memory;
  for (auto role : module.getOps<pmrt::RoleOp>())
    memory.push_back(
        onDevice ? layOutDevice(role, pm::lookupMesh(module),
                                DeviceKernels(*onDevice))
                 : RoleMemory{static_cast<uint64_t>(role.getArenaBytes()), {}});
  auto manifest = buildManifest(module, options, memory);
  if (failed(manifest))
    return failure();
  std::string hash = hashOf(module, *manifest);
  (*manifest)["hash"] = hash;

  TemporaryFolder folder(options.path);
  if (std::string error = folder.create(); !error.empty())
    return emitError(UnknownLoc::get(module.getContext())) << error;
  if (failed(emitRoles(module, options, folder, hash,
                       onDevice ? &*onDevice : nullptr, memory)))
    return failure();
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(folder.file("manifest.json"), error);
    if (!error) {
      stream << llvm::formatv("{0:2}\n",
                              llvm::json::Value(std::move(*manifest)));
      stream.close();
      error = stream.error();
    }
    if (error) {
      stream.clear_error();
      return emitError(UnknownLoc::get(module.getContext()), "cannot write '")
             << folder.file("manifest.json") << "': " << error.message();
    }
  }
  if (options.prove)
    if (std::string problem = options.prove(folder.folder); !problem.empty())
      return module.emitError("the bundle's proof fails: ") << problem;
  if (std::string error = folder.commit(); !error.empty())
    return emitError(UnknownLoc::get(module.getContext())) << error;
  return success();
}
