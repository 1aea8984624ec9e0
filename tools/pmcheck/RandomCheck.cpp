//===- RandomCheck.cpp - a program and its partitioned form ---------------===//

#include "RandomCheck.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/InitAll.h"
#include "pipemesh/Shard/Passes.h"
#include "pipemesh/Verify/Compare.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh::interp;

namespace pipemesh::check {

ArrayRef<Refusal> getRefusals() {
  static const Refusal refusals[] = {
      {"and the op takes it apart", "an uneven cut of a dimension that an op "
                                    "takes apart"},
      {"a value of sharding group", "a sharding group whose values are "
                                    "annotated differently"},
  };
  return refusals;
}

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

RandomChecker::RandomChecker()
    : context(makeRegistry(), MLIRContext::Threading::DISABLED),
      passes(&context, ModuleOp::getOperationName()) {
  context.printOpOnDiagnostic(false);
  context.loadAllAvailableDialects();
  // The verifiers of the levels say more than that of the ops, which runs once.
  passes.enableVerifier(false);
  passes.addPass(createRefineMeshPass());
  passes.addPass(createPropagatePass());
  passes.addPass(createVerifyShardedPass());
  buildPartitionPipeline(passes, /*bucketBytes=*/1 << 20);
}

/// The first output that differs, or nothing.
static std::string compare(const NamedTensors &actual,
                           const NamedTensors &expected) {
  for (const auto &[name, tensor] : expected) {
    auto it = actual.find(name);
    if (it == actual.end())
      return "there is no '" + name + "'";
    Difference difference = compareTensors(it->second, tensor);
    // What cancels to nothing leaves rounding.
    if (difference.error <= 1e-9 || difference.absolute <= 1e-11)
      continue;
    std::string text;
    llvm::raw_string_ostream(text)
        << "'" << name << "' differs: element " << difference.index << " is "
        << llvm::format("%.9g", difference.actual) << " instead of "
        << llvm::format("%.9g", difference.expected);
    return text;
  }
  return "";
}

Verdict RandomChecker::check(StringRef text, uint64_t seed) {
  Verdict verdict;
  std::string error;
  collectives = remarks = 0;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && error.empty())
      error = diagnostic.str();
    remarks += diagnostic.getSeverity() == DiagnosticSeverity::Remark;
    return success();
  });
  auto fail = [&](Verdict::Kind kind, const Twine &stage) {
    verdict.kind = kind;
    verdict.message = (stage + error).str();
    return verdict;
  };

  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module)
    return fail(Verdict::Invalid, "parsing: ");
  auto global = Program::load(*module);
  if (failed(global))
    return fail(Verdict::Invalid, "loading: ");
  NamedTensors inputs =
      makeRandomInputs((*global)->getInputs(), getVocabulary(*module), seed);
  auto expected = (*global)->run(inputs);
  if (failed(expected))
    return fail(Verdict::Invalid, "running: ");
  global->reset();

  if (failed(passes.run(*module))) {
    for (auto [number, refusal] : llvm::enumerate(getRefusals()))
      if (StringRef(error).contains(refusal.message)) {
        verdict.refusal = number;
        return fail(Verdict::Refused, "");
      }
    return fail(Verdict::Diagnosed, "refused: ");
  }
  if (failed(verify(*module)))
    return fail(Verdict::Diagnosed, "not valid after partitioning: ");
  module->walk([&](Operation *op) {
    collectives +=
        isa<pm::AllReduceOp, pm::AllGatherOp, pm::ReduceScatterOp,
            pm::AllToAllOp, pm::CollectivePermuteOp>(op);
  });
  ProgramOptions options;
  options.partitioned = true;
  auto local = Program::load(*module, options);
  if (failed(local))
    return fail(Verdict::Different, "partitioned, loading: ");
  auto actual = (*local)->run(inputs);
  if (failed(actual))
    return fail(Verdict::Different, "partitioned, running: ");
  error = compare(*actual, *expected);
  if (!error.empty())
    return fail(Verdict::Different, "");
  return verdict;
}

//===----------------------------------------------------------------------===//
// Shrinking
//===----------------------------------------------------------------------===//

ChoiceLists shrink(ChoiceLists lists,
                   llvm::function_ref<bool(const ChoiceLists &)> fails,
                   unsigned budget) {
  auto attempt = [&](const ChoiceLists &candidate) {
    if (budget == 0 || candidate == lists)
      return false;
    --budget;
    if (!fails(candidate))
      return false;
    lists = candidate;
    return true;
  };
  bool isSmaller = true;
  while (isSmaller && budget) {
    isSmaller = false;
    // Statements; the mesh and the results stay.
    for (size_t i = lists.size() - 1; i-- > 1 && lists.size() > 3;) {
      ChoiceLists candidate = lists;
      candidate.erase(candidate.begin() + i);
      isSmaller |= attempt(candidate);
      if (i > lists.size() - 1)
        i = lists.size() - 1;
    }
    for (size_t i = 0; i < lists.size(); ++i) {
      // Its end, then pieces of it; then each number by itself.
      for (size_t kept = 0; kept < lists[i].size(); kept = kept * 2 + 1) {
        ChoiceLists candidate = lists;
        candidate[i].resize(kept);
        if (attempt(candidate)) {
          isSmaller = true;
          break;
        }
      }
      for (size_t size : {8, 4, 2, 1})
        for (size_t at = 0; at + size <= lists[i].size(); ++at) {
          ChoiceLists candidate = lists;
          candidate[i].erase(candidate[i].begin() + at,
                             candidate[i].begin() + at + size);
          isSmaller |= attempt(candidate);
        }
      for (size_t at = 0; at < lists[i].size(); ++at) {
        uint32_t value = lists[i][at];
        for (uint32_t less : {0u, value / 2, value - 1}) {
          if (at >= lists[i].size() || less >= lists[i][at])
            continue;
          ChoiceLists candidate = lists;
          candidate[i][at] = less;
          if (attempt(candidate)) {
            isSmaller = true;
            break;
          }
        }
      }
    }
  }
  return lists;
}

} // namespace pipemesh::check
