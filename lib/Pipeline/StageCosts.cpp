//===- StageCosts.cpp - what the stages of a program cost -----------------===//

#include "pipemesh/Pipeline/StageCosts.h"
#include "OpTimes.h"
#include "Program.h"
#include "Stage.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

namespace {
class Measuring {
public:
  Measuring(const Program &program, pm::MeshOp placed,
            SmallVector<int64_t> ranks)
      : program(program), times(program.mesh, placed),
        rankOfStage(std::move(ranks)),
        numRanks(getNumPipelineRanks(program.mesh)) {}

  StageMeasure run();

private:
  void addTimes();
  void addTransfers();
  void addActivations();
  void addState();
  double bytesOf(BufferUse use) const {
    pm::BufferOp buffer = program.buffers.lookup(use.buffer);
    return times.bytesOf(buffer.getType(), use.sharding);
  }
  int64_t rankOf(pm::FragmentAttr fragment) const {
    return fragment.isPerMicroBatch() ||
                   fragment.getKind() == FragmentKind::Prologue
               ? rankOfStage[fragment.getStage()]
               : fragment.getStage();
  }

  const Program &program;
  OpTimes times;
  SmallVector<int64_t> rankOfStage;
  int64_t numRanks;
  StageMeasure measure;
};
} // namespace

static bool isBackward(FragmentKind kind) {
  return kind == FragmentKind::Backward ||
         kind == FragmentKind::InputGradient ||
         kind == FragmentKind::WeightGradient;
}

void Measuring::addTimes() {
  for (auto &[fragment, function] : program.fragments) {
    double time = 0;
    for (Operation &op : func::FuncOp(function).getBody().front())
      time += times.of(&op);
    schedule::StageCosts &costs = measure.stages[fragment.getStage()];
    switch (fragment.getKind()) {
    case FragmentKind::Prologue:
      break;
    case FragmentKind::Forward:
      costs.forward += time;
      break;
    case FragmentKind::InputGradient:
      costs.input += time;
      break;
    case FragmentKind::WeightGradient:
      costs.weight += time;
      break;
    case FragmentKind::Backward:
      costs.input += time / 2;
      costs.weight += time / 2;
      break;
    case FragmentKind::Reduce:
    case FragmentKind::Update:
      costs.update += time;
      break;
    }
  }
}

void Measuring::addTransfers() {
  llvm::DenseMap<Attribute, pm::FragmentAttr> writers;
  for (auto &[fragment, function] : program.fragments)
    if (fragment.isPerMicroBatch())
      for (BufferUse use : program.getWrites(function))
        if (program.isCut(use.buffer))
          writers.try_emplace(use.buffer, fragment);
  llvm::DenseSet<std::pair<Attribute, int64_t>> sent;
  std::vector<double> forward(rankOfStage.size()), backward(forward);
  for (auto &[fragment, function] : program.fragments)
    for (BufferUse use : program.getReads(function)) {
      auto writer = writers.find(use.buffer);
      if (writer == writers.end() ||
          rankOf(writer->second) == rankOf(fragment) ||
          !sent.insert({use.buffer, rankOf(fragment)}).second)
        continue;
      auto &sums = isBackward(writer->second.getKind()) ? backward : forward;
      sums[writer->second.getStage()] += bytesOf(use);
    }
  for (auto [stage, costs] : llvm::enumerate(measure.stages))
    costs.transfer =
        times.ofTransfer(std::max(forward[stage], backward[stage]));
}

void Measuring::addActivations() {
  llvm::DenseMap<Attribute, FragmentKind> writers;
  for (auto &[fragment, function] : program.fragments)
    for (BufferUse use : program.getWrites(function))
      writers.try_emplace(use.buffer, fragment.getKind());
  // Of each stage what its backward reads of the forward, and what W reads.
  std::vector<llvm::SmallDenseSet<Attribute>> held(rankOfStage.size()),
      kept(rankOfStage.size());
  for (auto &[fragment, function] : program.fragments) {
    if (!isBackward(fragment.getKind()))
      continue;
    int64_t stage = fragment.getStage();
    for (BufferUse use : program.getReads(function)) {
      auto writer = writers.find(use.buffer);
      if (writer == writers.end() || !program.isCut(use.buffer) ||
          writer->second == FragmentKind::Prologue)
        continue;
      if (writer->second == FragmentKind::Forward &&
          held[stage].insert(use.buffer).second)
        measure.stages[stage].activation += bytesOf(use);
      if (fragment.getKind() == FragmentKind::WeightGradient &&
          kept[stage].insert(use.buffer).second)
        measure.stages[stage].kept += bytesOf(use);
    }
  }
}

void Measuring::addState() {
  std::vector<llvm::SmallDenseSet<Attribute>> seen(numRanks);
  for (auto &[fragment, function] : program.fragments) {
    int64_t rank = rankOf(fragment);
    auto add = [&](DictionaryAttr attrs) {
      auto name = attrs ? attrs.getAs<FlatSymbolRefAttr>(pm::kBufferAttr)
                        : FlatSymbolRefAttr();
      pm::BufferOp buffer = program.buffers.lookup(name);
      if (buffer &&
          (buffer.getKind() == pm::BufferKind::State ||
           buffer.getKind() == pm::BufferKind::Accumulator) &&
          seen[rank].insert(name).second)
        measure.stateBytes[rank] +=
            times.bytesOf(buffer.getType(), buffer.getSharding());
    };
    func::FuncOp body = function;
    for (unsigned i = 0; i < body.getNumArguments(); ++i)
      add(body.getArgAttrDict(i));
    for (unsigned i = 0; i < body.getNumResults(); ++i)
      add(body.getResultAttrDict(i));
  }
}

StageMeasure Measuring::run() {
  schedule::StageCosts nothing;
  nothing.forward = nothing.input = nothing.weight = 0;
  nothing.activation = nothing.kept = 0;
  measure.stages.assign(rankOfStage.size(), nothing);
  measure.stateBytes.assign(numRanks, 0);
  addTimes();
  addTransfers();
  addActivations();
  addState();
  return std::move(measure);
}

FailureOr<StageMeasure> pipemesh::measureStages(ModuleOp module,
                                                pm::MeshOp placed) {
  FailureOr<Program> program = readProgram(module);
  if (failed(program))
    return failure();
  return Measuring(*program, placed ? placed : program->mesh,
                   getRankOfStage(module, program->mesh))
      .run();
}
