//===- Objects.h - what handles stand for ---------------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_OBJECTS_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_OBJECTS_H

#include "cuda/standin/Image.h"
#include "cuda/standin/Work.h"

namespace pipemesh::cuda {

// The names are the library's; they are what its handles point to.

struct CUctx_st {
  int device = 0;
  int uses = 0;
  uint64_t bytes = 0;
};

struct CUstream_st {
  unsigned number = 0;
  CUcontext context = nullptr;
  bool isBlocking = false;
  /// What the next task is behind.
  standin::Tasks last;
  /// What it captures into, and what was last before.
  std::shared_ptr<standin::Capture> capture;
  standin::Tasks lastBefore;
};

struct CUevent_st {
  unsigned number = 0;
  standin::Tasks recorded;
  std::shared_ptr<standin::Capture> capture;
};

struct CUmod_st {
  unsigned number = 0;
  std::shared_ptr<standin::Image> image;
  std::map<std::string, CUfunction> functions;
};

struct CUfunc_st {
  unsigned number = 0;
  std::string name;
  int parameters = 0;
  std::shared_ptr<standin::Image> image;
};

struct CUgraph_st {
  unsigned number = 0;
  standin::Tasks nodes;
};

struct CUgraphExec_st {
  unsigned number = 0;
  standin::Tasks nodes;
  /// What ended its last launch: it never runs beside itself.
  standin::Tasks last;
};

namespace standin {

/// Objects of one kind by their handles.
template <typename T> class Handles {
public:
  T *make() {
    T *made = new T;
    made->number = ++count;
    all.insert(made);
    return made;
  }
  bool has(T *handle) const { return all.count(handle) != 0; }
  /// False where there is none.
  bool drop(T *handle) {
    if (!all.erase(handle))
      return false;
    delete handle;
    return true;
  }
  std::set<T *> all;

private:
  unsigned count = 0;
};

struct Objects {
  bool isInitialized = false;
  std::map<int, CUctx_st> contexts;
  Handles<CUstream_st> streams;
  Handles<CUevent_st> events;
  Handles<CUmod_st> modules;
  Handles<CUfunc_st> functions;
  Handles<CUgraph_st> graphs;
  Handles<CUgraphExec_st> executables;
  /// Of each context, the stream without a handle.
  std::map<CUcontext, CUstream_st> defaults;
};

/// With the lock held.
Objects &objects();

/// The stream of a handle, or the one without; null where it is neither.
CUstream streamOf(CUstream handle);

/// What the next task of a stream must be behind.
Tasks orderOf(CUstream stream);

/// A task at the end of a stream. Where the stream is captured it becomes part of the
/// graph. Lock held.
TaskPtr launch(CUstream stream, std::function<CUresult()> body, bool isStuck);
TaskPtr launch(const std::vector<CUstream> &streams, std::shared_ptr<Exchange> exchange,
               bool isStuck);

/// CUDA_ERROR_STREAM_CAPTURE_INVALIDATED where the stream's capture has failed.
CUresult captureStatus(CUstream stream);
/// A call that a capture of this thread forbids: ends the capture, and is the error;
/// or CUDA_SUCCESS.
CUresult refuseInCapture(Caller &who);

} // namespace standin
} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_OBJECTS_H
