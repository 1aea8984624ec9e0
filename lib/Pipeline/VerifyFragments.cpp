//===- VerifyFragments.cpp - the verifier of fragments --------------------===//

#include "Program.h"
#include "pipemesh/Pipeline/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_VERIFYFRAGMENTSPASS
#include "pipemesh/Pipeline/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

namespace {
class VerifyFragments
    : public pipemesh::impl::VerifyFragmentsPassBase<VerifyFragments> {
public:
  void runOnOperation() override {
    FailureOr<Program> program = readProgram(getOperation());
    if (failed(program))
      return signalPassFailure();
    writer.clear();
    completed.clear();
    for (auto &[fragment, function] : program->fragments)
      for (unsigned index = 0; index < function.getNumResults(); ++index)
        if (failed(verifyResult(*program, function, fragment, index)))
          return signalPassFailure();
    for (auto &[fragment, function] : program->fragments) {
      for (unsigned index = 0; index < function.getNumArguments(); ++index)
        if (failed(verifyArgument(*program, function, fragment, index)))
          return signalPassFailure();
      if (fragment.isPerMicroBatch() && failed(verifySums(*program, function)))
        return signalPassFailure();
    }
  }

private:
  FailureOr<pm::BufferOp> bufferOf(const Program &program,
                                   func::FuncOp function, const Twine &what,
                                   Attribute name, Type type) {
    pm::BufferOp buffer = program.buffers.lookup(name);
    if (!buffer)
      return LogicalResult(function.emitError(what)
                           << " is bound to no buffer of the program");
    if (buffer.getType() != type)
      return LogicalResult(function.emitError(what)
                           << " is " << type << ", but its buffer '"
                           << buffer.getSymName() << "' holds "
                           << buffer.getType());
    return buffer;
  }

  /// Whether an accumulator holds the sum of all ranks there, not their parts.
  static bool isCompletion(pm::FragmentAttr fragment, pm::BufferOp buffer,
                           pm::ShardingAttr sharding) {
    return !fragment.isPerMicroBatch() &&
           buffer.getKind() == pm::BufferKind::Accumulator &&
           sharding != buffer.getSharding() &&
           sharding == buffer.getSharding().withoutPartial();
  }

  LogicalResult verifyResult(const Program &program, func::FuncOp function,
                             pm::FragmentAttr fragment, unsigned index) {
    std::string what = ("result " + Twine(index)).str();
    FailureOr<pm::BufferOp> buffer = bufferOf(
        program, function, what, function.getResultAttr(index, pm::kBufferAttr),
        function.getResultTypes()[index]);
    if (failed(buffer))
      return failure();
    if (buffer->getKind() == pm::BufferKind::Input)
      return function.emitError(what)
             << " writes the input '" << buffer->getSymName() << "'";
    auto sharding = function.getResultAttrOfType<pm::ShardingAttr>(
        index, pm::kShardingAttr);
    // The sum over ranks is left where the parts were added up.
    bool isReduced = isCompletion(fragment, *buffer, sharding);
    if (sharding != buffer->getSharding() && !isReduced)
      return function.emitError(what)
             << " is " << sharding << ", but its buffer '"
             << buffer->getSymName() << "' is " << buffer->getSharding();
    if (isReduced) {
      completed.try_emplace(*buffer, fragment);
      return success();
    }
    if (buffer->getKind() == pm::BufferKind::State)
      return success();
    auto [other, isNew] = writer.try_emplace(*buffer, fragment);
    if (!isNew)
      return function.emitError(what)
             << " writes '" << buffer->getSymName() << "', which "
             << other->second << " writes too";
    return success();
  }

  LogicalResult verifyArgument(const Program &program, func::FuncOp function,
                               pm::FragmentAttr fragment, unsigned index) {
    std::string what = ("argument " + Twine(index)).str();
    FailureOr<pm::BufferOp> buffer = bufferOf(
        program, function, what, function.getArgAttr(index, pm::kBufferAttr),
        function.getArgumentTypes()[index]);
    if (failed(buffer))
      return failure();
    auto sharding =
        function.getArgAttrOfType<pm::ShardingAttr>(index, pm::kShardingAttr);
    bool isReduced = fragment.getKind() == pm::FragmentKind::Update &&
                     isCompletion(fragment, *buffer, sharding);
    if (sharding != buffer->getSharding() && !isReduced)
      return function.emitError(what)
             << " is " << sharding << ", but its buffer '"
             << buffer->getSymName() << "' is " << buffer->getSharding();
    if (buffer->getKind() == pm::BufferKind::Input ||
        buffer->getKind() == pm::BufferKind::State)
      return success();
    auto &writers = isReduced ? completed : writer;
    auto written = writers.find(*buffer);
    if (written == writers.end() || !runsBefore(written->second, fragment))
      return function.emitError(what) << " reads '" << buffer->getSymName()
                                      << "', which no earlier fragment writes";
    return success();
  }

  /// No sum over a temporal axis within a micro-batch.
  static LogicalResult verifySums(const Program &program,
                                  func::FuncOp function) {
    auto axes = pm::MeshOp(program.mesh);
    WalkResult result = function.walk([&](pm::ReshardOp op) -> WalkResult {
      for (StringAttr axis : op.getSource().getPartialAxes()) {
        pm::MeshAxisAttr found = axes.lookupAxis(axis.getValue());
        if (found && found.getKind() == pm::AxisKind::Temporal &&
            !op.getTarget().isPartialOver(axis.getValue()))
          return op.emitError("sums over the temporal axis '")
                 << axis.getValue() << "' within a micro-batch";
      }
      return success();
    });
    return failure(result.wasInterrupted());
  }

  /// The fragment that writes a buffer, and the one that replaces what has been
  /// accumulated in it by its sum.
  llvm::DenseMap<Operation *, pm::FragmentAttr> writer, completed;
};
} // namespace
