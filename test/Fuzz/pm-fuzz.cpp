// pm-fuzz: reads damaged copies of IR files as our tools do, and fails when one
// of them ends in anything but success or a diagnostic.
//
// Each file is worked on in a child process. When a child dies, the copy that
// it was reading is kept as FILE.crash-NUMBER in the directory of --keep, and a
// new child goes on behind it.
#include "Mutation.h"
#include "Pieces.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "pipemesh/InitAll.h"
#include "pipemesh/Support/ParseGuard.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <csignal>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
namespace cl = llvm::cl;

static cl::list<std::string> inputs(cl::Positional, cl::OneOrMore,
                                    cl::desc("FILE..."));
static cl::opt<unsigned> copies("copies", cl::init(1000),
                                cl::desc("damaged copies of each file"));
static cl::opt<unsigned> first("first", cl::init(0),
                               cl::desc("number of the first copy"));
static cl::opt<std::string> keep("keep", cl::init("."),
                                 cl::desc("where copies that crash are put"));
static cl::opt<unsigned>
    seconds("seconds", cl::init(20),
            cl::desc("processor seconds for a hundred copies, above which one "
                     "counts as hanging"));

static cl::list<std::string>
    pipelines("pipeline", cl::CommaSeparated,
              cl::desc("passes, joined by '+', that run on what still parses, "
                       "such as pm-propagate+pm-partition"));
static cl::opt<unsigned>
    longest("longest", cl::init(0),
            cl::desc("modules are cut to as many bytes, at the end of a line"));

static cl::opt<bool>
    pieces("pieces",
           cl::desc("cuts functions into small ones, of at most --longest bytes"));

namespace {
/// How a child tells its parent where it is.
struct Progress {
  volatile unsigned copy;
  volatile unsigned parsed;
  volatile unsigned silent;
  /// What it does with it: reading is MLIR's work as much as ours.
  volatile unsigned stage;
};

enum class Outcome { refused, parsed, silent };
enum class Stage : unsigned { reading, passes };
} // namespace

static std::string copyOf(const std::vector<llvm::StringRef> &modules,
                          uint64_t seed, unsigned number) {
  pipemesh::fuzz::Random random(seed + 0x9E3779B97F4A7C15ULL * (number + 1));
  return pipemesh::fuzz::mutate(modules[number % modules.size()], random);
}

/// Parses and verifies as pmopt does; what parses is printed in both forms.
static Outcome readCopy(MLIRContext &context, llvm::StringRef text,
                        Progress *progress) {
  if (!pipemesh::refuseText(text, "copy").empty())
    return Outcome::refused;
  bool diagnosed = false;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    diagnosed |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    (void)diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module)
    return diagnosed ? Outcome::refused : Outcome::silent;
  llvm::raw_null_ostream nowhere;
  module->print(nowhere);
  module->print(nowhere,
                OpPrintingFlags().printGenericOpForm().enableDebugInfo());
  progress->stage = unsigned(Stage::passes);
  for (const std::string &pipeline : pipelines) {
    OwningOpRef<ModuleOp> copy = module->clone();
    PassManager manager(&context, ModuleOp::getOperationName());
    std::string list = pipeline;
    std::replace(list.begin(), list.end(), '+', ',');
    diagnosed = false;
    if (failed(parsePassPipeline(list, manager, llvm::errs())))
      abort();
    if (failed(manager.run(*copy)) && !diagnosed)
      return Outcome::silent;
  }
  return Outcome::parsed;
}

/// The child: copies from `start` on, a fresh context every hundred.
static void readCopies(const std::vector<llvm::StringRef> &modules,
                       uint64_t seed, unsigned start, unsigned end,
                       Progress *progress) {
  rlimit core{0, 0};
  setrlimit(RLIMIT_CORE, &core);
  DialectRegistry registry;
  pipemesh::registerAllDialects(registry);
  std::unique_ptr<MLIRContext> context;
  for (unsigned number = start; number < end; ++number) {
    if (!context || number % 100 == 0) {
      context = std::make_unique<MLIRContext>(registry,
                                              MLIRContext::Threading::DISABLED);
      context->loadAllAvailableDialects();
      rusage usage;
      getrusage(RUSAGE_SELF, &usage);
      rlimit time{rlim_t(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                      seconds,
                  RLIM_INFINITY};
      setrlimit(RLIMIT_CPU, &time);
    }
    progress->copy = number;
    progress->stage = unsigned(Stage::reading);
    std::string text = copyOf(modules, seed, number);
    switch (readCopy(*context, text, progress)) {
    case Outcome::parsed:
      progress->parsed = progress->parsed + 1;
      break;
    case Outcome::silent:
      llvm::errs() << "copy " << number << ": refused without a diagnostic\n";
      progress->silent = progress->silent + 1;
      break;
    case Outcome::refused:
      break;
    }
  }
}

/// Writes the copy that a child died of; its name.
static std::string keepCopy(llvm::StringRef path, unsigned number,
                            llvm::StringRef text) {
  llvm::SmallString<128> kept(keep);
  llvm::sys::fs::create_directories(kept);
  llvm::sys::path::append(kept, llvm::sys::path::filename(path) + ".crash-" +
                                    llvm::Twine(number));
  std::error_code error;
  llvm::raw_fd_ostream stream(kept, error);
  if (!error)
    stream << text;
  return kept.str().str();
}

/// All copies of one file; the number of those that failed.
static unsigned fuzzFile(llvm::StringRef path, Progress *progress) {
  // As our tools open it; what they would refuse is damaged all the same.
  std::string refused;
  std::unique_ptr<llvm::MemoryBuffer> buffer = pipemesh::openText(path, refused);
  if (!buffer) {
    auto raw = llvm::MemoryBuffer::getFile(path);
    if (!raw) {
      llvm::errs() << path << ": " << raw.getError().message() << "\n";
      return 1;
    }
    buffer = std::move(*raw);
  }
  std::vector<llvm::StringRef> modules =
      pipemesh::fuzz::splitModules(buffer->getBuffer());
  std::vector<std::string> cut;
  if (pieces) {
    DialectRegistry registry;
    pipemesh::registerAllDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    for (llvm::StringRef text : modules)
      for (std::string &piece : pipemesh::fuzz::cutModule(text, longest ? longest : 4096, context))
        cut.push_back(std::move(piece));
    modules.assign(cut.begin(), cut.end());
  }
  if (modules.empty()) {
    llvm::errs() << path << ": no module could be cut out of it\n";
    return 1;
  }
  for (llvm::StringRef &text : modules)
    if (longest && text.size() > longest)
      text = text.take_front(text.rfind('\n', longest) + 1);
  // The text decides, and not where the checkout lies.
  uint64_t seed = llvm::xxh3_64bits(buffer->getBuffer());
  unsigned failures = 0, start = first, end = first + copies;
  progress->parsed = progress->silent = 0;
  while (start < end) {
    progress->copy = start;
    pid_t child = fork();
    if (child == 0) {
      for (int sig : {SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGFPE, SIGTRAP})
        signal(sig, SIG_DFL);
      readCopies(modules, seed, start, end, progress);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0) {
      llvm::errs() << path << ": cannot start a process\n";
      return failures + 1;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      break;
    unsigned number = progress->copy;
    ++failures;
    std::string kept = keepCopy(path, number, copyOf(modules, seed, number));
    llvm::errs() << path << ": copy " << number
                 << (progress->stage ? " in the passes" : " while it was read")
                 << " ended with "
                 << (WIFSIGNALED(status)
                         ? "signal " + std::to_string(WTERMSIG(status))
                         : "status " + std::to_string(WEXITSTATUS(status)))
                 << "; kept as " << kept << "\n";
    start = number + 1;
  }
  return failures + progress->silent;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(
      argc, argv,
      "Reads damaged copies of IR files; fails when one crashes or hangs\n\n"
      "Examples:\n"
      "  pm-fuzz --copies=1000 --keep=crashes test/Dialect/*/*.mlir\n"
      "  pm-fuzz --copies=100 --longest=4096 \\\n"
      "    --pipeline=pm-propagate+pm-verify-sharded+pm-partition-pipeline \\\n"
      "    test/Shard/*.mlir test/Shard/Cases/*.mlir\n");
  pipemesh::registerAllPasses();
  void *memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    llvm::errs() << "pm-fuzz: cannot share memory with a child\n";
    return 1;
  }
  auto *progress = new (memory) Progress{0, 0, 0, 0};
  unsigned failures = 0;
  for (const std::string &path : inputs) {
    unsigned failed = fuzzFile(path, progress);
    failures += failed;
    llvm::outs() << path << ": " << copies << " copies, "
                 << unsigned(progress->parsed) << " still parse, " << failed
                 << " failed\n";
    llvm::outs().flush();
  }
  return failures == 0 ? 0 : 1;
}
