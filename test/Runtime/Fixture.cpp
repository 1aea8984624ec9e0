//===- Fixture.cpp - Bundles, weights and data for tests ------------------===//

#include "Fixture.h"

#include "check/Certify.h"
#include "core/Cpu.h"
#include "core/Safetensors.h"
#include "pmrt/pmrt.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sys/wait.h>

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

namespace pipemesh::runtime::test {

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "pmrt-test-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw std::runtime_error("cannot create a temporary folder");
  path = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  fs::remove_all(path, error);
}

void writeFile(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

json linearManifest(int64_t dp, int64_t mb) {
  json manifest = {
      {"format", "pipemesh-bundle"},
      {"version", 1},
      {"abi", PMRT_ABI_VERSION},
      {"hash", "linear-hash"},
      {"target",
       {{"triple", hostArchitecture() + "-unknown-linux-gnu"},
        {"cpu", "test"},
        {"features", json::array()},
        {"vector_width", 4}}},
      {"task", "train"},
      {"batch", batch},
      {"sequence", sequence},
      {"vocabulary", vocabulary},
      {"config", {{"model_type", "linear"}, {"torch_dtype", "bfloat16"}}},
      {"mesh",
       {{{"name", "dp"}, {"kind", "spatial"}, {"size", dp}},
        {{"name", "mb"}, {"kind", "temporal"}, {"size", mb}}}},
      {"recipe",
       {{"optimizer", "adamw"},
        {"betas", {0.9, 0.95}},
        {"epsilon", 1e-8},
        {"weight_decay", 0.1},
        {"decay", "all"},
        {"clip_norm", nullptr},
        {"learning_rate", 0.01},
        {"trainable", {"head.*"}}}},
      {"parameters",
       {{{"name", "embed.weight"},
         {"shape", {vocabulary, width}},
         {"trainable", false},
         {"decay", false},
         {"gradient", nullptr},
         {"buffer", "embed"}},
        {{"name", "head.weight"},
         {"shape", {vocabulary, width}},
         {"trainable", true},
         {"decay", true},
         {"gradient", "head.gradient"},
         {"buffer", "head"}}}},
      {"outputs",
       {{"loss", "loss"}, {"grad_norm", "grad_norm"}, {"logits", "logits"}}}};
  json buffers = json::array();
  auto add = [&](const char *name, const char *kind, const char *role,
                 const char *dtype, json global, json local, const char *init,
                 int64_t slots, bool sharded, const char *parameter) {
    int64_t bytes = 4;
    for (auto &dimension : local)
      bytes *= dimension.get<int64_t>();
    json sharding = json::array();
    for (size_t d = 0; d < global.size(); ++d)
      sharding.push_back(sharded && d == 0 ? json{"dp", "mb"} : json::array());
    json buffer = {{"name", name},           {"kind", kind},
                   {"role", role},           {"dtype", dtype},
                   {"global_shape", global}, {"local_shape", local},
                   {"sharding", sharding},   {"init", init},
                   {"slots", slots},         {"bytes", bytes}};
    if (*parameter)
      buffer["parameter"] = parameter;
    buffers.push_back(buffer);
  };
  int64_t rows = batch / (dp * mb);
  json ids = {batch, sequence}, localIds = {rows, sequence};
  json weight = {vocabulary, width}, scalar = json::array();
  add("input_ids", "input", "input_ids", "i32", ids, localIds, "input", mb,
      true, "");
  add("labels", "input", "labels", "i32", ids, localIds, "input", mb, true, "");
  for (const char *name :
       {"learning_rate", "beta1", "beta2", "epsilon", "weight_decay"})
    add(name, "input", name, "f32", scalar, scalar, "input", 1, false, "");
  add("embed", "state", "parameter", "f32", weight, weight, "weights", 1, false,
      "embed.weight");
  add("head", "state", "parameter", "f32", weight, weight, "weights", 1, false,
      "head.weight");
  add("head.m", "state", "moment1", "f32", weight, weight, "zero", 1, false,
      "head.weight");
  add("head.v", "state", "moment2", "f32", weight, weight, "zero", 1, false,
      "head.weight");
  add("step", "state", "step", "f32", scalar, scalar, "zero", 1, false, "");
  add("count", "value", "", "f32", scalar, scalar, "none", 1, false, "");
  add("x", "activation", "", "f32", {batch, sequence, width},
      {rows, sequence, width}, "none", mb, true, "");
  add("logits", "activation", "", "f32", {batch, sequence, vocabulary},
      {rows, sequence, vocabulary}, "none", 1, true, "");
  add("dlogits", "activation", "", "f32", {batch, sequence, vocabulary},
      {rows, sequence, vocabulary}, "none", mb, true, "");
  add("loss_sum", "accumulator", "", "f32", scalar, scalar, "zero", 1, false,
      "");
  add("head.gradient", "accumulator", "gradient", "f32", weight, weight, "zero",
      1, false, "head.weight");
  add("loss", "output", "loss", "f32", scalar, scalar, "none", 1, false, "");
  add("grad_norm", "output", "grad_norm", "f32", scalar, scalar, "none", 1,
      false, "");
  manifest["roles"] = json::array({{{"file", "role_0.so"},
                                    {"arena_bytes", 65536},
                                    {"scratch_bytes", 1024},
                                    {"buffers", buffers}}});
  return manifest;
}

void certifyBundle(const std::string &folder) {
  static int count = 0;
  fs::path copy = folder + cat("-proof-", count++),
           certificate = fs::path(folder) / "certificate.json";
  fs::remove(certificate);
  fs::copy(folder, copy);
  proof::certify(copy.string());
  if (fs::exists(copy / "certificate.json"))
    fs::copy_file(copy / "certificate.json", certificate);
  fs::remove_all(copy);
}

void writeBundle(const std::string &folder, int64_t dp, int64_t mb, int fault,
                 const std::function<void(json &)> &change) {
  fs::create_directories(folder);
  json manifest = linearManifest(dp, mb);
  change(manifest);
  writeFile((fs::path(folder) / "manifest.json").string(), manifest.dump(1));
  // A loaded library stays mapped: its file is replaced, not written over.
  fs::path role = fs::path(folder) / "role_0.so";
  fs::remove(role);
  fs::copy_file(fs::path(PMRT_TEST_ROLES) /
                    cat("linear_", dp, "_", mb, "_", fault, ".so"),
                role);
  certifyBundle(folder);
}

std::vector<float> noise(int64_t count, uint32_t seed) {
  std::vector<float> values(count);
  uint32_t state = seed * 2654435761u + 1;
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int32_t>(state >> 8) - (1 << 23)) /
            static_cast<float>(1 << 23);
  }
  return values;
}

void writeWeights(const std::string &folder, const std::vector<float> &embed,
                  const std::vector<float> &head) {
  fs::create_directories(folder);
  writeFile((fs::path(folder) / "config.json").string(), "{}");
  const std::vector<float> *values[] = {&embed, &head};
  writeSafetensors((fs::path(folder) / "model.safetensors").string(),
                   {{"embed.weight", "F32", {vocabulary, width}},
                    {"head.weight", "F32", {vocabulary, width}}},
                   {{"format", "pt"}},
                   [&](size_t i) { return values[i]->data(); });
}

void writeWeights(const std::string &folder) {
  writeWeights(folder, noise(vocabulary * width, 1),
               noise(vocabulary * width, 2));
}

void writeData(const std::string &path, int64_t steps) {
  std::vector<int32_t> ids(steps * batch * sequence), labels;
  uint32_t state = 7;
  for (int32_t &id : ids) {
    state = state * 1664525u + 1013904223u;
    id = static_cast<int32_t>(state >> 20) % vocabulary;
  }
  labels = ids;
  // Ranks and micro-batches with unequal counts, and one with none.
  for (size_t i = 0; i < labels.size(); ++i)
    if (i % 5 == 3 || i % (batch * sequence) < sequence)
      labels[i] = uncountedLabel;
  const std::vector<int32_t> *values[] = {&ids, &labels};
  writeSafetensors(path,
                   {{"input_ids", "I32", {steps, batch, sequence}},
                    {"labels", "I32", {steps, batch, sequence}}},
                   {}, [&](size_t i) { return values[i]->data(); });
}

Reference::Reference() {
  std::vector<float> e = noise(vocabulary * width, 1);
  std::vector<float> h = noise(vocabulary * width, 2);
  embed.assign(e.begin(), e.end());
  head.assign(h.begin(), h.end());
  moment1.assign(head.size(), 0);
  moment2.assign(head.size(), 0);
}

void Reference::step(const Batch &data, const Recipe &recipe) {
  gradient.assign(head.size(), 0);
  loss = 0;
  double count = std::max<double>(1, double(data.countedTokens));
  for (int64_t row = 0; row < batch; ++row)
    for (int64_t s = 0; s + 1 < sequence; ++s) {
      int32_t target = data.labels[row * sequence + s + 1];
      if (target == uncountedLabel)
        continue;
      const double *x = &embed[data.inputIds[row * sequence + s] * width];
      std::vector<double> logits(vocabulary, 0);
      double sum = 0;
      for (int64_t v = 0; v < vocabulary; ++v) {
        for (int64_t d = 0; d < width; ++d)
          logits[v] += x[d] * head[v * width + d];
        sum += std::exp(logits[v]);
      }
      loss += (std::log(sum) - logits[target]) / count;
      for (int64_t v = 0; v < vocabulary; ++v)
        for (int64_t d = 0; d < width; ++d)
          gradient[v * width + d] +=
              (std::exp(logits[v]) / sum - (v == target)) / count * x[d];
    }
  gradNorm = 0;
  for (double g : gradient)
    gradNorm += g * g;
  gradNorm = std::sqrt(gradNorm);
  double rate = recipe.rate(steps);
  ++steps;
  for (size_t i = 0; i < head.size(); ++i) {
    head[i] *= 1 - rate * recipe.weightDecay;
    moment1[i] = recipe.beta1 * moment1[i] + (1 - recipe.beta1) * gradient[i];
    moment2[i] = recipe.beta2 * moment2[i] +
                 (1 - recipe.beta2) * gradient[i] * gradient[i];
    head[i] -= rate / (1 - std::pow(recipe.beta1, steps)) * moment1[i] /
               (std::sqrt(moment2[i] / (1 - std::pow(recipe.beta2, steps))) +
                recipe.epsilon);
  }
}

CommandResult runCommand(const std::string &command) {
  CommandResult result;
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  char text[4096];
  while (size_t count = fread(text, 1, sizeof(text), pipe))
    result.output.append(text, count);
  int status = pclose(pipe);
  result.status =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

CommandResult pmrun(const std::string &arguments) {
  return runCommand(std::string(PMRT_TEST_PMRUN) + " " + arguments);
}

} // namespace pipemesh::runtime::test
