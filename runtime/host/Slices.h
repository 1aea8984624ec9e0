//===- Slices.h - What of a rank's memory is in use, followed as it runs --===//
//
// For pmrun --poison=free. A byte of the arena is live from its write to the last
// instruction that reads it before it is written again. What is no longer live is
// filled with NaN there and then, so that a reader that was overlooked changes the
// result; what is live is counted from what runs.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_SLICES_H
#define PIPEMESH_RUNTIME_HOST_SLICES_H

#include "host/Program.h"

#include <map>
#include <string>

namespace pipemesh::runtime {

/// A set of bytes of an arena.
class ByteSet {
public:
  void add(uint64_t begin, uint64_t end);
  void remove(uint64_t begin, uint64_t end);
  void add(const ByteSet &other);
  bool contains(uint64_t begin, uint64_t end) const;
  uint64_t size() const { return count; }
  bool operator==(const ByteSet &other) const { return parts == other.parts; }

  /// Calls visit(begin, end) for what of [begin, end) is in `other`, or is not.
  template <typename Visit>
  void forEachPart(uint64_t begin, uint64_t end, bool inside,
                   Visit visit) const {
    auto next = parts.upper_bound(begin);
    if (next != parts.begin() && std::prev(next)->second > begin)
      --next;
    for (; begin < end && next != parts.end() && next->first < end; ++next) {
      if (begin < next->first && !inside)
        visit(begin, next->first);
      begin = std::max(begin, next->first);
      uint64_t to = std::min(end, next->second);
      if (inside)
        visit(begin, to);
      begin = to;
    }
    if (begin < end && !inside)
      visit(begin, end);
  }
  /// Calls visit(begin, end) for what lies here and not in `other`.
  template <typename Visit>
  void forEachBeside(const ByteSet &other, Visit visit) const {
    for (auto &[begin, end] : parts)
      other.forEachPart(begin, end, false, visit);
  }

private:
  std::map<uint64_t, uint64_t> parts; ///< begin and end
  uint64_t count = 0;
};

/// Which bytes a step of a role still reads, at each of its places.
class LastReads {
public:
  explicit LastReads(const Program &program);

  using Parts = std::vector<std::pair<uint64_t, uint64_t>>;
  /// What ends with the instructions of an action that runs a body.
  struct Ends {
    /// By instruction: what it is the last to touch.
    std::vector<Parts> behind;
    /// Live where a jump or a switch goes on.
    std::map<uint64_t, ByteSet> atTarget;
    /// Live before the first one.
    ByteSet before;
  };
  Ends endsOf(uint64_t action) const;

  /// Live behind an action; of index -1, at the beginning of a step.
  const ByteSet &behind(int64_t action) const { return live[action + 1]; }

  /// What the runtime puts into the arena before the first action.
  const ByteSet &filled() const { return filling; }

  /// Whether the runtime holds a buffer all the time: state and inputs.
  bool isKept(int32_t buffer) const {
    return buffer != PMRT_SCRATCH && kept[buffer];
  }

  struct Touch {
    uint64_t begin, end; ///< in the arena
    uint32_t access;
    bool fills; ///< writes every byte
  };
  /// What an instruction of an action touches, without what is kept. A wait reads
  /// the operands of what was started.
  std::vector<Touch> touchesOf(uint64_t action,
                               const pmrt_instruction &instruction) const;
  /// Bytes of the slot that a transfer moves.
  std::pair<uint64_t, uint64_t> bytesOf(const pmrt_action &action) const;

private:
  std::pair<uint64_t, uint64_t> bytesOf(uint64_t action,
                                        const pmrt_operand &operand) const;
  void goBack(uint64_t action, const pmrt_instruction &instruction,
              ByteSet &live) const;

  const Program &program;
  std::vector<bool> kept;           // by buffer
  std::map<uint32_t, uint64_t> startedBy; ///< action of each event
  ByteSet filling;
  std::vector<ByteSet> live;
};

/// The live bytes of one rank as it runs.
class Slices {
public:
  explicit Slices(const LastReads &reads, const Program &program,
                  std::byte *arena)
      : reads(reads), program(program), arena(arena) {}

  void beginStep();
  void beginAction(uint64_t action);
  /// Called before and behind an instruction of the action that was begun; it has
  /// `kernelScratch` bytes of its own meanwhile, and `next` is run behind it.
  void beginInstruction(uint64_t index, uint64_t kernelScratch);
  void endInstruction(uint64_t index, uint64_t next);
  void beginTransfer(uint64_t action);
  void endTransfer(uint64_t action);
  void endStep();

  /// The most bytes that were live at one time, and where.
  uint64_t mark() const { return most; }
  const std::string &markPlace() const { return place; }

private:
  void see(uint64_t more, const pmrt_instruction *instruction);
  void free(uint64_t begin, uint64_t end);
  void keepOnly(const ByteSet &live);
  void access(uint64_t begin, uint64_t end, uint32_t how,
              const std::string &what);

  const LastReads &reads;
  const Program &program;
  std::byte *arena;
  ByteSet now;
  uint64_t action = 0;
  LastReads::Ends ends; ///< of the action
  uint64_t most = 0;
  std::string place;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_SLICES_H
