//===- Pipelines.cpp - the named pipelines of this phase ------------------===//

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "pipemesh/Pipeline/Passes.h"

using namespace mlir;
using namespace pipemesh;

void pipemesh::buildFragmentPipeline(OpPassManager &manager) {
  manager.addPass(createAssignStagesPass());
  manager.addPass(createSplitStagesPass());
  manager.addPass(createVerifyFragmentsPass());
}

void pipemesh::buildFunctionPipeline(OpPassManager &manager) {
  manager.addPass(createWrapFunctionPass());
  manager.addPass(createVerifyFragmentsPass());
}

void pipemesh::buildSchedulePipeline(OpPassManager &manager,
                                     llvm::StringRef name) {
  SchedulePassOptions options;
  options.name = name.str();
  manager.addPass(createSchedulePass(options));
  manager.addPass(createVerifyScheduledPass());
  manager.addPass(createCheckProgramPass());
}

namespace {
struct ScheduleOptions : PassPipelineOptions<ScheduleOptions> {
  Option<std::string> name{*this, "name",
                           llvm::cl::desc("gpipe or 1f1b; empty for the "
                                          "module's"),
                           llvm::cl::init("")};
};
} // namespace

void pipemesh::registerPipelinePipelines() {
  PassPipelineRegistration<>(
      "pm-fragment-pipeline", "From a sharded graph to fragments",
      [](OpPassManager &manager) { buildFragmentPipeline(manager); });
  PassPipelineRegistration<>(
      "pm-function-pipeline",
      "From a sharded function to the program of one fragment",
      [](OpPassManager &manager) { buildFunctionPipeline(manager); });
  PassPipelineRegistration<ScheduleOptions>(
      "pm-schedule-pipeline", "From fragments to a scheduled program",
      [](OpPassManager &manager, const ScheduleOptions &options) {
        buildSchedulePipeline(manager, options.name);
      });
}
