//===- SampleProgram.h - Programs made in memory, for the checker ---------===//

#ifndef PIPEMESH_TEST_CHECK_SAMPLEPROGRAM_H
#define PIPEMESH_TEST_CHECK_SAMPLEPROGRAM_H

#include "check/Prove.h"
#include "pipemesh/Schedule/Generate.h"

#include <memory>
#include <random>

namespace pipemesh::proof::test {

struct SampleOptions {
  schedule::Schedule schedule;
  uint32_t dp = 1, tp = 1;
  /// Instructions of a body beside those that hand values on.
  uint32_t operations = 4;
  bool loops = false;    ///< some of them in loops and choices
  bool starts = false;   ///< gradients are summed beside the last backward
  bool spanning = false; ///< the norm is summed over the roles by a collective
  uint32_t seed = 0;
};

/// The manifest and the tables of a training step of a schedule: activations and
/// gradients from stage to stage, gradients of weights that are added up and
/// reduced, collectives over tp. The tables may be changed.
class SampleProgram {
public:
  explicit SampleProgram(const SampleOptions &options);
  SampleProgram(const SampleProgram &) = delete;
  SampleProgram &operator=(const SampleProgram &) = delete;

  runtime::Manifest manifest;
  std::vector<pmrt_role> tables;

  Proof prove(const ProveOptions &options = {}) const;
  /// The text of the refusal; empty where the program is proved.
  std::string refusal(const ProveOptions &options = {}) const;

  pmrt_buffer &buffer(uint32_t role, const std::string &name);
  pmrt_body &body(uint32_t role, const std::string &name);
  /// The `number`-th instruction of a body with that opcode.
  pmrt_instruction &instruction(uint32_t role, const std::string &body,
                                uint32_t opcode, uint32_t number = 0);
  pmrt_action &action(uint32_t role, uint64_t index) {
    return const_cast<pmrt_action &>(tables[role].actions[index]);
  }
  template <typename T> T &descriptor(pmrt_instruction &instruction) {
    return *static_cast<T *>(const_cast<void *>(instruction.descriptor));
  }
  pmrt_operand &operand(pmrt_instruction &instruction, uint32_t number) {
    return const_cast<pmrt_operand &>(instruction.operands[number]);
  }

private:
  friend class BodyMaker;
  friend class RoleMaker;
  template <typename T> T *keep(std::vector<T> values) {
    auto kept = std::make_shared<std::vector<T>>(std::move(values));
    pool.push_back(kept);
    return kept->data();
  }
  const char *keep(const std::string &text) {
    auto kept = std::make_shared<std::string>(text);
    pool.push_back(kept);
    return kept->c_str();
  }

  std::vector<std::shared_ptr<void>> pool;
};

} // namespace pipemesh::proof::test

#endif // PIPEMESH_TEST_CHECK_SAMPLEPROGRAM_H
