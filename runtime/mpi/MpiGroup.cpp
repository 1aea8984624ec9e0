//===- MpiGroup.cpp - Collectives between processes -----------------------===//

#include "mpi/MpiGroup.h"

#include "host/Collective.h"
#include "host/Program.h"
#include "host/Reduce.h"

#include <algorithm>
#include <cstring>

namespace pipemesh::runtime {

/// Operands up to this size travel in the first message.
static constexpr uint64_t smallBytes = 8192;

namespace {

/// In front of a member's first message.
struct Header {
  Signature signature;
  char text[136]; ///< describe()
};

} // namespace

static Header headerOf(const pmrt_instruction &instruction, uint64_t run) {
  Header header = {};
  header.signature = signatureOf(instruction, run);
  std::string text = describe(instruction);
  text.copy(header.text, sizeof(header.text) - 1);
  return header;
}

static int64_t edge(int64_t part, int64_t parts, int64_t whole) {
  return whole * part / parts;
}

const std::byte *MpiGroup::packed(const pmrt_instruction &instruction,
                                  void *const *pointers, uint64_t bytes) {
  if (instruction.opcode != PMRT_OP_ALL_REDUCE || instruction.num_operands == 1)
    return static_cast<const std::byte *>(pointers[0]);
  const pmrt_collective &collective = collectiveOf(instruction);
  uint64_t size = dtypeSize(collective.dtype), at = 0;
  if (pack.size() < bytes)
    pack.resize(bytes);
  for (uint32_t i = 0; i < instruction.num_operands; ++i) {
    std::memcpy(pack.data() + at, pointers[i], collective.counts[i] * size);
    at += collective.counts[i] * size;
  }
  return pack.data();
}

/// Writes a sequence of elements to the operands that it consists of.
static void unpack(const pmrt_instruction &instruction, void *const *pointers,
                   const std::byte *from) {
  const pmrt_collective &collective = collectiveOf(instruction);
  uint64_t size = dtypeSize(collective.dtype);
  for (uint32_t i = 0; i < instruction.num_operands; ++i) {
    uint64_t bytes = collective.counts[i] * size;
    if (pointers[i] != from)
      std::memcpy(pointers[i], from, bytes);
    from += bytes;
  }
}

uint64_t MpiGroup::run(int64_t member, uint64_t collective,
                       const pmrt_instruction &instruction,
                       void *const *pointers, ThreadPool &,
                       const Patience &patience) {
  if (size() < 2 && instruction.opcode == PMRT_OP_ALL_REDUCE)
    return 0;
  uint64_t bytes = operandBytes(instruction);
  bool small = bytes <= smallBytes;
  Header header = headerOf(instruction, collective);
  own.resize(sizeof(Header) + smallBytes);
  std::memcpy(own.data(), &header, sizeof(header));
  if (small && bytes)
    std::memcpy(own.data() + sizeof(header),
                packed(instruction, pointers, bytes), bytes);
  uint64_t stride = sizeof(Header) + smallBytes;
  firsts.resize(size() * stride);
  std::vector<uint64_t> received(size());
  Messages messages(communicator);
  for (int64_t other = 0; other < size(); ++other)
    if (other != member)
      messages.receiveUpTo(firsts.data() + other * stride, stride, ranks[other],
                           tag(First), &received[other]);
  for (int64_t other = 0; other < size(); ++other)
    if (other != member)
      messages.send(own.data(), sizeof(header) + (small ? bytes : 0),
                    ranks[other], tag(First));
  uint64_t waited = messages.wait(patience);
  auto headerFrom = [&](int64_t other) {
    Header theirs = header;
    if (other != member)
      std::memcpy(&theirs, firsts.data() + other * stride, sizeof(theirs));
    return theirs;
  };
  bool same = true;
  for (int64_t other = 0; other < size(); ++other) {
    Header theirs = headerFrom(other);
    same &= std::memcmp(&theirs.signature, &header.signature,
                        sizeof(Signature)) == 0;
  }
  if (!same) {
    std::vector<Brought> members;
    for (int64_t other = 0; other < size(); ++other) {
      Header theirs = headerFrom(other);
      members.push_back({ranks[other], theirs.signature, theirs.text});
    }
    checkMeeting(members);
  }
  if (small) {
    std::vector<const void *> all;
    for (int64_t other = 0; other < size(); ++other)
      all.push_back(
          (other == member ? own.data() : firsts.data() + other * stride) +
          sizeof(header));
    useSmall(member, instruction, pointers, all);
    return waited;
  }
  switch (instruction.opcode) {
  case PMRT_OP_ALL_GATHER:
    return waited + largeAllGather(member, instruction, pointers, patience);
  case PMRT_OP_REDUCE_SCATTER:
    return waited + largeReduceScatter(member, instruction, pointers, patience);
  case PMRT_OP_ALL_TO_ALL:
    return waited + largeAllToAll(member, instruction, pointers, patience);
  case PMRT_OP_PERMUTE:
    return waited + largePermute(member, instruction, pointers, patience);
  default:
    return waited + largeAllReduce(member, instruction, pointers, patience);
  }
}

void MpiGroup::useSmall(int64_t member, const pmrt_instruction &instruction,
                        void *const *pointers,
                        const std::vector<const void *> &all) {
  if (instruction.opcode == PMRT_OP_ALL_TO_ALL) {
    const pmrt_all_to_all &exchange = allToAllOf(instruction);
    uint64_t size = dtypeSize(exchange.dtype);
    auto *to = static_cast<std::byte *>(pointers[1]);
    for (int64_t other = 0; other < this->size(); ++other)
      forEachRun(exchange, other, member,
                 [&](int64_t before, int64_t after, int64_t count) {
                   std::memcpy(to + after * size,
                               static_cast<const std::byte *>(all[other]) +
                                   before * size,
                               count * size);
                 });
    return;
  }
  if (instruction.opcode == PMRT_OP_PERMUTE) {
    const pmrt_permute &permute = permuteOf(instruction);
    uint64_t bytes = operandBytes(instruction) / permute.num_parts;
    auto *to = static_cast<std::byte *>(pointers[1]);
    for (uint64_t part = 0; part < permute.num_parts; ++part) {
      int32_t source = permute.sources[part * permute.num_members + member];
      if (source < 0)
        std::memset(to + part * bytes, 0, bytes);
      else
        std::memcpy(to + part * bytes,
                    static_cast<const std::byte *>(all[source]) + part * bytes,
                    bytes);
    }
    return;
  }
  const pmrt_collective &collective = collectiveOf(instruction);
  uint64_t bytes = dtypeSize(collective.dtype);
  uint64_t piece = collective.counts[0] * bytes;
  uint64_t row = collective.counts[1 % instruction.num_operands] * bytes;
  if (instruction.opcode == PMRT_OP_ALL_REDUCE) {
    whole.resize(operandBytes(instruction));
    reduceInto(whole.data(), all.data(), size(), whole.size() / bytes,
               collective.dtype, collective.reduction);
    unpack(instruction, pointers, whole.data());
    return;
  }
  for (uint64_t r = 0; r < collective.outer; ++r) {
    if (instruction.opcode == PMRT_OP_ALL_GATHER) {
      auto *to = static_cast<std::byte *>(pointers[1]) + r * row;
      for (int64_t other = 0; other < size(); ++other)
        if (uint64_t valid = pieceElements(collective, other) * bytes)
          std::memcpy(to + other * piece,
                      static_cast<const std::byte *>(all[other]) + r * piece,
                      valid);
      continue;
    }
    std::vector<const void *> arrays;
    for (const void *array : all)
      arrays.push_back(static_cast<const std::byte *>(array) + r * row +
                       member * piece);
    reduceInto(static_cast<std::byte *>(pointers[1]) + r * piece, arrays.data(),
               size(), pieceElements(collective, member), collective.dtype,
               collective.reduction);
  }
}

template <typename Incoming, typename Outgoing>
uint64_t MpiGroup::exchange(int64_t member, Tag which, Incoming incoming,
                            Outgoing outgoing, const Patience &patience) {
  Messages messages(communicator);
  for (int64_t other = 0; other < size(); ++other)
    if (Piece piece = incoming(other); other != member && piece.bytes)
      messages.receive(piece.data, piece.bytes, ranks[other], tag(which));
  for (int64_t other = 0; other < size(); ++other)
    if (Piece piece = outgoing(other); other != member && piece.bytes)
      messages.send(piece.data, piece.bytes, ranks[other], tag(which));
  return messages.wait(patience);
}

uint64_t MpiGroup::largeAllReduce(int64_t member,
                                  const pmrt_instruction &instruction,
                                  void *const *pointers,
                                  const Patience &patience) {
  // Member j gets the j-th part of all members, reduces it, and sends it back.
  const pmrt_collective &collective = collectiveOf(instruction);
  uint64_t size = dtypeSize(collective.dtype);
  uint64_t bytes = operandBytes(instruction);
  auto total = static_cast<int64_t>(bytes / size);
  auto *data = const_cast<std::byte *>(packed(instruction, pointers, bytes));
  int64_t members = this->size();
  auto begin = [&](int64_t part) { return edge(part, members, total) * size; };
  uint64_t first = begin(member), length = begin(member + 1) - first;
  auto lengthOf = [&](int64_t part) { return begin(part + 1) - begin(part); };
  staging.resize(members * length);
  uint64_t waited = exchange(
      member, Data,
      [&](int64_t other) {
        return Piece{staging.data() + other * length, length};
      },
      [&](int64_t other) {
        return Piece{data + begin(other), lengthOf(other)};
      },
      patience);

  std::vector<const void *> arrays;
  for (int64_t other = 0; other < members; ++other)
    arrays.push_back(other == member ? data + first
                                     : staging.data() + other * length);
  reduceInto(data + first, arrays.data(), members, length / size,
             collective.dtype, collective.reduction);

  waited += exchange(
      member, Result,
      [&](int64_t other) {
        return Piece{data + begin(other), lengthOf(other)};
      },
      [&](int64_t) { return Piece{data + first, length}; }, patience);
  unpack(instruction, pointers, data);
  return waited;
}

/// Copies `length` bytes of each of `rows` rows.
static void copyRows(std::byte *to, uint64_t toStride, const std::byte *from,
                     uint64_t fromStride, uint64_t rows, uint64_t length) {
  for (uint64_t r = 0; r < rows && length; ++r)
    std::memcpy(to + r * toStride, from + r * fromStride, length);
}

uint64_t MpiGroup::largeAllGather(int64_t member,
                                  const pmrt_instruction &instruction,
                                  void *const *pointers,
                                  const Patience &patience) {
  const pmrt_collective &collective = collectiveOf(instruction);
  uint64_t size = dtypeSize(collective.dtype), rows = collective.outer;
  uint64_t piece = collective.counts[0] * size;
  uint64_t row = collective.counts[1] * size;
  auto valid = [&](int64_t other) {
    return static_cast<uint64_t>(pieceElements(collective, other)) * size;
  };
  const auto *block = static_cast<const std::byte *>(pointers[0]);
  auto *all = static_cast<std::byte *>(pointers[1]);
  // Without padding, in rows of the valid elements.
  pack.resize(std::max(pack.size(), rows * piece));
  copyRows(pack.data(), valid(member), block, piece, rows, valid(member));
  copyRows(all + member * piece, row, block, piece, rows, valid(member));
  staging.resize(this->size() * rows * piece);
  uint64_t waited = exchange(
      member, Data,
      [&](int64_t other) {
        return Piece{staging.data() + other * rows * piece,
                     rows * valid(other)};
      },
      [&](int64_t) { return Piece{pack.data(), rows * valid(member)}; },
      patience);
  for (int64_t other = 0; other < this->size(); ++other)
    if (other != member)
      copyRows(all + other * piece, row, staging.data() + other * rows * piece,
               valid(other), rows, valid(other));
  return waited;
}

uint64_t MpiGroup::largeReduceScatter(int64_t member,
                                      const pmrt_instruction &instruction,
                                      void *const *pointers,
                                      const Patience &patience) {
  const pmrt_collective &collective = collectiveOf(instruction);
  uint64_t size = dtypeSize(collective.dtype), rows = collective.outer;
  uint64_t piece = collective.counts[0] * size;
  uint64_t row = collective.counts[1] * size;
  auto valid = [&](int64_t other) {
    return static_cast<uint64_t>(pieceElements(collective, other)) * size;
  };
  const auto *all = static_cast<const std::byte *>(pointers[0]);
  // The pieces of each member, behind each other.
  pack.resize(std::max(pack.size(), this->size() * rows * piece));
  for (int64_t other = 0; other < this->size(); ++other)
    copyRows(pack.data() + other * rows * piece, valid(other),
             all + other * piece, row, rows, valid(other));
  uint64_t length = rows * valid(member);
  staging.resize(this->size() * length);
  uint64_t waited = exchange(
      member, Data,
      [&](int64_t other) {
        return Piece{staging.data() + other * length, length};
      },
      [&](int64_t other) {
        return Piece{pack.data() + other * rows * piece, rows * valid(other)};
      },
      patience);
  if (!length)
    return waited;
  std::vector<const void *> arrays;
  for (int64_t other = 0; other < this->size(); ++other)
    arrays.push_back(other == member ? pack.data() + member * rows * piece
                                     : staging.data() + other * length);
  whole.resize(length);
  reduceInto(whole.data(), arrays.data(), this->size(), length / size,
             collective.dtype, collective.reduction);
  copyRows(static_cast<std::byte *>(pointers[1]), piece, whole.data(),
           valid(member), rows, valid(member));
  return waited;
}

uint64_t MpiGroup::largeAllToAll(int64_t member,
                                 const pmrt_instruction &instruction,
                                 void *const *pointers,
                                 const Patience &patience) {
  const pmrt_all_to_all &exchange = allToAllOf(instruction);
  uint64_t size = dtypeSize(exchange.dtype);
  const auto *before = static_cast<const std::byte *>(pointers[0]);
  auto *after = static_cast<std::byte *>(pointers[1]);
  // What goes to each member, and what comes from it, behind each other.
  std::vector<uint64_t> out(this->size() + 1), in(this->size() + 1);
  for (int64_t other = 0; other < this->size(); ++other) {
    out[other + 1] =
        out[other] + exchangedElements(exchange, member, other) * size;
    in[other + 1] =
        in[other] + exchangedElements(exchange, other, member) * size;
  }
  pack.resize(std::max<size_t>(pack.size(), out.back()));
  staging.resize(std::max<size_t>(staging.size(), in.back()));
  for (int64_t other = 0; other < this->size(); ++other) {
    std::byte *to = pack.data() + out[other];
    forEachRun(exchange, member, other,
               [&](int64_t from, int64_t place, int64_t count) {
                 if (other == member)
                   std::memcpy(after + place * size, before + from * size,
                               count * size);
                 else
                   std::memcpy(to, before + from * size, count * size);
                 to += count * size;
               });
  }
  uint64_t waited = this->exchange(
      member, Data,
      [&](int64_t other) {
        return Piece{staging.data() + in[other], in[other + 1] - in[other]};
      },
      [&](int64_t other) {
        return Piece{pack.data() + out[other], out[other + 1] - out[other]};
      },
      patience);
  for (int64_t other = 0; other < this->size(); ++other) {
    const std::byte *from = staging.data() + in[other];
    if (other != member)
      forEachRun(exchange, other, member,
                 [&](int64_t, int64_t place, int64_t count) {
                   std::memcpy(after + place * size, from, count * size);
                   from += count * size;
                 });
  }
  return waited;
}

uint64_t MpiGroup::largePermute(int64_t member,
                                const pmrt_instruction &instruction,
                                void *const *pointers,
                                const Patience &patience) {
  const pmrt_permute &permute = permuteOf(instruction);
  uint64_t bytes = operandBytes(instruction) / permute.num_parts;
  auto *own = static_cast<std::byte *>(pointers[0]);
  auto *received = static_cast<std::byte *>(pointers[1]);
  auto sourceOf = [&](uint64_t part, int64_t target) {
    return permute.sources[part * permute.num_members + target];
  };
  if (permute.num_parts == 1) {
    int32_t source = sourceOf(0, member);
    if (source < 0)
      std::memset(received, 0, bytes);
    else if (source == member)
      std::memcpy(received, own, bytes);
    return exchange(
        member, Data,
        [&](int64_t other) {
          return Piece{received, other == source ? bytes : 0};
        },
        [&](int64_t other) {
          return Piece{own, sourceOf(0, other) == member ? bytes : 0};
        },
        patience);
  }
  // The parts that go between two members, one behind the other.
  std::vector<uint64_t> out(size() + 1, 0), in(size() + 1, 0);
  auto forEachPart = [&](int64_t from, int64_t to, auto use) {
    for (uint64_t part = 0; part < permute.num_parts; ++part)
      if (sourceOf(part, to) == from)
        use(part * bytes);
  };
  for (int64_t other = 0; other < size(); ++other) {
    out[other + 1] = out[other];
    in[other + 1] = in[other];
    if (other == member)
      continue;
    forEachPart(member, other, [&](uint64_t) { out[other + 1] += bytes; });
    forEachPart(other, member, [&](uint64_t) { in[other + 1] += bytes; });
  }
  pack.resize(std::max<size_t>(pack.size(), out.back()));
  staging.resize(std::max<size_t>(staging.size(), in.back()));
  for (int64_t other = 0; other < size(); ++other) {
    std::byte *to = pack.data() + out[other];
    if (other != member)
      forEachPart(member, other, [&](uint64_t place) {
        std::memcpy(to, own + place, bytes);
        to += bytes;
      });
  }
  uint64_t waited = exchange(
      member, Data,
      [&](int64_t other) {
        return Piece{staging.data() + in[other], in[other + 1] - in[other]};
      },
      [&](int64_t other) {
        return Piece{pack.data() + out[other], out[other + 1] - out[other]};
      },
      patience);
  for (int64_t other = 0; other < size(); ++other) {
    const std::byte *from = staging.data() + in[other];
    if (other != member)
      forEachPart(other, member, [&](uint64_t place) {
        std::memcpy(received + place, from, bytes);
        from += bytes;
      });
  }
  forEachPart(member, member, [&](uint64_t place) {
    std::memcpy(received + place, own + place, bytes);
  });
  forEachPart(-1, member, [&](uint64_t place) {
    std::memset(received + place, 0, bytes);
  });
  return waited;
}

} // namespace pipemesh::runtime
