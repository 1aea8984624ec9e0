//===- Equiv.cpp - pmcheck equiv ------------------------------------------===//

#include "Commands.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh::interp;

namespace pipemesh::check {

int runEquiv(ArrayRef<StringRef> list, MLIRContext &context) {
  Arguments arguments;
  Tolerance tolerance;
  if (!arguments.parse(list,
                       {"seed", "tolerance", "weights", "data", "function",
                        "partitioned", "expect"},
                       2, "equiv A.mlir B.mlir [options]") ||
      !arguments.getNumber("tolerance", tolerance.relative))
    return 2;

  OwningOpRef<ModuleOp> modules[2];
  std::unique_ptr<Program> programs[2];
  std::vector<Port> ports;
  for (int side : {0, 1}) {
    modules[side] = readModule(arguments[side], context);
    if (!modules[side])
      return 2;
    ProgramOptions options;
    options.function = arguments.get("function").str();
    options.partitioned =
        arguments.get("partitioned").contains(side ? "b" : "a");
    auto program = Program::load(*modules[side], options);
    if (failed(program))
      return 2;
    programs[side] = std::move(*program);
    ports.insert(ports.end(), programs[side]->getInputs().begin(),
                 programs[side]->getInputs().end());
  }

  NamedTensors inputs;
  if (!makeInputs(arguments, ports, getVocabulary(*modules[0]), context, inputs))
    return 2;
  NamedTensors outputs[2];
  for (int side : {0, 1}) {
    auto result = programs[side]->run(inputs);
    if (failed(result))
      return 1;
    outputs[side] = std::move(*result);
    llvm::outs() << arguments[side] << ": " << programs[side]->describe()
                 << "\n";
  }
  if (!compareAndReport(outputs[1], outputs[0], tolerance))
    return 1;
  if (arguments.has("expect")) {
    NamedTensors expected;
    if (!readExpected(arguments, programs[0]->getOutputs(), context, expected))
      return 2;
    llvm::outs() << arguments.get("expect") << ":\n";
    // The reference's tensors are float32.
    tolerance.relative = std::max(tolerance.relative, 1e-6);
    if (!compareAndReport(outputs[0], expected, tolerance))
      return 1;
  }
  llvm::outs() << "equivalent\n";
  return 0;
}

} // namespace pipemesh::check
