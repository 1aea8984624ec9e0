//===- Capture.cpp - Copies of buffers, taken while a step runs -----------===//

#include "host/Capture.h"

#include <cstring>

namespace pipemesh::runtime {

Capture::Capture(Job &job, const std::vector<std::string> &buffers)
    : job(job), copies(job.localSize()) {
  int64_t microBatches = job.manifest().mesh.microBatches();
  for (int64_t i = 0; i < job.localSize(); ++i) {
    Rank &rank = job.local(i);
    placeOfRank[rank.number()] = i;
    const Program &program = rank.getProgram();
    for (const std::string &name : buffers) {
      int64_t index = program.info.find(name);
      if (index < 0 || !holdsFirstCopy(job.manifest().mesh, rank.number(),
                                       program.info.buffers[index]))
        continue;
      copies[i][index].slots.assign(
          microBatches,
          std::vector<std::byte>(program.info.buffers[index].bytes));
    }
    rank.afterAction = [&own = copies[i]](Rank &rank, uint64_t number) {
      const Program &program = rank.getProgram();
      const pmrt_action &action = program.role.actions[number];
      if (action.kind == PMRT_SEND)
        return;
      constexpr int64_t received = 1000;
      int64_t writer = action.kind == PMRT_RECEIVE
                           ? received
                           : program.role.bodies[action.index].kind;
      for (auto &[index, copy] : own) {
        bool written = action.kind == PMRT_RECEIVE
                           ? action.index == index
                           : !runsOnce(program.role.bodies[action.index]) &&
                                 program.writes(action.index, index);
        if (!written || (copy.writer >= 0 && copy.writer != writer))
          continue;
        copy.writer = writer;
        std::memcpy(copy.slots[action.micro_batch].data(),
                    rank.view(index, action.micro_batch),
                    copy.slots[action.micro_batch].size());
      }
    };
  }
}

Capture::~Capture() {
  for (int64_t i = 0; i < job.localSize(); ++i)
    job.local(i).afterAction = nullptr;
}

void Capture::collect(const std::string &buffer,
                      std::vector<float> &whole) const {
  std::vector<std::byte> bytes;
  job.collect(
      buffer, job.manifest().mesh.microBatches(),
      [&](const Rank &rank, int64_t microBatch) {
        int64_t index = rank.getProgram().info.find(buffer);
        return copies[placeOfRank.at(rank.number())]
            .at(index)
            .slots[microBatch]
            .data();
      },
      bytes);
  whole.resize(bytes.size() / sizeof(float));
  std::memcpy(whole.data(), bytes.data(), bytes.size());
}

} // namespace pipemesh::runtime
