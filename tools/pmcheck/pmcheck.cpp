//===- pmcheck.cpp - checks on the reference interpreter ------------------===//

#include "Bundle.h"
#include "Commands.h"
#include "pipemesh/InitAll.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh::check;

static const char usage[] = R"(pmcheck: runs modules on the reference interpreter (float64, exact integers),
pipeline schedules on a simulator, and proves bundles and what ran

  pmcheck equiv A.mlir B.mlir [options]
      Runs two levels of one computation on the same inputs and compares every
      output and state by name. Status 1 when they differ.
        --seed=N             of the random inputs (0)
        --tolerance=X        allowed difference, relative to the largest
                             magnitude of each tensor (1e-9)
        --weights=DIR        parameters from a model directory
        --data=FILE          input_ids and labels from a safetensors file; of
                             [steps, batch, sequence] the first step
        --function=F         the function of both to run (main)
        --partitioned=a|b|ab the files whose function has local shapes although
                             it holds no collective
        --expect=FILE        also compares A with the logits, gradients and
                             losses of a .safetensors or .json reference

  pmcheck run A.mlir [options]
      Runs a module and prints its scalar outputs.
        --seed, --weights, --data, --function, --expect, --tolerance as above
        --print              prints every output, with its elements
        --outputs=FILE       writes all outputs to a safetensors file
        --io=FILE            arguments from tensors arg0, arg1, ... of a
                             safetensors file; results are compared with out0, ...
        --rtol=X --atol=X    with --io: |a - b| <= atol + rtol |b| (1e-5, 1e-6)
        --partitioned        the function has local shapes

  pmcheck gradients A.mlir [options]
      Differentiates each public function and compares with central differences.
      Status 1 when one departs.
        --function=F         only this function
        --seed=N             of the random arguments (0)
        --tolerance=X        allowed error, relative to the largest element of
                             each gradient (1e-7)
        --positive           positive arguments, for logarithms and roots

  pmcheck bundle DIR [options]
      Proves the program of a bundle from its files alone: the ranks' collectives
      and transfers match and end, every value is there when it is used, and
      memory suffices. Status 1 with a counterexample.
        --memory-limit=N     bytes of a rank (the manifest's)
        --threads=N          of each rank, which all have scratch (1)
        --write              writes certificate.json into the bundle

  pmcheck trace DIR --bundle=BUNDLE [options]
      Proves the calls of CUDA, cuBLASLt and NCCL that the ranks of a bundle made
      (DIR/rank-N.jsonl): they are the bundle's program, the ranks communicate in
      one order, and streams and events keep the order of every two accesses.
      Status 1 with what is wrong, by rank and line.
        --json=FILE          also writes what was counted or refused

  pmcheck bytes A.mlir
      Counts what a rank of a partitioned module sends in a step: of n ranks an
      all-reduce 2(n-1)/n of its operand, an all-gather n-1 operands, a
      reduce-scatter or an all-to-all (n-1)/n of it, a permute the operand for a
      rank that sends to another; times the trips of loops; the largest rank.

  pmcheck passes A.mlir PIPELINE [options]
      Runs passes, such as pm-propagate,pm-partition-pipeline, and prints the
      module, to test that a test fails with a fault.
        --seed-fault=NAME    plants a fault in propagation or partitioning
        --output=FILE        prints to a file

  pmcheck random [options]
      Draws programs, meshes and shardings, propagates and partitions each, and
      compares its values with those of one device. Status 1 after a finding,
      which is shrunk and printed as a test.
        --seed=N             of the programs and their inputs (0)
        --count=N            programs (1000)
        --seconds=N          stops after this time
        --first=N            number of the first program (0)
        --findings=N         stops after as many findings (1); 0 is never
        --ops=A,B            only these kinds of statements
        --max-ops=N          statements of a program (15)
        --mesh=2x3           only this mesh
        --features=no-A      leaves out what programs and shardings have: uneven,
                             open, priorities, empty, parts, blocks, partial,
                             replicated, groups, regions, inner-constraints
        --seed-fault=NAME    plants a fault; all: one after the other, and says
                             which program shows each
        --shrink=no          prints a finding as it is
        --keep=DIR           writes each finding to a file
        --print, --counts    prints every program; how often each kind stands

  pmcheck schedule --name=NAME [options]
      Makes a pipeline schedule, runs it on costs, and prints it as JSON: the
      actions of each rank, makespan, span and busy time of each rank, the bubble
      of the longest span, peaks. Status 1 when it cannot be made.
        --name=NAME          gpipe, 1f1b, interleaved-1f1b, looped-bfs, zb-h1,
                             zb-h2, zb-auto, zb-v or dualpipe-v
        --ranks=N            pipeline ranks (1)
        --chunks=N           stages of each rank (the fewest that it can have)
        --microbatches=N     (1)
        --layers=N           of the model: each stage needs one
        --costs=F,I,W,transfer[,B[,U]]
                             times of an action of one stage, and from the end of
                             one to its arrival on another rank (1,1,1,0; B is
                             I + W)
        --costs=@FILE.csv    a row for each stage, with a header: columns of stage,
                             F, I, W, B, U, transfer, activation, kept
        --memory=ACTIVATION,W
                             what a micro-batch holds on a stage from F to I, and
                             from there to W (1,1)
        --memory-limit=N     of each rank; zb-auto fits to it (what 1f1b needs),
                             of others it is checked
        --exact              searches all orders for the best zb-auto; for small
                             cases
        --svg=FILE           draws the timeline
        --perfetto=FILE      writes it as a trace for ui.perfetto.dev
        --csv=FILE           writes the actions, a row for each rank

  pmcheck simulate FILE.csv [options]
      The same for a list of actions as PyTorch prints them: a row for each rank of
      cells such as 2F0, 1I3, 1W3, 0B1, (0F3;3B1)OVERLAP_F_B.
        --costs, --memory, --memory-limit, --svg, --perfetto, --csv as above

Examples:
  pmcheck equiv model.mlir sharded.mlir --seed=3
  pmcheck equiv step.mlir partitioned.mlir --weights=llama --data=reference.safetensors
  pmcheck run model.mlir --weights=llama --data=reference.safetensors --expect=reference.json
  pmcheck random --seed=7 --count=10000 --ops=dot,reshape --mesh=2x3
  pmcheck schedule --name=zb-v --ranks=4 --chunks=2 --microbatches=8 --svg=zb-v.svg
  pmcheck schedule --name=zb-auto --ranks=8 --microbatches=24 \
      --costs=29.7,29.4,19.9,0.5 --memory=1,0.43 --memory-limit=16
  pmcheck bundle bundle/ --memory-limit=16000000000
  pmcheck trace calls/ --bundle=bundle/
  pmcheck simulate actions.csv --costs=@stages.csv --perfetto=trace.json
)";

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  SmallVector<StringRef> arguments(argv + 1, argv + argc);
  if (arguments.empty() || llvm::is_contained(arguments, "--help") ||
      llvm::is_contained(arguments, "-h")) {
    (arguments.empty() ? llvm::errs() : llvm::outs()) << usage;
    return arguments.empty() ? 2 : 0;
  }
  DialectRegistry registry;
  pipemesh::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  // Shows the lines of the files that diagnostics are about.
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  auto command =
      llvm::StringSwitch<int (*)(ArrayRef<StringRef>, MLIRContext &)>(
          arguments.front())
          .Case("bundle", runBundle)
          .Case("bytes", runBytes)
          .Case("equiv", runEquiv)
          .Case("run", runRun)
          .Case("gradients", runGradients)
          .Case("passes", runPasses)
          .Case("random", runRandom)
          .Case("schedule", runSchedule)
          .Case("simulate", runSimulate)
          .Case("trace", runTrace)
          .Default(nullptr);
  if (!command) {
    llvm::errs() << "pmcheck: error: unknown command '" << arguments.front()
                 << "'; pmcheck --help lists them\n";
    return 2;
  }
  return command(ArrayRef(arguments).drop_front(), context);
}
