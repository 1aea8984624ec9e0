// Text of the stablehlo dialect's attributes.
#include "mlir/IR/DialectImplementation.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pipemesh::stablehlo;

#include "pipemesh/Dialect/StableHLO/StableHLOEnums.cpp.inc"

namespace {
/// A named field of an attribute: a list of dimensions or one number.
struct Field {
  StringRef name;
  SmallVector<int64_t> *dims = nullptr;
  int64_t *number = nullptr;
};
} // namespace

/// `<` (name `=` value (`,` name `=` value)*)? `>`, the fields in any order and
/// each at most once.
static ParseResult parseFields(AsmParser &parser, ArrayRef<Field> fields) {
  SmallVector<bool> seen(fields.size(), false);
  auto parseField = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    const Field *field =
        llvm::find_if(fields, [&](const Field &f) { return f.name == name; });
    if (field == fields.end())
      return parser.emitError(loc) << "unknown field '" << name << "'";
    bool &wasSeen = seen[field - fields.begin()];
    if (wasSeen)
      return parser.emitError(loc) << "field '" << name << "' is given twice";
    wasSeen = true;
    if (field->number)
      return parser.parseInteger(*field->number);
    return parser.parseCommaSeparatedList(
        AsmParser::Delimiter::Square, [&]() -> ParseResult {
          return parser.parseInteger(field->dims->emplace_back());
        });
  };
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                        parseField);
}

/// The fields that are not empty or zero, in order.
static void
printFields(AsmPrinter &printer,
            ArrayRef<std::pair<StringRef, ArrayRef<int64_t>>> dims,
            std::pair<StringRef, int64_t> number = {}) {
  printer << "<";
  StringRef separator = "";
  for (auto [name, values] : dims) {
    if (values.empty())
      continue;
    printer << separator << name << " = [";
    llvm::interleaveComma(values, printer);
    printer << "]";
    separator = ", ";
  }
  if (number.second != 0)
    printer << separator << number.first << " = " << number.second;
  printer << ">";
}

Attribute DotDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> lhsBatching, rhsBatching, lhsContracting, rhsContracting;
  if (parseFields(parser, {{"lhs_batching_dimensions", &lhsBatching},
                           {"rhs_batching_dimensions", &rhsBatching},
                           {"lhs_contracting_dimensions", &lhsContracting},
                           {"rhs_contracting_dimensions", &rhsContracting}}))
    return {};
  return get(parser.getContext(), lhsBatching, rhsBatching, lhsContracting,
             rhsContracting);
}

void DotDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printFields(printer,
              {{"lhs_batching_dimensions", getLhsBatchingDimensions()},
               {"rhs_batching_dimensions", getRhsBatchingDimensions()},
               {"lhs_contracting_dimensions", getLhsContractingDimensions()},
               {"rhs_contracting_dimensions", getRhsContractingDimensions()}});
}

Attribute GatherDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> offset, collapsed, operandBatching, indicesBatching, map;
  int64_t vectorDim = 0;
  if (parseFields(parser, {{"offset_dims", &offset},
                           {"collapsed_slice_dims", &collapsed},
                           {"operand_batching_dims", &operandBatching},
                           {"start_indices_batching_dims", &indicesBatching},
                           {"start_index_map", &map},
                           {"index_vector_dim", nullptr, &vectorDim}}))
    return {};
  return get(parser.getContext(), offset, collapsed, operandBatching,
             indicesBatching, map, vectorDim);
}

void GatherDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printFields(printer,
              {{"offset_dims", getOffsetDims()},
               {"collapsed_slice_dims", getCollapsedSliceDims()},
               {"operand_batching_dims", getOperandBatchingDims()},
               {"start_indices_batching_dims", getStartIndicesBatchingDims()},
               {"start_index_map", getStartIndexMap()}},
              {"index_vector_dim", getIndexVectorDim()});
}

Attribute ScatterDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> window, inserted, inputBatching, indicesBatching, map;
  int64_t vectorDim = 0;
  if (parseFields(parser, {{"update_window_dims", &window},
                           {"inserted_window_dims", &inserted},
                           {"input_batching_dims", &inputBatching},
                           {"scatter_indices_batching_dims", &indicesBatching},
                           {"scatter_dims_to_operand_dims", &map},
                           {"index_vector_dim", nullptr, &vectorDim}}))
    return {};
  return get(parser.getContext(), window, inserted, inputBatching,
             indicesBatching, map, vectorDim);
}

void ScatterDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printFields(
      printer,
      {{"update_window_dims", getUpdateWindowDims()},
       {"inserted_window_dims", getInsertedWindowDims()},
       {"input_batching_dims", getInputBatchingDims()},
       {"scatter_indices_batching_dims", getScatterIndicesBatchingDims()},
       {"scatter_dims_to_operand_dims", getScatterDimsToOperandDims()}},
      {"index_vector_dim", getIndexVectorDim()});
}

Attribute DotAlgorithmAttr::parse(AsmParser &parser, Type) {
  Type lhs, rhs, accumulation;
  int64_t lhsCount, rhsCount, operations;
  StringRef imprecise;
  auto field = [&](StringRef name) {
    return failed(parser.parseKeyword(name)) || failed(parser.parseEqual());
  };
  if (parser.parseLess() || field("lhs_precision_type") ||
      parser.parseType(lhs) || parser.parseComma() ||
      field("rhs_precision_type") || parser.parseType(rhs) ||
      parser.parseComma() || field("accumulation_type") ||
      parser.parseType(accumulation) || parser.parseComma() ||
      field("lhs_component_count") || parser.parseInteger(lhsCount) ||
      parser.parseComma() || field("rhs_component_count") ||
      parser.parseInteger(rhsCount) || parser.parseComma() ||
      field("num_primitive_operations") || parser.parseInteger(operations) ||
      parser.parseComma() || field("allow_imprecise_accumulation"))
    return {};
  if (parser.parseOptionalKeyword(&imprecise, {"true", "false"})) {
    parser.emitError(parser.getCurrentLocation())
        << "allow_imprecise_accumulation is 'true' or 'false'";
    return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), lhs, rhs, accumulation, lhsCount, rhsCount,
             operations, imprecise == "true");
}

void DotAlgorithmAttr::print(AsmPrinter &printer) const {
  printer << "<lhs_precision_type = " << getLhsPrecisionType()
          << ", rhs_precision_type = " << getRhsPrecisionType()
          << ", accumulation_type = " << getAccumulationType()
          << ", lhs_component_count = " << getLhsComponentCount()
          << ", rhs_component_count = " << getRhsComponentCount()
          << ", num_primitive_operations = " << getNumPrimitiveOperations()
          << ", allow_imprecise_accumulation = "
          << (getAllowImpreciseAccumulation() ? "true" : "false") << ">";
}

static ParseResult parseDims(AsmParser &parser,
                             SmallVectorImpl<int64_t> &dims) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        return parser.parseInteger(dims.emplace_back());
      });
}

static void printDims(AsmPrinter &printer, ArrayRef<int64_t> dims) {
  printer << "[";
  llvm::interleaveComma(dims, printer);
  printer << "]";
}

#define GET_ATTRDEF_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOAttrs.cpp.inc"

void StableHLODialect::addAllAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "pipemesh/Dialect/StableHLO/StableHLOAttrs.cpp.inc"
      >();
}
