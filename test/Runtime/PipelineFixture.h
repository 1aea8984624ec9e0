//===- PipelineFixture.h - Bundles of Inputs/pipeline_model.c -------------===//

#ifndef PIPEMESH_TEST_RUNTIME_PIPELINEFIXTURE_H
#define PIPEMESH_TEST_RUNTIME_PIPELINEFIXTURE_H

#include "Fixture.h"

namespace pipemesh::runtime::test {

/// Which of the roles that were compiled.
struct PipelineVariant {
  int64_t dp = 1;
  int fault = 0;
  int sleepMicroseconds = 0; ///< of each forward and each backward
};

/// Writes a bundle folder of two stages and four micro-batches.
void writePipeline(
    const std::string &folder, const PipelineVariant &variant = {},
    const std::function<void(nlohmann::ordered_json &)> &change =
        [](nlohmann::ordered_json &) {});

/// Writes config.json and model.safetensors with its two weights.
void writePipelineWeights(const std::string &folder, float w0 = 0.75f,
                          float w1 = -1.25f);

/// The model in double precision: one step changes the weights.
struct PipelineReference {
  double w0 = 0.75, w1 = -1.25, loss = 0, gradNorm = 0;
  void step(const Batch &batch, double rate);
};

} // namespace pipemesh::runtime::test

#endif // PIPEMESH_TEST_RUNTIME_PIPELINEFIXTURE_H
