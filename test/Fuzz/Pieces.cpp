// Small modules cut out of a large one.
#include "Pieces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace pipemesh::fuzz {

/// A module with what `ops` do, given what they use.
static std::string makePiece(ModuleOp module, func::FuncOp from,
                             ArrayRef<Operation *> ops) {
  llvm::SetVector<Value> used;
  llvm::SmallPtrSet<Operation *, 32> inside(ops.begin(), ops.end());
  llvm::SetVector<Operation *> callees;
  SmallVector<Value> results;
  for (Operation *op : ops) {
    auto use = [&](Value value) {
      if (!value.getDefiningOp() || !inside.contains(value.getDefiningOp()))
        used.insert(value);
    };
    for (Value operand : op->getOperands())
      use(operand);
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      use(value);
    op->walk([&](func::CallOp call) {
      if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee()))
        callees.insert(callee);
    });
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !inside.contains(from.getBody().front().findAncestorOpInBlock(
                *user));
          }))
        results.push_back(result);
  }
  OpBuilder builder(module.getContext());
  OwningOpRef<ModuleOp> piece = ModuleOp::create(module.getLoc());
  (*piece)->setDiscardableAttrs(module->getDiscardableAttrDictionary());
  builder.setInsertionPointToEnd(piece->getBody());
  for (Operation &op : *module.getBody())
    if (!isa<func::FuncOp>(op) || callees.contains(&op))
      builder.clone(op);
  auto function = func::FuncOp::create(
      builder, from.getLoc(), "piece",
      builder.getFunctionType(ValueRange(used.getArrayRef()).getTypes(),
                              ValueRange(results).getTypes()));
  Block *body = function.addEntryBlock();
  IRMapping mapping;
  for (auto [index, value] : llvm::enumerate(used)) {
    mapping.map(value, body->getArgument(index));
    // Annotations of arguments stay with them.
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == &from.getBody().front())
      if (DictionaryAttr attrs =
              from.getArgAttrDict(argument.getArgNumber()))
        function.setArgAttrs(index, attrs);
  }
  builder.setInsertionPointToEnd(body);
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  SmallVector<Value> made;
  for (Value result : results)
    made.push_back(mapping.lookup(result));
  func::ReturnOp::create(builder, from.getLoc(), made);
  std::string text;
  llvm::raw_string_ostream stream(text);
  piece->print(stream);
  return text;
}

std::vector<std::string> cutModule(llvm::StringRef text, size_t longest,
                                   MLIRContext &context) {
  std::vector<std::string> pieces;
  ScopedDiagnosticHandler silent(&context, [](Diagnostic &) {
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module)
    return pieces;
  for (auto function : module->getOps<func::FuncOp>()) {
    if (!function.getBody().hasOneBlock())
      continue;
    SmallVector<Operation *> ops;
    auto flush = [&](size_t kept) {
      SmallVector<Operation *> run(ArrayRef(ops).take_front(kept));
      if (!run.empty())
        pieces.push_back(makePiece(*module, function, run));
      ops.erase(ops.begin(), ops.begin() + kept);
    };
    for (Operation &op : function.getBody().front().without_terminator()) {
      ops.push_back(&op);
      if (makePiece(*module, function, ops).size() <= longest)
        continue;
      flush(ops.size() - 1);
      if (makePiece(*module, function, ops).size() > longest)
        ops.clear(); // One op that is too long by itself.
    }
    flush(ops.size());
  }
  return pieces;
}

} // namespace pipemesh::fuzz
