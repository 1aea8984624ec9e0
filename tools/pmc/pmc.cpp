//===- pmc.cpp - from a model to the program of a cluster -----------------===//

#include "Function.h"
#include "Gathers.h"
#include "Levels.h"
#include "Recipe.h"
#include "Report.h"
#include "ShardedWork.h"
#include "Simulation.h"
#include "Traffic.h"
#include "check/Certify.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "pipemesh/Dialect/PM/ClusterAttr.h"
#include "pipemesh/Import/ImportHuggingFace.h"
#include "pipemesh/InitAll.h"
#include "pipemesh/Lower/Bundle.h"
#include "pipemesh/Lower/Cuda/CudaKernels.h"
#include "pipemesh/Shard/Explain.h"
#include "pipemesh/Support/DiagnosticLines.h"
#include "pipemesh/Support/ParseModule.h"
#include "source/WriteSource.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace pipemesh;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("pmc options");
cl::opt<std::string> input(cl::Positional, cl::desc("MODEL_DIR or model.mlir"),
                           cl::Required, cl::cat(category));
cl::opt<std::string> task("task", cl::desc("train or eval"), cl::init("train"),
                          cl::cat(category));
cl::opt<int64_t> batch("batch", cl::desc("sequences of a step, over all ranks"),
                       cl::init(8), cl::cat(category));
cl::opt<int64_t> sequence("sequence", cl::desc("tokens of a sequence"),
                          cl::init(128), cl::cat(category));
cl::opt<std::string> strategy("strategy",
                              cl::desc("mesh axes, outermost first, e.g. "
                                       "\"dp=2,pp=2,tp=2,mb=4\""),
                              cl::cat(category));
cl::list<std::string> shardings(
    "sharding",
    cl::desc("of a whole function: how an argument or a result lies on the "
             "mesh, e.g. arg0=dp,- or out1=dp+tp; may be repeated"),
    cl::value_desc("NAME=AXES,..."), cl::cat(category));
cl::opt<std::string>
    scheduleName("schedule",
                 cl::desc("1f1b, gpipe, zb-h1 ..., instead of the "
                          "strategy's"),
                 cl::init(""), cl::cat(category));
cl::opt<std::string> clusterPath("cluster",
                                 cl::desc("cluster.json: what connects the "
                                          "ranks; see docs/clusters.md"),
                                 cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> recipePath("recipe", cl::desc("recipe.json"),
                                cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> output("o", cl::desc("the bundle to write (or, with "
                                          "--emit, a file or a folder)"),
                            cl::value_desc("path"), cl::cat(category));
cl::opt<std::string>
    emit("emit",
         cl::desc("print the IR of a level: model, "
                  "differentiated, sharded, fragments, "
                  "partitioned, scheduled, kernels, runtime; or "
                  "cpp: write a folder with a C++ source for each "
                  "role, which calls CUDA, NCCL and cuBLASLt "
                  "(with --backend=cuda)"),
         cl::value_desc("level"), cl::cat(category));
cl::opt<std::string> printAfterEach("print-after-each",
                                    cl::desc("write the IR of each level to a "
                                             "folder"),
                                    cl::value_desc("folder"), cl::cat(category));
cl::opt<std::string> report("report", cl::ValueOptional,
                            cl::desc("print ranks, memory, operations and "
                                     "bytes sent, or write them as JSON to a "
                                     "file"),
                            cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> simulated(
    "simulate", cl::ValueOptional,
    cl::desc("run the action lists on the costs of the cluster, print the time "
             "of the step and of each rank, and write the timeline to a file: "
             ".svg, .json (Perfetto) or .csv"),
    cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> costsPath("costs",
                               cl::desc("of --simulate: a table with F, I, W, "
                                        "B, U and transfer of each stage, "
                                        "instead of the cost interface's"),
                               cl::value_desc("file.csv"), cl::cat(category));
cl::opt<std::string> explained("explain",
                               cl::desc("say why a value lies as it does, and "
                                        "what its reshards cost"),
                               cl::value_desc("value"),
                               cl::cat(category));
cl::opt<bool> timing("timing", cl::desc("print the time of each pass"),
                     cl::cat(category));
cl::opt<bool> debugInfo("locations", cl::desc("print locations with the IR"),
                        cl::cat(category));
cl::opt<std::string> cpu("cpu", cl::desc("processor to compile for"),
                         cl::init("native"), cl::cat(category));
cl::opt<std::string> cpuFeatures("cpu-features",
                                 cl::desc("features, e.g. \"+avx2,+fma\""),
                                 cl::cat(category));
cl::opt<unsigned> vectorWidth("vector-width",
                              cl::desc("float32 elements of a vector; 0 takes "
                                       "the widest of the processor"),
                              cl::init(0), cl::cat(category));
cl::opt<std::string> backend("backend",
                             cl::desc("host, or cuda: a bundle for NVIDIA's GPUs"),
                             cl::init("host"), cl::cat(category));
cl::opt<std::string> matmulPrecision(
    "matmul-precision",
    cl::desc(
        "f32, or bf16: a model's matrix products and attention take bf16 and "
        "are summed in f32; state stays f32"),
    cl::init("f32"), cl::cat(category));
cl::opt<std::string> attention(
    "attention",
    cl::desc(
        "with --backend=cuda: what makes attention, own (our kernels), cudnn, "
        "or auto (cuDNN for what it has: bf16 and f16, without a window)"),
    cl::init("auto"), cl::cat(category));
cl::opt<std::string> cudaKernels(
    "cuda-kernels",
    cl::desc("write the kernels of the program for NVIDIA's processors (gpu "
             "dialect, PTX, cubins) and what they take to a folder"),
    cl::value_desc("folder"), cl::cat(category));
cl::opt<uint64_t> memoryLimit("memory-limit",
                              cl::desc("bytes that each rank has (the cluster's "
                                       "devices): a bundle that needs more is "
                                       "not written"),
                              cl::value_desc("bytes"), cl::init(0),
                              cl::cat(category));
cl::opt<int64_t> bucketBytes("bucket-bytes",
                             cl::desc("bytes of gradients that are summed over "
                                      "the ranks at once, beside the last "
                                      "backward (what the outermost link of the "
                                      "cluster wants); 0: one after the other, "
                                      "behind it"),
                             cl::value_desc("bytes"), cl::cat(category));
cl::extrahelp examples(R"(
Examples:
  pmc models/llama --batch=8 --sequence=20 -o bundle/
  pmc models/llama --batch=8 --sequence=20 --strategy="dp=2,mb=2" --recipe=recipe.json -o bundle/
  pmc models/llama --task=eval --batch=8 --sequence=20 -o bundle/
  pmc models/llama --batch=8 --sequence=20 --strategy="dp=2" --emit=partitioned
  pmc exported.mlir -o function/
  pmc exported.mlir --strategy="dp=2" --sharding=arg0=dp,- --emit=sharded
  pmc model.mlir --strategy="dp=2,mb=4" --print-after-each=levels/ --report -o bundle/
  pmc models/llama --batch=8 --strategy="dp=2,pp=2,tp=2,mb=4" --report=costs.json
  pmc models/llama --batch=8 --strategy="pp=4,mb=8,schedule=zb-auto" --simulate=timeline.svg
  pmc models/llama --batch=8 --strategy="dp=2,pp=2,tp=2,mb=4" --backend=cuda -o gpus/
  pmc models/llama --batch=8 --backend=cuda --matmul-precision=bf16 -o gpus/
  pmc models/llama --batch=8 --strategy="tp=2" --backend=cuda --emit=cpp -o sources/
)");

int fail(const llvm::Twine &message) {
  llvm::errs() << "pmc: error: " << message << "\n";
  return 1;
}

bool emitsSources() { return emit == "cpp"; }

/// Writes the sources of a bundle, which is removed again.
LogicalResult writeSources(ModuleOp module, BundleOptions bundle) {
  llvm::SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("pmc-bundle", folder)) {
    fail("cannot create a folder for the bundle: " + error.message());
    return failure();
  }
  std::string sources = bundle.path, problem;
  bundle.path = (folder + "/bundle").str();
  LogicalResult made = emitBundle(module, bundle);
  if (succeeded(made))
    problem = source::writeSources(bundle.path, sources);
  llvm::sys::fs::remove_directories(folder);
  if (problem.empty())
    return made;
  fail(problem);
  return failure();
}

OwningOpRef<ModuleOp> load(MLIRContext &context) {
  if (llvm::sys::fs::is_directory(input) ||
      llvm::StringRef(input).ends_with(".json")) {
    ImportOptions options;
    options.task = task == "eval" ? Task::Eval : Task::Train;
    options.batch = batch;
    options.sequence = sequence;
    return importHuggingFace(&context, input, options);
  }
  return pipemesh::parseModule(input, context);
}

llvm::Expected<Cluster> readCluster(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError("cannot read cluster '" + path.str() +
                                   "': " + buffer.getError().message());
  auto cluster = Cluster::parse((*buffer)->getBuffer());
  if (!cluster)
    return llvm::createStringError("cluster '" + path.str() + "': " +
                                   llvm::toString(cluster.takeError()));
  if (cluster->name.empty())
    cluster->name = path.str();
  return cluster;
}

/// Prints the report, or writes it to the file that was given.
LogicalResult writeReport(ModuleOp module, llvm::json::Array shardedWork,
                          llvm::json::Array gathers) {
  llvm::json::Object made = makeReport(module);
  made["sharded"] = std::move(shardedWork);
  made["gathers"] = std::move(gathers);
  if (report.empty()) {
    printReport(made, llvm::outs());
    return success();
  }
  std::error_code error;
  llvm::ToolOutputFile file(report, error, llvm::sys::fs::OF_Text);
  if (error) {
    fail("cannot write '" + report + "': " + error.message());
    return failure();
  }
  file.os() << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(made)));
  file.keep();
  return success();
}

/// Writes the module to a file, or to standard output for "-".
LogicalResult write(ModuleOp module, llvm::StringRef path) {
  std::error_code error;
  llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_Text);
  if (error) {
    fail("cannot write '" + path + "': " + error.message());
    return failure();
  }
  OpPrintingFlags flags;
  if (debugInfo)
    flags.enableDebugInfo();
  module.print(file.os(), flags);
  file.os() << "\n";
  file.keep();
  return success();
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerAllPasses();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "pmc: compiles a model to the program of a cluster\n\n"
      "Reads a Hugging Face model directory, the IR that pmimport writes, or a\n"
      "function in StableHLO (what JAX prints), and writes a bundle that pmrun\n"
      "executes.\n");

  if (task != "train" && task != "eval")
    return fail("--task is '" + task + "', but must be train or eval");
  if (backend != "host" && backend != "cuda")
    return fail("--backend is '" + backend + "', but must be host or cuda");
  if (matmulPrecision != "f32" && matmulPrecision != "bf16")
    return fail("--matmul-precision is '" + matmulPrecision +
                "', but must be f32 or bf16");
  if (attention != "own" && attention != "cudnn" && attention != "auto")
    return fail("--attention is '" + attention +
                "', but must be own, cudnn or auto");
  if (attention.getNumOccurrences() && backend != "cuda" && attention != "own")
    return fail("--attention=" + attention + " is for --backend=cuda");
  if (emitsSources() && backend != "cuda")
    return fail("--emit=cpp writes sources for GPUs; give --backend=cuda, too");
  if (emitsSources() && output.empty())
    return fail("--emit=cpp writes a folder of sources; name it with -o");
  auto recipe = readRecipe(recipePath);
  if (!recipe)
    return fail(llvm::toString(recipe.takeError()));
  if (output.empty() && emit.empty() && printAfterEach.empty() &&
      explained.empty() && !report.getNumOccurrences() &&
      !simulated.getNumOccurrences() && cudaKernels.empty())
    return fail("nothing to do: give -o BUNDLE, --emit=LEVEL, "
                "--print-after-each=DIR, --report, --simulate or "
                "--cuda-kernels=DIR");
  if (costsPath.getNumOccurrences() && !simulated.getNumOccurrences())
    return fail("--costs are those of --simulate, which is not given");

  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  DiagnosticLines diagnostics(&context, "pmc");

  OwningOpRef<ModuleOp> module = load(context);
  if (!module)
    return 1;
  auto ownTask = (*module)->getAttrOfType<StringAttr>("pm.task");
  bool isFunction = !ownTask || ownTask == "function";
  if (isFunction) {
    if (task.getNumOccurrences())
      return fail("--task is '" + task + "', but '" + input +
                  "' was not written by pmimport: it is compiled as the whole "
                  "function that it is");
    if (matmulPrecision.getNumOccurrences())
      return fail("--matmul-precision is for models; '" + input +
                  "' is a whole function, whose types are its own");
    if (failed(prepareFunction(*module, strategy, shardings)))
      return 1;
  } else if (shardings.getNumOccurrences()) {
    return fail("--sharding is for whole functions; a model is cut by "
                "--strategy");
  }
  if (!isFunction && task.getNumOccurrences() && ownTask.getValue() != task)
    return fail("--task is '" + task + "', but '" + input +
                "' was imported for '" + ownTask.getValue() + "'");

  StrategyOptions options;
  options.strategy = strategy;
  options.schedule = scheduleName;
  options.backend = backend == "cuda" ? Backend::Cuda : Backend::Host;
  options.hasHalfProducts = matmulPrecision == "bf16";
  if (backend == "cuda" && attention != "own")
    options.attention = attention == "cudnn" ? StrategyOptions::Attention::Cudnn
                                             : StrategyOptions::Attention::Auto;
  if (!clusterPath.empty()) {
    auto cluster = readCluster(clusterPath);
    if (!cluster)
      return fail(llvm::toString(cluster.takeError()));
    pm::setCluster(*module, *cluster);
    options.cluster = std::move(*cluster);
  }
  if (bucketBytes.getNumOccurrences()) {
    if (bucketBytes < 0)
      return fail("--bucket-bytes is " + std::to_string(bucketBytes) +
                  ", but must be 0 or more");
    options.bucketBytes = bucketBytes;
  }
  auto levels = isFunction
                    ? getFunctionLevels(options)
                    : getLevels(ownTask == "train", *recipe, options);
  if (!emit.empty() && !emitsSources() &&
      llvm::none_of(levels, [](Level &level) { return level.name == emit; })) {
    std::string names;
    for (Level &level : levels)
      names += (names.empty() ? "" : ", ") + level.name;
    return fail("--emit is '" + emit + "', but the levels are " + names +
                ", and cpp writes sources");
  }
  if (!printAfterEach.empty())
    if (std::error_code error =
            llvm::sys::fs::create_directories(printAfterEach))
      return fail("cannot create folder '" + printAfterEach +
                  "': " + error.message());

  llvm::json::Array shardedWork, gathers;
  StageMeasure measured;
  DefaultTimingManager timingManager;
  timingManager.setEnabled(timing);
  auto timingScope = timingManager.getRootScope();
  for (auto [index, level] : llvm::enumerate(levels)) {
    PassManager passes(&context, ModuleOp::getOperationName());
    auto levelScope = timingScope.nest(level.name);
    passes.enableTiming(levelScope);
    level.addPasses(passes);
    if (failed(passes.run(*module)))
      return 1;
    if (level.name == "sharded" && report.getNumOccurrences())
      shardedWork = measureShardedWork(*module);
    if (level.name == "partitioned" && report.getNumOccurrences())
      gathers = listGathers(*module);
    if (level.name == "fragments" && simulated.getNumOccurrences()) {
      FailureOr<StageMeasure> stages = measureStages(*module);
      if (failed(stages))
        return 1;
      measured = std::move(*stages);
    }
    if (level.name == "scheduled" && simulated.getNumOccurrences()) {
      if (llvm::Error error = simulateProgram(*module, measured, costsPath,
                                              simulated, llvm::outs()))
        return fail(llvm::toString(std::move(error)));
      if (output.empty() && emit.empty() && printAfterEach.empty() &&
          !report.getNumOccurrences() && cudaKernels.empty())
        return 0;
    }
    if (!printAfterEach.empty() &&
        failed(write(*module, printAfterEach + "/" + std::to_string(index) +
                                  "_" + level.name + ".mlir")))
      return 1;
    if (level.name == "sharded" && !explained.empty()) {
      if (!explain(*module, explained, llvm::outs()))
        return fail("--explain is '" + explained +
                    "', but no value has that name; a value is called by its "
                    "parameter or input, arg0 or out0, the module of the model, "
                    "a line of the file (:57), or an op (dot_general); "
                    "--emit=sharded --locations prints them");
      if (output.empty() && emit.empty() && !report.getNumOccurrences())
        return 0;
    }
    if (emit == level.name) {
      if (failed(write(*module, output.empty() ? "-" : output.getValue())))
        return 1;
      return 0;
    }
  }
  if (!clusterPath.empty())
    if (std::string warning = findBadPlace(computeTraffic(*module));
        !warning.empty())
      llvm::errs() << "pmc: warning: " << warning << "\n";
  if (report.getNumOccurrences() &&
      failed(writeReport(*module, std::move(shardedWork), std::move(gathers))))
    return 1;
  if (!cudaKernels.empty()) {
    auto kernelScope = timingScope.nest("GPU kernels");
    if (failed(writeCudaKernels(*module, cudaKernels)))
      return 1;
  }
  if (output.empty())
    return 0;

  auto target = CpuTarget::get(cpu, cpuFeatures, vectorWidth);
  if (!target)
    return fail(llvm::toString(target.takeError()));
  BundleOptions bundle;
  bundle.path = llvm::StringRef(output).rtrim('/').str();
  bundle.target = *target;
  bundle.backend = options.backend;
  bundle.recipe = recipe->json;
  bundle.memoryLimit = memoryLimit;
  if (!bundle.memoryLimit && !clusterPath.empty())
    bundle.memoryLimit = static_cast<uint64_t>(options.cluster.device.memory);
  bundle.prove = [](llvm::StringRef folder) {
    return proof::certify(folder.str());
  };
  auto emitScope = timingScope.nest("code and bundle");
  if (emitsSources())
    return failed(writeSources(*module, bundle));
  return failed(emitBundle(*module, bundle));
}
