//===- Forms.cpp - The calls that a trace may hold, and their fields ------===//

#include "trace/Forms.h"

#include <unordered_map>

namespace pipemesh::trace {

const char *const fieldNames[numFields] = {
    "address",  "batch", "blocks", "bytes",      "call",      "captured", "color",
    "comm",     "count", "device",     "error",     "event",    "executable",
    "function", "graph", "group",      "host",      "id",       "k",
    "kernel",   "key",   "kind",       "m",         "mode",     "module",
    "n",        "name",  "parameters", "parent",    "peer",     "rank",
    "ranks",    "reads", "reduction",  "result",    "stream",   "threads",  "touched",
    "trace",    "type",  "value",      "workspace", "writes"};

static const std::unordered_map<std::string_view, Form> &forms() {
  static const auto *table = new std::unordered_map<std::string_view, Form>{
      {"cuMemAlloc_v2", {Kind::MemAlloc, all(Bytes, Address)}},
      {"cuMemFree_v2", {Kind::MemFree, all(Address)}},
      {"cuMemHostAlloc", {Kind::HostAlloc, all(Bytes, Host, Device)}},
      {"cuMemFreeHost", {Kind::HostFree, all(Host)}},
      {"cuStreamCreate", {Kind::StreamCreate, all(Stream)}},
      {"cuStreamDestroy_v2", {Kind::StreamDestroy, all(Stream)}},
      {"cuStreamSynchronize", {Kind::StreamSynchronize, all(Stream)}},
      {"cuStreamQuery", {Kind::StreamQuery, all(Stream)}},
      {"cuStreamWaitEvent", {Kind::StreamWait, all(Stream, Event)}},
      {"cuEventCreate", {Kind::EventCreate, all(Event)}},
      {"cuEventDestroy_v2", {Kind::EventDestroy, all(Event)}},
      {"cuEventRecord", {Kind::EventRecord, all(Event, Stream)}},
      {"cuEventQuery", {Kind::EventQuery, all(Event)}},
      {"cuModuleLoadData", {Kind::ModuleLoad, all(Module)}},
      {"cuModuleGetFunction",
       {Kind::ModuleFunction, all(Module, Function, Name)}},
      {"cuLaunchKernel", {Kind::Launch, all(Stream, Kernel, Parameters, Blocks, Threads)}},
      {"cuMemcpyHtoD_v2", {Kind::Copy, all(Writes)}},
      {"cuMemcpyDtoH_v2", {Kind::Copy, all(Reads)}},
      {"cuMemcpyHtoDAsync_v2", {Kind::Copy, all(Stream, Writes)}},
      {"cuMemcpyDtoHAsync_v2", {Kind::Copy, all(Stream, Reads)}},
      {"cuMemcpyDtoDAsync_v2", {Kind::Copy, all(Stream, Reads, Writes)}},
      {"cuMemcpy2DAsync_v2", {Kind::Copy, all(Stream, Reads, Writes)}},
      {"cuMemcpy3DAsync_v2", {Kind::Copy, all(Stream, Reads, Writes)}},
      {"cuMemsetD8Async", {Kind::Set, all(Stream, Writes)}},
      {"cuStreamWriteValue32_v2",
       {Kind::WriteValue, all(Stream, Address, Value)}},
      {"cublasLtMatmul", {Kind::Product, all(Stream, M, N, K, Reads, Writes)}},
      {"cudnnBackendExecute",
       {Kind::Attention, all(Stream, Reads, Writes, Workspace)}},
      {"ncclCommInitRankConfig", {Kind::CommInit, all(Comm, Id, Rank, Ranks)}},
      {"ncclCommSplit", {Kind::CommSplit, all(Parent, Color, Key, Comm)}},
      {"ncclCommAbort", {Kind::CommEnd, all(Comm)}},
      {"ncclCommDestroy", {Kind::CommEnd, all(Comm)}},
      {"ncclCommFinalize", {Kind::CommEnd, all(Comm)}},
      {"ncclCommGetAsyncError", {Kind::CommError, all(Comm)}},
      {"ncclAllReduce",
       {Kind::AllReduce,
        all(Comm, Stream, Count, TypeField, Reduction, Reads, Writes)}},
      {"ncclAllGather",
       {Kind::AllGather, all(Comm, Stream, Count, TypeField, Reads, Writes)}},
      {"ncclReduceScatter",
       {Kind::ReduceScatter,
        all(Comm, Stream, Count, TypeField, Reduction, Reads, Writes)}},
      {"ncclSend",
       {Kind::Send, all(Comm, Stream, Count, TypeField, Peer, Reads)}},
      {"ncclRecv",
       {Kind::Receive, all(Comm, Stream, Count, TypeField, Peer, Writes)}},
      {"ncclGroupStart", {Kind::GroupStart, 0}},
      {"ncclGroupEnd", {Kind::GroupEnd, 0}},
      {"cuStreamBeginCapture_v2", {Kind::CaptureBegin, all(Stream)}},
      {"cuStreamEndCapture", {Kind::CaptureEnd, all(Graph)}},
      {"cuGraphInstantiateWithFlags",
       {Kind::GraphInstantiate, all(Graph, Executable)}},
      {"cuGraphLaunch", {Kind::GraphLaunch, all(Executable, Stream)}},
  };
  return *table;
}

const Form *formOf(std::string_view name) {
  auto found = forms().find(name);
  return found == forms().end() ? nullptr : &found->second;
}

bool isHarmless(std::string_view name) {
  for (std::string_view prefix :
       {"cuInit", "cuDriverGet", "cuGetError", "cuDevice", "cuCtx",
        "cuMemGetInfo", "cuMemHostGetDevicePointer", "cuModuleUnload",
        "cuGraphExecDestroy", "cuGraphDestroy", "cublasLtCreate",
        "cublasLtDestroy", "cublasLtMatmulDesc", "cublasLtMatmulPreference",
        "cublasLtMatmulAlgo", "cublasLtMatrixLayout", "cublasLtGet", "cudnnCreate",
        "cudnnDestroy", "cudnnSetStream", "cudnnGet", "cudnnBackendCreate",
        "cudnnBackendDestroy", "cudnnBackendFinalize", "cudnnBackendSet",
        "cudnnBackendGet", "ncclGet"})
    if (name.substr(0, prefix.size()) == prefix)
      return true;
  return false;
}

} // namespace pipemesh::trace
