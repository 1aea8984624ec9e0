//===- Run.cpp - pmcheck run ----------------------------------------------===//

#include "Commands.h"
#include "pipemesh/Verify/TensorFile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh::interp;

namespace pipemesh::check {

static void printElement(const Tensor &tensor, int64_t index) {
  if (tensor.isFloat())
    llvm::outs() << llvm::format("%.9g", tensor.floats()[index]);
  else if (tensor.getElementType().isInteger(1))
    llvm::outs() << (tensor.asInt(index) ? "true" : "false");
  else if (IntegerFormat::get(tensor.getElementType()).isUnsigned)
    llvm::outs() << uint64_t(tensor.asInt(index));
  else
    llvm::outs() << tensor.asInt(index);
}

/// The elements in nested brackets.
static void printElements(const Tensor &tensor, ArrayRef<int64_t> shape,
                          int64_t &index) {
  if (shape.empty())
    return printElement(tensor, index++);
  llvm::outs() << "[";
  for (int64_t i = 0; i < shape.front(); ++i) {
    if (i)
      llvm::outs() << ", ";
    printElements(tensor, shape.drop_front(), index);
  }
  llvm::outs() << "]";
}

static void printOutputs(ArrayRef<Port> ports, const NamedTensors &outputs,
                         bool all) {
  for (const Port &port : ports) {
    if (!all && port.type.getRank() != 0)
      continue;
    const Tensor &tensor = outputs.at(port.name);
    llvm::outs() << port.name << " = ";
    int64_t index = 0;
    printElements(tensor, tensor.getShape(), index);
    llvm::outs() << "\n";
  }
}

int runRun(ArrayRef<StringRef> list, MLIRContext &context) {
  Arguments arguments;
  Tolerance tolerance;
  if (!arguments.parse(list,
                       {"seed", "tolerance", "weights", "data", "function",
                        "partitioned", "expect", "print", "outputs", "io",
                        "rtol", "atol"},
                       1, "run A.mlir [options]"))
    return 2;
  // The reference's tensors are float32.
  tolerance.relative = 1e-6;
  if (arguments.has("io")) {
    tolerance = {1e-5, 1e-6, /*elementwise=*/true};
    if (!arguments.getNumber("rtol", tolerance.relative) ||
        !arguments.getNumber("atol", tolerance.absolute))
      return 2;
  } else if (!arguments.getNumber("tolerance", tolerance.relative)) {
    return 2;
  }

  OwningOpRef<ModuleOp> module = readModule(arguments[0], context);
  if (!module)
    return 2;
  ProgramOptions options;
  options.function = arguments.get("function").str();
  options.partitioned = arguments.has("partitioned");
  auto program = Program::load(*module, options);
  if (failed(program))
    return 2;
  NamedTensors inputs;
  if (!makeInputs(arguments, (*program)->getInputs(), getVocabulary(*module),
                  context, inputs))
    return 2;
  auto outputs = (*program)->run(inputs);
  if (failed(outputs))
    return 1;
  printOutputs((*program)->getOutputs(), *outputs, arguments.has("print"));
  if (arguments.has("outputs"))
    if (auto error = writeTensorFile(arguments.get("outputs"), *outputs)) {
      llvm::errs() << "pmcheck: error: " << llvm::toString(std::move(error))
                   << "\n";
      return 2;
    }
  if (arguments.has("expect") || arguments.has("io")) {
    NamedTensors expected;
    if (!readExpected(arguments, (*program)->getOutputs(), context, expected))
      return 2;
    if (!compareAndReport(*outputs, expected, tolerance))
      return 1;
  }
  return 0;
}

} // namespace pipemesh::check
