//===- ImportHuggingFace.cpp - A model directory as a model graph ---------===//

#include "pipemesh/Import/ImportHuggingFace.h"
#include "GraphBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pipemesh {

void loadImportDialects(MLIRContext *context) {
  context->loadDialect<func::FuncDialect, stablehlo::StableHLODialect,
                       chlo::CHLODialect, pm::PMDialect>();
}

/// Whether the sizes of the step make sense for the model.
static LogicalResult checkSizes(Location location, const ModelConfig &config,
                                const ImportOptions &options) {
  constexpr int64_t largest = 2147483647;
  if (options.batch < 1 || options.batch > largest)
    return emitError(location) << "a batch of " << options.batch
                               << " sequences; expected 1 to " << largest;
  if (options.sequence < 2 || options.sequence > largest)
    return emitError(location)
           << "a sequence of " << options.sequence << " tokens; expected 2 to "
           << largest << ", since each token predicts the next one";
  if (config.hasLearnedPositions() && options.sequence > config.maxPositions)
    return emitError(location)
           << "a sequence of " << options.sequence << " tokens is beyond the "
           << config.maxPositions
           << " learned positions ('n_positions'); use a shorter one";
  int64_t bytes = 4;
  int64_t widest = std::max({config.vocabulary, config.intermediate,
                             3 * config.heads * config.headDimension});
  for (int64_t factor : {options.batch, options.sequence, widest})
    if (llvm::MulOverflow(bytes, factor, bytes))
      return emitError(location)
             << "a batch of " << options.batch << " x " << options.sequence
             << " tokens needs more than 2^63 bytes for one activation";
  if (!config.hasLearnedPositions() && options.sequence > config.maxPositions)
    emitWarning(location) << "a sequence of " << options.sequence
                          << " tokens is beyond 'max_position_embeddings' "
                          << config.maxPositions
                          << ", for which the model was made";
  return success();
}

OwningOpRef<ModuleOp> buildModelGraph(MLIRContext *context,
                                      const HuggingFaceModel &model,
                                      const ImportOptions &options) {
  const ModelConfig &config = model.config;
  Location location = FileLineColLoc::get(context, config.path, 1, 1);
  if (failed(checkSizes(location, config, options)))
    return nullptr;
  if (options.task == Task::Train && !config.dropout.empty())
    emitWarning(location)
        << "dropout is not applied: the graph computes as with probability 0 ("
        << config.dropout << ")";

  OpBuilder builder(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  (*module)->setAttr(
      "pm.task",
      builder.getStringAttr(options.task == Task::Train ? "train" : "eval"));
  (*module)->setAttr("pm.config", builder.getStringAttr(config.text));
  (*module)->setAttr("pm.batch", builder.getI64IntegerAttr(options.batch));
  (*module)->setAttr("pm.sequence",
                     builder.getI64IntegerAttr(options.sequence));
  (*module)->setAttr("pm.vocabulary",
                     builder.getI64IntegerAttr(config.vocabulary));

  auto tokens = RankedTensorType::get({options.batch, options.sequence},
                                      builder.getI32Type());
  auto labels = RankedTensorType::get({options.batch, options.sequence + 1},
                                      builder.getI32Type());
  auto f32 = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  };
  SmallVector<Type> inputs = {tokens, labels};
  for (const ModelParameter &parameter : model.parameters)
    inputs.push_back(f32(parameter.graphShape()));
  SmallVector<Type> results = {
      f32({}), f32({options.batch, options.sequence, config.vocabulary})};

  builder.setInsertionPointToEnd(module->getBody());
  auto function =
      func::FuncOp::create(builder,
                           NameLoc::get(builder.getStringAttr(
                               stringifyArchitecture(config.architecture))),
                           "main", builder.getFunctionType(inputs, results));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);

  GraphBuilder graph(builder, config, options.batch, options.sequence);
  auto nameArgument = [&](unsigned i, StringRef name) {
    body->getArgument(i).setLoc(NameLoc::get(builder.getStringAttr(name)));
  };
  const StringRef inputNames[] = {"input_ids", "labels"};
  for (unsigned i = 0; i < 2; ++i) {
    function.setArgAttr(i, "pm.input", builder.getStringAttr(inputNames[i]));
    nameArgument(i, inputNames[i]);
  }
  for (auto [i, parameter] : llvm::enumerate(model.parameters)) {
    function.setArgAttr(
        i + 2, "pm.state",
        pm::StateAttr::get(context, pm::StateKind::Parameter, parameter.name));
    if (!parameter.view.empty())
      function.setArgAttr(i + 2, pm::kStoredShapeAttr,
                          builder.getDenseI64ArrayAttr(parameter.shape));
    nameArgument(i + 2, parameter.name);
    graph.setParameter(parameter.name, body->getArgument(i + 2));
  }
  function.setResultAttr(0, "pm.output", builder.getStringAttr("loss"));
  function.setResultAttr(1, "pm.output", builder.getStringAttr("logits"));

  Value ids = body->getArgument(0);
  Value logits = config.architecture == Architecture::GPT2
                     ? buildGPT2(graph, ids)
                     : buildRotaryDecoder(graph, ids);
  Value loss = graph.loss(logits, body->getArgument(1));
  func::ReturnOp::create(builder, function.getLoc(), ValueRange{loss, logits});
  if (failed(verify(*module)))
    return nullptr;
  return module;
}

OwningOpRef<ModuleOp> importHuggingFace(MLIRContext *context, StringRef path,
                                        const ImportOptions &options) {
  FailureOr<HuggingFaceModel> model =
      readHuggingFaceModel(context, path, options.checkWeights);
  if (failed(model))
    return nullptr;
  OwningOpRef<ModuleOp> module = buildModelGraph(context, *model, options);
  if (module)
    emitConfigWarnings(context, model->config);
  return module;
}

} // namespace pipemesh
