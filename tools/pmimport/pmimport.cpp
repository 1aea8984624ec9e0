//===- pmimport.cpp - A Hugging Face model directory as a model graph -----===//

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"
#include "pipemesh/Import/ImportHuggingFace.h"
#include "pipemesh/Support/DiagnosticLines.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh;
namespace cl = llvm::cl;

static cl::OptionCategory category("pmimport options");

static cl::opt<std::string> inputPath(cl::Positional, cl::desc("MODEL_DIR"),
                                      cl::value_desc("path"),
                                      cl::cat(category));
static cl::opt<Task>
    task("task", cl::desc("What the graph is for:"), cl::init(Task::Train),
         cl::values(clEnumValN(Task::Train, "train", "training (the default)"),
                    clEnumValN(Task::Eval, "eval", "loss and logits alone")),
         cl::cat(category));
static cl::opt<int64_t> batch("batch",
                              cl::desc("Sequences of a step, over all ranks"),
                              cl::value_desc("number"), cl::cat(category));
static cl::opt<int64_t> sequence("sequence", cl::desc("Tokens of a sequence"),
                                 cl::value_desc("number"), cl::cat(category));
static cl::opt<std::string>
    outputPath("o", cl::desc("Where the module goes (- for standard output)"),
               cl::value_desc("file"), cl::cat(category));
static cl::opt<bool>
    noWeights("no-weights",
              cl::desc("Read config.json alone; do not look for weight files"),
              cl::cat(category));
static cl::opt<bool> report(
    "report",
    cl::desc("Print the parameters and their number; the module only with -o"),
    cl::cat(category));

static const char *kOverview =
    "pmimport: a Hugging Face model directory as a model graph\n\n"
    "MODEL_DIR holds config.json and model.safetensors (or\n"
    "model.safetensors.index.json with its files); a path to a .json file is\n"
    "taken for a config.json. Model types: llama, qwen2, qwen3, mistral, "
    "gpt2.\n"
    "Weights stay in their files, and the module refers to them by name.\n";

static const char *kExamples =
    "\nEXAMPLES:\n\n"
    "  pmimport my-model --task=train --batch=8 --sequence=128 -o model.mlir\n"
    "      the graph of a training step of 8 sequences of 128 tokens\n"
    "  pmimport my-model --task=eval --batch=1 --sequence=64 -o -\n"
    "      the graph of loss and logits, on standard output\n"
    "  pmimport config.json --no-weights --report\n"
    "      the parameters that a configuration makes, and how many\n";

static int fail(const Twine &message) {
  llvm::errs() << "pmimport: error: " << message << '\n';
  return 1;
}

static int writeModule(ModuleOp module) {
  std::error_code error;
  llvm::ToolOutputFile file(outputPath, error, llvm::sys::fs::OF_Text);
  if (error)
    return fail("cannot write '" + outputPath + "': " + error.message());
  // Values are named after the modules that made them.
  module.print(file.os(), OpPrintingFlags()
                              .enableDebugInfo(true, /*prettyForm=*/false)
                              .printNameLocAsPrefix(true));
  file.os() << '\n';
  file.os().flush();
  if (file.os().has_error()) {
    error = file.os().error();
    file.os().clear_error();
    return fail("cannot write '" + outputPath + "': " + error.message());
  }
  file.keep();
  return 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::extrahelp examples(kExamples);
  cl::ParseCommandLineOptions(argc, argv, kOverview);
  if (inputPath.empty())
    return fail("no model directory given; see pmimport --help");
  bool wantsModule = !report || outputPath.getNumOccurrences();
  if (wantsModule)
    for (const cl::opt<int64_t> *option : {&batch, &sequence})
      if (!option->getNumOccurrences())
        return fail("--" + option->ArgStr + " is needed, as in --" +
                    option->ArgStr + "=8");
  if (outputPath.empty())
    outputPath = "-";

  MLIRContext context(MLIRContext::Threading::DISABLED);
  DiagnosticLines diagnostics(&context, "pmimport");
  FailureOr<HuggingFaceModel> model =
      readHuggingFaceModel(&context, inputPath, !noWeights);
  if (failed(model))
    return 1;
  OwningOpRef<ModuleOp> module;
  if (wantsModule) {
    loadImportDialects(&context);
    ImportOptions options;
    options.task = task;
    options.batch = batch;
    options.sequence = sequence;
    module = buildModelGraph(&context, *model, options);
    if (!module)
      return 1;
  }
  emitConfigWarnings(&context, model->config);
  if (report)
    printParameters(model->parameters, llvm::outs());
  return wantsModule ? writeModule(*module) : 0;
}
