// Text of the sdy dialect's attributes.
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "pipemesh/Dialect/SDY/SDY.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pipemesh::sdy;

#define GET_ATTRDEF_CLASSES
#include "pipemesh/Dialect/SDY/SDYAttrs.cpp.inc"

void SDYDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "pipemesh/Dialect/SDY/SDYAttrs.cpp.inc"
      >();
}

static ParseResult parseName(AsmParser &parser, StringAttr &name) {
  std::string text;
  if (parser.parseString(&text))
    return failure();
  name = StringAttr::get(parser.getContext(), text);
  return success();
}

/// A list of attributes of kind `T`, each in the form without its mnemonic.
template <typename T>
static ParseResult parseList(AsmParser &parser, AsmParser::Delimiter delimiter,
                             SmallVectorImpl<T> &list) {
  return parser.parseCommaSeparatedList(delimiter, [&]() -> ParseResult {
    auto item = llvm::dyn_cast_or_null<T>(T::parse(parser, Type()));
    if (!item)
      return failure();
    list.push_back(item);
    return success();
  });
}

template <typename T>
static void printList(AsmPrinter &printer, ArrayRef<T> list) {
  llvm::interleaveComma(list, printer,
                        [&](T item) { item.print(printer); });
}

// ---- axis: "dp"=2 ----------------------------------------------------------

Attribute MeshAxisAttr::parse(AsmParser &parser, Type) {
  StringAttr name;
  int64_t size = 0;
  if (parseName(parser, name) || parser.parseEqual())
    return {};
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(size))
    return {};
  if (size < 1) {
    parser.emitError(loc) << "axis " << name << " has size " << size
                          << ", expected at least 1";
    return {};
  }
  return get(parser.getContext(), name, size);
}

void MeshAxisAttr::print(AsmPrinter &printer) const {
  printer << getName() << "=" << getSize();
}

// ---- mesh: <["dp"=2, "tp"=4], device_ids=[0, 1]> ---------------------------

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  SmallVector<int64_t> ids;
  if (parser.parseLess() ||
      parseList(parser, AsmParser::Delimiter::Square, axes))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("device_ids") || parser.parseEqual() ||
       parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
         return parser.parseInteger(ids.emplace_back());
       })))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), axes, ids);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printList(printer, getAxes());
  printer << "]";
  if (!getDeviceIds().empty()) {
    printer << ", device_ids=[";
    llvm::interleaveComma(getDeviceIds(), printer);
    printer << "]";
  }
  printer << ">";
}

// ---- axis reference: "x" or "x":(2)4 ---------------------------------------

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  StringAttr name;
  int64_t preSize = 1, size = 0;
  if (parseName(parser, name))
    return {};
  if (succeeded(parser.parseOptionalColon())) {
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseInteger(preSize) ||
        parser.parseRParen() || parser.parseInteger(size))
      return {};
    if (preSize < 1 || size < 1) {
      parser.emitError(loc) << "a part of axis " << name
                            << " has sizes of at least 1";
      return {};
    }
  }
  return get(parser.getContext(), name, preSize, size);
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer << getName();
  if (getSize() != 0)
    printer << ":(" << getPreSize() << ")" << getSize();
}

// ---- dimension: {"dp", ?}p1 ------------------------------------------------

Attribute DimensionShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  bool open = false;
  int64_t priority = -1;
  if (parser.parseLBrace())
    return {};
  if (failed(parser.parseOptionalRBrace())) {
    do {
      if (succeeded(parser.parseOptionalQuestion())) {
        open = true;
        break;
      }
      auto axis = llvm::dyn_cast_or_null<AxisRefAttr>(
          AxisRefAttr::parse(parser, Type()));
      if (!axis)
        return {};
      axes.push_back(axis);
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseRBrace())
      return {};
  }
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&word))) {
    StringRef digits = word;
    if (!digits.consume_front("p") || digits.getAsInteger(10, priority) ||
        priority < 0) {
      parser.emitError(loc) << "expected 'p' and a priority, but found '"
                            << word << "'";
      return {};
    }
  }
  return get(parser.getContext(), axes, open, priority);
}

void DimensionShardingAttr::print(AsmPrinter &printer) const {
  printer << "{";
  printList(printer, getAxes());
  if (getOpen())
    printer << (getAxes().empty() ? "?" : ", ?");
  printer << "}";
  if (getPriority() >= 0)
    printer << "p" << getPriority();
}

// ---- sharding: <@mesh, [dims], replicated={...}, unreduced={...}> ----------

static Attribute parseMesh(AsmParser &parser) {
  if (succeeded(parser.parseOptionalKeyword("mesh")))
    return MeshAttr::parse(parser, Type());
  StringAttr name;
  if (failed(parser.parseSymbolName(name)))
    return {};
  return FlatSymbolRefAttr::get(name);
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimensionShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, unreduced;
  if (parser.parseLess())
    return {};
  Attribute mesh = parseMesh(parser);
  if (!mesh || parser.parseComma() ||
      parseList(parser, AsmParser::Delimiter::Square, dims))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef word;
    if (parser.parseKeyword(&word))
      return {};
    SmallVector<AxisRefAttr> *list = word == "replicated"  ? &replicated
                                     : word == "unreduced" ? &unreduced
                                                           : nullptr;
    if (!list || !list->empty()) {
      parser.emitError(loc) << "expected 'replicated' or 'unreduced', each "
                               "once, but found '"
                            << word << "'";
      return {};
    }
    if (parser.parseEqual() ||
        parseList(parser, AsmParser::Delimiter::Braces, *list))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), mesh, dims, replicated, unreduced);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  if (auto mesh = dyn_cast<MeshAttr>(getMesh())) {
    printer << "mesh";
    mesh.print(printer);
  } else {
    printer << getMesh();
  }
  printer << ", [";
  printList(printer, getDims());
  printer << "]";
  if (!getReplicatedAxes().empty()) {
    printer << ", replicated={";
    printList(printer, getReplicatedAxes());
    printer << "}";
  }
  if (!getUnreducedAxes().empty()) {
    printer << ", unreduced={";
    printList(printer, getUnreducedAxes());
    printer << "}";
  }
  printer << ">";
}

// ---- sharding_per_value: <[<...>, <...>]> ----------------------------------

Attribute ShardingPerValueAttr::parse(AsmParser &parser, Type) {
  SmallVector<ShardingAttr> shardings;
  if (parser.parseLess() ||
      parseList(parser, AsmParser::Delimiter::Square, shardings) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), shardings);
}

void ShardingPerValueAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printList(printer, getShardings());
  printer << "]>";
}
