//===- Inputs.cpp - arguments, inputs and references ----------------------===//

#include "Commands.h"
#include "pipemesh/Support/ParseModule.h"
#include "pipemesh/Verify/TensorFile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace pipemesh::interp;

namespace pipemesh::check {

/// A label that is not counted, as in PyTorch's cross_entropy.
constexpr int64_t kIgnoredLabel = -100;

static bool fail(const Twine &message) {
  llvm::errs() << "pmcheck: error: " << message << "\n";
  return false;
}

static bool fail(llvm::Error error) {
  return fail(llvm::toString(std::move(error)));
}

bool Arguments::parse(ArrayRef<StringRef> arguments, ArrayRef<StringRef> known,
                      size_t count, StringRef usage) {
  for (StringRef argument : arguments) {
    if (!argument.consume_front("--")) {
      positional.push_back(argument);
      continue;
    }
    auto [name, value] = argument.split('=');
    if (!llvm::is_contained(known, name))
      return fail("unknown option '--" + name + "'; usage: pmcheck " + usage);
    options[name] = value;
  }
  if (positional.size() != count)
    return fail("takes " + Twine(count) + " files and got " +
                Twine(positional.size()) + "; usage: pmcheck " + usage);
  return true;
}

bool Arguments::getNumber(StringRef name, double &value) const {
  if (has(name) && get(name).getAsDouble(value))
    return fail("'--" + name + "=" + get(name) + "' is not a number");
  return true;
}

OwningOpRef<ModuleOp> readModule(StringRef path, MLIRContext &context) {
  return parseModule(path, context);
}

/// Reads a tensor as a port's type: [steps, ...] gives its first step, labels
/// of one column less get a last one that is not counted, the shape may be the
/// stored one, and the element types may differ within one kind of number.
static bool readPort(const TensorFile &file, StringRef name, const Port &port,
                     MLIRContext &context, NamedTensors &values) {
  llvm::Expected<Tensor> read = file.read(name, &context);
  if (!read)
    return fail(read.takeError());
  Tensor tensor = *read;
  if (tensor.getRank() == port.type.getRank() + 1 && tensor.getShape()[0] > 0) {
    ArrayRef<int64_t> shape = tensor.getShape().drop_front();
    Tensor first(tensor.getType().clone(shape));
    copyBox(shape, tensor, {0, getStrides(shape)}, first,
            {0, getStrides(shape)});
    tensor = first;
  }
  if (port.role == "labels" && tensor.getRank() == port.type.getRank() &&
      !tensor.isFloat() &&
      tensor.getShape().back() + 1 == port.type.getShape().back()) {
    SmallVector<int64_t> shape(tensor.getShape());
    Tensor wide = Tensor::splat(tensor.getType().clone(port.type.getShape()),
                                kIgnoredLabel);
    copyBox(shape, tensor, {0, getStrides(shape)}, wide,
            {0, getStrides(wide.getShape())});
    tensor = wide;
  }
  // The same elements in the same order.
  if (tensor.getShape() == ArrayRef(port.storedShape) &&
      tensor.size() == port.type.getNumElements() &&
      tensor.getRank() != port.type.getRank()) {
    Tensor view(tensor.getType().clone(port.type.getShape()));
    copyBox(port.type.getShape(), tensor, {0, getStrides(port.type.getShape())},
            view, {0, getStrides(port.type.getShape())});
    tensor = view;
  }
  bool isFloat = isa<FloatType>(port.type.getElementType());
  if (tensor.getShape() != port.type.getShape() ||
      tensor.isFloat() != isFloat) {
    std::string types;
    llvm::raw_string_ostream(types) << read->getType() << " in the file, and "
                                    << port.type << " in the module";
    return fail("'" + name + "' is " + types);
  }
  values[port.name] = tensor.withType(port.type);
  return true;
}

bool makeInputs(const Arguments &arguments, ArrayRef<Port> ports,
                int64_t vocabulary, MLIRContext &context,
                NamedTensors &inputs) {
  double seed = 0;
  if (!arguments.getNumber("seed", seed))
    return false;
  inputs = makeRandomInputs(ports, vocabulary, uint64_t(seed));
  for (StringRef option : {"io", "data", "weights"}) {
    if (!arguments.has(option))
      continue;
    auto file = TensorFile::open(arguments.get(option));
    if (!file)
      return fail(file.takeError());
    for (const Port &port : ports) {
      StringRef name = port.name;
      bool isParameter = name.consume_front("parameter ");
      if (option == "weights" && !isParameter)
        continue;
      if (option == "data" && port.role != "input_ids" && port.role != "labels")
        continue;
      // Without labels, the ids are the labels.
      if (port.role == "labels" && !file->contains(name))
        name = "input_ids";
      if (!readPort(*file, name, port, context, inputs))
        return false;
    }
  }
  return true;
}

bool readExpected(const Arguments &arguments, ArrayRef<Port> ports,
                  MLIRContext &context, NamedTensors &expected) {
  if (arguments.get("expect").ends_with(".json")) {
    auto buffer = llvm::MemoryBuffer::getFile(arguments.get("expect"));
    if (!buffer)
      return fail(arguments.get("expect") + ": " + buffer.getError().message());
    auto parsed = llvm::json::parse((*buffer)->getBuffer());
    if (!parsed)
      return fail(parsed.takeError());
    const llvm::json::Object *object = parsed->getAsObject();
    const llvm::json::Object *step =
        object ? object->getObject("step0") : nullptr;
    if (!step)
      return fail(arguments.get("expect") + ": has no 'step0'");
    for (const Port &port : ports)
      if (auto value = step->getNumber(port.name))
        expected[port.name] = Tensor::splat(port.type, *value);
  } else {
    bool isReference = arguments.has("expect");
    auto file = TensorFile::open(arguments.get(isReference ? "expect" : "io"));
    if (!file)
      return fail(file.takeError());
    for (const Port &port : ports) {
      std::string name = port.name;
      if (StringRef parameter = name; parameter.consume_front("gradient "))
        name = "grad." + parameter.str();
      if (isReference && (port.role == "parameter" || !file->contains(name)))
        continue;
      if (!readPort(*file, name, port, context, expected))
        return false;
    }
  }
  if (expected.empty())
    return fail("none of the module's outputs is in the reference");
  return true;
}

static std::string toText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", value);
  return text;
}

bool compareAndReport(const NamedTensors &actual, const NamedTensors &expected,
                      const Tolerance &tolerance) {
  std::vector<Difference> differences;
  std::vector<std::string> onlyActual;
  std::string first;
  for (auto &[name, value] : expected) {
    auto it = actual.find(name);
    if (it == actual.end())
      return fail("'" + name + "' is missing");
    Difference difference = compareTensors(it->second, value);
    difference.name = name;
    bool within = difference.error <= tolerance.relative ||
                  difference.absolute <= tolerance.absolute;
    if (tolerance.elementwise && value.getShape() == it->second.getShape()) {
      within = true;
      for (int64_t i = 0, e = value.size(); i < e; ++i) {
        double x = it->second.asDouble(i), y = value.asDouble(i);
        bool same = x == y || (std::isnan(x) && std::isnan(y));
        double limit = tolerance.absolute + tolerance.relative * std::fabs(y);
        if (same || std::fabs(x - y) <= limit)
          continue;
        if (within || std::fabs(x - y) > difference.absolute) {
          difference.index = i;
          difference.absolute = std::fabs(x - y);
          difference.actual = x;
          difference.expected = y;
        }
        within = false;
      }
    }
    if (!within && first.empty())
      first = name;
    differences.push_back(difference);
  }
  for (auto &[name, value] : actual)
    if (!expected.count(name))
      onlyActual.push_back(name);

  llvm::sort(differences, [](const Difference &a, const Difference &b) {
    return a.error > b.error;
  });
  llvm::outs() << "compared " << differences.size()
               << (differences.size() == 1 ? " value" : " values")
               << "; largest differences:\n";
  for (const Difference &difference : ArrayRef(differences).take_front(8))
    llvm::outs() << llvm::format("  %.2e  ", difference.error)
                 << difference.name
                 << llvm::format("  (element %lld: %.9g, expected %.9g)\n",
                                 (long long)difference.index, difference.actual,
                                 difference.expected);
  if (!onlyActual.empty()) {
    llvm::outs() << "not compared, because one side lacks it: ";
    llvm::interleaveComma(ArrayRef(onlyActual).take_front(4), llvm::outs());
    if (onlyActual.size() > 4)
      llvm::outs() << ", and " << onlyActual.size() - 4 << " more";
    llvm::outs() << "\n";
  }
  if (first.empty())
    return true;
  for (const Difference &difference : differences)
    if (difference.name == first)
      return fail("'" + first + "' departs: element " +
                  Twine(difference.index) + " is " + toText(difference.actual) +
                  ", expected " + toText(difference.expected));
  return false;
}

} // namespace pipemesh::check
