//===- Ptx.h - text for NVIDIA's processors, read -------------------------===//
//
// The part of PTX that LLVM writes for our kernels, as a list of instructions for
// each kernel. What is not known is refused by name.
//
//===----------------------------------------------------------------------===//

#ifndef PMRT_CUDA_EMULATE_PTX_H
#define PMRT_CUDA_EMULATE_PTX_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pmrt::ptx {

struct Operand {
  enum Kind { Register, Immediate, Vector, Address } kind = Immediate;
  /// Of the register, or of the address' base; -1 where that is a constant.
  int index = -1;
  /// The bits of an immediate, or what is added to an address.
  uint64_t value = 0;
  /// The elements of a vector.
  std::vector<Operand> elements;
};

struct Instruction {
  /// The name and what follows it, without dots: {"setp", "gt", "f32"}.
  std::vector<std::string> parts;
  std::vector<Operand> operands;
  /// The register that decides whether it runs; -1 for always.
  int predicate = -1;
  bool isNegated = false;
  /// Where a branch goes.
  int target = -1;
  int line = 0;
};

struct Kernel {
  std::string name;
  std::vector<Instruction> instructions;
  int numRegisters = 0;
  /// Byte offsets of the parameters, each of eight bytes.
  int numParameters = 0;
  uint64_t sharedBytes = 0;
  /// The names of registers that the processor sets, such as %tid.x.
  std::map<int, std::string> specials;

  /// The special register that an instruction moves, or "".
  std::string specialOf(const Instruction &instruction) const {
    if (instruction.operands.size() != 2)
      return "";
    auto it = specials.find(instruction.operands[1].index);
    return it == specials.end() ? "" : it->second;
  }
};

struct Module {
  std::map<std::string, Kernel> kernels;
  /// Constant tables, at fixed places.
  std::vector<std::vector<unsigned char>> tables;
};

/// Throws std::runtime_error that names the line and what is not known there.
Module parse(const std::string &text);

} // namespace pmrt::ptx

#endif
