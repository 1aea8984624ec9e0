//===- Report.cpp ---------------------------------------------------------===//

#include "Report.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace pipemesh;

static std::string bytesText(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  while (bytes >= 1024 && unit < 4)
    bytes /= 1024, ++unit;
  return llvm::formatv(unit == 0 ? "{0:f0} {1}" : "{0:f2} {1}", bytes,
                       units[unit]);
}

static void printRanks(pm::MeshOp mesh, llvm::raw_ostream &os) {
  SmallVector<pm::MeshAxisAttr> spatial;
  os << "mesh\n";
  for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>()) {
    os << llvm::formatv("  {0,-6} {1,-9} {2}\n", axis.getName().getValue(),
                        pm::stringifyAxisKind(axis.getKind()), axis.getSize());
    if (axis.getKind() == pm::AxisKind::Spatial)
      spatial.push_back(axis);
  }
  int64_t ranks = mesh.getNumRanksPerStage();
  os << "ranks\n";
  for (int64_t rank = 0; rank < ranks; ++rank) {
    os << llvm::formatv("  {0,-4}", rank);
    int64_t rest = rank, stride = ranks;
    for (pm::MeshAxisAttr axis : spatial) {
      stride /= axis.getSize();
      os << " " << axis.getName().getValue() << "=" << rest / stride;
      rest %= stride;
    }
    os << "\n";
  }
}

static void printMemory(pm::ProgramOp program, pmrt::RoleOp role,
                        llvm::raw_ostream &os) {
  llvm::StringMap<pm::BufferOp> declared;
  for (auto buffer : program.getBody().front().getOps<pm::BufferOp>())
    declared[buffer.getSymName()] = buffer;
  llvm::MapVector<StringRef, int64_t> byKind;
  llvm::DenseSet<int64_t> seen;
  for (auto buffer : role.getBody().front().getOps<pmrt::BufferOp>()) {
    pm::BufferOp info = declared.lookup(buffer.getSymName());
    int64_t bytes = buffer.getSlotStride() * buffer.getSlots();
    // A buffer that shares another's place is not counted again.
    if (!info || (bytes > 0 && !seen.insert(buffer.getOffset()).second))
      continue;
    StringRef kind = info.getKind() == pm::BufferKind::State
                         ? info.getRole().value_or("state")
                         : pm::stringifyBufferKind(info.getKind());
    byKind[kind] += bytes;
  }
  byKind["scratch"] = role.getScratchBytes();
  os << "memory of a rank\n";
  for (auto &[kind, bytes] : byKind)
    os << llvm::formatv("  {0,-12} {1,12}\n", kind, bytesText(bytes));
  os << llvm::formatv("  {0,-12} {1,12}\n", "all",
                      bytesText(role.getArenaBytes()));
}

/// Multiply-adds of a GEMM, counted as two operations.
static double flopsOf(pmrt::GemmOp op) {
  double flops = 2.0 * op.getM() * op.getN() * op.getK();
  for (int64_t size : op.getBatch())
    flops *= size;
  return flops;
}

static void printWork(pm::MeshOp mesh, pmrt::RoleOp role,
                      llvm::raw_ostream &os) {
  llvm::StringMap<int64_t> runs;
  for (auto action : role.getBody().front().getOps<pmrt::ActionOp>())
    ++runs[action.getFragment()];
  os << "work of a rank in a step\n"
     << "  fragment                 runs  instructions     gemms   kernels      "
        "GFLOP of gemms\n";
  struct Traffic {
    double bytes = 0;
    int64_t calls = 0;
  };
  llvm::MapVector<StringRef, Traffic> traffic;
  for (auto body : role.getBody().front().getOps<pmrt::BodyOp>()) {
    int64_t instructions = 0, gemms = 0, kernels = 0;
    double flops = 0;
    int64_t times = runs.lookup(body.getSymName());
    for (Operation &op : body.getBody().front()) {
      ++instructions;
      if (auto gemm = dyn_cast<pmrt::GemmOp>(op)) {
        ++gemms;
        flops += flopsOf(gemm);
      } else if (isa<pmrt::CallOp>(op)) {
        ++kernels;
      } else if (auto reduce = dyn_cast<pmrt::AllReduceOp>(op)) {
        double bytes = 0, members = 1;
        std::string name;
        for (auto place : reduce.getPlaces().getAsRange<pmrt::PlaceAttr>())
          bytes += place.getBytes();
        for (auto axis : reduce.getAxes().getAsRange<StringAttr>()) {
          members *= mesh.lookupAxis(axis.getValue()).getSize();
          name += (name.empty() ? "" : ",") + axis.getValue().str();
        }
        // Each member sends and receives 2(n-1)/n of the operand.
        Traffic &entry =
            traffic[StringAttr::get(op.getContext(), name).getValue()];
        entry.bytes += times * bytes * 2 * (members - 1) / members;
        entry.calls += times;
      }
    }
    os << llvm::formatv("  {0,-24} {1,4} {2,13} {3,9} {4,9} {5,19:f3}\n",
                        body.getSymName(), times, instructions, gemms, kernels,
                        times * flops / 1e9);
  }
  os << "bytes that a rank sends in a step\n";
  if (traffic.empty())
    os << "  none\n";
  for (auto &[axes, entry] : traffic)
    os << llvm::formatv("  {0,-6} all-reduce {1,12} in {2} collectives\n", axes,
                        bytesText(entry.bytes), entry.calls);
}

void pipemesh::printReport(ModuleOp module, llvm::raw_ostream &os) {
  pm::MeshOp mesh = pm::lookupMesh(module);
  pm::ProgramOp program;
  for (auto op : module.getOps<pm::ProgramOp>())
    program = op;
  if (!mesh || !program)
    return;
  printRanks(mesh, os);
  for (auto role : module.getOps<pmrt::RoleOp>()) {
    printMemory(program, role, os);
    printWork(mesh, role, os);
  }
}
