//===- Program.cpp - a module of any tensor level, run by names -----------===//

#include "pipemesh/Verify/Program.h"
#include "FragmentProgram.h"
#include "Layout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace pipemesh::interp {

/// The name and role that the attributes of an argument or result give.
static std::pair<std::string, std::string>
getNameAndRole(DictionaryAttr attrs, StringRef key, StringRef otherwise) {
  if (attrs) {
    if (auto state = attrs.getAs<pm::StateAttr>(pm::kStateAttr)) {
      std::string role = pm::stringifyStateKind(state.getKind()).str();
      return {role == "step" ? role : role + " " + state.getName().str(), role};
    }
    if (auto role = attrs.getAs<StringAttr>(key)) {
      auto name = attrs.getAs<StringAttr>(pm::kNameAttr);
      return {name ? (role.getValue() + " " + name.getValue()).str()
                   : role.str(),
              role.str()};
    }
  }
  return {otherwise.str(), ""};
}

/// A role whose padding holds zero by contract.
static bool isState(StringRef role) {
  return role == "parameter" || role == "moment1" || role == "moment2";
}

namespace {
/// A function, global on one device or partitioned over the mesh.
class FunctionProgram : public Program {
public:
  LogicalResult initialize(func::FuncOp function, bool isPartitioned);
  FailureOr<NamedTensors> run(const NamedTensors &values) override;
  std::string describe() const override {
    std::string text = "function '" + name + "'";
    if (grid.getNumRanks() > 1)
      text += " on " + std::to_string(grid.getNumRanks()) + " ranks";
    return text;
  }

private:
  LogicalResult addPort(std::vector<Port> &ports, DictionaryAttr attrs,
                        StringRef key, const Twine &otherwise, Type type);

  func::FuncOp function;
  std::string name;
  RankGrid grid;
  std::vector<Layout> inputLayouts, outputLayouts;
};
} // namespace

LogicalResult FunctionProgram::addPort(std::vector<Port> &ports,
                                       DictionaryAttr attrs, StringRef key,
                                       const Twine &otherwise, Type type) {
  auto local = dyn_cast<RankedTensorType>(type);
  if (!local || !local.hasStaticShape() ||
      !Tensor::isSupported(local.getElementType()))
    return function.emitError("the interpreter has no values of type ") << type;
  auto [portName, role] = getNameAndRole(attrs, key, otherwise.str());
  bool isInput = &ports == &inputs;
  auto sharding = attrs ? attrs.getAs<pm::ShardingAttr>(pm::kShardingAttr)
                        : pm::ShardingAttr();
  std::vector<Layout> &layouts = isInput ? inputLayouts : outputLayouts;
  layouts.emplace_back(sharding, grid);
  for (const Port &other : ports)
    if (other.name == portName)
      return function.emitError("has two ")
             << (isInput ? "arguments" : "results") << " called '" << portName
             << "'";
  // Where the last blocks are short, the types of blocks do not tell.
  auto whole = attrs ? attrs.getAs<TypeAttr>("pm.global_type") : TypeAttr();
  ports.push_back({portName, role,
                   whole ? cast<RankedTensorType>(whole.getValue())
                         : layouts.back().getGlobalType(local)});
  return success();
}

LogicalResult FunctionProgram::initialize(func::FuncOp funcOp,
                                          bool isPartitioned) {
  function = funcOp;
  name = function.getName().str();
  if (isPartitioned) {
    pm::MeshOp mesh = pm::lookupMesh(function);
    if (!mesh)
      return function.emitError(
          "is partitioned, but its module has no pm.mesh to run on");
    grid = makeGrid(mesh, /*temporal=*/false);
  }
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (failed(addPort(inputs, function.getArgAttrDict(index), pm::kInputAttr,
                       "arg" + Twine(index), type)))
      return failure();
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (failed(addPort(outputs, function.getResultAttrDict(index),
                       pm::kOutputAttr, "out" + Twine(index), type)))
      return failure();
  return success();
}

FailureOr<NamedTensors> FunctionProgram::run(const NamedTensors &values) {
  SmallVector<SmallVector<Tensor>> arguments(grid.getNumRanks());
  for (auto [index, port] : llvm::enumerate(inputs)) {
    auto it = values.find(port.name);
    if (it == values.end())
      return function.emitError("no value is given for its input '")
             << port.name << "'";
    if (it->second.getType() != port.type)
      return function.emitError("its input '")
             << port.name << "' is " << port.type << ", and the value given is "
             << it->second.getType();
    auto local = cast<RankedTensorType>(function.getArgumentTypes()[index]);
    for (auto [rank, list] : llvm::enumerate(arguments))
      list.push_back(inputLayouts[index].take(it->second, local, rank, 0,
                                              isState(port.role)));
  }
  auto results = runFunctionOnRanks(function, grid, arguments);
  if (failed(results))
    return failure();
  NamedTensors named;
  for (auto [index, port] : llvm::enumerate(outputs)) {
    SmallVector<SmallVector<Tensor>> pieces;
    for (SmallVector<Tensor> &list : *results)
      pieces.push_back({list[index]});
    auto whole = outputLayouts[index].assemble(
        pieces, port.type, /*isJoined=*/false, [&, &port = port] {
          return function.emitError("result '") << port.name << "' ";
        });
    if (failed(whole))
      return failure();
    named[port.name] = *whole;
  }
  return named;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static FailureOr<func::FuncOp> findFunction(ModuleOp module, StringRef name) {
  if (!name.empty()) {
    if (auto function = module.lookupSymbol<func::FuncOp>(name))
      return function;
    return module.emitError("has no function '") << name << "'";
  }
  if (auto function = module.lookupSymbol<func::FuncOp>("main"))
    return function;
  SmallVector<func::FuncOp> candidates;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isPrivate())
      candidates.push_back(function);
  if (candidates.size() == 1)
    return candidates.front();
  return module.emitError("has ")
         << candidates.size()
         << " public functions and none called 'main'; name one by --function";
}

/// Parameters, and what has their shape, lie in files as their arguments or
/// buffers say.
void Program::readStoredShapes(ModuleOp module) {
  llvm::StringMap<DenseI64ArrayAttr> shapes;
  module.walk([&](Operation *op) {
    if (auto buffer = dyn_cast<pm::BufferOp>(op))
      if (auto stored =
              op->getAttrOfType<DenseI64ArrayAttr>(pm::kStoredShapeAttr))
        shapes[buffer.getParameter().value_or("")] = stored;
    auto function = dyn_cast<func::FuncOp>(op);
    for (unsigned i = 0; function && i < function.getNumArguments(); ++i) {
      auto state = function.getArgAttrOfType<pm::StateAttr>(i, pm::kStateAttr);
      auto stored =
          function.getArgAttrOfType<DenseI64ArrayAttr>(i, pm::kStoredShapeAttr);
      if (state && stored)
        shapes[state.getName().getValue()] = stored;
    }
  });
  for (std::vector<Port> *ports : {&inputs, &outputs})
    for (Port &port : *ports) {
      StringRef parameter = StringRef(port.name).split(' ').second;
      if (auto stored = shapes.lookup(parameter))
        port.storedShape.assign(stored.asArrayRef().begin(),
                                stored.asArrayRef().end());
    }
}

FailureOr<std::unique_ptr<Program>> Program::load(ModuleOp module,
                                                  const ProgramOptions &options) {
  auto programs = module.getOps<pm::ProgramOp>();
  if (options.function.empty() && !programs.empty()) {
    auto program = loadFragmentProgram(*programs.begin());
    if (succeeded(program))
      (*program)->readStoredShapes(module);
    return program;
  }

  auto function = findFunction(module, options.function);
  if (failed(function))
    return failure();
  bool partitioned = options.partitioned;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Inside, a function of global values has collectives too.
    if (isa<pm::ManualComputationOp>(op))
      return WalkResult::skip();
    partitioned |=
        isa<pm::AllReduceOp, pm::AllGatherOp, pm::ReduceScatterOp,
            pm::AllToAllOp, pm::CollectivePermuteOp, pm::AxisIndexOp>(op);
    return WalkResult::advance();
  });
  auto program = std::make_unique<FunctionProgram>();
  if (failed(program->initialize(*function, partitioned)))
    return failure();
  program->readStoredShapes(module);
  return std::unique_ptr<Program>(std::move(program));
}

} // namespace pipemesh::interp
