//===- Compare.cpp - One step beside another one --------------------------===//

#include "launch/Compare.h"

#include "core/Safetensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

namespace pipemesh::runtime {

namespace {

using Values = std::vector<float>;

/// A tensor of both sides.
struct Pair {
  std::string name;   ///< of the tensor, for messages
  std::string buffer; ///< that holds it here; empty of a scalar
  Values ours, theirs;
  Values exempt; ///< gradients; where they are noise, values are not compared
};

/// The tensors of one kind, compared in order.
class Comparison {
public:
  Comparison(const Job &job, std::string other, double tolerance)
      : job(job), other(std::move(other)), tolerance(tolerance) {}

  /// `what` names the tensors of the kind: "activation".
  void compare(const std::string &what, const std::vector<Pair> &pairs);

  std::string summary() const;

private:
  [[noreturn]] void depart(const std::string &what, const Pair &pair,
                           size_t place, double scale) const;
  std::string placeOf(const std::string &buffer, size_t index) const;

  const Job &job;
  std::string other;
  double tolerance, largest = -1;
  std::string largestName, list;
};

} // namespace

static double magnitude(const Values &values) {
  double most = 0;
  for (float value : values)
    if (std::isfinite(value))
      most = std::max(most, std::fabs(double(value)));
  return most;
}

void Comparison::compare(const std::string &what,
                         const std::vector<Pair> &pairs) {
  if (pairs.empty())
    return;
  double common = 0, commonGradient = 0;
  for (const Pair &pair : pairs) {
    common = std::max(common, magnitude(pair.theirs));
    commonGradient = std::max(commonGradient, magnitude(pair.exempt));
  }
  for (const Pair &pair : pairs) {
    double scale = std::max(magnitude(pair.theirs), 0.01 * common);
    double noise =
        tolerance * std::max(magnitude(pair.exempt), 0.01 * commonGradient);
    if (pair.ours.size() != pair.theirs.size())
      fail("--compare: ", what, " '", pair.name, "' has ", pair.ours.size(),
           " values here, but ", pair.theirs.size(), " in '", other,
           "'; they are of two models or batches");
    for (size_t i = 0; i < pair.ours.size(); ++i) {
      double difference = std::fabs(double(pair.ours[i]) - pair.theirs[i]);
      bool same = pair.ours[i] == pair.theirs[i];
      if (same || (!pair.exempt.empty() && std::fabs(pair.exempt[i]) <= noise))
        continue;
      // Also where one of them is not a number.
      if (!(difference <= tolerance * scale))
        depart(what, pair, i, scale);
      if (difference / scale > largest) {
        largest = difference / scale;
        largestName = cat(what, " '", pair.name, "'");
      }
    }
  }
  list += cat(list.empty() ? "" : ", ", pairs.size(), " ", what,
              pairs.size() == 1 ? "" : "s");
}

std::string Comparison::summary() const {
  std::string text = cat("compared with '", other, "': ", list);
  if (largest < 0)
    return text + "; all bits agree";
  char part[64];
  std::snprintf(part, sizeof(part), "%.1e", largest);
  return cat(text, "; the largest difference is ", part,
             " of the largest value, in ", largestName, "; the tolerance is ",
             tolerance);
}

/// The instruction of a role that writes a buffer first, or null.
static const pmrt_instruction *writerOf(const pmrt_role &role, int64_t buffer) {
  for (uint32_t b = 0; b < role.num_bodies; ++b)
    for (uint64_t i = 0; i < role.bodies[b].num_instructions; ++i)
      for (uint32_t o = 0; o < role.bodies[b].instructions[i].num_operands;
           ++o) {
        const pmrt_operand &operand =
            role.bodies[b].instructions[i].operands[o];
        if (operand.buffer == buffer && (operand.access & PMRT_WRITE))
          return &role.bodies[b].instructions[i];
      }
  return nullptr;
}

std::string Comparison::placeOf(const std::string &name, size_t index) const {
  if (name.empty())
    return "";
  const Manifest &manifest = job.manifest();
  const Mesh &mesh = manifest.mesh;
  size_t role = job.holdingRole(name);
  const RoleInfo &info = manifest.roles[role];
  int64_t place = info.find(name);
  const BufferInfo &buffer = info.buffers[place];
  Shape position(buffer.globalShape.size());
  for (size_t d = position.size(), rest = index; d-- > 0;) {
    position[d] = static_cast<int64_t>(rest) % buffer.globalShape[d];
    rest /= buffer.globalShape[d];
  }
  std::string text = cat(" at ", shapeText(position));
  for (int64_t rank = 0; rank < job.size(); ++rank) {
    if (static_cast<size_t>(mesh.role(rank)) != role ||
        !holdsFirstCopy(mesh, rank, buffer))
      continue;
    for (int64_t m = 0; m < mesh.microBatches(); ++m) {
      Block block = blockOf(mesh, buffer.globalShape, buffer.localShape,
                            buffer.sharding, mesh.coordinates(rank, m));
      bool inside = true;
      for (size_t d = 0; d < position.size(); ++d)
        inside &= position[d] >= block.start[d] &&
                  position[d] < block.start[d] + block.extent[d];
      if (!inside)
        continue;
      text += cat(", of ", mesh.describe(rank));
      if (buffer.kind == BufferKind::Activation)
        text += cat(", micro-batch ", m);
      if (const pmrt_instruction *writer =
              writerOf(job.getBundle().role(role), place))
        text += cat(", from ", describe(*writer));
      return text;
    }
  }
  return text;
}

void Comparison::depart(const std::string &what, const Pair &pair, size_t place,
                        double scale) const {
  double ours = pair.ours[place], theirs = pair.theirs[place];
  char values[160];
  std::snprintf(values, sizeof(values),
                " is %.9g here, but %.9g in '%s' (a difference of %.1e, where "
                "%.1e is allowed)",
                ours, theirs, other.c_str(), std::fabs(ours - theirs),
                tolerance * scale);
  fail("--compare: ", what, " '", pair.name, "'", placeOf(pair.buffer, place),
       values, "; ",
       list.empty() ? "nothing before it was compared"
                    : cat("what comes before agrees: ", list));
}

/// The float32 activations that both bundles hold under one name and with one
/// global shape, in the order in which this one makes them.
static std::vector<std::string> commonActivations(const Bundle &ours,
                                                  const Manifest &theirs) {
  std::map<std::array<int64_t, 4>, std::string> ordered;
  std::map<std::string, bool> seen;
  for (size_t r = 0; r < ours.manifest().roles.size(); ++r) {
    const pmrt_role &role = ours.role(r);
    const RoleInfo &info = ours.manifest().roles[r];
    for (uint64_t a = 0; a < role.num_actions; ++a) {
      if (role.actions[a].kind != PMRT_RUN)
        continue;
      const pmrt_body &body = role.bodies[role.actions[a].index];
      if (runsOnce(body))
        continue;
      bool forward = body.kind == PMRT_FORWARD;
      auto stage = static_cast<int64_t>(body.stage);
      for (uint64_t i = 0; i < body.num_instructions; ++i)
        for (uint32_t o = 0; o < body.instructions[i].num_operands; ++o) {
          const pmrt_operand &operand = body.instructions[i].operands[o];
          if (operand.buffer == PMRT_SCRATCH || !(operand.access & PMRT_WRITE))
            continue;
          const BufferInfo &buffer = info.buffers[operand.buffer];
          if (buffer.kind != BufferKind::Activation || buffer.dtype != "f32" ||
              buffer.name == ours.manifest().logits || seen[buffer.name])
            continue;
          seen[buffer.name] = true;
          bool common = false;
          for (const RoleInfo &other : theirs.roles)
            if (int64_t found = other.find(buffer.name); found >= 0)
              common |= other.buffers[found].kind == BufferKind::Activation &&
                        other.buffers[found].globalShape == buffer.globalShape;
          if (common)
            ordered[{!forward, forward ? stage : -stage,
                     static_cast<int64_t>(a),
                     static_cast<int64_t>(i * 64 + o)}] = buffer.name;
        }
    }
  }
  std::vector<std::string> names;
  for (auto &entry : ordered)
    names.push_back(entry.second);
  return names;
}

static std::string compareBundle(Session &session, const Options &options,
                                 const Batch &batch) {
  Options otherOptions = options;
  otherOptions.bundle = options.compare;
  if (!options.compareWeights.empty())
    otherOptions.weights = options.compareWeights;
  otherOptions.trace.clear();
  Session other(otherOptions, nullptr);
  const Manifest &ours = session.manifest(), &theirs = other.manifest();
  if (ours.batch != theirs.batch || ours.sequence != theirs.sequence ||
      ours.vocabulary != theirs.vocabulary || ours.train != theirs.train)
    fail("--compare: '", options.compare,
         "' was compiled with --task=", theirs.train ? "train" : "eval",
         " --batch=", theirs.batch, " --sequence=", theirs.sequence,
         " and a vocabulary of ", theirs.vocabulary, ", but '", options.bundle,
         "' with --task=", ours.train ? "train" : "eval",
         " --batch=", ours.batch, " --sequence=", ours.sequence, " and ",
         ours.vocabulary);
  std::vector<std::string> names =
      commonActivations(session.getJob().getBundle(), theirs);
  bool logits = !ours.logits.empty() && !theirs.logits.empty();
  std::vector<std::string> ourNames = names, theirNames = names;
  if (logits) {
    ourNames.push_back(ours.logits);
    theirNames.push_back(theirs.logits);
  }
  Capture ourCapture(session.getJob(), ourNames);
  Capture theirCapture(other.getJob(), theirNames);
  StepResult ourResult = session.run(batch), theirResult = other.run(batch);

  Comparison comparison(session.getJob(), options.compare,
                        options.compareTolerance);
  std::vector<Pair> activations;
  for (const std::string &name : names) {
    Pair &pair = activations.emplace_back(Pair{name, name, {}, {}, {}});
    ourCapture.collect(name, pair.ours);
    theirCapture.collect(name, pair.theirs);
  }
  comparison.compare("activation", activations);
  activations.clear();
  if (logits) {
    Pair pair{ours.logits, ours.logits, {}, {}, {}};
    ourCapture.collect(ours.logits, pair.ours);
    theirCapture.collect(theirs.logits, pair.theirs);
    comparison.compare("tensor of logits", {pair});
  }
  comparison.compare("loss", {{ours.loss,
                               "",
                               {float(ourResult.loss)},
                               {float(theirResult.loss)},
                               {}}});
  std::map<std::string, const ParameterInfo *> known;
  for (const ParameterInfo &parameter : theirs.parameters)
    known[parameter.name] = &parameter;
  std::vector<Pair> gradients, parameters;
  for (const ParameterInfo &parameter : ours.parameters) {
    auto found = known.find(parameter.name);
    if (found == known.end())
      continue;
    Pair weights{parameter.name, parameter.buffer, {}, {}, {}};
    session.getJob().gather(parameter.buffer, weights.ours);
    other.getJob().gather(found->second->buffer, weights.theirs);
    if (!parameter.gradient.empty() && !found->second->gradient.empty()) {
      Pair pair{parameter.name, parameter.gradient, {}, {}, {}};
      session.getJob().gather(parameter.gradient, pair.ours);
      other.getJob().gather(found->second->gradient, pair.theirs);
      weights.exempt = pair.theirs;
      gradients.push_back(std::move(pair));
    }
    parameters.push_back(std::move(weights));
  }
  comparison.compare("gradient", gradients);
  if (ourResult.gradNorm && theirResult.gradNorm)
    comparison.compare("gradient norm", {{ours.gradNorm,
                                          "",
                                          {float(*ourResult.gradNorm)},
                                          {float(*theirResult.gradNorm)},
                                          {}}});
  comparison.compare("parameter", parameters);
  return comparison.summary();
}

static Values valuesOf(const StoredTensor &tensor) {
  Values values(elementCount(tensor.shape));
  convertToF32(tensor, 0, static_cast<int64_t>(values.size()), values.data());
  return values;
}

static std::string compareFile(Session &session, const Options &options,
                               const Batch &batch) {
  SafetensorsFile file(options.compare, "reference");
  const Manifest &manifest = session.manifest();
  const StoredTensor *logits = file.find("logits");
  bool any = logits && !manifest.logits.empty();
  std::vector<std::pair<const ParameterInfo *, const StoredTensor *>> known;
  for (const ParameterInfo &parameter : manifest.parameters)
    if (const StoredTensor *tensor = file.find("grad." + parameter.name);
        tensor && !parameter.gradient.empty())
      known.emplace_back(&parameter, tensor);
  if (!any && known.empty())
    fail("--compare: '", options.compare,
         "' has neither 'logits' nor a 'grad.NAME' of the bundle's parameters");
  if (any)
    session.captureLogits();
  session.run(batch);
  Comparison comparison(session.getJob(), options.compare,
                        options.compareTolerance);
  if (any) {
    Pair pair{"logits", manifest.logits, {}, valuesOf(*logits), {}};
    session.takeLogits(pair.ours);
    comparison.compare("tensor of logits", {pair});
  }
  std::vector<Pair> gradients;
  for (auto &[parameter, tensor] : known) {
    Pair &pair = gradients.emplace_back(
        Pair{parameter->name, parameter->gradient, {}, valuesOf(*tensor), {}});
    session.getJob().gather(parameter->gradient, pair.ours);
  }
  comparison.compare("gradient", gradients);
  return comparison.summary();
}

std::string compareStep(Session &session, const Options &options,
                        const Batch &batch) {
  std::error_code error;
  if (std::filesystem::is_directory(options.compare, error))
    return compareBundle(session, options, batch);
  if (std::filesystem::path(options.compare).extension() == ".safetensors")
    return compareFile(session, options, batch);
  fail("--compare: '", options.compare,
       "' is neither a bundle's folder nor a .safetensors file");
}

} // namespace pipemesh::runtime
