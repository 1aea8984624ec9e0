//===- GpuTarget.cpp - NVIDIA's assembler ---------------------------------===//

#include "pipemesh/Lower/Cuda/GpuTarget.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace pipemesh;
namespace fs = llvm::sys::fs;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

CudaToolkit CudaToolkit::find() {
  CudaToolkit toolkit;
  if (auto home = llvm::sys::Process::GetEnv("CUDA_HOME")) {
    toolkit.root = *home;
    if (!toolkit.getProgram("ptxas").empty())
      return toolkit;
  }
  toolkit.root = PIPEMESH_CUDA_ROOT;
  return toolkit;
}

std::string CudaToolkit::getProgram(llvm::StringRef name) const {
  if (root.empty())
    return "";
  llvm::SmallString<128> path(root);
  llvm::sys::path::append(path, "bin", name);
  return fs::can_execute(path) ? path.str().str() : "";
}

std::string CudaToolkit::getDeviceLibrary() const {
  if (root.empty())
    return "";
  llvm::SmallString<128> path(root);
  llvm::sys::path::append(path, "nvvm", "libdevice", "libdevice.10.bc");
  return fs::exists(path) ? path.str().str() : "";
}

/// The number in front of a word, as in "96 bytes stack frame".
static unsigned numberBefore(llvm::StringRef line, llvm::StringRef word) {
  size_t place = line.find(word);
  if (place == llvm::StringRef::npos)
    return 0;
  llvm::StringRef before = line.take_front(place).rtrim();
  unsigned number = 0;
  before.substr(before.find_last_not_of("0123456789") + 1)
      .getAsInteger(10, number);
  return number;
}

/// Reads what `ptxas -v` prints: lines "Compiling entry function 'x'", "N bytes
/// stack frame, ... spill stores, ... spill loads" and "Used N registers, ... bytes
/// smem".
static std::map<std::string, GpuResources> readResources(llvm::StringRef log) {
  std::map<std::string, GpuResources> resources;
  GpuResources *current = nullptr;
  while (!log.empty()) {
    auto [line, rest] = log.split('\n');
    log = rest;
    if (line.contains("Compiling entry function")) {
      current = &resources[line.split('\'').second.split('\'').first.str()];
    } else if (current && line.contains("bytes stack frame")) {
      current->stackBytes = numberBefore(line, "bytes stack frame");
      current->spillStoreBytes = numberBefore(line, "bytes spill stores");
      current->spillLoadBytes = numberBefore(line, "bytes spill loads");
    } else if (current && line.contains("Used ")) {
      current->registers = numberBefore(line, "registers");
      current->sharedBytes = numberBefore(line, "bytes smem");
    }
  }
  return resources;
}

llvm::Expected<Cubin> pipemesh::assemble(llvm::StringRef ptx,
                                         unsigned processor,
                                         const CudaToolkit &toolkit) {
  std::string program = toolkit.getProgram("ptxas");
  if (program.empty())
    return makeError("no CUDA toolkit was found to assemble kernels with; run "
                     "tools/setup --cuda, or set CUDA_HOME");
  llvm::SmallString<128> folder;
  if (std::error_code error = fs::createUniqueDirectory("pipemesh-ptx", folder))
    return makeError("cannot make a temporary folder: " + error.message());
  auto fileOf = [&](llvm::StringRef name) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  };
  std::string source = fileOf("kernels.ptx"), image = fileOf("kernels.cubin"),
              log = fileOf("log");
  auto finish = [&](llvm::Error error) -> llvm::Error {
    fs::remove_directories(folder);
    return error;
  };
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(source, error);
    if (error)
      return finish(
          makeError("cannot write '" + source + "': " + error.message()));
    stream << ptx;
  }
  std::string architecture = "-arch=sm_" + std::to_string(processor);
  llvm::StringRef arguments[] = {program, "-v", "-O3", "-split-compile=0",
                                 architecture, source, "-o", image};
  std::optional<llvm::StringRef> redirects[] = {
      std::nullopt, llvm::StringRef(log), llvm::StringRef(log)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt,
                                         redirects, 0, 0, &message);
  std::string text;
  if (auto buffer = llvm::MemoryBuffer::getFile(log))
    text = (*buffer)->getBuffer().str();
  if (status != 0)
    return finish(makeError("'" + program + "' failed for sm_" +
                            llvm::Twine(processor) + ": " + message +
                            llvm::StringRef(text).take_front(2000)));
  auto code = llvm::MemoryBuffer::getFile(image);
  if (!code)
    return finish(makeError("'" + program + "' wrote no code"));
  Cubin cubin;
  cubin.processor = processor;
  cubin.image = (*code)->getBuffer().str();
  cubin.resources = readResources(text);
  if (llvm::Error error = finish(llvm::Error::success()))
    return std::move(error);
  return cubin;
}
