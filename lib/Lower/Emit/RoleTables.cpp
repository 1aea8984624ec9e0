//===- RoleTables.cpp -----------------------------------------------------===//
//
// Mirrors the structures of pmrt.h field by field; the header is included so
// that the numbers are its own.
//
//===----------------------------------------------------------------------===//

#include "RoleTables.h"
#include "../../../runtime/include/pmrt/pmrt.h"
#include "../ProgramBuffers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace pipemesh;

namespace {

std::optional<uint32_t> dtypeOf(Type type) {
  if (type.isF32())
    return PMRT_F32;
  if (type.isF64())
    return PMRT_F64;
  if (type.isBF16())
    return PMRT_BF16;
  if (type.isF16())
    return PMRT_F16;
  if (type.isInteger(1))
    return PMRT_I1;
  if (type.isInteger(32))
    return type.isUnsignedInteger() ? PMRT_U32 : PMRT_I32;
  if (type.isInteger(64))
    return type.isUnsignedInteger() ? PMRT_U64 : PMRT_I64;
  if (type.isInteger(8))
    return type.isUnsignedInteger() ? PMRT_U8 : PMRT_I8;
  if (type.isInteger(16))
    return type.isUnsignedInteger() ? PMRT_U16 : PMRT_I16;
  if (auto complex = dyn_cast<ComplexType>(type)) {
    if (complex.getElementType().isF32())
      return PMRT_C64;
    if (complex.getElementType().isF64())
      return PMRT_C128;
  }
  return std::nullopt;
}

uint32_t fragmentKindOf(pm::FragmentKind kind) {
  switch (kind) {
  case pm::FragmentKind::Prologue:
    return PMRT_PROLOGUE;
  case pm::FragmentKind::Forward:
    return PMRT_FORWARD;
  case pm::FragmentKind::InputGradient:
    return PMRT_INPUT_GRADIENT;
  case pm::FragmentKind::WeightGradient:
    return PMRT_WEIGHT_GRADIENT;
  case pm::FragmentKind::Backward:
    return PMRT_BACKWARD;
  case pm::FragmentKind::Reduce:
    return PMRT_REDUCE;
  case pm::FragmentKind::Update:
    return PMRT_UPDATE;
  }
  llvm_unreachable("a fragment kind");
}

/// Builds constants as a C compiler would lay them out.
class TableBuilder {
public:
  TableBuilder(llvm::Module &module, pmrt::RoleOp role, pm::MeshOp mesh,
               const KernelEntries &kernels, const RoleMemory &memory,
               llvm::ArrayRef<DeviceImage> images)
      : module(module), role(role), mesh(mesh), kernels(kernels),
        memory(memory), images(images),
        context(module.getContext()),
        i8(llvm::Type::getInt8Ty(context)), i32(llvm::Type::getInt32Ty(context)),
        i64(llvm::Type::getInt64Ty(context)),
        pointer(llvm::PointerType::get(context, 0)) {}

  LogicalResult build(StringRef hash);

private:
  using Constant = llvm::Constant;

  Constant *u8(uint64_t v) { return llvm::ConstantInt::get(i8, v); }
  Constant *u32(uint64_t v) { return llvm::ConstantInt::get(i32, v); }
  Constant *u64(uint64_t v) { return llvm::ConstantInt::get(i64, v); }
  Constant *null() { return llvm::ConstantPointerNull::get(pointer); }
  Constant *record(ArrayRef<Constant *> fields) {
    return llvm::ConstantStruct::getAnon(context, fields);
  }
  /// A private global of this value.
  Constant *global(Constant *value, const char *name) {
    return new llvm::GlobalVariable(module, value->getType(), /*constant=*/true,
                                    llvm::GlobalValue::PrivateLinkage, value,
                                    name);
  }
  /// A private array; null when empty.
  Constant *array(ArrayRef<Constant *> values, const char *name) {
    if (values.empty())
      return null();
    auto *type = llvm::ArrayType::get(values[0]->getType(), values.size());
    return global(llvm::ConstantArray::get(type, values), name);
  }
  Constant *string(StringRef text) {
    Constant *&entry = strings[text];
    if (!entry)
      entry = global(llvm::ConstantDataArray::getString(context, text), "string");
    return entry;
  }
  Constant *fourOf(ArrayRef<int64_t> values, int64_t otherwise) {
    SmallVector<Constant *> fields;
    for (unsigned i = 0; i < PMRT_MAX_BATCH_DIMS; ++i)
      fields.push_back(u64(i < values.size() ? values[i] : otherwise));
    return llvm::ConstantArray::get(
        llvm::ArrayType::get(i64, PMRT_MAX_BATCH_DIMS), fields);
  }

  FailureOr<Constant *> dtype(Operation *op, Type type) {
    auto code = dtypeOf(type);
    if (!code)
      return op->emitOpError("has elements of ")
             << type << ", for which the runtime has no type";
    return u32(*code);
  }

  Constant *operands(ArrayAttr places);
  /// `lane` 1 is that of collectives that are started.
  uint32_t communicator(ArrayAttr axes, uint32_t lane = 0);
  FailureOr<Constant *> gemm(pmrt::GemmOp op);
  FailureOr<Constant *> attention(pmrt::AttentionOp op);
  /// `counts` has one entry for each operand.
  FailureOr<Constant *> collective(Operation *op, ArrayAttr axes,
                                   StringRef reduction, Type element,
                                   ArrayRef<uint64_t> counts, uint64_t outer,
                                   uint32_t lane = 0);
  FailureOr<Constant *> allReduce(pmrt::AllReduceOp op);
  FailureOr<Constant *> allToAll(pmrt::AllToAllOp op);
  FailureOr<Constant *> permute(pmrt::PermuteOp op);
  LogicalResult addActions(SmallVectorImpl<Constant *> &actions);
  FailureOr<Constant *> instruction(Operation &op);

  /// An instruction of the flat list: an op, or a jump to other numbers.
  struct Entry {
    enum Kind { Plain, Jump, Switch };
    Operation *op;
    Kind kind;
    SmallVector<uint64_t> targets;
  };
  void flatten(Block &block, SmallVectorImpl<Entry> &entries);
  Constant *jump(const Entry &entry);
  FailureOr<Constant *> body(pmrt::BodyOp op);
  Constant *deviceCode(ArrayRef<Constant *> launches);

  llvm::Module &module;
  pmrt::RoleOp role;
  pm::MeshOp mesh;
  const KernelEntries &kernels;
  const RoleMemory &memory;
  llvm::ArrayRef<DeviceImage> images;
  llvm::LLVMContext &context;
  llvm::IntegerType *i8, *i32, *i64;
  llvm::PointerType *pointer;
  llvm::StringMap<Constant *> strings;
  llvm::StringMap<uint32_t> bufferIndex, bodyIndex, kernelIndex;
  llvm::DenseMap<std::pair<Attribute, uint32_t>, uint32_t> communicatorIndex;
  SmallVector<Constant *> communicators;
  llvm::GlobalVariable *kernelTable = nullptr;
  uint32_t sequence = 0;
};

} // namespace

llvm::Constant *TableBuilder::operands(ArrayAttr places) {
  SmallVector<Constant *> fields;
  for (auto place : places.getAsRange<pmrt::PlaceAttr>()) {
    int64_t buffer =
        place.getBuffer() ? bufferIndex.lookup(place.getBuffer().getValue())
                          : PMRT_SCRATCH;
    fields.push_back(record({u32(static_cast<uint32_t>(buffer)),
                             u32(static_cast<uint32_t>(place.getAccess())),
                             u64(place.getOffset()), u64(place.getBytes())}));
  }
  return array(fields, "operands");
}

uint32_t TableBuilder::communicator(ArrayAttr axes, uint32_t lane) {
  auto [it, isNew] =
      communicatorIndex.try_emplace({axes, lane}, communicators.size());
  if (isNew) {
    SmallVector<Constant *> indices;
    std::string name;
    for (auto axis : axes.getAsRange<StringAttr>()) {
      name += (name.empty() ? "" : ",") + axis.getValue().str();
      for (auto [i, known] :
           llvm::enumerate(mesh.getAxes().getAsRange<pm::MeshAxisAttr>()))
        if (known.getName() == axis)
          indices.push_back(u32(i));
    }
    communicators.push_back(record({string(name), u32(indices.size()),
                                    u32(lane),
                                    array(indices, "communicator_axes")}));
  }
  return it->second;
}

FailureOr<llvm::Constant *> TableBuilder::gemm(pmrt::GemmOp op) {
  auto type = dtypeOf(op.getElementType()),
       result = dtypeOf(op.getTypeOfResult());
  bool isKnown =
      type && (*type == PMRT_F32 || (kernels.areOnDevice() &&
                                     (*type == PMRT_BF16 || *type == PMRT_F16 ||
                                      *type == PMRT_F64)));
  if (!isKnown)
    return op.emitOpError("multiplies matrices of ")
           << op.getElementType() << ", but the "
           << (kernels.areOnDevice() ? "cuda backend has f32, f64, f16 and bf16"
                                     : "host backend has f32")
           << " only";
  return global(
      record({u64(op.getM()), u64(op.getN()), u64(op.getK()),
              u64(op.getLeading()[0]), u64(op.getLeading()[1]),
              u64(op.getLeading()[2]), fourOf(op.getBatch(), 1),
              fourOf(op.getStrideA(), 0), fourOf(op.getStrideB(), 0),
              fourOf(op.getStrideC(), 0),
              llvm::ConstantFP::get(llvm::Type::getFloatTy(context), 1.0),
              u8(op.getTrans()[0]), u8(op.getTrans()[1]),
              u8(op.getAccumulate()), u8(*type),
              u32((op.getBias() ? PMRT_EPILOGUE_BIAS : 0) |
                  (op.getGelu() ? PMRT_EPILOGUE_GELU : 0) |
                  (op.getBefore() ? PMRT_EPILOGUE_BEFORE : 0)),
              u32(*result)}),
      "gemm");
}

FailureOr<llvm::Constant *> TableBuilder::attention(pmrt::AttentionOp op) {
  if (!kernels.areOnDevice())
    return op.emitOpError(
        "is an instruction of GPUs, which the host backend does not have");
  auto strides = [&](int64_t positions, int64_t heads) {
    int64_t size = op.getSize();
    SmallVector<Constant *> fields;
    for (int64_t stride : {positions * heads * size, heads * size, size})
      fields.push_back(u64(stride));
    return llvm::ConstantArray::get(llvm::ArrayType::get(i64, 3), fields);
  };
  Constant *rows = strides(op.getQueries(), op.getHeads());
  Constant *keys = strides(op.getKeys(), op.getKeyHeads());
  return global(
      record({u64(op.getBatch()), u64(op.getHeads()), u64(op.getKeyHeads()),
              u64(op.getQueries()), u64(op.getKeys()), u64(op.getSize()), rows,
              keys, keys, rows, u64(op.getWorkspaceBytes()),
              llvm::ConstantFP::get(llvm::Type::getFloatTy(context),
                                    op.getScale().convertToDouble()),
              u8(op.getCausal()), u8(op.getGradient()),
              u8(*dtypeOf(op.getElementType())), u8(0)}),
      "attention");
}

FailureOr<llvm::Constant *>
TableBuilder::collective(Operation *op, ArrayAttr axes, StringRef reduction,
                         Type element, ArrayRef<uint64_t> counts,
                         uint64_t outer, uint32_t lane) {
  auto type = dtype(op, element);
  if (failed(type))
    return failure();
  auto kind = llvm::StringSwitch<std::optional<uint32_t>>(reduction)
                  .Case("sum", PMRT_SUM)
                  .Case("max", PMRT_MAX)
                  .Case("min", PMRT_MIN)
                  .Default(std::nullopt);
  if (!kind)
    return op->emitOpError("has the unknown reduction '") << reduction << "'";
  SmallVector<Constant *> constants;
  for (uint64_t count : counts)
    constants.push_back(u64(count));
  return global(record({u32(communicator(axes, lane)), *type, u32(*kind),
                        u32(sequence++), array(constants, "counts"),
                        u64(outer)}),
                "collective");
}

FailureOr<llvm::Constant *> TableBuilder::allReduce(pmrt::AllReduceOp op) {
  auto type = dtype(op, op.getElementType());
  if (failed(type))
    return failure();
  uint64_t size =
      byteSizeOf(RankedTensorType::get({}, op.getElementType()));
  SmallVector<uint64_t> counts;
  for (auto place : op.getPlaces().getAsRange<pmrt::PlaceAttr>())
    counts.push_back(place.getBytes() / size);
  return collective(op, op.getAxes(), op.getReduction(), op.getElementType(),
                    counts, 1, /*lane=*/op.getEvent() ? 1 : 0);
}

FailureOr<llvm::Constant *> TableBuilder::allToAll(pmrt::AllToAllOp op) {
  auto type = dtype(op, op.getElementType());
  if (failed(type))
    return failure();
  return global(record({u32(communicator(op.getAxes())), *type,
                        u32(sequence++), u32(op.getSplitFirst()),
                        u64(op.getOuter()), u64(op.getMiddle()),
                        u64(op.getInner()), u64(op.getSplitSize()),
                        u64(op.getSplitPiece()), u64(op.getConcatSize()),
                        u64(op.getConcatPiece())}),
                "all_to_all");
}

FailureOr<llvm::Constant *> TableBuilder::permute(pmrt::PermuteOp op) {
  auto type = dtype(op, op.getElementType());
  if (failed(type))
    return failure();
  int64_t bytes = cast<pmrt::PlaceAttr>(op.getPlaces()[0]).getBytes();
  Type element = op.getElementType();
  int64_t bits = 0;
  if (auto complex = dyn_cast<ComplexType>(element))
    bits = 2 * complex.getElementType().getIntOrFloatBitWidth();
  else
    bits = element.getIntOrFloatBitWidth();
  SmallVector<Constant *> sources;
  for (int64_t source : op.getSources())
    sources.push_back(u32(static_cast<uint32_t>(source)));
  int64_t members = 1;
  for (auto name : op.getAxes().getAsRange<StringAttr>())
    if (pm::MeshAxisAttr axis = mesh.lookupAxis(name))
      members *= axis.getSize();
  return global(record({u32(communicator(op.getAxes())), *type,
                        u32(sequence++), u32(members),
                        u64(bytes / ((bits + 7) / 8)),
                        array(sources, "sources"),
                        u64(sources.size() / members)}),
                "permute");
}

FailureOr<llvm::Constant *> TableBuilder::instruction(Operation &op) {
  uint32_t opcode = 0, stream = 0, event = 0;
  ArrayAttr places;
  FailureOr<Constant *> descriptor = null();
  if (auto gemmOp = dyn_cast<pmrt::GemmOp>(op)) {
    opcode = PMRT_OP_GEMM;
    places = gemmOp.getPlaces();
    descriptor = gemm(gemmOp);
  } else if (auto call = dyn_cast<pmrt::CallOp>(op)) {
    opcode = PMRT_OP_KERNEL;
    places = call.getPlaces();
    Constant *index[] = {u32(0), u32(kernelIndex.lookup(call.getKernel()))};
    descriptor = llvm::ConstantExpr::getInBoundsGetElementPtr(
        kernelTable->getValueType(), kernelTable, index);
  } else if (auto attentionOp = dyn_cast<pmrt::AttentionOp>(op)) {
    opcode = PMRT_OP_ATTENTION;
    places = attentionOp.getPlaces();
    descriptor = attention(attentionOp);
  } else if (auto reduce = dyn_cast<pmrt::AllReduceOp>(op)) {
    opcode = PMRT_OP_ALL_REDUCE;
    stream = reduce.getEvent() ? 2 : 1;
    event = reduce.getEvent().value_or(0);
    places = reduce.getPlaces();
    descriptor = allReduce(reduce);
  } else if (auto gather = dyn_cast<pmrt::AllGatherOp>(op)) {
    opcode = PMRT_OP_ALL_GATHER;
    stream = 1;
    places = gather.getPlaces();
    descriptor = collective(gather, gather.getAxes(), "sum",
                            gather.getElementType(),
                            {gather.getPiece(), gather.getRow()},
                            gather.getOuter());
  } else if (auto scatter = dyn_cast<pmrt::ReduceScatterOp>(op)) {
    opcode = PMRT_OP_REDUCE_SCATTER;
    stream = 1;
    places = scatter.getPlaces();
    descriptor = collective(scatter, scatter.getAxes(), scatter.getReduction(),
                            scatter.getElementType(),
                            {scatter.getPiece(), scatter.getRow()},
                            scatter.getOuter());
  } else if (auto exchange = dyn_cast<pmrt::AllToAllOp>(op)) {
    opcode = PMRT_OP_ALL_TO_ALL;
    stream = 1;
    places = exchange.getPlaces();
    descriptor = allToAll(exchange);
  } else if (auto moved = dyn_cast<pmrt::PermuteOp>(op)) {
    opcode = PMRT_OP_PERMUTE;
    stream = 1;
    places = moved.getPlaces();
    descriptor = permute(moved);
  } else if (auto wait = dyn_cast<pmrt::WaitOp>(op)) {
    opcode = PMRT_OP_WAIT;
    event = wait.getEvent();
  } else if (auto copy = dyn_cast<pmrt::CopyOp>(op)) {
    opcode = PMRT_OP_COPY;
    places = copy.getPlaces();
  } else if (auto zero = dyn_cast<pmrt::ZeroOp>(op)) {
    opcode = PMRT_OP_ZERO;
    places = zero.getPlaces();
  } else {
    return op.emitOpError("is no instruction of the runtime");
  }
  if (failed(descriptor))
    return failure();
  return record({u32(opcode), u32(stream), u32(places ? places.size() : 0),
                 u32(event), places ? operands(places) : null(), *descriptor,
                 string(pm::getModelName(op.getLoc()))});
}

/// A loop is its condition, a switch behind it, its body and a jump back; a
/// choice a switch, then each branch with a jump to the end.
void TableBuilder::flatten(Block &block, SmallVectorImpl<Entry> &entries) {
  auto add = [&](Operation &op, Entry::Kind kind,
                 SmallVector<uint64_t> targets = {}) -> size_t {
    entries.push_back({&op, kind, std::move(targets)});
    return entries.size() - 1;
  };
  for (Operation &op : block) {
    if (auto loop = dyn_cast<pmrt::WhileOp>(op)) {
      uint64_t begin = entries.size();
      flatten(loop.getCond().front(), entries);
      size_t leave = add(op, Entry::Switch);
      flatten(loop.getBody().front(), entries);
      add(op, Entry::Jump, {begin});
      entries[leave].targets = {entries.size(), leave + 1};
    } else if (auto choice = dyn_cast<pmrt::CaseOp>(op)) {
      size_t choose = add(op, Entry::Switch);
      SmallVector<size_t> ends;
      for (Region &branch : choice.getBranches()) {
        entries[choose].targets.push_back(entries.size());
        flatten(branch.front(), entries);
        if (&branch != &choice.getBranches().back())
          ends.push_back(add(op, Entry::Jump));
      }
      for (size_t end : ends)
        entries[end].targets = {entries.size()};
    } else {
      add(op, Entry::Plain);
    }
  }
}

llvm::Constant *TableBuilder::jump(const Entry &entry) {
  bool isSwitch = entry.kind == Entry::Switch;
  uint32_t type = PMRT_I1;
  if (auto choice = dyn_cast<pmrt::CaseOp>(entry.op))
    type = *dtypeOf(choice.getElementType());
  SmallVector<Constant *> targets;
  for (uint64_t target : entry.targets)
    targets.push_back(u64(target));
  Constant *descriptor = global(
      record({u32(targets.size()), u32(type), array(targets, "targets")}),
      "jump");
  ArrayAttr places =
      isSwitch ? entry.op->getAttrOfType<ArrayAttr>("places")
               : ArrayAttr::get(entry.op->getContext(), {});
  return record({u32(isSwitch ? PMRT_OP_SWITCH : PMRT_OP_JUMP), u32(0),
                 u32(places.size()), u32(0), operands(places), descriptor,
                 string(pm::getModelName(entry.op->getLoc()))});
}

FailureOr<llvm::Constant *> TableBuilder::body(pmrt::BodyOp op) {
  auto kind = pm::symbolizeFragmentKind(op.getKind());
  if (!kind)
    return op.emitOpError("has the unknown kind '") << op.getKind() << "'";
  sequence = 0;
  SmallVector<Entry> entries;
  flatten(op.getBody().front(), entries);
  SmallVector<Constant *> instructions;
  for (const Entry &entry : entries) {
    auto constant = entry.kind == Entry::Plain ? instruction(*entry.op)
                                               : FailureOr<Constant *>(jump(entry));
    if (failed(constant))
      return failure();
    instructions.push_back(*constant);
  }
  return record({string(op.getSymName()), u32(fragmentKindOf(*kind)),
                 u32(op.getStage()), u64(instructions.size()),
                 array(instructions, "instructions")});
}

LogicalResult TableBuilder::addActions(SmallVectorImpl<Constant *> &actions) {
  auto add = [&](uint32_t kind, uint64_t index, uint64_t microBatch,
                 uint64_t peer, uint64_t channel) {
    actions.push_back(record({u32(kind), u32(index), u32(microBatch), u32(peer),
                              u32(channel), u32(0)}));
  };
  auto transfer = [&](uint32_t kind, auto op) -> LogicalResult {
    auto it = bufferIndex.find(op.getBuffer());
    if (it == bufferIndex.end())
      return op.emitOpError("moves ")
             << op.getBufferAttr() << ", which is no buffer of the role";
    add(kind, it->second, op.getMicroBatch(), op.getPeer(), op.getChannel());
    return success();
  };
  for (Operation &op : role.getBody().front()) {
    LogicalResult added = success();
    if (auto action = dyn_cast<pmrt::ActionOp>(op)) {
      auto it = bodyIndex.find(action.getFragment());
      if (it == bodyIndex.end())
        return action.emitOpError("runs '")
               << action.getFragment() << "', which is no body of the role";
      add(PMRT_RUN, it->second, action.getMicroBatch(), 0, 0);
    } else if (auto send = dyn_cast<pmrt::SendOp>(op)) {
      added = transfer(PMRT_SEND, send);
    } else if (auto receive = dyn_cast<pmrt::ReceiveOp>(op)) {
      added = transfer(PMRT_RECEIVE, receive);
    }
    if (failed(added))
      return failure();
  }
  return success();
}

llvm::Constant *TableBuilder::deviceCode(ArrayRef<Constant *> launches) {
  SmallVector<Constant *> imageRecords, workspaces;
  for (const DeviceImage &image : images)
    imageRecords.push_back(
        record({u32(image.processor), u32(0), u64(image.content.size()),
                global(llvm::ConstantDataArray::getString(context, image.content,
                                                          /*AddNull=*/false),
                       "image")}));
  for (const Workspace &workspace : memory.workspaces)
    workspaces.push_back(record({u64(workspace.offset), u64(workspace.bytes)}));
  return global(record({array(launches, "launches"), u32(imageRecords.size()),
                        u32(workspaces.size()), array(imageRecords, "images"),
                        array(workspaces, "workspaces")}),
                "device_code");
}

LogicalResult TableBuilder::build(StringRef hash) {
  SmallVector<Constant *> axes, kernelRecords, launches, buffers, bodies, actions;
  for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>())
    axes.push_back(record({string(axis.getName().getValue()),
                           u32(static_cast<uint32_t>(axis.getKind())),
                           u32(axis.getSize())}));
  // The kernels that the role calls, equal ones once.
  auto *kernelType = llvm::FunctionType::get(
      llvm::Type::getVoidTy(context), {pointer, i64, i64, pointer, pointer},
      /*isVarArg=*/false);
  llvm::StringMap<uint32_t> indexOfName;
  role.walk([&](pmrt::CallOp call) {
    KernelEntry kernel = kernels.lookup(call.getKernel());
    auto [entry, isNew] =
        indexOfName.try_emplace(kernel.name, kernelRecords.size());
    kernelIndex[call.getKernel()] = entry->second;
    if (!isNew)
      return;
    Constant *code = null();
    if (!kernels.areOnDevice()) {
      auto *function =
          llvm::Function::Create(kernelType, llvm::GlobalValue::ExternalLinkage,
                                 kernel.name, module);
      function->setVisibility(llvm::GlobalValue::HiddenVisibility);
      code = function;
    }
    launches.push_back(record({u32(kernel.blocks), u32(kernel.threads)}));
    kernelRecords.push_back(record(
        {string(kernel.name), code, u64(kernel.extent), u64(kernel.grain),
         u64(kernel.scratchBytes), u64(kernel.flops), u64(kernel.bytes)}));
  });
  if (!kernelRecords.empty())
    kernelTable = cast<llvm::GlobalVariable>(array(kernelRecords, "kernels"));

  for (auto buffer : role.getBody().front().getOps<pmrt::BufferOp>()) {
    bufferIndex[buffer.getSymName()] = buffers.size();
    auto type = dtype(buffer, getElementTypeOrSelf(buffer.getType()));
    if (failed(type))
      return failure();
    buffers.push_back(record({string(buffer.getSymName()),
                              u64(buffer.getOffset()), u64(buffer.getBytes()),
                              u64(buffer.getSlotStride()),
                              u32(buffer.getSlots()), *type}));
  }
  for (auto op : role.getBody().front().getOps<pmrt::BodyOp>()) {
    bodyIndex[op.getSymName()] = bodies.size();
    auto constant = body(op);
    if (failed(constant))
      return failure();
    bodies.push_back(*constant);
  }
  if (failed(addActions(actions)))
    return failure();

  Constant *kernelPointer =
      kernelTable ? static_cast<Constant *>(kernelTable) : null();
  Constant *table = record(
      {u32(PMRT_ABI_VERSION), u32(axes.size()), array(axes, "axes"),
       u64(memory.arenaBytes), u64(role.getScratchOffset()),
       u64(role.getScratchBytes()), u32(buffers.size()), u32(kernelRecords.size()),
       u32(bodies.size()), u32(communicators.size()), u64(actions.size()),
       array(buffers, "buffers"), kernelPointer, array(bodies, "bodies"),
       array(communicators, "communicators"), array(actions, "actions"),
       string(hash),
       kernels.areOnDevice() ? deviceCode(launches) : null()});
  new llvm::GlobalVariable(module, table->getType(), /*constant=*/true,
                           llvm::GlobalValue::ExternalLinkage, table,
                           PMRT_ROLE_SYMBOL);
  return success();
}

LogicalResult pipemesh::addRoleTables(llvm::Module &target, pmrt::RoleOp role,
                                      pm::MeshOp mesh,
                                      const KernelEntries &kernels,
                                      const RoleMemory &memory,
                                      llvm::ArrayRef<DeviceImage> images,
                                      StringRef hash) {
  return TableBuilder(target, role, mesh, kernels, memory, images).build(hash);
}
