//===- Bundle.cpp - pmcheck bundle ----------------------------------------===//

#include "Bundle.h"
#include "Commands.h"
#include "check/Certify.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace pipemesh::check {

int runBundle(ArrayRef<StringRef> arguments, MLIRContext &) {
  Arguments given;
  if (!given.parse(arguments, {"memory-limit", "threads", "write"}, 1,
                   "bundle DIR [--memory-limit=N] [--threads=N] [--write]"))
    return 2;
  double limit = 0, threads = 1;
  if (!given.getNumber("memory-limit", limit) ||
      !given.getNumber("threads", threads))
    return 2;
  if (!(threads >= 1 && threads <= 4096)) {
    llvm::errs() << "pmcheck: error: --threads is '" << given.get("threads")
                 << "', but must be 1 to 4096\n";
    return 2;
  }
  std::string directory = given[0].rtrim('/').str();
  proof::BundleVerdict verdict =
      proof::judgeBundle(directory, static_cast<uint64_t>(limit),
                         static_cast<uint64_t>(threads));
  if (!verdict.proved) {
    llvm::errs() << "pmcheck: error: '" << directory << "': " << verdict.text
                 << "\n";
    return 1;
  }
  llvm::outs() << verdict.text;
  if (!given.has("write"))
    return 0;
  std::string problem = proof::certify(directory, static_cast<uint64_t>(limit));
  if (problem.empty())
    return 0;
  llvm::errs() << "pmcheck: error: " << problem << "\n";
  return 1;
}

} // namespace pipemesh::check
