//===- PMAttrs.cpp - text forms and verifiers of pm attributes ------------===//

#include "pipemesh/Dialect/PM/PM.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pipemesh::pm;

#define GET_ATTRDEF_CLASSES
#include "pipemesh/Dialect/PM/PMAttrs.cpp.inc"

void PMDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "pipemesh/Dialect/PM/PMAttrs.cpp.inc"
      >();
}

LogicalResult MeshAxisAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   StringAttr name, AxisKind kind,
                                   int64_t size) {
  if (name.getValue().empty())
    return emitError() << "a mesh axis needs a name";
  if (size < 1)
    return emitError() << "mesh axis '" << name.getValue() << "' has size "
                       << size << ", but must have at least 1";
  return success();
}

//===----------------------------------------------------------------------===//
// DimSharding: {"dp", "mb", ?}p1b3
//===----------------------------------------------------------------------===//

/// Products of block sizes and numbers of blocks are computed in 64 bits.
static constexpr int64_t kMostInBlock = int64_t(1) << 40;

/// Parses `p1`, `b3` or `p1b3`, which the lexer hands over as one keyword.
static ParseResult parseSuffix(AsmParser &parser, int64_t &priority,
                               int64_t &blockSize) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword(&keyword)))
    return success();
  StringRef rest = keyword;
  if (rest.consume_front("p") && rest.consumeInteger(10, priority))
    return parser.emitError(loc, "expected a number after 'p'");
  if (rest.consume_front("b") && rest.consumeInteger(10, blockSize))
    return parser.emitError(loc, "expected a number after 'b'");
  if (blockSize > kMostInBlock)
    return parser.emitError(loc, "a block has at most ")
           << kMostInBlock << " elements, but found '" << keyword << "'";
  if (!rest.empty())
    return parser.emitError(loc, "expected 'p' and a priority, or 'b' and a "
                                 "block size, but found '")
           << keyword << "'";
  return success();
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  bool open = false;
  int64_t priority = 0, blockSize = 0;
  if (parser.parseLBrace())
    return {};
  if (failed(parser.parseOptionalRBrace())) {
    do {
      if (succeeded(parser.parseOptionalQuestion())) {
        open = true;
        break;
      }
      StringAttr axis;
      if (parser.parseAttribute(axis))
        return {};
      axes.push_back(axis);
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseRBrace())
      return {};
  }
  if (parseSuffix(parser, priority, blockSize))
    return {};
  return get(parser.getContext(), axes, open, priority, blockSize);
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << "{";
  llvm::interleaveComma(getAxes(), printer);
  if (getOpen())
    printer << (getAxes().empty() ? "?" : ", ?");
  printer << "}";
  if (getPriority() != 0)
    printer << "p" << getPriority();
  if (getBlockSize() != 0)
    printer << "b" << getBlockSize();
}

//===----------------------------------------------------------------------===//
// Sharding: <@mesh, [dims], partial = sum{"dp"}, replicated = {"tp"}>
//===----------------------------------------------------------------------===//

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<StringAttr> partialAxes, replicatedAxes;
  ReductionKind kind = ReductionKind::Sum;
  SMLoc loc = parser.getCurrentLocation();
  auto parseDim = [&]() -> ParseResult {
    auto dim = llvm::dyn_cast_or_null<DimShardingAttr>(
        DimShardingAttr::parse(parser, Type()));
    if (!dim)
      return failure();
    dims.push_back(dim);
    return success();
  };
  auto parseAxis = [&]() -> ParseResult {
    return parser.parseAttribute(partialAxes.emplace_back());
  };
  auto parseReplicated = [&]() -> ParseResult {
    return parser.parseAttribute(replicatedAxes.emplace_back());
  };
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc wordLoc;
    if (replicatedAxes.empty() &&
        succeeded(parser.parseOptionalKeyword("replicated"))) {
      if (parser.parseEqual() ||
          parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces,
                                         parseReplicated))
        return {};
      continue;
    }
    if (!partialAxes.empty()) {
      parser.emitError(parser.getCurrentLocation(),
                       "expected 'replicated', or the end of the sharding");
      return {};
    }
    if (parser.parseKeyword("partial") || parser.parseEqual())
      return {};
    wordLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return {};
    auto parsed = symbolizeReductionKind(word);
    if (!parsed) {
      parser.emitError(wordLoc, "expected sum, max or min, but found '")
          << word << "'";
      return {};
    }
    kind = *parsed;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseAxis))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ShardingAttr>(loc, parser.getContext(), mesh, dims,
                                         partialAxes, kind, replicatedAxes);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer,
                        [&](DimShardingAttr dim) { dim.print(printer); });
  printer << "]";
  if (isPartial()) {
    printer << ", partial = " << stringifyReductionKind(getPartialKind())
            << "{";
    llvm::interleaveComma(getPartialAxes(), printer);
    printer << "}";
  }
  if (!getReplicatedAxes().empty()) {
    printer << ", replicated = {";
    llvm::interleaveComma(getReplicatedAxes(), printer);
    printer << "}";
  }
  printer << ">";
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   FlatSymbolRefAttr mesh,
                                   ArrayRef<DimShardingAttr> dims,
                                   ArrayRef<StringAttr> partialAxes,
                                   ReductionKind,
                                   ArrayRef<StringAttr> replicatedAxes) {
  llvm::StringSet<> seen;
  for (DimShardingAttr dim : dims)
    for (StringAttr axis : dim.getAxes())
      if (!seen.insert(axis.getValue()).second)
        return emitError() << "axis '" << axis.getValue()
                           << "' occurs twice in a sharding";
  for (StringAttr axis : llvm::concat<const StringAttr>(partialAxes, replicatedAxes))
    if (!seen.insert(axis.getValue()).second)
      return emitError() << "axis '" << axis.getValue()
                         << "' occurs twice in a sharding";
  return success();
}

ShardingAttr ShardingAttr::getReplicated(MLIRContext *context,
                                         FlatSymbolRefAttr mesh, int64_t rank) {
  return get(context, mesh,
             SmallVector<DimShardingAttr>(rank, DimShardingAttr::get(context)));
}

bool ShardingAttr::isReplicated() const {
  return !isPartial() && llvm::all_of(getDims(), [](DimShardingAttr dim) {
    return dim.getAxes().empty();
  });
}

ShardingAttr ShardingAttr::withoutPartial() const {
  return get(getContext(), getMesh(), getDims());
}

ShardingAttr ShardingAttr::withPartial(ArrayRef<StringAttr> axes,
                                       ReductionKind kind) const {
  return get(getContext(), getMesh(), getDims(), axes, kind);
}

bool ShardingAttr::shardsAxis(StringRef axis) const {
  return llvm::any_of(getDims(), [&](DimShardingAttr dim) {
    return llvm::any_of(dim.getAxes(), [&](StringAttr name) {
      return name.getValue() == axis;
    });
  });
}

bool ShardingAttr::isPartialOver(StringRef axis) const {
  return llvm::any_of(getPartialAxes(), [&](StringAttr name) {
    return name.getValue() == axis;
  });
}
