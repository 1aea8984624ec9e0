//===- Trace.cpp - pmcheck trace ------------------------------------------===//

#include "Commands.h"
#include "trace/Judge.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace pipemesh::check {

int runTrace(ArrayRef<StringRef> arguments, MLIRContext &) {
  Arguments given;
  if (!given.parse(arguments, {"bundle", "json"}, 1,
                   "trace DIR --bundle=BUNDLE [--json=FILE]"))
    return 2;
  if (!given.has("bundle")) {
    llvm::errs()
        << "pmcheck: error: --bundle is missing; name the folder that the "
           "ranks ran\n";
    return 2;
  }
  std::string directory = given[0].rtrim('/').str();
  trace::Verdict verdict =
      trace::judgeTrace(directory, given.get("bundle").rtrim('/').str());
  if (given.has("json")) {
    std::error_code error;
    llvm::raw_fd_ostream file(given.get("json"), error);
    if (error) {
      llvm::errs() << "pmcheck: error: cannot write '" << given.get("json")
                   << "': " << error.message() << "\n";
      return 2;
    }
    file << verdict.json;
  }
  if (verdict.proved) {
    llvm::outs() << verdict.text;
    return 0;
  }
  SmallVector<StringRef> lines;
  StringRef(verdict.text).rtrim().split(lines, '\n');
  for (StringRef line : lines)
    llvm::errs() << "pmcheck: error: '" << directory << "': " << line << "\n";
  return 1;
}

} // namespace pipemesh::check
