//===- LibraryWork.cpp - what a library puts on a stream ------------------===//

#include "cuda/standin/LibraryWork.h"

#include "cuda/standin/Memory.h"
#include "cuda/standin/Objects.h"

#include <cstring>

namespace pipemesh::cuda::standin {

int launchWork(Call &call, CUstream stream, const LibraryWork &work) {
  call.addReads(work.reads)
      .addWrites(work.writes)
      .addList("workspace", {work.workspace, work.workspaceBytes});
  if (stream->capture)
    call.add("captured", true);
  if (call.fails())
    return call.failed();
  if (captureStatus(stream))
    return call.done(work.statusInCapture);
  bool isInside = isAllocated(work.workspace, work.neededBytes);
  for (const auto *ranges : {&work.reads, &work.writes})
    for (auto [address, bytes] : *ranges)
      isInside &= isAllocated(address, bytes);
  call.done();
  std::function<CUresult()> body;
  if (!isInside) {
    body = [who = &call.who, line = call.line, outside = work.outside] {
      complain(*who, line, outside);
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    };
  } else if (options().isComputing) {
    body = [workspace = hostOf(work.workspace), needed = work.neededBytes,
            compute = work.compute] {
      // Whoever shares the workspace would see it.
      if (needed)
        std::memset(workspace, 0xff, needed);
      compute();
      return CUDA_SUCCESS;
    };
  }
  launch(stream, body, call.isStuck());
  return 0;
}

} // namespace pipemesh::cuda::standin
