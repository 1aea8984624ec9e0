//===- Tables.cpp - Are the tables of a program well formed? --------------===//

#include "check/DeviceTables.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace pipemesh::proof {

using runtime::Axis;
using runtime::AxisKind;
using runtime::BufferInfo;
using runtime::BufferKind;

/// Sizes above it are no memory of a machine, and sums of some of them fit in
/// 64 bits.
static constexpr uint64_t mostBytes = uint64_t(1) << 56;

/// a * b, or what no memory has.
static uint64_t product(uint64_t a, uint64_t b) {
  uint64_t result;
  if (__builtin_mul_overflow(a, b, &result) || result > mostBytes)
    return 2 * mostBytes;
  return result;
}

static bool isTemporal(const Manifest &manifest, const std::string &name) {
  for (const Axis &axis : manifest.mesh.getAxes())
    if (axis.name == name)
      return axis.kind == AxisKind::Temporal;
  return false;
}

Tables::Tables(const Manifest &manifest,
               const std::vector<const pmrt_role *> &given)
    : manifest(manifest),
      microBatches(static_cast<uint32_t>(manifest.mesh.microBatches())) {
  if (given.size() != manifest.roles.size())
    refuse("tables", "there are ", given.size(), " roles, but the manifest has ",
           manifest.roles.size());
  int64_t stages = 1;
  for (const Axis &axis : manifest.mesh.getAxes())
    if (axis.kind == AxisKind::Stage)
      stages *= axis.size;
  if (stages != static_cast<int64_t>(given.size()))
    refuse("tables", "there are ", given.size(), " roles for a mesh of ", stages,
           " stages");
  for (size_t i = 0; i < given.size(); ++i)
    roles.push_back({*given[i], manifest.roles[i], static_cast<uint32_t>(i)});
}

namespace {

/// Checks of one role.
class RoleCheck {
public:
  RoleCheck(const Tables &tables, Role &role)
      : tables(tables), role(role), table(role.table) {}

  void run() {
    checkAxes();
    checkBuffers();
    checkDevice(role, tables.manifest.target.cuda);
    checkPlaces();
    checkCommunicators();
    for (uint32_t b = 0; b < table.num_bodies; ++b)
      for (uint64_t i = 0; i < table.bodies[b].num_instructions; ++i) {
        body = b;
        index = i;
        checkInstruction(table.bodies[b].instructions[i]);
      }
    checkActions();
  }

private:
  template <typename... Args>
  [[noreturn]] void wrong(const Args &...args) const {
    refuse("tables", "role ", role.number, ": ", args...);
  }
  template <typename... Args>
  [[noreturn]] void here(const char *rule, const Args &...args) const {
    refuse(rule, describe(role, body, index), " ", args...);
  }

  void checkAxes() const;
  void checkBuffers();
  void checkPlaces();
  void checkCommunicators() const;
  void checkActions() const;
  void checkInstruction(const pmrt_instruction &instruction) const;
  void checkAccess(const pmrt_instruction &instruction) const;
  void checkBounds(const pmrt_operand &operand, uint32_t number) const;
  void checkOverlaps(const pmrt_instruction &instruction) const;
  void checkGemm(const pmrt_instruction &instruction) const;
  void checkJump(const pmrt_instruction &instruction) const;
  void checkEvent(const pmrt_instruction &instruction) const;
  void checkReduction(uint32_t dtype, uint32_t reduction) const;
  void checkCollective(const pmrt_instruction &instruction) const;
  void checkAllToAll(const pmrt_instruction &instruction) const;
  void checkPermute(const pmrt_instruction &instruction) const;
  /// Operands from `first` on, up to `last`, are of a type.
  void checkType(const pmrt_instruction &instruction, uint32_t dtype,
                 uint32_t first = 0, uint32_t last = UINT32_MAX) const;
  void fills(const pmrt_instruction &instruction, uint32_t operand,
             uint64_t elements, uint64_t size) const;

  const Tables &tables;
  Role &role;
  const pmrt_role &table;
  uint32_t body = 0;
  uint64_t index = 0;
};

} // namespace

void RoleCheck::checkAxes() const {
  const std::vector<Axis> &axes = tables.manifest.mesh.getAxes();
  if (table.num_axes != axes.size())
    wrong("has ", table.num_axes, " mesh axes, but the manifest ", axes.size());
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name != table.axes[i].name ||
        axes[i].size != static_cast<int64_t>(table.axes[i].size) ||
        static_cast<uint32_t>(axes[i].kind) != table.axes[i].kind)
      wrong("mesh axis ", i, " is '", table.axes[i].name, "' of size ",
            table.axes[i].size, ", but in the manifest '", axes[i].name,
            "' of size ", axes[i].size);
}

void RoleCheck::checkBuffers() {
  if (table.arena_bytes > mostBytes)
    wrong("has an arena of ", table.arena_bytes, " bytes");
  if (table.arena_bytes > role.info.arenaBytes)
    wrong("has an arena of ", table.arena_bytes,
          " bytes, but in the manifest ", role.info.arenaBytes);
  if (table.scratch_offset > table.arena_bytes ||
      table.scratch_bytes > table.arena_bytes - table.scratch_offset)
    wrong("has scratch up to byte ",
          table.scratch_offset + table.scratch_bytes, " of an arena of ",
          table.arena_bytes);
  if (table.num_buffers != role.info.buffers.size())
    wrong("has ", table.num_buffers, " buffers, but the manifest ",
          role.info.buffers.size());
  for (uint32_t i = 0; i < table.num_buffers; ++i) {
    const pmrt_buffer &buffer = table.buffers[i];
    const BufferInfo &info = role.info.buffers[i];
    if (info.name != buffer.name)
      wrong("buffer ", i, " is '", buffer.name, "', but in the manifest '",
            info.name, "'");
    if (info.dtype != dtypeText(buffer.dtype))
      wrong("buffer '", buffer.name, "' is of ", dtypeText(buffer.dtype),
            ", but in the manifest of ", info.dtype);
    if (info.bytes != buffer.bytes || info.slots != buffer.slots)
      wrong("buffer '", buffer.name, "' has ", buffer.slots, " slots of ",
            buffer.bytes, " bytes, but in the manifest ", info.slots, " of ",
            info.bytes);
    if (buffer.slots < 1)
      wrong("buffer '", buffer.name, "' has no slots");
    uint64_t end =
        product(buffer.slots - 1, buffer.slot_stride) + buffer.bytes;
    if (buffer.offset > table.arena_bytes ||
        end > table.arena_bytes - buffer.offset)
      wrong("buffer '", buffer.name, "' ends at byte ", buffer.offset + end,
            " of an arena of ", table.arena_bytes);
    if (buffer.slots > 1 && buffer.slot_stride < buffer.bytes)
      refuse("overlap", "role ", role.number, ": the slots of '", buffer.name,
             "' have ", buffer.bytes, " bytes, but lie ", buffer.slot_stride,
             " bytes apart");
    bool cut = false;
    for (const auto &names : info.sharding)
      for (const std::string &name : names)
        cut |= isTemporal(tables.manifest, name);
    role.perMicroBatch.push_back(cut && tables.microBatches > 1);
    if (role.perMicroBatch.back() && info.kind == BufferKind::Input &&
        buffer.slots != tables.microBatches)
      wrong("the input '", buffer.name, "' has ", buffer.slots,
            " slots for its ", tables.microBatches, " micro-batches");
    if (!cut && buffer.slots > 1)
      wrong("buffer '", buffer.name, "' has ", buffer.slots,
            " slots, but is not cut over the micro-batches");
  }
}

/// Buffers lie beside each other, or are two names of the same bytes.
void RoleCheck::checkPlaces() {
  std::vector<uint32_t> order;
  role.place.resize(table.num_buffers);
  for (uint32_t i = 0; i < table.num_buffers; ++i) {
    role.place[i] = i;
    if (table.buffers[i].bytes)
      order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return table.buffers[a].offset < table.buffers[b].offset;
  });
  auto endOf = [&](const pmrt_buffer &buffer) {
    return buffer.offset + (buffer.slots - 1) * buffer.slot_stride +
           buffer.bytes;
  };
  uint64_t end = 0;
  uint32_t last = 0;
  for (uint32_t i : order) {
    const pmrt_buffer &buffer = table.buffers[i], &before = table.buffers[last];
    if (buffer.offset < end) {
      bool same = buffer.offset == before.offset &&
                  buffer.bytes == before.bytes &&
                  buffer.slots == before.slots &&
                  (buffer.slots == 1 ||
                   buffer.slot_stride == before.slot_stride);
      auto lives = [&](uint32_t other) {
        BufferKind kind = role.info.buffers[other].kind;
        return kind == BufferKind::Input || kind == BufferKind::State;
      };
      if (!same || lives(i) || lives(last))
        refuse("overlap", "role ", role.number, ": buffer '", buffer.name,
               "' at byte ", buffer.offset, " overlaps '", before.name,
               "', which ends at byte ", end);
      role.place[i] = role.place[last];
      continue;
    }
    end = endOf(buffer);
    last = i;
  }
  for (uint32_t i : order) {
    const pmrt_buffer &buffer = table.buffers[i];
    if (buffer.offset < table.scratch_offset + table.scratch_bytes &&
        table.scratch_offset < endOf(buffer) && table.scratch_bytes)
      refuse("overlap", "role ", role.number, ": buffer '", buffer.name,
             "' at bytes [", buffer.offset, ", ", endOf(buffer),
             ") overlaps the scratch region at [", table.scratch_offset, ", ",
             table.scratch_offset + table.scratch_bytes, ")");
  }
}

void RoleCheck::checkCommunicators() const {
  for (uint32_t c = 0; c < table.num_communicators; ++c) {
    const pmrt_communicator &info = table.communicators[c];
    if (info.lane > 1)
      wrong("communicator '", info.name, "' has the lane ", info.lane, " of 2");
    std::set<uint32_t> seen;
    for (uint32_t i = 0; i < info.num_axes; ++i) {
      uint32_t axis = info.axes[i];
      if (axis >= table.num_axes)
        wrong("communicator '", info.name, "' names axis ", axis, " of ",
              table.num_axes);
      if (table.axes[axis].kind == 1)
        wrong("communicator '", info.name, "' names the temporal axis '",
              table.axes[axis].name, "', over which there are no ranks");
      if (!seen.insert(axis).second)
        wrong("communicator '", info.name, "' names axis '",
              table.axes[axis].name, "' twice");
    }
  }
}

void RoleCheck::checkActions() const {
  for (uint64_t i = 0; i < table.num_actions; ++i) {
    const pmrt_action &action = table.actions[i];
    if (action.kind > PMRT_RECEIVE)
      wrong("action ", i, " has the unknown kind ", action.kind);
    if (action.micro_batch >= tables.microBatches)
      refuse("schedule", "role ", role.number, ": action ", i,
             " is on micro-batch ", action.micro_batch, " of ",
             tables.microBatches);
    if (action.kind == PMRT_RUN) {
      if (action.index >= table.num_bodies)
        wrong("action ", i, " runs body ", action.index, " of ",
              table.num_bodies);
      continue;
    }
    if (action.index >= table.num_buffers)
      wrong("action ", i, " moves buffer ", action.index, " of ",
            table.num_buffers);
    if (action.peer >= tables.roles.size() || action.peer == role.number)
      refuse("transfer", describe(role, i), " has the peer ", action.peer,
             ", which is not another one of ", tables.roles.size(), " roles");
  }
}

void RoleCheck::checkBounds(const pmrt_operand &operand,
                            uint32_t number) const {
  uint64_t limit = table.scratch_bytes;
  std::string place = "the scratch region";
  if (operand.buffer != PMRT_SCRATCH) {
    if (operand.buffer < 0 ||
        static_cast<uint32_t>(operand.buffer) >= table.num_buffers)
      here("tables", "has operand ", number, " in buffer ", operand.buffer,
           " of ", table.num_buffers);
    const pmrt_buffer &buffer = table.buffers[operand.buffer];
    limit = buffer.bytes;
    if (runsOnce(table.bodies[body]))
      limit += (buffer.slots - 1) * buffer.slot_stride;
    place = cat("buffer '", buffer.name, "'");
  }
  if (operand.offset > limit || operand.bytes > limit - operand.offset)
    here("tables", "has operand ", number, " at bytes [", operand.offset, ", ",
         operand.offset + operand.bytes, ") of ", place, ", which has ", limit);
}

/// What an instruction does with each of its operands.
void RoleCheck::checkAccess(const pmrt_instruction &instruction) const {
  constexpr uint32_t reads = PMRT_READ, writes = PMRT_WRITE, both = reads | writes;
  std::vector<uint32_t> wanted;
  switch (instruction.opcode) {
  case PMRT_OP_GEMM: {
    const auto &gemm = *static_cast<const pmrt_gemm *>(instruction.descriptor);
    wanted = {reads, reads, gemm.accumulate ? both : writes};
    if (gemm.epilogue & PMRT_EPILOGUE_BIAS)
      wanted.push_back(reads);
    if (gemm.epilogue & PMRT_EPILOGUE_BEFORE)
      wanted.push_back(writes);
    break;
  }
  case PMRT_OP_ATTENTION: {
    bool isGradient =
        static_cast<const pmrt_attention *>(instruction.descriptor)->gradient;
    wanted.assign(isGradient ? 6 : 3, reads);
    wanted.insert(wanted.end(), isGradient ? 3 : 2, writes);
    break;
  }
  case PMRT_OP_COPY:
  case PMRT_OP_ALL_GATHER:
  case PMRT_OP_REDUCE_SCATTER:
  case PMRT_OP_ALL_TO_ALL:
  case PMRT_OP_PERMUTE:
    wanted = {reads, writes};
    break;
  case PMRT_OP_ZERO:
    wanted = {writes};
    break;
  case PMRT_OP_SWITCH:
    wanted = {reads};
    break;
  case PMRT_OP_JUMP:
  case PMRT_OP_WAIT:
    break;
  case PMRT_OP_ALL_REDUCE:
    wanted.assign(instruction.num_operands, both);
    break;
  default:
    for (uint32_t o = 0; o < instruction.num_operands; ++o)
      if (!instruction.operands[o].access ||
          instruction.operands[o].access > both)
        here("tables", "has the access ", instruction.operands[o].access,
             " to operand ", o);
    return;
  }
  if (wanted.size() != instruction.num_operands)
    here("tables", "has ", instruction.num_operands, " operands, not ",
         wanted.size());
  static const char *const names[] = {"no access", "a read", "a write",
                                      "a read and a write"};
  for (uint32_t o = 0; o < instruction.num_operands; ++o) {
    uint32_t access = instruction.operands[o].access;
    if (access != wanted[o])
      here("tables", "states ", names[access & both], " of operand ", o,
           ", but makes ", names[wanted[o]]);
  }
}

/// Bytes that an instruction writes are no other operand of it: threads work on
/// parts of it at the same time, and other ranks read what they exchange.
void RoleCheck::checkOverlaps(const pmrt_instruction &instruction) const {
  for (uint32_t w = 0; w < instruction.num_operands; ++w) {
    const pmrt_operand &out = instruction.operands[w];
    if (!(out.access & PMRT_WRITE))
      continue;
    if (out.buffer != PMRT_SCRATCH &&
        role.info.buffers[out.buffer].kind == BufferKind::Input)
      here("overlap", "writes the input '", table.buffers[out.buffer].name,
           "'");
    for (uint32_t r = 0; r < instruction.num_operands; ++r) {
      const pmrt_operand &in = instruction.operands[r];
      auto placeOf = [&](const pmrt_operand &operand) {
        return operand.buffer == PMRT_SCRATCH
                   ? int64_t(-1)
                   : int64_t(role.place[operand.buffer]);
      };
      if (r == w || placeOf(in) != placeOf(out) ||
          in.offset >= out.offset + out.bytes ||
          out.offset >= in.offset + in.bytes)
        continue;
      // A kernel may put its result in the place of what it reads.
      if (instruction.opcode == PMRT_OP_KERNEL && in.offset == out.offset &&
          in.access == PMRT_READ)
        continue;
      here("overlap", "writes operand ", w, ", bytes [", out.offset, ", ",
           out.offset + out.bytes, "), which overlaps operand ", r,
           " at bytes [", in.offset, ", ", in.offset + in.bytes, ")",
           isCollective(instruction) ? ", while other ranks reach it" : "");
    }
  }
}

void RoleCheck::checkGemm(const pmrt_instruction &instruction) const {
  const auto &gemm = *static_cast<const pmrt_gemm *>(instruction.descriptor);
  bool isKnown = gemm.dtype == PMRT_F32 ||
                 (table.device && (gemm.dtype == PMRT_F64 ||
                                   gemm.dtype == PMRT_F16 || gemm.dtype == PMRT_BF16));
  if (!isKnown)
    here("tables", "multiplies matrices of ", dtypeText(gemm.dtype), ", but the ",
         table.device ? "cuda backend has f32, f64, f16 and bf16"
                      : "host backend has f32");
  bool widens = (gemm.dtype == PMRT_F16 || gemm.dtype == PMRT_BF16) &&
                gemm.result_dtype == PMRT_F32;
  if (gemm.result_dtype != gemm.dtype && !widens)
    here("tables", "multiplies matrices of ", dtypeText(gemm.dtype), " to ",
         dtypeText(gemm.result_dtype),
         "; half precision may give f32, other types "
         "only themselves");
  uint64_t resultSize = elementBytes(gemm.result_dtype);
  uint32_t epilogues = table.device ? PMRT_EPILOGUE_BIAS | PMRT_EPILOGUE_GELU |
                                          PMRT_EPILOGUE_BEFORE
                                    : 0;
  if (gemm.epilogue & ~epilogues)
    here("tables", "has the unknown epilogue ", gemm.epilogue);
  bool hasBias = gemm.epilogue & PMRT_EPILOGUE_BIAS;
  bool keepsBefore = gemm.epilogue & PMRT_EPILOGUE_BEFORE;
  uint32_t operands = instruction.num_operands; // checkAccess has counted them
  if (keepsBefore && !(gemm.epilogue & PMRT_EPILOGUE_GELU))
    here("tables", "keeps the argument of GELU, which it does not compute");
  if (keepsBefore && gemm.ldc % 8)
    here("tables", "keeps the argument of GELU in rows ", gemm.ldc,
         " elements apart, which is no multiple of 8");
  if (hasBias && gemm.n > 0 &&
      product(static_cast<uint64_t>(gemm.n), resultSize) >
          instruction.operands[3].bytes)
    here("tables", "adds ", gemm.n, " elements of operand 3, which has ",
         instruction.operands[3].bytes, " bytes");
  if (gemm.epilogue && std::any_of(gemm.batch, gemm.batch + PMRT_MAX_BATCH_DIMS,
                                   [](int64_t size) { return size != 1; }))
    here("tables", "has an epilogue, which a batch of products has not");
  if (gemm.epilogue && gemm.accumulate)
    here("tables", "adds to what an epilogue has changed");
  auto negative = [](int64_t value) { return value < 0; };
  if (gemm.m < 0 || gemm.n < 0 || gemm.k < 0 ||
      std::any_of(gemm.batch, gemm.batch + PMRT_MAX_BATCH_DIMS, negative))
    here("tables", "has a negative size");
  bool none = false;
  for (int64_t size : gemm.batch)
    none |= size == 0;
  auto check = [&](uint32_t operand, int64_t rows, int64_t columns,
                   int64_t leading, const int64_t *strides) {
    if (rows == 0 || columns == 0 || none)
      return;
    if (leading < 0 || std::any_of(strides, strides + PMRT_MAX_BATCH_DIMS, negative))
      here("tables", "has a negative stride of operand ", operand);
    if (leading < columns && rows > 1)
      here(operand >= 2 ? "overlap" : "tables", "has rows of ", columns,
           " elements ", leading, " elements apart in operand ", operand);
    uint64_t end = product(rows - 1, leading) + columns;
    for (int d = 0; d < PMRT_MAX_BATCH_DIMS; ++d) {
      end += product(gemm.batch[d] - 1, strides[d]);
      if (operand >= 2 && gemm.batch[d] > 1 && strides[d] == 0)
        here("overlap", "writes ", gemm.batch[d],
             " products to one place of operand ", operand);
    }
    uint64_t size = elementBytes(operand >= 2 ? gemm.result_dtype : gemm.dtype);
    if (product(end, size) > instruction.operands[operand].bytes)
      here("tables", "reaches ", end, " elements of operand ", operand,
           ", which has ", instruction.operands[operand].bytes, " bytes");
  };
  check(0, gemm.trans_a ? gemm.k : gemm.m, gemm.trans_a ? gemm.m : gemm.k,
        gemm.lda, gemm.stride_a);
  check(1, gemm.trans_b ? gemm.n : gemm.k, gemm.trans_b ? gemm.k : gemm.n,
        gemm.ldb, gemm.stride_b);
  check(2, gemm.m, gemm.n, gemm.ldc, gemm.stride_c);
  if (keepsBefore)
    check(operands - 1, gemm.m, gemm.n, gemm.ldc, gemm.stride_c);
  checkType(instruction, gemm.dtype, 0, 2);
  checkType(instruction, gemm.result_dtype, 2);
}

void RoleCheck::checkJump(const pmrt_instruction &instruction) const {
  const auto &jump = *static_cast<const pmrt_jump *>(instruction.descriptor);
  bool chooses = instruction.opcode == PMRT_OP_SWITCH;
  if (chooses ? jump.num_targets < 1 : jump.num_targets != 1)
    here("tables", "has ", jump.num_targets, " targets");
  for (uint32_t i = 0; i < jump.num_targets; ++i)
    if (jump.targets[i] > table.bodies[body].num_instructions)
      here("tables", "goes to instruction ", jump.targets[i], " of ",
           table.bodies[body].num_instructions);
  if (!chooses)
    return;
  if (jump.dtype != PMRT_I1 && jump.dtype != PMRT_I32)
    here("tables", "chooses by a ", dtypeText(jump.dtype), ", not an i1 or i32");
  if (instruction.operands[0].bytes < elementBytes(jump.dtype))
    here("tables", "chooses by ", instruction.operands[0].bytes, " bytes of ",
         elementBytes(jump.dtype));
}

void RoleCheck::checkType(const pmrt_instruction &instruction, uint32_t dtype,
                          uint32_t first, uint32_t last) const {
  for (uint32_t o = first; o < std::min(last, instruction.num_operands); ++o) {
    int32_t buffer = instruction.operands[o].buffer;
    if (buffer != PMRT_SCRATCH && table.buffers[buffer].dtype != dtype)
      here("tables", "takes '", table.buffers[buffer].name, "', of ",
           dtypeText(table.buffers[buffer].dtype), ", for ", dtypeText(dtype));
  }
}

/// An exchange moves all of its operands and nothing else.
void RoleCheck::fills(const pmrt_instruction &instruction, uint32_t operand,
                      uint64_t elements, uint64_t size) const {
  if (product(elements, size) != instruction.operands[operand].bytes)
    here("tables", "moves ", elements, " elements of ",
         dtypeText(dtypeOf(instruction)), ", but operand ", operand, " has ",
         instruction.operands[operand].bytes, " bytes");
}

void RoleCheck::checkReduction(uint32_t dtype, uint32_t reduction) const {
  if (reduction > PMRT_MIN)
    here("tables", "has the unknown reduction ", reduction);
  bool isComplex = dtype == PMRT_C64 || dtype == PMRT_C128;
  if (dtype == PMRT_I1 && reduction == PMRT_SUM)
    here("tables", "sums booleans");
  if (isComplex && reduction != PMRT_SUM)
    here("tables", "takes the ", reduction == PMRT_MAX ? "largest" : "least",
         " of complex numbers");
}

void RoleCheck::checkCollective(const pmrt_instruction &instruction) const {
  const auto &collective =
      *static_cast<const pmrt_collective *>(instruction.descriptor);
  uint64_t size = elementBytes(collective.dtype);
  if (instruction.opcode == PMRT_OP_ALL_REDUCE) {
    checkReduction(collective.dtype, collective.reduction);
    for (uint32_t o = 0; o < instruction.num_operands; ++o)
      fills(instruction, o, collective.counts[o], size);
    return;
  }
  bool gather = instruction.opcode == PMRT_OP_ALL_GATHER;
  if (!gather)
    checkReduction(collective.dtype, collective.reduction);
  uint64_t piece = collective.counts[0], row = collective.counts[1];
  uint64_t members = membersOf(table, collective.communicator);
  if (product(piece, members) < row)
    here("tables", "has rows of ", row, " elements, of which ", members,
         " pieces of ", piece, " are not all");
  fills(instruction, gather ? 0 : 1, product(collective.outer, piece), size);
  fills(instruction, gather ? 1 : 0, product(collective.outer, row), size);
}

void RoleCheck::checkAllToAll(const pmrt_instruction &instruction) const {
  const auto &exchange =
      *static_cast<const pmrt_all_to_all *>(instruction.descriptor);
  uint64_t members = membersOf(table, exchange.communicator);
  if (product(exchange.split_piece, members) < exchange.split_size ||
      product(exchange.concat_piece, members) < exchange.concat_size)
    here("tables", "has pieces of ", exchange.split_piece, " and ",
         exchange.concat_piece, " elements, of which ", members,
         " are less than ", exchange.split_size, " and ", exchange.concat_size);
  uint64_t rest =
      product(product(exchange.outer, exchange.middle), exchange.inner);
  uint64_t size = elementBytes(exchange.dtype);
  fills(instruction, 0,
        product(product(rest, exchange.split_size), exchange.concat_piece),
        size);
  fills(instruction, 1,
        product(product(rest, exchange.split_piece), exchange.concat_size),
        size);
}

void RoleCheck::checkPermute(const pmrt_instruction &instruction) const {
  const auto &permute =
      *static_cast<const pmrt_permute *>(instruction.descriptor);
  uint64_t members = membersOf(table, permute.communicator);
  if (permute.num_members != members)
    here("tables", "names the sources of ", permute.num_members,
         " members, but its communicator has ", members);
  if (permute.num_parts == 0 || permute.count % permute.num_parts != 0)
    here("tables", "has ", permute.num_parts, " parts of ", permute.count,
         " elements");
  for (uint64_t i = 0; i < permute.num_parts * members; ++i)
    if (permute.sources[i] < -1 ||
        permute.sources[i] >= static_cast<int64_t>(members))
      here("tables", "has the source ", permute.sources[i], " of ", members,
           " members");
  for (uint32_t o : {0, 1})
    fills(instruction, o, permute.count, elementBytes(permute.dtype));
}

/// What is started has a lane of its own: the members meet there in the order of
/// their starts, whatever else they do.
void RoleCheck::checkEvent(const pmrt_instruction &instruction) const {
  bool waits = instruction.opcode == PMRT_OP_WAIT;
  if (waits != (instruction.event != 0) &&
      instruction.opcode != PMRT_OP_ALL_REDUCE)
    here("event", "has event ", instruction.event);
  if (!isCollective(instruction))
    return;
  const pmrt_communicator &communicator =
      table.communicators[communicatorOf(instruction)];
  if (communicator.lane != (instruction.event ? 1u : 0u))
    here("event", instruction.event ? "is started on" : "waits on",
         " a communicator of lane ", communicator.lane);
}

void RoleCheck::checkInstruction(const pmrt_instruction &instruction) const {
  if (instruction.opcode < PMRT_OP_GEMM ||
      instruction.opcode > PMRT_OP_ATTENTION)
    here("tables", "has the unknown opcode ", instruction.opcode);
  bool needs = instruction.opcode != PMRT_OP_COPY &&
               instruction.opcode != PMRT_OP_ZERO &&
               instruction.opcode != PMRT_OP_WAIT;
  if (needs && !instruction.descriptor)
    here("tables", "has no descriptor");
  if (instruction.opcode == PMRT_OP_KERNEL) {
    const auto *kernel = static_cast<const pmrt_kernel *>(instruction.descriptor);
    if (std::less<>()(kernel, table.kernels) ||
        !std::less<>()(kernel, table.kernels + table.num_kernels) ||
        !kernel->function != (table.device != nullptr))
      wrong("instruction ", index, " of '", table.bodies[body].name,
            "' calls what is no kernel of the role");
  }
  checkAccess(instruction);
  for (uint32_t o = 0; o < instruction.num_operands; ++o)
    checkBounds(instruction.operands[o], o);
  checkOverlaps(instruction);
  if (isCollective(instruction)) {
    if (communicatorOf(instruction) >= table.num_communicators)
      here("tables", "uses communicator ", communicatorOf(instruction), " of ",
           table.num_communicators);
    if (!elementBytes(dtypeOf(instruction)))
      here("tables", "has the unknown element ", dtypeText(dtypeOf(instruction)));
    checkType(instruction, dtypeOf(instruction));
  }
  checkEvent(instruction);
  switch (instruction.opcode) {
  case PMRT_OP_GEMM:
    checkGemm(instruction);
    break;
  case PMRT_OP_ATTENTION:
    if (std::string problem = attentionProblem(table, instruction);
        !problem.empty())
      here("tables", problem);
    break;
  case PMRT_OP_ALL_REDUCE:
  case PMRT_OP_ALL_GATHER:
  case PMRT_OP_REDUCE_SCATTER:
    checkCollective(instruction);
    break;
  case PMRT_OP_ALL_TO_ALL:
    checkAllToAll(instruction);
    break;
  case PMRT_OP_PERMUTE:
    checkPermute(instruction);
    break;
  case PMRT_OP_COPY:
    if (instruction.operands[0].bytes != instruction.operands[1].bytes)
      here("tables", "copies ", instruction.operands[0].bytes,
           " bytes to a place of ", instruction.operands[1].bytes);
    break;
  case PMRT_OP_JUMP:
  case PMRT_OP_SWITCH:
    checkJump(instruction);
    break;
  default:
    break;
  }
}

void checkTables(Tables &tables) {
  for (Role &role : tables.roles)
    RoleCheck(tables, role).run();
}

} // namespace pipemesh::proof
