//===- Bundle.cpp - A compiled program on disk, opened --------------------===//

#include "core/Bundle.h"
#include "core/Instruction.h"

#include "core/Cpu.h"
#include "core/File.h"

#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <tuple>

namespace pipemesh::runtime {

static const char *const compileAgain =
    "; compile the bundle again with this release's pmc";

/// Throws unless what each role sends to another on a channel is received there
/// in the same order.
static void checkTransfers(const std::vector<const pmrt_role *> &roles,
                           const std::string &directory) {
  struct Transfer {
    const pmrt_action *action;
    const pmrt_buffer *buffer;
  };
  // Sender, receiver and channel; what is sent, and what is received.
  std::map<std::tuple<size_t, size_t, uint32_t>,
           std::pair<std::vector<Transfer>, std::vector<Transfer>>>
      channels;
  for (size_t role = 0; role < roles.size(); ++role)
    for (uint64_t i = 0; i < roles[role]->num_actions; ++i) {
      const pmrt_action &action = roles[role]->actions[i];
      Transfer transfer{&action, &roles[role]->buffers[action.index]};
      if (action.kind == PMRT_SEND)
        channels[{role, action.peer, action.channel}].first.push_back(transfer);
      if (action.kind == PMRT_RECEIVE)
        channels[{action.peer, role, action.channel}].second.push_back(
            transfer);
    }
  for (auto &[key, transfers] : channels) {
    auto &[sends, receives] = transfers;
    auto wrong = [&, key = key](const auto &...problem) {
      fail("bundle '", directory, "': on channel ", std::get<2>(key),
           " from role ", std::get<0>(key), " to role ", std::get<1>(key), " ",
           problem..., compileAgain);
    };
    if (sends.size() != receives.size())
      wrong(sends.size(), " transfers are sent, but ", receives.size(),
            " received");
    for (size_t i = 0; i < sends.size(); ++i) {
      const Transfer &sent = sends[i], &received = receives[i];
      if (std::string(sent.buffer->name) != received.buffer->name ||
          sent.action->micro_batch != received.action->micro_batch)
        wrong("transfer ", i, " sends '", sent.buffer->name,
              "' of micro-batch ", sent.action->micro_batch, ", but '",
              received.buffer->name, "' of micro-batch ",
              received.action->micro_batch, " is received");
      if (sent.buffer->bytes != received.buffer->bytes)
        wrong("'", sent.buffer->name, "' is sent with ", sent.buffer->bytes,
              " bytes and received with ", received.buffer->bytes);
    }
  }
}

Bundle::Bundle(const std::string &directory)
    : Bundle(directory, hostCpuFlags()) {}

Bundle::Bundle(const std::string &directory,
               const std::set<std::string> &cpuFlags)
    : path(directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(directory, error))
    fail("'", directory, "' is not a bundle: there is no such folder");
  fs::path manifestPath = fs::path(directory) / "manifest.json";
  if (!fs::exists(manifestPath, error))
    fail("'", directory,
         "' is not a bundle: it has no manifest.json; name a "
         "folder written by pmc");
  content = parseManifest(readTextFile(manifestPath.string(), "manifest"),
                          manifestPath.string());

  std::string architecture =
      content.target.triple.substr(0, content.target.triple.find('-'));
  if (architecture != hostArchitecture())
    fail("bundle '", directory, "' is compiled for ", content.target.triple,
         ", but this machine is ", hostArchitecture(),
         "; compile it again for this machine");
  std::vector<std::string> missing =
      missingCpuFeatures(content.target.features, cpuFlags);
  if (!missing.empty()) {
    std::string list;
    for (const std::string &feature : missing)
      list += (list.empty() ? "" : ", ") + feature;
    fail("bundle '", directory, "' is compiled for the processor '",
         content.target.cpu, "', but this one lacks ", list,
         "; compile it again on this machine");
  }

  for (const RoleInfo &info : content.roles) {
    fs::path file = fs::absolute(fs::path(directory) / info.file);
    void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      fail("cannot load '", file.string(), "': ", dlerror(), compileAgain);
    libraries.emplace_back(library, &dlclose);
    const auto *role =
        static_cast<const pmrt_role *>(dlsym(library, PMRT_ROLE_SYMBOL));
    if (!role)
      fail("'", file.string(), "' has no symbol ", PMRT_ROLE_SYMBOL,
           compileAgain);
    if (role->abi_version != PMRT_ABI_VERSION)
      fail("'", file.string(), "' has ABI version ", role->abi_version,
           ", but this pmrun has ", PMRT_ABI_VERSION, compileAgain);
    if (!role->bundle_hash || content.hash != role->bundle_hash)
      fail("'", file.string(), "' has the hash '",
           role->bundle_hash ? role->bundle_hash : "", "', but the manifest '",
           content.hash, "': they are of two bundles; compile it again");
    checkRole(*role, info, content, file.string());
    roles.push_back(role);
  }
  checkTransfers(roles, directory);
  int64_t needed = 1;
  for (const Axis &axis : content.mesh.getAxes())
    if (axis.kind == AxisKind::Stage)
      needed *= axis.size;
  if (needed != static_cast<int64_t>(roles.size()))
    fail("bundle '", directory, "' has ", roles.size(), " roles, but its mesh ",
         needed, " stages", compileAgain);
}

/// Events are numbers from 1 on; no program has more.
static constexpr uint32_t mostEvents = 1u << 20;

/// Number of operands that an instruction needs; -1 where any will do.
static int64_t operandsOf(const pmrt_instruction &instruction) {
  switch (instruction.opcode) {
  case PMRT_OP_GEMM: {
    const auto *gemm = static_cast<const pmrt_gemm *>(instruction.descriptor);
    uint32_t epilogue = gemm ? gemm->epilogue : 0;
    return 3 + !!(epilogue & PMRT_EPILOGUE_BIAS) +
           !!(epilogue & PMRT_EPILOGUE_BEFORE);
  }
  case PMRT_OP_ATTENTION: {
    const auto *attention =
        static_cast<const pmrt_attention *>(instruction.descriptor);
    return attention && attention->gradient ? 9 : 5;
  }
  case PMRT_OP_COPY:
  case PMRT_OP_ALL_GATHER:
  case PMRT_OP_REDUCE_SCATTER:
  case PMRT_OP_ALL_TO_ALL:
  case PMRT_OP_PERMUTE:
    return 2;
  case PMRT_OP_ZERO:
  case PMRT_OP_SWITCH:
    return 1;
  case PMRT_OP_JUMP:
  case PMRT_OP_WAIT:
    return 0;
  default:
    return -1;
  }
}

/// The members of a communicator.
static uint64_t membersOf(const pmrt_role &role, uint32_t communicator) {
  const pmrt_communicator &info = role.communicators[communicator];
  uint64_t members = 1;
  for (uint32_t i = 0; i < info.num_axes; ++i)
    members *= role.axes[info.axes[i]].size;
  return members;
}

/// What is wrong with an exchange that moves blocks, or nothing.
static std::string exchangeProblem(const pmrt_role &role,
                                   const pmrt_instruction &instruction) {
  bool isPermute = instruction.opcode == PMRT_OP_PERMUTE;
  const auto *exchange =
      static_cast<const pmrt_all_to_all *>(instruction.descriptor);
  const auto *permute =
      static_cast<const pmrt_permute *>(instruction.descriptor);
  uint32_t communicator =
      isPermute ? permute->communicator : exchange->communicator;
  uint32_t dtype = isPermute ? permute->dtype : exchange->dtype;
  if (communicator >= role.num_communicators)
    return cat("uses communicator ", communicator, " of ",
               role.num_communicators);
  if (dtype > PMRT_C128)
    return cat("has the unknown element ", dtypeName(dtype));
  uint64_t size = elementSize(dtypeName(dtype));
  uint64_t members = membersOf(role, communicator);
  uint64_t counts[2] = {};
  if (isPermute) {
    if (permute->num_members != members)
      return cat("names the sources of ", permute->num_members, " members of ",
                 members);
    if (permute->num_parts == 0 || permute->count % permute->num_parts != 0)
      return cat("has ", permute->num_parts, " parts of ", permute->count,
                 " elements");
    for (uint64_t i = 0; i < permute->num_parts * members; ++i)
      if (permute->sources[i] < -1 ||
          permute->sources[i] >= static_cast<int64_t>(members))
        return cat("has the source ", permute->sources[i], " of ", members,
                   " members");
    counts[0] = counts[1] = permute->count;
  } else {
    if (exchange->split_piece * members < exchange->split_size ||
        exchange->concat_piece * members < exchange->concat_size)
      return cat("has pieces of ", exchange->split_piece, " and ",
                 exchange->concat_piece, " elements, of which ", members,
                 " are less than ", exchange->split_size, " and ",
                 exchange->concat_size);
    uint64_t rest = exchange->outer * exchange->middle * exchange->inner;
    counts[0] = rest * exchange->split_size * exchange->concat_piece;
    counts[1] = rest * exchange->split_piece * exchange->concat_size;
  }
  for (uint32_t o = 0; o < 2; ++o)
    if (counts[o] * size > instruction.operands[o].bytes)
      return cat("has an operand ", o, " of ", instruction.operands[o].bytes,
                 " bytes, but ", counts[o], " elements are moved");
  return "";
}

/// What is wrong with a jump of a body, or nothing.
static std::string jumpProblem(const pmrt_instruction &instruction,
                               const pmrt_body &body) {
  const auto &jump = *static_cast<const pmrt_jump *>(instruction.descriptor);
  bool isSwitch = instruction.opcode == PMRT_OP_SWITCH;
  if (isSwitch ? jump.num_targets < 1 : jump.num_targets != 1)
    return cat("has ", jump.num_targets, " targets");
  for (uint32_t i = 0; i < jump.num_targets; ++i)
    if (jump.targets[i] > body.num_instructions)
      return cat("goes to instruction ", jump.targets[i], " of ",
                 body.num_instructions);
  if (!isSwitch)
    return "";
  if (jump.dtype != PMRT_I1 && jump.dtype != PMRT_I32)
    return cat("chooses by a ", dtypeName(jump.dtype), ", not by an i1 or i32");
  uint64_t size = jump.dtype == PMRT_I1 ? 1 : 4;
  if (instruction.operands[0].bytes < size)
    return cat("chooses by ", instruction.operands[0].bytes, " bytes of ", size);
  return "";
}

void checkRole(const pmrt_role &role, const RoleInfo &info,
               const Manifest &manifest, const std::string &file) {
  auto wrong = [&](const auto &...problem) {
    fail("'", file, "': ", problem..., compileAgain);
  };
  const std::vector<Axis> &axes = manifest.mesh.getAxes();
  if (role.num_axes != axes.size())
    wrong("it has ", role.num_axes, " mesh axes, but the manifest ",
          axes.size());
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name != role.axes[i].name ||
        axes[i].size != role.axes[i].size ||
        static_cast<uint32_t>(axes[i].kind) != role.axes[i].kind)
      wrong("mesh axis ", i, " is '", role.axes[i].name, "' of size ",
            role.axes[i].size, ", but in the manifest '", axes[i].name,
            "' of size ", axes[i].size);
  if (role.num_buffers != info.buffers.size())
    wrong("it has ", role.num_buffers, " buffers, but the manifest ",
          info.buffers.size());
  if (role.scratch_offset > role.arena_bytes ||
      role.scratch_bytes > role.arena_bytes - role.scratch_offset)
    wrong("the scratch region ends behind the arena of ", role.arena_bytes,
          " bytes");
  for (size_t i = 0; i < info.buffers.size(); ++i) {
    const pmrt_buffer &buffer = role.buffers[i];
    const BufferInfo &described = info.buffers[i];
    if (described.name != buffer.name)
      wrong("buffer ", i, " is '", buffer.name, "', but in the manifest '",
            described.name, "'");
    if (described.bytes != buffer.bytes || described.slots != buffer.slots)
      wrong("buffer '", buffer.name, "' has ", buffer.slots, " slots of ",
            buffer.bytes, " bytes, but in the manifest ", described.slots,
            " of ", described.bytes);
    if (described.dtype != dtypeName(buffer.dtype))
      wrong("buffer '", buffer.name, "' is of ", dtypeName(buffer.dtype),
            ", but in the manifest of ", described.dtype);
    uint64_t end =
        buffer.offset + buffer.bytes + (buffer.slots - 1) * buffer.slot_stride;
    if (end > role.arena_bytes)
      wrong("buffer '", buffer.name, "' ends at byte ", end, " of an arena of ",
            role.arena_bytes);
  }
  for (size_t i = 0; i < role.num_communicators; ++i)
    for (size_t j = 0; j < role.communicators[i].num_axes; ++j)
      if (role.communicators[i].axes[j] >= axes.size())
        wrong("communicator '", role.communicators[i].name, "' names axis ",
              role.communicators[i].axes[j], " of a mesh of ", axes.size());
  for (uint64_t i = 0; i < role.num_actions; ++i) {
    const pmrt_action &action = role.actions[i];
    if (action.kind > PMRT_RECEIVE)
      wrong("action ", i, " has the unknown kind ", action.kind);
    if (action.micro_batch >=
        static_cast<uint64_t>(manifest.mesh.microBatches()))
      wrong("action ", i, " is on micro-batch ", action.micro_batch, " of ",
            manifest.mesh.microBatches());
    if (action.kind == PMRT_RUN && action.index >= role.num_bodies)
      wrong("action ", i, " runs body ", action.index, " of ", role.num_bodies);
    if (action.kind == PMRT_RUN)
      continue;
    if (action.index >= role.num_buffers)
      wrong("action ", i, " transfers buffer ", action.index, " of ",
            role.num_buffers);
    if (action.peer >= manifest.roles.size() ||
        &manifest.roles[action.peer] == &info)
      wrong("action ", i, " transfers '", role.buffers[action.index].name,
            "' to or from role ", action.peer, " of ", manifest.roles.size(),
            ", which is not another one");
  }
  for (size_t b = 0; b < role.num_bodies; ++b) {
    const pmrt_body &body = role.bodies[b];
    bool once = body.kind == PMRT_PROLOGUE || body.kind == PMRT_REDUCE ||
                body.kind == PMRT_UPDATE;
    for (uint64_t i = 0; i < body.num_instructions; ++i) {
      const pmrt_instruction &instruction = body.instructions[i];
      auto here = [&] {
        return cat("instruction ", i, " of '", body.name, "' (",
                   instruction.location ? instruction.location : "", ")");
      };
      if (instruction.opcode < PMRT_OP_GEMM ||
          instruction.opcode > PMRT_OP_ATTENTION)
        wrong(here(), " has the unknown opcode ", instruction.opcode);
      if (instruction.opcode == PMRT_OP_ATTENTION && !role.device)
        wrong(here(), " is attention by cuDNN, but the role is for the host");
      int64_t expected = operandsOf(instruction);
      if (expected >= 0 && instruction.num_operands != expected)
        wrong(here(), " has ", instruction.num_operands, " operands, not ",
              expected);
      bool collects = instruction.opcode == PMRT_OP_ALL_REDUCE ||
                      instruction.opcode == PMRT_OP_ALL_GATHER ||
                      instruction.opcode == PMRT_OP_REDUCE_SCATTER;
      if (!instruction.descriptor && instruction.opcode != PMRT_OP_COPY &&
          instruction.opcode != PMRT_OP_ZERO &&
          instruction.opcode != PMRT_OP_WAIT)
        wrong(here(), " has no descriptor");
      bool mayHaveEvent = instruction.opcode == PMRT_OP_ALL_REDUCE ||
                          instruction.opcode == PMRT_OP_WAIT;
      if (mayHaveEvent ? instruction.event > mostEvents : instruction.event != 0)
        wrong(here(), " has event ", instruction.event);
      if (instruction.opcode == PMRT_OP_WAIT && !instruction.event)
        wrong(here(), " waits for no event");
      for (uint32_t o = 0; o < instruction.num_operands; ++o) {
        const pmrt_operand &operand = instruction.operands[o];
        uint64_t limit = role.scratch_bytes;
        std::string place = "the scratch region";
        if (operand.buffer != PMRT_SCRATCH) {
          if (operand.buffer < 0 ||
              static_cast<uint32_t>(operand.buffer) >= role.num_buffers)
            wrong(here(), ": operand ", o, " is in buffer ", operand.buffer,
                  " of ", role.num_buffers);
          const pmrt_buffer &buffer = role.buffers[operand.buffer];
          // A fragment that runs once a step may see all slots as one.
          limit = buffer.bytes +
                  (once ? (buffer.slots - 1) * buffer.slot_stride : 0);
          place = cat("buffer '", buffer.name, "'");
        }
        if (operand.offset > limit || operand.bytes > limit - operand.offset)
          wrong(here(), ": operand ", o, " ends at byte ",
                operand.offset + operand.bytes, " of ", place, " with ", limit);
      }
      if (instruction.opcode == PMRT_OP_ALL_TO_ALL ||
          instruction.opcode == PMRT_OP_PERMUTE)
        if (std::string problem = exchangeProblem(role, instruction);
            !problem.empty())
          wrong(here(), " ", problem);
      if (instruction.opcode == PMRT_OP_JUMP ||
          instruction.opcode == PMRT_OP_SWITCH)
        if (std::string problem = jumpProblem(instruction, body);
            !problem.empty())
          wrong(here(), " ", problem);
      if (collects) {
        const auto &collective =
            *static_cast<const pmrt_collective *>(instruction.descriptor);
        if (collective.communicator >= role.num_communicators)
          wrong(here(), " uses communicator ", collective.communicator, " of ",
                role.num_communicators);
        bool gather = instruction.opcode == PMRT_OP_ALL_GATHER;
        if (collective.dtype > PMRT_C128)
          wrong(here(), " has the unknown element ",
                dtypeName(collective.dtype));
        bool isComplex =
            collective.dtype == PMRT_C64 || collective.dtype == PMRT_C128;
        bool isSum = collective.reduction == PMRT_SUM;
        if (!gather && ((collective.dtype == PMRT_I1 && isSum) ||
                        (isComplex && !isSum)))
          wrong(here(), " reduces ", dtypeName(collective.dtype),
                ", but the host backend reduces numbers, complex ones by their "
                "sum only and booleans by all but that");
        if (!gather && collective.reduction > PMRT_MIN)
          wrong(here(), " has the unknown reduction ", collective.reduction);
        uint64_t size = elementSize(dtypeName(collective.dtype));
        bool reduce = instruction.opcode == PMRT_OP_ALL_REDUCE;
        uint64_t rows = reduce ? 1 : collective.outer;
        for (uint32_t o = 0; o < instruction.num_operands; ++o) {
          // The block comes first in a gather, and last in a scatter.
          uint64_t count =
              collective
                  .counts[instruction.opcode == PMRT_OP_REDUCE_SCATTER ? 1 - o
                                                                       : o];
          if (rows * count * size > instruction.operands[o].bytes)
            wrong(here(), ": operand ", o, " has ",
                  instruction.operands[o].bytes, " bytes, but ", rows * count,
                  " elements are ", reduce ? "reduced" : "moved");
        }
      }
      if (instruction.opcode == PMRT_OP_GEMM && !role.device &&
          static_cast<const pmrt_gemm *>(instruction.descriptor)->dtype !=
              PMRT_F32)
        wrong(
            here(), " is a matrix product of ",
            dtypeName(
                static_cast<const pmrt_gemm *>(instruction.descriptor)->dtype),
            ", but the host backend has f32");
      if (instruction.opcode == PMRT_OP_COPY &&
          instruction.operands[0].bytes != instruction.operands[1].bytes)
        wrong(here(), " copies ", instruction.operands[0].bytes,
              " bytes to a place of ", instruction.operands[1].bytes);
    }
  }
}

} // namespace pipemesh::runtime
