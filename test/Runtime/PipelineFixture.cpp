//===- PipelineFixture.cpp - Bundles of Inputs/pipeline_model.c -----------===//

#include "PipelineFixture.h"

#include "check/Certify.h"
#include "core/Safetensors.h"

#include <cmath>

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

namespace pipemesh::runtime::test {

static json pipelineManifest(int64_t dp) {
  json manifest = linearManifest(dp, 1);
  constexpr int64_t microBatches = 4;
  int64_t tokens = batch * sequence;
  manifest["hash"] = "pipeline-hash";
  manifest["mesh"] = {
      {{"name", "dp"}, {"kind", "spatial"}, {"size", dp}},
      {{"name", "pp"}, {"kind", "stage"}, {"size", 2}},
      {{"name", "mb"}, {"kind", "temporal"}, {"size", microBatches}}};
  manifest["recipe"]["trainable"] = {"*"};
  manifest["parameters"] = json::array();
  for (const char *name : {"w0", "w1"})
    manifest["parameters"].push_back({{"name", name},
                                      {"shape", json::array()},
                                      {"trainable", true},
                                      {"decay", false},
                                      {"gradient", cat(name, ".gradient")},
                                      {"buffer", name}});
  manifest["outputs"] = {
      {"loss", "loss"}, {"grad_norm", "grad_norm"}, {"logits", nullptr}};
  manifest["roles"] = json::array();
  for (int64_t stage : {0, 1}) {
    json buffers = json::array();
    auto add = [&](const std::string &name, const char *kind, const char *role,
                   const char *init, const std::string &parameter = "") {
      json buffer = {{"name", name},
                     {"kind", kind},
                     {"role", role},
                     {"dtype", "f32"},
                     {"global_shape", json::array()},
                     {"local_shape", json::array()},
                     {"sharding", json::array()},
                     {"init", init},
                     {"slots", 1},
                     {"bytes", 4}};
      if (!parameter.empty())
        buffer["parameter"] = parameter;
      buffers.push_back(buffer);
    };
    auto addRows = [&](const char *name, const char *kind, const char *role,
                       const char *dtype, json global, json local) {
      int64_t bytes = 4;
      for (auto &dimension : local)
        bytes *= dimension.get<int64_t>();
      json sharding = json::array({json{"dp", "mb"}});
      while (sharding.size() < global.size())
        sharding.push_back(json::array());
      buffers.push_back({{"name", name},
                         {"kind", kind},
                         {"role", role},
                         {"dtype", dtype},
                         {"global_shape", global},
                         {"local_shape", local},
                         {"sharding", sharding},
                         {"init", *role ? "input" : "none"},
                         {"slots", microBatches},
                         {"bytes", bytes}});
    };
    int64_t parts = dp * microBatches;
    json rows = {tokens}, localRows = {tokens / parts};
    addRows("h", "activation", "", "f32", rows, localRows);
    addRows("dh", "activation", "", "f32", rows, localRows);
    std::string weight = stage ? "w1" : "w0";
    add("learning_rate", "input", "learning_rate", "input");
    add(weight, "state", "parameter", "weights", weight);
    add(weight + ".gradient", "accumulator", "gradient", "zero", weight);
    add("squares0", "value", "", "none");
    add("squares1", "value", "", "none");
    add("grad_norm", "output", "grad_norm", "none");
    if (stage == 0) {
      addRows("input_ids", "input", "input_ids", "i32", {batch, sequence},
              {batch / parts, sequence});
    } else {
      add("loss_sum", "accumulator", "", "zero");
      add("loss", "output", "loss", "none");
    }
    manifest["roles"].push_back({{"file", cat("role_", stage, ".so")},
                                 {"arena_bytes", 65536},
                                 {"scratch_bytes", 64},
                                 {"buffers", buffers}});
  }
  return manifest;
}

void writePipeline(const std::string &folder, const PipelineVariant &variant,
                   const std::function<void(json &)> &change) {
  fs::create_directories(folder);
  json manifest = pipelineManifest(variant.dp);
  change(manifest);
  writeFile((fs::path(folder) / "manifest.json").string(), manifest.dump(1));
  for (int stage : {0, 1}) {
    fs::path role = fs::path(folder) / cat("role_", stage, ".so");
    fs::remove(role);
    fs::copy_file(fs::path(PMRT_TEST_ROLES) /
                      cat("pipeline_", variant.dp, "_", variant.fault, "_",
                          variant.sleepMicroseconds, "_", stage, ".so"),
                  role);
  }
  certifyBundle(folder);
}

void writePipelineWeights(const std::string &folder, float w0, float w1) {
  fs::create_directories(folder);
  writeFile((fs::path(folder) / "config.json").string(), "{}");
  writeSafetensors((fs::path(folder) / "model.safetensors").string(),
                   {{"w0", "F32", {}}, {"w1", "F32", {}}}, {{"format", "pt"}},
                   [&](size_t i) { return i ? &w1 : &w0; });
}

void PipelineReference::step(const Batch &data, double rate) {
  double ids = 0;
  for (int32_t id : data.inputIds)
    ids += id;
  auto tokens = static_cast<double>(data.inputIds.size());
  loss = w0 * w1 * ids / tokens;
  double g0 = w1 * ids / tokens, g1 = w0 * ids / tokens;
  gradNorm = std::sqrt(g0 * g0 + g1 * g1);
  w0 -= rate * g0;
  w1 -= rate * g1;
}

} // namespace pipemesh::runtime::test
