//===- Matcher.h - Compares the calls of a rank with its role -------------===//

#ifndef PIPEMESH_RUNTIME_TRACE_MATCHER_H
#define PIPEMESH_RUNTIME_TRACE_MATCHER_H

#include "trace/Match.h"

namespace pipemesh::trace {

using runtime::Mesh;

class Matcher {
public:
  Matcher(const Rank &rank, uint32_t number, const Program &program,
          const Mesh &mesh, const Communicators &communicators,
          Refusals &refusals)
      : trace(rank.trace), ops(rank.timeline.ops), number(number),
        program(program), mesh(mesh), communicators(communicators),
        refusals(refusals) {}

  Match run();

private:
  /// Instructions that come one after the other.
  struct Queue {
    std::vector<uint32_t> expected;
    size_t next = 0;
    bool hasNext() const { return next < expected.size(); }
    uint32_t head() const { return expected[next]; }
  };
  /// A communicator of the tables.
  struct Lane {
    Queue queue;
    std::vector<uint32_t> members;
    uint64_t done = 0; ///< elements of the head that have been exchanged
  };

  const Call &callOf(uint32_t op) const { return trace.calls[ops[op].call]; }
  template <typename... Args> bool refuse(uint32_t op, const Args &...args) {
    refusals.add("program", placeOf(trace, number, callOf(op)), args...);
    return isFine = false;
  }
  void makeQueues();
  void beginStep(uint32_t op);
  bool endStep(uint32_t op);
  bool one(uint32_t op);
  bool compute(uint32_t op);
  bool launch(uint32_t op, uint32_t head);
  bool product(uint32_t op, uint32_t head);
  /// One call that reads and writes just the operands, and keeps what it needs
  /// besides in the workspace of the compute stream.
  bool attention(uint32_t op, uint32_t head);
  bool copy(uint32_t op);
  bool exchange(uint32_t first, uint32_t end);
  bool collective(uint32_t op, uint32_t index);
  /// Why the op is not (a part of) the lane's next collective; empty where it
  /// is.
  std::string collectiveProblem(uint32_t op, const Lane &lane) const;
  bool transfer(uint32_t op, uint32_t peer);
  /// Whether the op copies what a later send takes to a place beside the program's.
  bool copyOfSend(uint32_t op);
  bool permutation(uint32_t first, uint32_t end);
  std::string exchangeProblem(uint32_t first, uint32_t end, const Lane &lane,
                              uint32_t own) const;
  bool helpers(uint32_t exchange, bool isNext);
  void take(uint32_t op, uint32_t expected) {
    result.expected[op] = expected;
    place(op, expected + 1);
  }
  void place(uint32_t op, uint64_t minor) {
    result.order[op] = phase << 40 | minor;
  }
  void setBase(uint64_t address, uint64_t offset) {
    if (!hasBase) {
      hasBase = true;
      result.base = address - offset;
    }
  }
  const Range *ranges(const Slice &slice) const {
    return trace.ranges.data() + slice.first;
  }
  /// Whether the range is in an operand of one of these accesses.
  bool isIn(const Range &range, uint32_t expected, bool reads,
            bool writes) const;
  bool isWorkspace(const Range &range) const;
  bool isHelperOf(uint32_t op, uint32_t expected) const;
  bool checkTouched();

  const Trace &trace;
  const std::vector<Op> &ops;
  uint32_t number;
  const Program &program;
  const Mesh &mesh;
  const Communicators &communicators;
  Refusals &refusals;
  Match result;

  Queue computeQueue;
  std::vector<Lane> lanes;
  std::map<uint32_t, Queue> channels;
  std::map<uint32_t, Range> copyOf; ///< where sends of this step are made from
  std::map<uint32_t, uint32_t> laneOf; ///< NCCL's communicators: 0 or 1
  uint64_t computeStream = 0;
  uint64_t workDone = 0; ///< of a product that is several calls
  uint64_t phase = 0;
  uint32_t lastCompute = 0, lastExchange = none;
  std::vector<uint32_t> waiting; ///< helpers of the next exchange
  bool hasBase = false, isFine = true;
};

} // namespace pipemesh::trace

#endif // PIPEMESH_RUNTIME_TRACE_MATCHER_H
