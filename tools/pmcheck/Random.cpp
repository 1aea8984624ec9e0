//===- Random.cpp - pmcheck random ----------------------------------------===//
//
// Programs are checked in child processes, a few hundred in each, so that a
// crash is a finding like any other.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "RandomCheck.h"
#include "pipemesh/Shard/SeededFaults.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <csignal>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;

namespace pipemesh::check {

/// Programs of one child, after which MLIR's context is made anew.
constexpr uint64_t kBatch = 200;
/// Seconds for one program, above which it counts as hanging.
constexpr unsigned kHang = 20;

namespace {
/// Shared between a child and its parent.
struct Progress {
  uint64_t next, verdicts[Verdict::kNumKinds], refusals[32], kinds[64];
  uint64_t statements, collectives, remarks, findings;
  /// Programs that have each.
  uint64_t features[16], meshes[32];
  /// Hashes of the findings of which one was shown.
  uint64_t shown[64], numShown;
};

class RandomCommand {
public:
  explicit RandomCommand(const Arguments &arguments) : arguments(arguments) {}
  bool parse();
  int run();
  /// Plants each fault in turn, and says which program shows it.
  int runFaults();

private:
  bool search();
  uint64_t seedOf(uint64_t index) const { return (seed << 24) + index; }
  void checkBatch(uint64_t end);
  void report(uint64_t index, const ChoiceLists &lists, const Verdict &verdict);
  bool isShown(StringRef message);
  Verdict checkInChild(const ChoiceLists &lists, uint64_t index);
  std::string textOf(const ChoiceLists &lists, MLIRContext &context);
  bool isLate() const {
    return seconds > 0 && std::chrono::duration<double>(
                              std::chrono::steady_clock::now() - start)
                                  .count() > seconds;
  }
  void printCounts();
  std::string takeErrors();

  const Arguments &arguments;
  RandomOptions options;
  uint64_t seed = 0, first = 0, count = 0, most = 1;
  double seconds = 0;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  /// Finds, and does not print.
  bool isQuiet = false;
  Progress *progress = nullptr;
  /// Where a child's errors go: what an assertion says.
  int errors = -1;
};
} // namespace

/// What programs and shardings have; `--features=no-NAME` leaves one out.
static const StringRef kFeatures[] = {
    "uneven",  "open",    "priorities", "empty",
    "parts",   "blocks",  "partial",    "replicated",
    "groups",  "regions", "inner-constraints"};

static bool fail(const Twine &message) {
  llvm::errs() << "pmcheck: error: " << message << "\n";
  return false;
}

bool RandomCommand::parse() {
  double number[5] = {0, 0, 0, 15, 1};
  const char *names[5] = {"seed", "count", "first", "max-ops", "findings"};
  for (int i = 0; i < 5; ++i)
    if (!arguments.getNumber(names[i], number[i]))
      return false;
  if (!arguments.getNumber("seconds", seconds))
    return false;
  seed = uint64_t(number[0]);
  count = uint64_t(number[1]);
  first = uint64_t(number[2]);
  options.maxOps = std::max<int64_t>(1, int64_t(number[3]));
  most = uint64_t(number[4]);
  if (!arguments.has("count"))
    count = seconds > 0 ? ~0ull >> 1 : 1000;
  options.mesh = arguments.get("mesh").str();
  std::vector<std::string> kinds = RandomGenerator::getKinds();
  SmallVector<StringRef> list;
  arguments.get("ops").split(list, ',', -1, /*KeepEmpty=*/false);
  for (StringRef op : list) {
    if (!llvm::is_contained(kinds, op))
      return fail("there are no statements of the kind '" + op + "'; there are " +
                  llvm::join(kinds, ", "));
    options.ops[op] = 1;
  }
  if (arguments.get("seed-fault") != "all" && !plantFault(arguments))
    return false;
  for (StringRef feature : kFeatures)
    options.features[feature] = 1;
  list.clear();
  arguments.get("features").split(list, ',', -1, /*KeepEmpty=*/false);
  for (StringRef feature : list) {
    StringRef name = feature;
    bool isOff = name.consume_front("no-");
    if (!llvm::is_contained(kFeatures, name))
      return fail("there is no feature '" + name + "'; there are " +
                  llvm::join(ArrayRef(kFeatures), ", "));
    if (isOff)
      options.features.erase(name);
    else
      options.features[name] = 1;
  }
  return true;
}

std::string RandomCommand::textOf(const ChoiceLists &lists,
                                  MLIRContext &context) {
  Choices choices{ChoiceLists(lists)};
  return RandomGenerator(options, choices, context).make();
}

/// A message without what names one program.
static std::string classOf(const Verdict &verdict) {
  std::string text;
  bool isQuoted = false;
  for (char c : verdict.message.substr(0, verdict.message.find('<'))) {
    isQuoted ^= c == '\'';
    if (!isQuoted && !llvm::isDigit(c))
      text += c;
  }
  return std::to_string(verdict.kind) + text;
}

bool RandomCommand::isShown(StringRef message) {
  uint64_t hash = llvm::hash_value(message);
  for (uint64_t i = 0; i < progress->numShown; ++i)
    if (progress->shown[i] == hash)
      return true;
  if (progress->numShown < std::size(progress->shown))
    progress->shown[progress->numShown++] = hash;
  return false;
}

static void restoreSignals() {
  for (int sig : {SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGFPE, SIGTRAP})
    signal(sig, SIG_DFL);
}

/// The last line that a child wrote to its errors.
std::string RandomCommand::takeErrors() {
  char buffer[4096];
  off_t end = lseek(errors, 0, SEEK_END);
  off_t begin = std::max<off_t>(0, end - off_t(sizeof(buffer)));
  ssize_t size = pread(errors, buffer, sizeof(buffer), begin);
  if (ftruncate(errors, 0) != 0 || size <= 0)
    return "";
  lseek(errors, 0, SEEK_SET);
  StringRef text = StringRef(buffer, size).rtrim();
  return text.substr(text.rfind('\n') + 1).str();
}

/// Checks a program in a process of its own.
Verdict RandomCommand::checkInChild(const ChoiceLists &lists, uint64_t index) {
  int ends[2];
  if (pipe(ends) != 0)
    return {};
  llvm::outs().flush();
  pid_t child = fork();
  if (child == 0) {
    rlimit core{0, 0};
    setrlimit(RLIMIT_CORE, &core);
    dup2(errors, STDERR_FILENO);
    restoreSignals();
    alarm(kHang);
    RandomChecker checker;
    Verdict verdict =
        checker.check(textOf(lists, checker.getContext()), seedOf(index));
    char kind = char(verdict.kind);
    if (write(ends[1], &kind, 1) != 1)
      _exit(1);
    _exit(0);
  }
  close(ends[1]);
  char kind = Verdict::Crashed;
  ssize_t size = read(ends[0], &kind, 1);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  (void)takeErrors();
  Verdict verdict;
  verdict.kind = size == 1 ? Verdict::Kind(kind) : Verdict::Crashed;
  return verdict;
}

void RandomCommand::report(uint64_t index, const ChoiceLists &lists,
                           const Verdict &verdict) {
  ++progress->findings;
  if (isQuiet)
    return;
  bool isNew = !isShown(classOf(verdict));
  if (!isNew)
    return;
  bool isCrash = verdict.kind == Verdict::Crashed;
  std::string wanted = classOf(verdict);
  std::unique_ptr<RandomChecker> checker = std::make_unique<RandomChecker>();
  Verdict last = verdict;
  auto fails = [&](const ChoiceLists &candidate) {
    if (isCrash)
      return checkInChild(candidate, index).kind == Verdict::Crashed;
    alarm(kHang);
    Verdict now = checker->check(textOf(candidate, checker->getContext()),
                                 seedOf(index));
    if (now.kind != verdict.kind || (verdict.kind != Verdict::Different &&
                                     classOf(now) != wanted))
      return false;
    last = now;
    return true;
  };
  ChoiceLists smallest = lists;
  if (arguments.get("shrink") != "no")
    smallest = shrink(lists, fails, isCrash ? 600 : 4000);
  std::string test;
  llvm::raw_string_ostream stream(test);
  static const StringRef titles[] = {"", "", "Other values",
                                     "A diagnostic of a legal program",
                                     "A crash", "A wrong program"};
  stream << "// " << titles[verdict.kind] << ", found by pmcheck random --seed="
         << seed << " --first=" << index << " --count=1: " << last.message
         << "\n// RUN: pmopt %s --pm-refine-mesh --pm-propagate --pm-verify-sharded "
            "--pm-partition-pipeline -o %t.mlir && pmcheck equiv %s %t.mlir "
            "--partitioned=b --seed="
         << seedOf(index) << "\n"
         << textOf(smallest, checker->getContext());
  llvm::outs() << test << "\n";
  if (arguments.has("keep")) {
    SmallString<128> path(arguments.get("keep"));
    llvm::sys::fs::create_directories(path);
    llvm::sys::path::append(path, "random-" + Twine(seed) + "-" + Twine(index) +
                                      ".mlir");
    std::error_code error;
    llvm::raw_fd_ostream file(path, error);
    if (!error)
      file << test;
  }
  llvm::outs().flush();
}

/// The child: programs up to `end`.
void RandomCommand::checkBatch(uint64_t end) {
  RandomChecker checker;
  std::vector<std::string> kinds = RandomGenerator::getKinds();
  while (progress->next < end && !isLate()) {
    uint64_t index = progress->next;
    alarm(kHang);
    Choices choices(seedOf(index));
    RandomGenerator generator(options, choices, checker.getContext());
    std::string text = generator.make();
    if (arguments.has("print"))
      llvm::outs() << "// " << index << "\n" << text << "\n";
    Verdict verdict = checker.check(text, seedOf(index));
    alarm(0);
    ++progress->verdicts[verdict.kind];
    if (verdict.kind == Verdict::Refused)
      ++progress->refusals[verdict.refusal];
    for (const std::string &kind : generator.getOpsUsed()) {
      ++progress->kinds[llvm::find(kinds, kind) - kinds.begin()];
      ++progress->statements;
    }
    for (auto [number, feature] : llvm::enumerate(kFeatures))
      progress->features[number] += generator.getFeaturesUsed().count(feature);
    for (auto [number, mesh] : llvm::enumerate(RandomGenerator::getMeshes()))
      progress->meshes[number] += generator.getMesh() == mesh;
    progress->collectives += checker.getNumCollectives();
    progress->remarks += checker.getNumRemarks();
    if (verdict.isFinding())
      report(index, choices.getTaken(), verdict);
    progress->next = index + 1;
    if (most && progress->findings >= most)
      return;
  }
  llvm::outs().flush();
}

void RandomCommand::printCounts() {
  Progress &p = *progress;
  uint64_t total = p.next - first;
  double time = std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                              start)
                    .count();
  llvm::outs() << total << " programs, " << p.statements << " statements, "
               << p.collectives << " collectives, "
               << llvm::format("%.1f s, %.0f a second", time, total / time)
               << "\n";
  auto printAll = [](StringRef title, auto names, ArrayRef<uint64_t> counts) {
    llvm::outs() << title;
    StringRef separator = " ";
    for (auto [name, count] : llvm::zip(names, counts))
      if (count) {
        llvm::outs() << separator << name << " " << count;
        separator = ", ";
      }
    llvm::outs() << "\n";
  };
  printAll("meshes:", RandomGenerator::getMeshes(), p.meshes);
  printAll("features:", ArrayRef(kFeatures), p.features);
  if (p.remarks)
    llvm::outs() << "ops without a rule: " << p.remarks << "\n";
  for (auto [number, refusal] : llvm::enumerate(getRefusals()))
    if (p.refusals[number])
      llvm::outs() << "refused: " << refusal.what << ": " << p.refusals[number]
                   << "\n";
  if (arguments.has("counts"))
    for (auto [number, kind] : llvm::enumerate(RandomGenerator::getKinds()))
      llvm::outs() << kind << ": " << p.kinds[number] << "\n";
  llvm::outs() << "the same values: " << p.verdicts[Verdict::Same]
               << ", findings: " << p.findings << " ("
               << p.verdicts[Verdict::Different] << " different, "
               << p.verdicts[Verdict::Diagnosed] << " refused, "
               << p.verdicts[Verdict::Crashed] << " crashed, "
               << p.verdicts[Verdict::Invalid] << " wrong programs)\n";
}

/// Checks programs until the last one, the end of the time, or enough findings.
bool RandomCommand::search() {
  if (!progress) {
    void *memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return fail("cannot share memory with a child");
    progress = new (memory) Progress{};
    errors = memfd_create("errors", 0);
  }
  *progress = {};
  progress->next = first;
  uint64_t end = first + count;
  while (progress->next < end && !isLate() &&
         !(most && progress->findings >= most)) {
    uint64_t batchEnd = std::min(end, progress->next + kBatch);
    llvm::outs().flush();
    pid_t child = fork();
    if (child == 0) {
      rlimit core{0, 0};
      setrlimit(RLIMIT_CORE, &core);
      dup2(errors, STDERR_FILENO);
      restoreSignals();
      checkBatch(batchEnd);
      llvm::outs().flush();
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0)
      return fail("cannot start a process");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      continue;
    uint64_t index = progress->next;
    ++progress->verdicts[Verdict::Crashed];
    Verdict verdict;
    verdict.kind = Verdict::Crashed;
    verdict.message =
        WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
            ? "it hangs"
            : "signal " + std::to_string(WIFSIGNALED(status) ? WTERMSIG(status)
                                                             : 0);
    if (std::string said = takeErrors(); !said.empty())
      verdict.message += ": " + said;
    ChoiceLists lists;
    {
      RandomChecker checker;
      Choices choices(seedOf(index));
      RandomGenerator(options, choices, checker.getContext()).make();
      lists = choices.getTaken();
    }
    report(index, lists, verdict);
    progress->next = index + 1;
  }
  return true;
}

int RandomCommand::run() {
  if (!search())
    return 2;
  printCounts();
  return progress->findings ? 1 : 0;
}

int RandomCommand::runFaults() {
  isQuiet = true;
  most = 1;
  if (!arguments.has("count"))
    count = 2000;
  unsigned missed = 0;
  for (auto [number, name] : llvm::enumerate(
           getFaultNames().take_front(kNumFaultsOfValues))) {
    seedFault(Fault(number + 1));
    if (!search())
      return 2;
    bool isFound = progress->findings > 0;
    missed += !isFound;
    llvm::outs() << name << ": "
                 << (isFound ? "found by program " : "not found by ")
                 << progress->next - first << (isFound ? "" : " programs")
                 << "\n";
  }
  llvm::outs() << missed << " faults are not found\n";
  return missed ? 1 : 0;
}

int runRandom(ArrayRef<StringRef> list, MLIRContext &) {
  Arguments arguments;
  if (!arguments.parse(list,
                       {"seed", "count", "seconds", "first", "ops", "mesh",
                        "features", "max-ops", "findings", "keep", "shrink",
                        "print", "counts", "seed-fault"},
                       0, "random [options]"))
    return 2;
  RandomCommand command(arguments);
  if (!command.parse())
    return 2;
  return arguments.get("seed-fault") == "all" ? command.runFaults()
                                              : command.run();
}

} // namespace pipemesh::check
