//===- Session.cpp - A run: load, step, report, save ----------------------===//

#include "launch/Session.h"

#include "core/Safetensors.h"
#include "launch/Gpus.h"
#include "launch/SaveModel.h"
#include "launch/StartChecks.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

namespace pipemesh::runtime {

HostOptions hostOptions(const Options &options, const Bundle &bundle,
                        Transport *transport, const FlightFolder &flight,
                        const std::atomic<int> *interrupts) {
  HostOptions host;
  host.threads = options.threads;
  host.poison = options.poison;
  host.poisonFreed = options.poisonFreed;
  host.trace = !options.trace.empty();
  host.fault = parseFault(options.inject);
  if (!options.pace.empty())
    host.pace = std::make_shared<Pace>(
        Pace::parse(readTextFile(options.pace, "pace"), options.pace));
  host.flightFolder = flight.path();
  host.deadline = static_cast<uint64_t>(options.deadline * 1e9);
  host.interrupts = interrupts;
  useGpus(host, options, bundle, transport);
  return host;
}

Session::Session(const Options &given, const std::atomic<int> *interrupts,
                 std::shared_ptr<Transport> transport)
    : options(given), bundle(openTogether(given, transport.get())),
      settings(bundle->manifest().recipe.value_or(Recipe())),
      flight(given, transport.get()),
      job(*bundle,
          hostOptions(given, *bundle, transport.get(), flight, interrupts),
          transport) {
  job.agree([&] {
    if (manifest().task == Task::Function)
      fail("bundle '", options.bundle,
           "' is of a whole function; run it with --inputs and --outputs");
    if (options.recipe.empty())
      return;
    if (!manifest().train)
      fail("--recipe: the bundle was compiled with --task=eval and has no "
           "optimizer");
    settings = readReplacementRecipe(options.recipe, settings);
  });
  loadWeights();
  if (options.resume)
    loadOptimizer();
  if (!options.saveState.empty())
    job.agree(
        [&] { state = std::make_unique<StateWriter>(options.saveState, job); });
}

BatchShape Session::batchShape() const {
  BatchShape shape{manifest().batch, manifest().sequence, manifest().sequence,
                   manifest().vocabulary};
  for (const RoleInfo &role : manifest().roles)
    for (const BufferInfo &buffer : role.buffers)
      if (buffer.role == "labels" && buffer.globalShape.size() == 2)
        shape.labelColumns = buffer.globalShape[1];
  return shape;
}

void Session::loadWeights() {
  std::optional<Checkpoint> checkpoint;
  std::map<std::string, const StoredTensor *> tensors;
  job.agree([&] {
    checkpoint.emplace(options.weights);
    for (const ParameterInfo &parameter : manifest().parameters)
      tensors[parameter.name] =
          &checkpoint->parameter(parameter.name, parameter.shape);
  });
  // Pages that a fault maps together (fault_around_bytes of Linux).
  constexpr uintptr_t group = 64u << 10;
  job.onEveryRank([&](Rank &rank) {
    const RoleInfo &info = rank.getProgram().info;
    std::set<uintptr_t> groups;
    for (auto &[name, tensor] : tensors)
      rank.counts.weightBytesStored +=
          elementCount(tensor->shape) * storedElementSize(tensor->dtype);
    for (size_t i = 0; i < info.buffers.size(); ++i) {
      const BufferInfo &buffer = info.buffers[i];
      if (buffer.init != BufferInit::Weights)
        continue;
      auto found = tensors.find(buffer.parameter);
      if (found == tensors.end())
        fail("buffer '", buffer.name, "' holds the parameter '",
             buffer.parameter,
             "', which the manifest does not list; compile "
             "the bundle again");
      Block block =
          blockOf(manifest().mesh, buffer.globalShape, buffer.localShape,
                  buffer.sharding, manifest().mesh.coordinates(rank.number()));
      uint64_t size = storedElementSize(found->second->dtype);
      rank.edit(i, 0, [&](std::byte *bytes) {
        auto *local = reinterpret_cast<float *>(bytes);
        forEachRun(buffer.globalShape, buffer.localShape, block,
                   [&](int64_t from, int64_t to, int64_t count) {
                     convertToF32(*found->second, from, count, local + to);
                     rank.counts.weightBytesRead += count * size;
                     auto at =
                         reinterpret_cast<uintptr_t>(found->second->data) +
                         from * size;
                     for (uintptr_t g = at / group;
                          g <= (at + count * size - 1) / group; ++g)
                       groups.insert(g);
                   });
      });
    }
    rank.counts.weightBytesMapped = groups.size() * group;
  });
}

void Session::loadOptimizer() {
  std::string path =
      (std::filesystem::path(options.weights) / optimizerFile).string();
  std::optional<SafetensorsFile> file;
  job.agree([&] {
    file.emplace(path, "optimizer state");
    std::string model =
        (std::filesystem::path(options.weights) / "model.safetensors").string();
    SafetensorsFile weights(model, "weights");
    auto step = file->metadata().find("step");
    auto weightsStep = weights.metadata().find("step");
    if (step == file->metadata().end() ||
        weightsStep == weights.metadata().end())
      fail("--resume: '", path, "' or '", model,
           "' has no step number; only what pmrun saved can be resumed");
    if (step->second != weightsStep->second)
      fail("--resume: '", path, "' is of step ", step->second, ", but '", model,
           "' of step ", weightsStep->second,
           "; a save was interrupted, resume from another one");
    nextStep = std::stoll(step->second);
    savedStep = nextStep;
  });
  job.onEveryRank([&](Rank &rank) {
    const RoleInfo &info = rank.getProgram().info;
    for (size_t i = 0; i < info.buffers.size(); ++i) {
      const BufferInfo &buffer = info.buffers[i];
      if (buffer.kind != BufferKind::State || buffer.role == "parameter")
        continue;
      if (buffer.role == "step") {
        float value = static_cast<float>(nextStep);
        rank.edit(i, 0, [&](std::byte *local) {
          std::memcpy(local, &value, sizeof(value));
        });
        continue;
      }
      std::string name = buffer.role + "." + buffer.parameter;
      const StoredTensor *tensor = file->find(name);
      const Shape &shape = manifest().storedShape(buffer);
      if (!tensor || tensor->dtype != "F32" || tensor->shape != shape)
        fail("--resume: '", path, "' has no '", name, "' of shape ",
             shapeText(shape), "; it was saved with another model or recipe");
      rank.copyIn(i, 0, tensor->data);
    }
  });
}

void Session::feed(Rank &rank, const Batch &batch) {
  const RoleInfo &info = rank.getProgram().info;
  for (size_t i = 0; i < info.buffers.size(); ++i) {
    const BufferInfo &buffer = info.buffers[i];
    if (buffer.kind != BufferKind::Input)
      continue;
    if (buffer.role == "input_ids" || buffer.role == "labels") {
      const auto &ids = buffer.role == "labels" ? batch.labels : batch.inputIds;
      for (uint64_t slot = 0; slot < buffer.slots; ++slot)
        rank.feed(i, slot, ids.data());
      continue;
    }
    double value = 0;
    if (buffer.role == "learning_rate")
      value = settings.rate(nextStep);
    else if (buffer.role == "beta1")
      value = settings.beta1;
    else if (buffer.role == "beta2")
      value = settings.beta2;
    else if (buffer.role == "epsilon")
      value = settings.epsilon;
    else if (buffer.role == "weight_decay")
      value = settings.weightDecay;
    else if (buffer.role == "clip_norm" && settings.clipNorm)
      value = *settings.clipNorm;
    else
      fail("the bundle asks for the unknown input '", buffer.role,
           "'; compile it again with this release's pmc");
    auto narrow = static_cast<float>(value);
    rank.edit(i, 0, [&](std::byte *local) {
      std::memcpy(local, &narrow, sizeof(narrow));
    });
  }
}

StepResult Session::run(const Batch &batch) {
  StepResult result;
  result.step = nextStep;
  result.countedTokens = batch.countedTokens;
  if (manifest().train)
    result.learningRate = settings.rate(nextStep);
  uint64_t start = nanoseconds();
  try {
    job.stepEveryRank([&](Rank &rank) {
      feed(rank, batch);
      if (state)
        state->note(rank);
      rank.runStep(nextStep);
    });
  } catch (const NonFiniteLoss &stopped) {
    std::string subject = "the loss";
    for (const ParameterInfo &parameter : manifest().parameters)
      if (parameter.gradient == stopped.buffer)
        subject = "the gradient of '" + parameter.name + "'";
    explainNonFinite(subject + " is " + numberText(stopped.value), result.step,
                     /*beforeUpdate=*/true);
  }
  result.milliseconds = static_cast<double>(nanoseconds() - start) / 1e6;
  result.tokensPerSecond =
      1e3 * static_cast<double>(batch.inputIds.size()) / result.milliseconds;
  std::vector<std::string> names = {manifest().loss};
  if (!manifest().gradNorm.empty())
    names.push_back(manifest().gradNorm);
  std::vector<float> scalars = job.readScalars(names);
  result.loss = scalars[0];
  if (names.size() > 1)
    result.gradNorm = scalars[1];
  if (!std::isfinite(result.loss))
    explainNonFinite("the loss is " + numberText(result.loss), result.step,
                     /*beforeUpdate=*/false);
  if (result.gradNorm && !std::isfinite(*result.gradNorm))
    explainNonFinite("the gradient norm is " + numberText(*result.gradNorm),
                     result.step, /*beforeUpdate=*/false);
  ++nextStep;
  return result;
}

/// Index of the first of the values that is not finite, or -1.
static int64_t firstNonFinite(const std::vector<float> &values) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return static_cast<int64_t>(i);
  return -1;
}

std::string Session::keptState() const {
  if (options.save.empty())
    return "nothing is saved";
  if (savedStep < 0 || options.resume)
    return "'" + options.save + "' is left as it was";
  return cat("the state after step ", savedStep, " in '", options.save,
             "' is kept");
}

void Session::explainNonFinite(const std::string &subject, int64_t step,
                               bool beforeUpdate) {
  std::vector<float> values;
  // The process of rank 0 has the values, and tells the others what it found.
  auto told = [&](const std::string &text) {
    return job.getTransport().exchange(text).front();
  };
  auto firstParameter = [&](bool gradients) -> std::string {
    for (const ParameterInfo &parameter : manifest().parameters) {
      const std::string &buffer =
          gradients ? parameter.gradient : parameter.buffer;
      if (buffer.empty())
        continue;
      job.gather(buffer, values);
      int64_t place = job.isFirst() ? firstNonFinite(values) : -1;
      std::string text =
          place < 0 ? ""
                    : cat(gradients ? "the gradient of '" : "parameter '",
                          parameter.name, "' holds ", numberText(values[place]),
                          " at element ", place);
      text = told(text);
      if (!text.empty())
        return text;
    }
    return "";
  };

  std::vector<std::string> facts;
  if (beforeUpdate) {
    // The parameters are those that the step started with.
    std::string parameter = firstParameter(false);
    if (!parameter.empty())
      facts.push_back(parameter);
    std::vector<std::optional<NonFiniteValue>> found(job.size());
    job.stepEveryRank(
        [&](Rank &rank) { found[rank.number()] = rank.findNonFinite(); });
    job.getTransport().reset();
    const NonFiniteValue *first = nullptr;
    for (const auto &value : found)
      if (value && (!first || value->order < first->order))
        first = &*value;
    std::string text;
    if (first) {
      // Compares as the numbers do.
      for (int64_t part : first->order)
        text += cat(1'000'000'000'000 + part, " ");
      text += cat("the first such value, ", numberText(first->value),
                  ", comes from ", first->place);
    }
    std::string earliest;
    for (const std::string &other : job.getTransport().exchange(text))
      if (!other.empty() && (earliest.empty() || other < earliest))
        earliest = other;
    if (!earliest.empty())
      facts.push_back(earliest.substr(earliest.find("the first")));
  }
  // Before the update each rank holds its own part of the gradient.
  std::string gradient = firstParameter(true);
  if (!gradient.empty())
    facts.push_back(gradient);
  std::string text;
  for (const std::string &fact : facts)
    text += "; " + fact;
  throw AgreedError(cat(subject, " at step ", step, text, "; ", keptState(),
                        "; lower the learning rate, clip the gradient, or look "
                        "at this step's data"));
}

void Session::captureLogits() {
  if (manifest().logits.empty())
    fail("--save-logits: the bundle keeps no logits");
  capture = std::make_unique<Capture>(
      job, std::vector<std::string>{manifest().logits});
}

void Session::takeLogits(std::vector<float> &logits) {
  capture->collect(manifest().logits, logits);
  capture.reset();
}

void Session::saveGradients(const std::string &path) {
  std::vector<TensorToWrite> tensors;
  std::vector<std::string> buffers;
  for (const ParameterInfo &parameter : manifest().parameters) {
    if (parameter.gradient.empty())
      continue;
    tensors.push_back({parameter.name, "F32", parameter.shape});
    buffers.push_back(parameter.gradient);
  }
  writeGathered(job, path, tensors, buffers, {{"format", "pt"}});
}

void Session::saveState() {
  if (state)
    job.onEveryRank([&](Rank &rank) { state->write(rank); });
}

void Session::save(const std::string &directory) {
  job.checkReceived();
  saveModel(job, options.weights, directory, nextStep);
  savedStep = nextStep;
}

} // namespace pipemesh::runtime
