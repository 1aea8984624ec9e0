//===- Emulator.cpp - a GPU's blocks on this processor --------------------===//

#include "cuda/emulate/Emulator.h"
#include "cuda/emulate/Operations.h"
#include "cuda/emulate/Ptx.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

namespace pmrt::ptx {

namespace {

constexpr unsigned kWarp = 32;

/// What an instruction is, where it is not a function of its operands.
enum class Kind { Compute, Load, Store, Branch, Return, Barrier, WarpBarrier,
                  Exchange, Pack, Unpack, Special };
enum class Space { Parameter, Global, Shared };

struct Source {
  int index = -1;
  uint64_t value = 0;
};

struct Decoded {
  Kind kind = Kind::Compute;
  Function function = nullptr;
  int result = -1;
  Source sources[4];
  int predicate = -1;
  bool isNegated = false;
  int target = -1, line = 0;
  Space space = Space::Global;
  unsigned bytes = 0;
  bool isSigned = false;
  std::vector<Source> elements;
};

[[noreturn]] void fail(const std::string &what) {
  throw std::runtime_error(what);
}

std::string join(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ".") + part;
  return text;
}

Source sourceOf(const Operand &operand) {
  return {operand.index, operand.value};
}

unsigned bytesOf(const std::string &type) {
  unsigned bits = std::stoul(type.substr(type.find_first_of("0123456789")));
  return bits / 8;
}

Decoded decode(const Instruction &from, const std::string &special) {
  const std::vector<std::string> &parts = from.parts;
  const std::vector<Operand> &operands = from.operands;
  Decoded made;
  made.line = from.line;
  made.predicate = from.predicate;
  made.isNegated = from.isNegated;
  const std::string &name = parts[0];
  auto unknown = [&]() {
    fail("line " + std::to_string(from.line) + ": instruction '" +
         join(parts) + "' is not known");
  };
  if (name == "bra") {
    made.kind = Kind::Branch;
    made.target = from.target;
  } else if (name == "ret" || name == "exit") {
    made.kind = Kind::Return;
  } else if (name == "bar" && parts.back() == "sync" && parts.size() == 2) {
    made.kind = Kind::Barrier;
  } else if (name == "barrier" || (name == "bar" && parts[1] == "warp")) {
    if (name == "barrier")
      made.kind = Kind::Barrier;
    else
      made.kind = Kind::WarpBarrier;
  } else if (name == "shfl") {
    if (join(parts) != "shfl.sync.bfly.b32" || operands.size() != 5)
      unknown();
    made.kind = Kind::Exchange;
    made.result = operands[0].index;
    for (int i = 0; i < 4; ++i)
      made.sources[i] = sourceOf(operands[i + 1]);
    if (made.sources[2].index >= 0 || made.sources[2].value != 31 ||
        static_cast<uint32_t>(made.sources[3].value) != 0xffffffffu)
      fail("line " + std::to_string(from.line) +
           ": an exchange of a part of a warp is not known");
  } else if (name == "ld" || name == "st") {
    bool isLoad = name == "ld";
    made.kind = isLoad ? Kind::Load : Kind::Store;
    bool hasSpace = false;
    for (size_t i = 1; i + 1 < parts.size(); ++i) {
      if (parts[i] == "param")
        made.space = Space::Parameter, hasSpace = true;
      else if (parts[i] == "global" || parts[i] == "const")
        made.space = Space::Global, hasSpace = true;
      else if (parts[i] == "shared")
        made.space = Space::Shared, hasSpace = true;
      else if (parts[i] != "v2" && parts[i] != "v4" && parts[i] != "nc" &&
               parts[i] != "volatile")
        unknown();
    }
    if (!hasSpace)
      unknown();
    made.bytes = bytesOf(parts.back());
    made.isSigned = parts.back()[0] == 's';
    const Operand &address = operands[isLoad ? 1 : 0];
    const Operand &value = operands[isLoad ? 0 : 1];
    made.sources[0] = sourceOf(address);
    if (value.kind == Operand::Vector)
      for (const Operand &element : value.elements)
        made.elements.push_back(sourceOf(element));
    else
      made.elements.push_back(sourceOf(value));
  } else if (name == "mov" && !operands.empty() &&
             operands[0].kind == Operand::Vector) {
    made.kind = Kind::Unpack;
    made.sources[0] = sourceOf(operands[1]);
    for (const Operand &element : operands[0].elements)
      made.elements.push_back(sourceOf(element));
    made.bytes = bytesOf(parts.back()) / made.elements.size();
  } else if (name == "mov" && operands.size() == 2 &&
             operands[1].kind == Operand::Vector) {
    made.kind = Kind::Pack;
    made.result = operands[0].index;
    for (const Operand &element : operands[1].elements)
      made.elements.push_back(sourceOf(element));
    made.bytes = bytesOf(parts.back()) / made.elements.size();
  } else if (name == "mov" && !special.empty()) {
    made.kind = Kind::Special;
    made.result = operands[0].index;
    made.bytes = special == "%tid.x" ? 0 : special == "%ctaid.x" ? 1
                 : special == "%ntid.x" ? 2 : special == "%nctaid.x" ? 3 : 4;
    if (made.bytes == 4)
      fail("line " + std::to_string(from.line) + ": register '" + special +
           "' is not known");
  } else {
    made.function = findFunction(parts);
    if (!made.function || operands.empty() || operands.size() > 5 ||
        operands[0].kind != Operand::Register)
      unknown();
    made.result = operands[0].index;
    for (size_t i = 1; i < operands.size(); ++i)
      made.sources[i - 1] = sourceOf(operands[i]);
  }
  return made;
}

} // namespace

struct Emulator::Code {
  struct Kernel {
    std::vector<Decoded> instructions;
    int numRegisters = 0, numParameters = 0;
    uint64_t sharedBytes = 0;
    /// What of it is not known.
    std::string problem;
  };
  Module module;
  std::map<std::string, Kernel> kernels;
};

namespace {

/// Who touched a byte of shared memory last, and when.
struct Touch {
  int writer = -1, reader = -1;
  unsigned writeTime = 0, readTime = 0;
  /// Of the warp of the writer, of the reader.
  unsigned writeWarpTime = 0, readWarpTime = 0;
  /// Threads of several warps, or several of one, read since the last barrier.
  bool manyWarps = false, manyReaders = false;
  bool isWritten = false;
};

struct Thread {
  enum State { Ready, AtBarrier, AtWarpBarrier, AtExchange, Ended };
  State state = Ready;
  int next = 0;
  uint64_t *registers = nullptr;
};

/// One block of a launch.
class Block {
public:
  Block(const std::vector<Decoded> &code, int numRegisters,
        uint64_t sharedBytes, const Launch &launch,
        const std::vector<std::vector<unsigned char>> &tables)
      : code(code), launch(launch), tables(tables), shared(sharedBytes),
        touches(sharedBytes), registers(size_t(numRegisters) * launch.threads),
        threads(launch.threads), warpTimes((launch.threads + kWarp - 1) / kWarp) {
    for (unsigned i = 0; i < launch.threads; ++i)
      threads[i].registers = registers.data() + size_t(numRegisters) * i;
  }

  void run(unsigned number) {
    block = number;
    std::fill(touches.begin(), touches.end(), Touch());
    std::fill(registers.begin(), registers.end(), 0xdeadbeefdeadbeef);
    for (Thread &thread : threads) {
      thread.state = Thread::Ready;
      thread.next = 0;
    }
    time = 0;
    std::fill(warpTimes.begin(), warpTimes.end(), 0);
    while (true) {
      for (unsigned i = 0; i < threads.size(); ++i) {
        current = launch.isReversed ? threads.size() - 1 - i : i;
        if (threads[current].state == Thread::Ready)
          advance(threads[current]);
      }
      if (!release())
        return;
    }
  }

private:
  const std::vector<Decoded> &code;
  const Launch &launch;
  const std::vector<std::vector<unsigned char>> &tables;
  std::vector<unsigned char> shared;
  std::vector<Touch> touches;
  std::vector<uint64_t> registers;
  std::vector<Thread> threads;
  std::vector<unsigned> warpTimes;
  unsigned block = 0, current = 0, time = 0;
  size_t lastRange = 0;

  [[noreturn]] void wrong(const std::string &what, int line) {
    fail("line " + std::to_string(line) + ", block " + std::to_string(block) +
         ", thread " + std::to_string(current) + " " + what);
  }

  static uint64_t valueOf(const Thread &thread, const Source &source) {
    return source.index < 0 ? source.value : thread.registers[source.index];
  }

  void advance(Thread &thread) {
    while (true) {
      if (thread.next >= static_cast<int>(code.size())) {
        thread.state = Thread::Ended;
        return;
      }
      const Decoded &at = code[thread.next++];
      if (at.predicate >= 0 &&
          ((thread.registers[at.predicate] & 1) != 0) == at.isNegated)
        continue;
      switch (at.kind) {
      case Kind::Compute:
        thread.registers[at.result] = at.function(
            valueOf(thread, at.sources[0]), valueOf(thread, at.sources[1]),
            valueOf(thread, at.sources[2]), valueOf(thread, at.sources[3]));
        break;
      case Kind::Load:
        load(thread, at);
        break;
      case Kind::Store:
        store(thread, at);
        break;
      case Kind::Branch:
        thread.next = at.target;
        break;
      case Kind::Return:
        thread.state = Thread::Ended;
        return;
      case Kind::Barrier:
        thread.state = Thread::AtBarrier;
        return;
      case Kind::WarpBarrier:
        thread.state = Thread::AtWarpBarrier;
        return;
      case Kind::Exchange:
        thread.state = Thread::AtExchange;
        return;
      case Kind::Pack: {
        uint64_t value = 0;
        for (size_t i = 0; i < at.elements.size(); ++i) {
          uint64_t element = valueOf(thread, at.elements[i]);
          memcpy(reinterpret_cast<char *>(&value) + i * at.bytes, &element,
                 at.bytes);
        }
        thread.registers[at.result] = value;
        break;
      }
      case Kind::Unpack: {
        uint64_t value = valueOf(thread, at.sources[0]);
        for (size_t i = 0; i < at.elements.size(); ++i) {
          uint64_t element = 0;
          memcpy(&element, reinterpret_cast<char *>(&value) + i * at.bytes,
                 at.bytes);
          if (at.elements[i].index >= 0)
            thread.registers[at.elements[i].index] = element;
        }
        break;
      }
      case Kind::Special: {
        const uint64_t values[] = {current, block, launch.threads,
                                   launch.blocks};
        thread.registers[at.result] = values[at.bytes];
        break;
      }
      }
    }
  }

  /// The bytes at a global address, which must lie in one of the buffers.
  unsigned char *global(uint64_t address, size_t bytes, bool isWrite,
                        int line) {
    auto isIn = [&](const Range &range) {
      uint64_t start = reinterpret_cast<uint64_t>(range.pointer);
      return address >= start && address + bytes <= start + range.bytes;
    };
    if (address % bytes)
      wrong("touches " + std::to_string(bytes) + " bytes at an address that is "
            "not aligned to them", line);
    auto found = [&] {
      if (launch.touched)
        launch.touched->add(address, bytes, isWrite);
      return reinterpret_cast<unsigned char *>(address);
    };
    if (lastRange < launch.parameters.size() &&
        isIn(launch.parameters[lastRange]))
      return found();
    for (size_t i = 0; i < launch.parameters.size(); ++i)
      if (isIn(launch.parameters[i])) {
        lastRange = i;
        return found();
      }
    for (const auto &table : tables) {
      uint64_t start = reinterpret_cast<uint64_t>(table.data());
      if (!isWrite && address >= start && address + bytes <= start + table.size())
        return reinterpret_cast<unsigned char *>(address);
    }
    wrong(std::string(isWrite ? "writes" : "reads") + " outside of all buffers",
          line);
  }

  void load(Thread &thread, const Decoded &at) {
    uint64_t address = valueOf(thread, at.sources[0]);
    // A register's address has what is added beside it.
    if (at.sources[0].index >= 0)
      address += at.sources[0].value;
    size_t bytes = at.bytes * at.elements.size();
    if (at.space == Space::Parameter) {
      uint64_t number = address / 8;
      if (number >= launch.parameters.size() || bytes != 8)
        wrong("reads a parameter that was not given", at.line);
      thread.registers[at.elements[0].index] =
          reinterpret_cast<uint64_t>(launch.parameters[number].pointer);
      return;
    }
    const unsigned char *from = nullptr;
    if (at.space == Space::Shared) {
      checkShared(address, bytes, false, at.line);
      from = &shared[address];
    } else {
      from = global(address, bytes, false, at.line);
    }
    for (const Source &element : at.elements) {
      uint64_t value = 0;
      memcpy(&value, from, at.bytes);
      if (at.isSigned && at.bytes < 8 && value >> (8 * at.bytes - 1) & 1)
        value |= ~uint64_t(0) << (8 * at.bytes);
      thread.registers[element.index] = value;
      from += at.bytes;
    }
  }

  void store(Thread &thread, const Decoded &at) {
    uint64_t address = valueOf(thread, at.sources[0]);
    if (at.sources[0].index >= 0)
      address += at.sources[0].value;
    size_t bytes = at.bytes * at.elements.size();
    unsigned char *to = nullptr;
    if (at.space == Space::Shared) {
      checkShared(address, bytes, true, at.line);
      to = &shared[address];
    } else if (at.space == Space::Global) {
      to = global(address, bytes, true, at.line);
    } else {
      wrong("writes a parameter", at.line);
    }
    for (const Source &element : at.elements) {
      uint64_t value = valueOf(thread, element);
      memcpy(to, &value, at.bytes);
      to += at.bytes;
    }
  }

  /// Two threads that touch one byte, one of them writing, need a barrier in
  /// between: the block's, or the warp's where both are of one.
  void checkShared(uint64_t address, size_t bytes, bool isWrite, int line) {
    if (address + bytes > shared.size() || address % bytes)
      wrong("touches shared memory outside of what the kernel has", line);
    int thread = static_cast<int>(current);
    unsigned warp = current / kWarp, warpTime = warpTimes[warp];
    for (uint64_t i = address; i < address + bytes; ++i) {
      Touch &touch = touches[i];
      auto isOrdered = [&](int other, unsigned when, unsigned warpWhen) {
        return other < 0 || other == thread || when < time ||
               (other / static_cast<int>(kWarp) == static_cast<int>(warp) &&
                warpWhen < warpTime);
      };
      if (!isWrite && !touch.isWritten)
        wrong("reads shared memory that nothing wrote", line);
      if (!isOrdered(touch.writer, touch.writeTime, touch.writeWarpTime))
        wrong("races with thread " + std::to_string(touch.writer) +
                  ", which wrote this place of shared memory",
              line);
      if (isWrite) {
        bool readersAreOrdered =
            touch.readTime < time || touch.reader < 0 ||
            (touch.manyWarps ? false
             : touch.manyReaders
                 ? touch.reader / kWarp == warp && touch.readWarpTime < warpTime
                 : isOrdered(touch.reader, touch.readTime, touch.readWarpTime));
        if (!readersAreOrdered)
          wrong("races with thread " + std::to_string(touch.reader) +
                    ", which read this place of shared memory",
                line);
        touch.writer = thread;
        touch.writeTime = time;
        touch.writeWarpTime = warpTime;
        touch.isWritten = true;
        continue;
      }
      bool isSame = touch.reader >= 0 && touch.readTime == time;
      touch.manyReaders = isSame && (touch.manyReaders || touch.reader != thread);
      touch.manyWarps = isSame && (touch.manyWarps ||
                                   touch.reader / kWarp != warp);
      touch.reader = thread;
      touch.readTime = time;
      touch.readWarpTime = warpTime;
    }
  }

  /// Lets threads go on that wait for nobody any more. False when all have ended.
  bool release() {
    bool moved = false;
    for (unsigned first = 0; first < threads.size(); first += kWarp)
      moved |= releaseWarp(first);
    if (moved)
      return true;
    unsigned waiting = 0, ended = 0;
    for (const Thread &thread : threads) {
      waiting += thread.state == Thread::AtBarrier;
      ended += thread.state == Thread::Ended;
    }
    if (ended == threads.size())
      return false;
    if (waiting + ended != threads.size())
      stuck();
    // A barrier in a branch that not all threads take is one of nobody.
    int place = -1;
    for (Thread &thread : threads) {
      if (thread.state == Thread::Ended)
        continue;
      if (place >= 0 && thread.next != place)
        stuck();
      place = thread.next;
      thread.state = Thread::Ready;
    }
    ++time;
    return true;
  }

  bool releaseWarp(unsigned first) {
    unsigned last = std::min<unsigned>(first + kWarp, threads.size());
    Thread::State state = threads[first].state;
    if (state != Thread::AtWarpBarrier && state != Thread::AtExchange)
      return false;
    for (unsigned i = first; i < last; ++i)
      if (threads[i].state != state || threads[i].next != threads[first].next)
        return false;
    if (state == Thread::AtWarpBarrier) {
      ++warpTimes[first / kWarp];
    } else {
      const Decoded &at = code[threads[first].next - 1];
      uint64_t sent[kWarp] = {};
      for (unsigned i = first; i < last; ++i)
        sent[i - first] = valueOf(threads[i], at.sources[0]);
      for (unsigned i = first; i < last; ++i) {
        uint64_t other = (i - first) ^ valueOf(threads[i], at.sources[1]);
        threads[i].registers[at.result] = sent[other % kWarp] & 0xffffffff;
      }
    }
    for (unsigned i = first; i < last; ++i)
      threads[i].state = Thread::Ready;
    return true;
  }

  [[noreturn]] void stuck() {
    for (current = 0; current < threads.size(); ++current)
      if (threads[current].state == Thread::AtWarpBarrier ||
          threads[current].state == Thread::AtExchange)
        wrong("waits for threads of its warp that do not come",
              code[threads[current].next - 1].line);
    for (current = 0; current < threads.size(); ++current)
      if (threads[current].state == Thread::AtBarrier)
        wrong("waits at a barrier that not all threads come to",
              code[threads[current].next - 1].line);
    fail("no thread can go on");
  }
};

} // namespace

Emulator::Emulator(const std::string &ptx, std::string &problem)
    : code(std::make_unique<Code>()) {
  try {
    code->module = parse(ptx);
    for (const auto &[name, kernel] : code->module.kernels) {
      Code::Kernel &made = code->kernels[name];
      made.numRegisters = kernel.numRegisters;
      made.numParameters = kernel.numParameters;
      made.sharedBytes = kernel.sharedBytes;
      try {
        for (const Instruction &instruction : kernel.instructions)
          made.instructions.push_back(
              decode(instruction, kernel.specialOf(instruction)));
      } catch (const std::exception &error) {
        made.problem = error.what();
        if (problem.empty())
          problem = made.problem;
      }
    }
  } catch (const std::exception &error) {
    problem = error.what();
  }
}

Emulator::~Emulator() = default;

bool Emulator::has(const std::string &kernel) const {
  return code->kernels.count(kernel) != 0;
}

std::string Emulator::run(const std::string &name, const Launch &launch) {
  auto it = code->kernels.find(name);
  if (it == code->kernels.end())
    return "there is no kernel '" + name + "'";
  const Code::Kernel &kernel = it->second;
  if (static_cast<int>(launch.parameters.size()) != kernel.numParameters)
    return "kernel '" + name + "' has " +
           std::to_string(kernel.numParameters) + " parameters, but " +
           std::to_string(launch.parameters.size()) + " are given";
  if (!kernel.problem.empty())
    return "kernel '" + name + "': " + kernel.problem;
  try {
    Block block(kernel.instructions, kernel.numRegisters, kernel.sharedBytes,
                launch, code->module.tables);
    for (unsigned i = 0; i < launch.blocks; ++i)
      block.run(launch.isReversed ? launch.blocks - 1 - i : i);
  } catch (const std::exception &error) {
    return "kernel '" + name + "': " + error.what();
  }
  return "";
}

} // namespace pmrt::ptx
