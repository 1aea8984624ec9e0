//===- LowerToRuntime.cpp - pm-lower-to-runtime ---------------------------===//

#include "GemmLayout.h"
#include "ProgramBuffers.h"
#include "StorageAssignment.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Lower/Passes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

namespace pipemesh {
#define GEN_PASS_DEF_LOWERTORUNTIME
#include "pipemesh/Lower/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using pmrt::Access;
using pmrt::PlaceAttr;

namespace {

/// Kernels by their text, so that equal ones are compiled once.
class KernelTable {
public:
  explicit KernelTable(ModuleOp module) : module(module), symbols(module) {}

  /// The private function that holds a kernel equal to `fused`.
  FlatSymbolRefAttr getOrCreate(pmrt::FusedOp fused) {
    FlatSymbolRefAttr &entry = byText[describe(fused)];
    if (!entry)
      entry = create(fused);
    return entry;
  }

private:
  /// The region's text and the types around it, free of outside names.
  static std::string describe(pmrt::FusedOp fused) {
    std::string key;
    llvm::raw_string_ostream stream(key);
    OwningOpRef<Operation *> copy(fused->clone());
    copy->walk([](Operation *op) {
      op->setLoc(UnknownLoc::get(op->getContext()));
      op->removeAttr(pm::kShardingsAttr);
      op->removeAttr(pm::kPhaseAttr);
    });
    for (Type type : fused->getOperandTypes())
      stream << type << ",";
    stream << "->";
    for (Type type : fused->getResultTypes())
      stream << type << ",";
    stream << fused.getInPlaceAttr();
    AsmState state(*copy, OpPrintingFlags().useLocalScope());
    for (Operation &op : copy->getRegion(0).front()) {
      op.print(stream, state);
      stream << "\n";
    }
    return key;
  }

  FlatSymbolRefAttr create(pmrt::FusedOp fused) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto type = builder.getFunctionType(fused->getOperandTypes(),
                                        fused->getResultTypes());
    auto function = func::FuncOp::create(
        builder, fused.getLoc(), "kernel_" + std::to_string(byText.size() - 1),
        type);
    function.setPrivate();
    function->setAttr("pmrt.kernel", builder.getUnitAttr());
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToStart(block);
    IRMapping mapping;
    mapping.map(fused.getInputs(), block->getArguments());
    Operation *copy = builder.clone(*fused, mapping);
    copy->walk([](Operation *op) {
      op->removeAttr(pm::kShardingsAttr);
      op->removeAttr(pm::kPhaseAttr);
    });
    func::ReturnOp::create(builder, fused.getLoc(), copy->getResults());
    symbols.insert(function);
    return FlatSymbolRefAttr::get(function);
  }

  ModuleOp module;
  SymbolTable symbols;
  llvm::StringMap<FlatSymbolRefAttr> byText;
};

/// Flattens one fragment into a body.
class BodyLowering {
public:
  BodyLowering(func::FuncOp function, StorageAssignment &storage,
               KernelTable &kernels, OpBuilder &builder)
      : function(function), storage(storage), kernels(kernels),
        builder(builder) {}

  LogicalResult run() {
    for (Operation &op : function.getBody().front()) {
      if (isa<stablehlo::ReshapeOp, func::ReturnOp>(op))
        continue;
      if (auto fused = dyn_cast<pmrt::FusedOp>(op)) {
        lowerKernel(fused);
      } else if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
        if (failed(lowerGemm(dot)))
          return failure();
      } else if (auto reduce = dyn_cast<pm::AllReduceOp>(op)) {
        lowerAllReduce(reduce);
      } else {
        return op.emitOpError("has no lowering to the runtime program; run "
                              "pm-fuse-kernels before pm-lower-to-runtime");
      }
    }
    for (const FinalCopy &copy : storage.getFinalCopies())
      pmrt::CopyOp::create(
          builder, copy.value.getLoc(),
          builder.getArrayAttr({place(copy.value, Access::Read),
                                PlaceAttr::get(builder.getContext(),
                                               Access::Write, copy.buffer, 0,
                                               getByteSize(copy.value.getType()))}));
    return success();
  }

private:
  PlaceAttr place(Value value, Access access) {
    const Root &root = storage.lookup(value);
    return PlaceAttr::get(builder.getContext(), access, root.buffer,
                          root.buffer ? 0 : root.offset,
                          getByteSize(value.getType()));
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

  LogicalResult lowerGemm(stablehlo::DotGeneralOp dot) {
    auto type = cast<RankedTensorType>(dot.getResult().getType());
    auto layout = computeGemmLayout(dot);
    if (!layout)
      return dot.emitOpError("is no batched matrix product over dense operands; "
                             "run pm-prepare-gemms first");
    if (!type.getElementType().isF32() ||
        getElementTypeOrSelf(dot.getLhs()) != type.getElementType() ||
        getElementTypeOrSelf(dot.getRhs()) != type.getElementType())
      return dot.emitOpError("computes ")
             << type << ", but the host backend multiplies matrices of f32 only";
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
    int64_t leading[] = {layout->lda, layout->ldb, layout->ldc};
    int64_t trans[] = {layout->transA, layout->transB};
    pmrt::GemmOp::create(builder, dot.getLoc(), builder.getArrayAttr(places),
                         layout->m, layout->n, layout->k, leading, trans,
                         layout->batch, layout->strideA, layout->strideB,
                         layout->strideC, type.getElementType(), accumulate);
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
          reduce.getAxes(), builder.getArrayAttr(places), type);
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
    if (!buffers.getProgram()) {
      module.emitError("has no pm.program; run pm-split-stages, pm-partition and "
                       "pm-schedule before pm-lower-to-runtime");
      return signalPassFailure();
    }
    KernelTable kernels(module);
    auto roles =
        buffers.getProgram().getBody().front().getOps<pm::RoleOp>();
    for (pm::RoleOp role : llvm::to_vector(roles))
      if (failed(lowerRole(role, buffers, kernels)))
        return signalPassFailure();
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function->hasAttr(pm::kFragmentAttr))
        function.erase();
  }

  LogicalResult lowerRole(pm::RoleOp role, const ProgramBuffers &buffers,
                          KernelTable &kernels);
};

/// The fragment functions that a role's actions run, by kind and stage.
struct Fragments {
  SmallVector<func::FuncOp> functions;

  func::FuncOp lookup(pm::FragmentKind kind, int64_t stage) {
    for (func::FuncOp function : functions) {
      auto fragment = function->getAttrOfType<pm::FragmentAttr>(pm::kFragmentAttr);
      if (fragment.getKind() == kind && fragment.getStage() == stage)
        return function;
    }
    return {};
  }
};

} // namespace

/// The fewest slots of an activation such that no two micro-batches whose value
/// is alive at once share one. Alive from the first action that writes it to
/// the last that reads it.
static int64_t countSlots(FlatSymbolRefAttr buffer, ArrayRef<pm::ActionOp> actions,
                          Fragments &fragments, int64_t microBatches) {
  if (microBatches == 1)
    return 1;
  SmallVector<std::pair<int64_t, int64_t>> alive(microBatches, {-1, -1});
  for (auto [index, entry] : llvm::enumerate(actions)) {
    pm::ActionOp action = entry;
    func::FuncOp function =
        fragments.lookup(action.getKind(), action.getStage());
    if (!function)
      continue;
    bool uses = false;
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
      uses |= function.getArgAttr(i, pm::kBufferAttr) == buffer;
    for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
      uses |= function.getResultAttr(i, pm::kBufferAttr) == buffer;
    int64_t microBatch = action.getMicroBatch();
    if (!uses || microBatch < 0 || microBatch >= microBatches)
      continue;
    auto fragment = function->getAttrOfType<pm::FragmentAttr>(pm::kFragmentAttr);
    if (!fragment.isPerMicroBatch())
      return microBatches; // seen whole
    auto &interval = alive[microBatch];
    if (interval.first < 0)
      interval.first = index;
    interval.second = index;
  }
  for (int64_t slots = 1; slots < microBatches; ++slots) {
    bool valid = true;
    for (int64_t a = 0; a < microBatches; ++a)
      for (int64_t b = a + slots; b < microBatches; b += slots)
        valid &= alive[a].second < alive[b].first ||
                 alive[b].second < alive[a].first;
    if (valid)
      return slots;
  }
  return microBatches;
}

LogicalResult LowerToRuntime::lowerRole(pm::RoleOp role,
                                        const ProgramBuffers &buffers,
                                        KernelTable &kernels) {
  ModuleOp module = getOperation();
  auto actions = llvm::to_vector(role.getBody().front().getOps<pm::ActionOp>());
  if (actions.empty())
    return role.emitOpError("has no actions; run pm-schedule before "
                            "pm-lower-to-runtime");
  Fragments fragments;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(pm::kFragmentAttr))
      fragments.functions.push_back(function);

  // Places of all fragments, and the buffers that turn out to be another's.
  BufferUses uses(module);
  SmallVector<std::unique_ptr<StorageAssignment>> storages;
  llvm::MapVector<Attribute, FlatSymbolRefAttr> aliases;
  int64_t scratchBytes = 0;
  for (func::FuncOp function : fragments.functions) {
    storages.push_back(
        std::make_unique<StorageAssignment>(function, buffers, uses));
    scratchBytes = std::max(scratchBytes, storages.back()->getScratchBytes());
    for (auto &[output, source] : storages.back()->getAliases())
      aliases.insert({output, source});
  }

  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  auto program = pmrt::RoleOp::create(
      builder, role.getLoc(),
      "role_" + std::to_string(role.getPipelineRank()), 0, 0, 0);
  builder.createBlock(&program.getBody());

  int64_t offset = 0;
  llvm::DenseMap<Attribute, pmrt::BufferOp> placed;
  SmallVector<Attribute> accumulators;
  for (pm::BufferOp buffer : buffers.getBuffers()) {
    auto name = FlatSymbolRefAttr::get(buffer.getSymNameAttr());
    int64_t bytes = getByteSize(buffer.getType());
    int64_t microBatches = buffers.getNumMicroBatches(buffer);
    int64_t slots = buffer.getKind() == pm::BufferKind::Input
                        ? microBatches
                        : countSlots(name, actions, fragments, microBatches);
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
    if (buffers.accumulates(buffer))
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
  for (auto [function, storage] : llvm::zip(fragments.functions, storages)) {
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
    if (failed(BodyLowering(function, *storage, kernels, builder).run()))
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
  for (pm::ActionOp action : actions) {
    func::FuncOp function =
        fragments.lookup(action.getKind(), action.getStage());
    if (!function)
      return action.emitOpError("runs ")
             << pm::stringifyFragmentKind(action.getKind()) << " of stage "
             << action.getStage() << ", but the module has no such fragment";
    pmrt::ActionOp::create(builder, action.getLoc(), function.getSymName(),
                           action.getMicroBatch());
  }
  program.setScratchOffset(offset);
  program.setScratchBytes(scratchBytes);
  program.setArenaBytes(offset + alignUp(scratchBytes));
  return success();
}
