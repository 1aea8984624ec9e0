//===- LowerToRuntime.cpp - pm-lower-to-runtime ---------------------------===//

#include "ControlFlow.h"
#include "GemmLayout.h"
#include "KernelTable.h"
#include "ProgramBuffers.h"
#include "RoleProgram.h"
#include "StorageAssignment.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Lower/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_LOWERTORUNTIME
#include "pipemesh/Lower/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using pmrt::Access;
using pmrt::PlaceAttr;

namespace {

/// Flattens one fragment into a body.
class BodyLowering {
public:
  BodyLowering(func::FuncOp function, StorageAssignment &storage,
               KernelTable &kernels, OpBuilder &builder)
      : function(function), storage(storage), kernels(kernels),
        builder(builder) {}

  LogicalResult run() {
    if (failed(lowerBlock(function.getBody().front())))
      return failure();
    for (const FinalCopy &copy : storage.getFinalCopies())
      pmrt::CopyOp::create(
          builder, copy.value.getLoc(),
          builder.getArrayAttr({place(copy.value, Access::Read),
                                PlaceAttr::get(builder.getContext(),
                                               Access::Write, copy.buffer, 0,
                                               byteSizeOf(copy.value.getType()))}));
    return success();
  }

private:
  LogicalResult lowerBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      if (failed(lower(op)))
        return failure();
    addCopies(block.getTerminator());
    return success();
  }

  LogicalResult lower(Operation &op) {
    if (isa<stablehlo::ReshapeOp>(op))
      return success();
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
      return lowerLoop(loop);
    if (isControlFlow(&op))
      return lowerChoice(op);
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
      return lowerGemm(dot);
    if (auto product = dyn_cast<pmrt::ProductOp>(op))
      return lowerGemm(product);
    if (auto fused = dyn_cast<pmrt::FusedOp>(op))
      lowerKernel(fused);
    else if (auto reduce = dyn_cast<pm::AllReduceOp>(op))
      lowerAllReduce(reduce);
    else if (auto gather = dyn_cast<pm::AllGatherOp>(op))
      lowerAllGather(gather);
    else if (auto scatter = dyn_cast<pm::ReduceScatterOp>(op))
      lowerReduceScatter(scatter);
    else if (auto exchange = dyn_cast<pm::AllToAllOp>(op))
      lowerAllToAll(exchange);
    else if (auto permute = dyn_cast<pm::CollectivePermuteOp>(op))
      lowerPermute(permute);
    else
      return op.emitOpError("has no lowering to the runtime program; run "
                            "pm-fuse-kernels before pm-lower-to-runtime");
    return success();
  }

  /// Lowers a block of tensor ops to a region of instructions.
  LogicalResult lowerRegion(Block &block, Region &region) {
    OpBuilder::InsertionGuard guard(builder);
    if (region.empty())
      builder.createBlock(&region);
    builder.setInsertionPointToEnd(&region.front());
    return lowerBlock(block);
  }

  LogicalResult lowerLoop(stablehlo::WhileOp op) {
    addCopies(op);
    Block &cond = op.getCond().front();
    auto condition = place(cond.getTerminator()->getOperand(0), Access::Read);
    auto made = pmrt::WhileOp::create(builder, op.getLoc(),
                                      builder.getArrayAttr({condition}),
                                      op->getAttrOfType<IntegerAttr>(kTripsAttr));
    return failure(failed(lowerRegion(cond, made.getCond())) ||
                   failed(lowerRegion(op.getBody().front(), made.getBody())));
  }

  /// The false branch of an `if` has the number 0.
  LogicalResult lowerChoice(Operation &op) {
    Value index = op.getOperand(0);
    auto made = pmrt::CaseOp::create(
        builder, op.getLoc(), builder.getArrayAttr({place(index, Access::Read)}),
        getElementTypeOrSelf(index), op.getNumRegions());
    bool isIf = isa<stablehlo::IfOp>(op);
    for (unsigned i = 0; i < op.getNumRegions(); ++i) {
      Region &branch = op.getRegion(isIf ? 1 - i : i);
      if (failed(lowerRegion(branch.front(), made->getRegion(i))))
        return failure();
    }
    return success();
  }

  PlaceAttr place(const Root &root, Access access) {
    return PlaceAttr::get(builder.getContext(), access, root.buffer,
                          root.buffer ? 0 : root.offset, root.bytes);
  }

  /// What a loop carries in, or a region gives, where it is not there yet.
  void addCopies(Operation *op) {
    for (RootCopy copy : storage.getCopies(op)) {
      const Root &from = storage.getRoot(copy.from);
      const Root &to = storage.getRoot(copy.to);
      if (from.bytes > 0)
        pmrt::CopyOp::create(
            builder, op->getLoc(),
            builder.getArrayAttr(
                {place(from, Access::Read), place(to, Access::Write)}));
    }
  }

  PlaceAttr place(Value value, Access access) {
    const Root &root = storage.lookup(value);
    return PlaceAttr::get(builder.getContext(), access, root.buffer,
                          root.buffer ? 0 : root.offset,
                          byteSizeOf(value.getType()));
  }

  void lowerKernel(pmrt::FusedOp fused) {
    SmallVector<Attribute> places;
    for (Value input : fused.getInputs())
      places.push_back(place(input, Access::Read));
    for (Value result : fused.getResults())
      places.push_back(place(result, Access::Write));
    pmrt::CallOp::create(builder, fused.getLoc(), kernels.getOrCreate(fused),
                         builder.getArrayAttr(places));
  }

  template <typename OpTy> LogicalResult lowerGemm(OpTy dot) {
    auto type = cast<RankedTensorType>(dot.getResult().getType());
    auto layout = computeGemmLayout(dot);
    if (!layout)
      return dot.emitOpError(
          "is no batched matrix product over dense operands; "
          "run pm-prepare-gemms first");
    Type element = getElementTypeOrSelf(dot.getLhs());
    Type result = type.getElementType();
    bool accumulate = dot->hasAttr(kAccumulateAttr);
    SmallVector<Attribute> places = {
        place(dot.getLhs(), Access::Read), place(dot.getRhs(), Access::Read),
        place(dot.getResult(),
              accumulate ? Access::ReadWrite : Access::Write)};
    if (layout->k == 0) {
      if (!accumulate)
        pmrt::ZeroOp::create(builder, dot.getLoc(),
                             builder.getArrayAttr({places[2]}));
      return success();
    }
    Value bias, before;
    bool hasGelu = false;
    if constexpr (std::is_same_v<OpTy, pmrt::ProductOp>) {
      bias = dot.getBias(), before = dot.getBefore();
      hasGelu = dot.getGelu();
      if (bias)
        places.push_back(place(bias, Access::Read));
      if (before)
        places.push_back(place(before, Access::Write));
    }
    int64_t leading[] = {layout->lda, layout->ldb, layout->ldc};
    int64_t trans[] = {layout->transA, layout->transB};
    pmrt::GemmOp::create(
        builder, dot.getLoc(), builder.getArrayAttr(places), layout->m,
        layout->n, layout->k, leading, trans, layout->batch, layout->strideA,
        layout->strideB, layout->strideC, element,
        result == element ? TypeAttr() : TypeAttr::get(result), accumulate,
        /*bias=*/bool(bias), hasGelu, /*before=*/bool(before));
    return success();
  }

  void lowerAllReduce(pm::AllReduceOp reduce) {
    // One exchange for each element type.
    llvm::MapVector<Type, SmallVector<Attribute>> byType;
    for (OpOperand &operand : reduce->getOpOperands()) {
      Value result = reduce->getResult(operand.getOperandNumber());
      if (storage.needsCopy(operand))
        pmrt::CopyOp::create(
            builder, reduce.getLoc(),
            builder.getArrayAttr({place(operand.get(), Access::Read),
                                  place(result, Access::Write)}));
      byType[getElementTypeOrSelf(result)].push_back(
          place(result, Access::ReadWrite));
    }
    for (auto &[type, places] : byType)
      pmrt::AllReduceOp::create(
          builder, reduce.getLoc(), pm::stringifyReductionKind(reduce.getKind()),
          reduce.getAxes(), builder.getArrayAttr(places), type,
          /*event=*/nullptr);
  }

  /// How a block and the whole lie in memory, when they are joined along `dim`.
  struct Blocks {
    int64_t outer = 1, piece = 1, row = 1;

    Blocks(Type block, Type whole, int64_t dim) {
      auto blockShape = cast<RankedTensorType>(block).getShape();
      auto wholeShape = cast<RankedTensorType>(whole).getShape();
      for (int64_t size : wholeShape.take_front(dim))
        outer *= size;
      for (int64_t size : blockShape.drop_front(dim))
        piece *= size;
      for (int64_t size : wholeShape.drop_front(dim))
        row *= size;
    }
  };

  void lowerAllGather(pm::AllGatherOp op) {
    Value block = op.getInput(), whole = op.getResult();
    Blocks blocks(block.getType(), whole.getType(), op.getDim());
    pmrt::AllGatherOp::create(
        builder, op.getLoc(), op.getAxes(),
        builder.getArrayAttr(
            {place(block, Access::Read), place(whole, Access::Write)}),
        blocks.outer, blocks.piece, blocks.row, getElementTypeOrSelf(whole));
  }

  void lowerReduceScatter(pm::ReduceScatterOp op) {
    Value whole = op.getInput(), block = op.getResult();
    Blocks blocks(block.getType(), whole.getType(), op.getDim());
    pmrt::ReduceScatterOp::create(
        builder, op.getLoc(), pm::stringifyReductionKind(op.getKind()),
        op.getAxes(),
        builder.getArrayAttr(
            {place(whole, Access::Read), place(block, Access::Write)}),
        blocks.outer, blocks.piece, blocks.row, getElementTypeOrSelf(whole));
  }

  void lowerAllToAll(pm::AllToAllOp op) {
    auto before = cast<RankedTensorType>(op.getInput().getType());
    auto after = cast<RankedTensorType>(op.getResult().getType());
    int64_t split = op.getSplit(), concat = op.getConcat();
    int64_t first = std::min(split, concat), second = std::max(split, concat);
    auto product = [&](int64_t from, int64_t to) {
      int64_t count = 1;
      for (int64_t dim = from; dim < to; ++dim)
        count *= before.getDimSize(dim);
      return count;
    };
    pmrt::AllToAllOp::create(
        builder, op.getLoc(), op.getAxes(),
        builder.getArrayAttr({place(op.getInput(), Access::Read),
                              place(op.getResult(), Access::Write)}),
        product(0, first), product(first + 1, second),
        product(second + 1, before.getRank()), before.getDimSize(split),
        after.getDimSize(split), after.getDimSize(concat),
        before.getDimSize(concat), /*split_first=*/split < concat,
        before.getElementType());
  }

  void lowerPermute(pm::CollectivePermuteOp op) {
    pmrt::PermuteOp::create(
        builder, op.getLoc(), op.getAxes(), op.getSources(),
        builder.getArrayAttr({place(op.getInput(), Access::Read),
                              place(op.getResult(), Access::Write)}),
        getElementTypeOrSelf(op.getResult()));
  }

  func::FuncOp function;
  StorageAssignment &storage;
  KernelTable &kernels;
  OpBuilder &builder;
};

struct LowerToRuntime
    : pipemesh::impl::LowerToRuntimeBase<LowerToRuntime> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ProgramBuffers buffers(module);
    if (failed(buffers.verify(module)))
      return signalPassFailure();
    KernelTable kernels(module);
    Channels channels(buffers.getProgram());
    // What no role names belongs to the first: a run keeps and saves it.
    llvm::DenseSet<Attribute> named;
    SmallVector<RoleProgram> programs;
    auto roles = llvm::to_vector(
        buffers.getProgram().getBody().front().getOps<pm::RoleOp>());
    for (pm::RoleOp role : roles) {
      FailureOr<RoleProgram> program = RoleProgram::get(module, role);
      if (failed(program))
        return signalPassFailure();
      programs.push_back(std::move(*program));
    }
    for (size_t index = 0; index < roles.size(); ++index) {
      auto belongs = [&](Attribute buffer) {
        return programs[index].names(buffer) ||
               (index == 0 && llvm::none_of(programs, [&](auto &program) {
                  return program.names(buffer);
                }));
      };
      SmallVector<pm::BufferOp> own;
      for (pm::BufferOp buffer : buffers.getBuffers())
        if (belongs(FlatSymbolRefAttr::get(buffer.getSymNameAttr())))
          own.push_back(buffer);
      if (failed(lowerRole(roles[index], programs[index], own, buffers, kernels,
                           channels)))
        return signalPassFailure();
    }
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function->hasAttr(pm::kFragmentAttr))
        function.erase();
  }

  LogicalResult lowerRole(pm::RoleOp role, const RoleProgram &program,
                          ArrayRef<pm::BufferOp> own,
                          const ProgramBuffers &buffers, KernelTable &kernels,
                          const Channels &channels);
};

} // namespace

LogicalResult LowerToRuntime::lowerRole(pm::RoleOp role,
                                        const RoleProgram &program,
                                        ArrayRef<pm::BufferOp> own,
                                        const ProgramBuffers &buffers,
                                        KernelTable &kernels,
                                        const Channels &channels) {
  // Places of all fragments, and the buffers that turn out to be another's.
  SmallVector<std::unique_ptr<StorageAssignment>> storages;
  llvm::MapVector<Attribute, FlatSymbolRefAttr> aliases;
  int64_t scratchBytes = 0;
  for (func::FuncOp function : program.getFragments()) {
    storages.push_back(
        std::make_unique<StorageAssignment>(function, buffers, program));
    scratchBytes = std::max(scratchBytes, storages.back()->getScratchBytes());
    for (auto &[output, source] : storages.back()->getAliases())
      aliases.insert({output, source});
  }

  OpBuilder builder(&getContext());
  builder.setInsertionPointToEnd(getOperation().getBody());
  auto lowered = pmrt::RoleOp::create(
      builder, role.getLoc(),
      "role_" + std::to_string(role.getPipelineRank()), 0, 0, 0);
  builder.createBlock(&lowered.getBody());

  int64_t offset = 0;
  llvm::DenseMap<Attribute, pmrt::BufferOp> placed;
  SmallVector<Attribute> accumulators;
  for (pm::BufferOp buffer : own) {
    auto name = FlatSymbolRefAttr::get(buffer.getSymNameAttr());
    int64_t bytes = byteSizeOf(buffer.getType());
    int64_t microBatches = buffers.getNumMicroBatches(buffer);
    int64_t slots = buffer.getKind() == pm::BufferKind::Input
                        ? microBatches
                        : program.countSlots(name, microBatches);
    int64_t stride =
        buffer.getKind() == pm::BufferKind::Input ? bytes : alignUp(bytes);
    int64_t place = offset;
    auto alias = aliases.find(name);
    if (alias != aliases.end() && placed.contains(alias->second))
      place = placed[alias->second].getOffset();
    else
      offset += alignUp(stride * slots);
    placed[name] = pmrt::BufferOp::create(builder, buffer.getLoc(),
                                          buffer.getSymName(), place, bytes,
                                          slots, stride, buffer.getType());
    if (buffers.accumulates(buffer) && program.isWrittenPerMicroBatch(name))
      accumulators.push_back(name);
  }
  // An output may stand before the buffer that it shares.
  for (auto &[output, source] : aliases)
    placed[output].setOffset(placed[source].getOffset());

  auto zeroAccumulators = [&] {
    for (Attribute name : accumulators)
      pmrt::ZeroOp::create(
          builder, role.getLoc(),
          builder.getArrayAttr({PlaceAttr::get(
              builder.getContext(), Access::Write, cast<FlatSymbolRefAttr>(name),
              0, placed[name].getBytes())}));
  };

  bool zeroed = accumulators.empty();
  for (size_t i = 0; i < storages.size(); ++i) {
    func::FuncOp function = program.getFragments()[i];
    auto fragment = function->getAttrOfType<pm::FragmentAttr>(pm::kFragmentAttr);
    auto body = pmrt::BodyOp::create(builder, function.getLoc(),
                                     function.getSymName(),
                                     pm::stringifyFragmentKind(fragment.getKind()),
                                     fragment.getStage());
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&body.getBody());
    if (!zeroed && fragment.getKind() == pm::FragmentKind::Prologue) {
      zeroAccumulators();
      zeroed = true;
    }
    if (failed(BodyLowering(function, *storages[i], kernels, builder).run()))
      return failure();
  }
  // Accumulators begin each step at zero even where there is no prologue.
  if (!zeroed) {
    auto body = pmrt::BodyOp::create(builder, role.getLoc(), "zero_accumulators",
                                     "prologue", 0);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.createBlock(&body.getBody());
      zeroAccumulators();
    }
    pmrt::ActionOp::create(builder, role.getLoc(), "zero_accumulators", 0);
  }
  for (Operation *entry : program.getEntries()) {
    if (auto action = dyn_cast<pm::ActionOp>(entry))
      pmrt::ActionOp::create(builder, action.getLoc(),
                             program.lookup(action).getSymName(),
                             action.getMicroBatch());
    else if (auto send = dyn_cast<pm::SendOp>(entry))
      pmrt::SendOp::create(builder, send.getLoc(), send.getBuffer(),
                           send.getPeer(), send.getMicroBatch(),
                           channels.lookup(send));
    else if (auto receive = dyn_cast<pm::ReceiveOp>(entry))
      pmrt::ReceiveOp::create(builder, receive.getLoc(), receive.getBuffer(),
                              receive.getPeer(), receive.getMicroBatch(),
                              channels.lookup(receive));
  }
  lowered.setScratchOffset(offset);
  lowered.setScratchBytes(scratchBytes);
  lowered.setArenaBytes(offset + alignUp(scratchBytes));
  return success();
}
