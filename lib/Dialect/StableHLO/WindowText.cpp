// Text of convolutions: dimension numbers and windows.
#include <map>
#include "AsmDirectives.h"

using namespace mlir;

namespace pipemesh::stablehlo {

namespace {
/// One of the three lists of a convolution's dimension numbers: two dimensions
/// with a letter and the spatial ones.
struct DimRoles {
  StringRef firstLetter, secondLetter;
  int64_t first = -1, second = -1;
  SmallVector<int64_t> spatial = {};
};
} // namespace

static ParseResult parseRoles(AsmParser &parser, DimRoles &roles) {
  SMLoc loc = parser.getCurrentLocation();
  std::map<int64_t, int64_t> spatial; // Any number may be written.
  int64_t dim = 0;
  auto parseRole = [&]() -> ParseResult {
    int64_t number;
    OptionalParseResult parsed = parser.parseOptionalInteger(number);
    if (parsed.has_value()) {
      if (failed(*parsed))
        return failure();
      if (!spatial.insert({number, dim++}).second)
        return parser.emitError(loc)
               << "spatial dimension " << number << " is named twice";
      return success();
    }
    StringRef letter;
    SMLoc letterLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&letter))
      return failure();
    int64_t *role = letter == roles.firstLetter    ? &roles.first
                    : letter == roles.secondLetter ? &roles.second
                                                   : nullptr;
    if (!role || *role >= 0)
      return parser.emitError(letterLoc)
             << "expected '" << roles.firstLetter << "' and '"
             << roles.secondLetter << "' once each and numbers, got '" << letter
             << "'";
    *role = dim++;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRole))
    return failure();
  if (roles.first < 0 || roles.second < 0)
    return parser.emitError(loc) << "'" << roles.firstLetter << "' or '"
                                 << roles.secondLetter << "' is missing";
  for (int64_t i = 0, e = spatial.size(); i < e; ++i) {
    auto it = spatial.find(i);
    if (it == spatial.end())
      return parser.emitError(loc) << "spatial dimension " << i << " of " << e
                                   << " is missing";
    roles.spatial.push_back(it->second);
  }
  return success();
}

static void printRoles(AsmPrinter &printer, const DimRoles &roles) {
  printer << "[";
  for (int64_t dim = 0, e = roles.spatial.size() + 2; dim < e; ++dim) {
    if (dim)
      printer << ", ";
    if (dim == roles.first)
      printer << roles.firstLetter;
    else if (dim == roles.second)
      printer << roles.secondLetter;
    else
      printer << llvm::find(roles.spatial, dim) - roles.spatial.begin();
  }
  printer << "]";
}

ParseResult parseConvDimensions(AsmParser &parser,
                                ConvDimensionNumbersAttr &dims) {
  DimRoles input{"b", "f"}, kernel{"i", "o"}, output{"b", "f"};
  if (parseRoles(parser, input) || parser.parseKeyword("x") ||
      parseRoles(parser, kernel) || parser.parseArrow() ||
      parseRoles(parser, output))
    return failure();
  dims = ConvDimensionNumbersAttr::get(
      parser.getContext(), input.first, input.second, input.spatial,
      kernel.first, kernel.second, kernel.spatial, output.first, output.second,
      output.spatial);
  return success();
}

void printConvDimensions(AsmPrinter &printer, ConvDimensionNumbersAttr dims) {
  printRoles(printer, {"b", "f", dims.getInputBatchDimension(),
                       dims.getInputFeatureDimension(),
                       llvm::to_vector(dims.getInputSpatialDimensions())});
  printer << "x";
  printRoles(printer, {"i", "o", dims.getKernelInputFeatureDimension(),
                       dims.getKernelOutputFeatureDimension(),
                       llvm::to_vector(dims.getKernelSpatialDimensions())});
  printer << "->";
  printRoles(printer, {"b", "f", dims.getOutputBatchDimension(),
                       dims.getOutputFeatureDimension(),
                       llvm::to_vector(dims.getOutputSpatialDimensions())});
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  ConvDimensionNumbersAttr dims;
  if (parser.parseLess() || parseConvDimensions(parser, dims) ||
      parser.parseGreater())
    return {};
  return dims;
}

void ConvDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printConvDimensions(printer, *this);
  printer << ">";
}

static ParseResult parseNumbers(AsmParser &parser,
                                SmallVectorImpl<int64_t> &numbers) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        return parser.parseInteger(numbers.emplace_back());
      });
}

static ParseResult parsePadding(OpAsmParser &parser,
                                DenseIntElementsAttr &padding) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> numbers;
  int64_t rows = 0;
  auto parseRow = [&]() -> ParseResult {
    ++rows;
    if (parseNumbers(parser, numbers))
      return failure();
    if (int64_t(numbers.size()) != 2 * rows)
      return parser.emitError(loc)
             << "padding is two numbers for each dimension, low and high";
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRow))
    return failure();
  padding = DenseIntElementsAttr::get(
      RankedTensorType::get({rows, 2}, parser.getBuilder().getI64Type()),
      numbers);
  return success();
}

ParseResult parseConvWindow(OpAsmParser &parser, DenseI64ArrayAttr &strides,
                            DenseIntElementsAttr &padding,
                            DenseI64ArrayAttr &lhsDilation,
                            DenseI64ArrayAttr &rhsDilation,
                            DenseBoolArrayAttr &reversal) {
  auto parseArray = [&](DenseI64ArrayAttr &attr) -> ParseResult {
    SmallVector<int64_t> numbers;
    if (parseNumbers(parser, numbers))
      return failure();
    attr = parser.getBuilder().getDenseI64ArrayAttr(numbers);
    return success();
  };
  auto parseBools = [&]() -> ParseResult {
    SmallVector<bool> values;
    auto parseBool = [&]() -> ParseResult {
      StringRef word;
      SMLoc loc = parser.getCurrentLocation();
      if (parser.parseOptionalKeyword(&word, {"true", "false"})) {
        int64_t number;
        OptionalParseResult parsed = parser.parseOptionalInteger(number);
        if (!parsed.has_value() || failed(*parsed))
          return parser.emitError(loc) << "expected 'true' or 'false'";
        values.push_back(number != 0);
        return success();
      }
      values.push_back(word == "true");
      return success();
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                       parseBool))
      return failure();
    reversal = parser.getBuilder().getDenseBoolArrayAttr(values);
    return success();
  };
  bool first = true;
  while (true) {
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    if (!first && failed(parser.parseOptionalComma()))
      return success();
    if (failed(parser.parseOptionalKeyword(
            &word, {"stride", "pad", "lhs_dilate", "rhs_dilate", "reverse"}))) {
      if (first)
        return success();
      return parser.emitError(loc) << "expected 'stride', 'pad', 'lhs_dilate', "
                                      "'rhs_dilate' or 'reverse'";
    }
    first = false;
    bool isSeen = (word == "stride" && strides) || (word == "pad" && padding) ||
                  (word == "lhs_dilate" && lhsDilation) ||
                  (word == "rhs_dilate" && rhsDilation) ||
                  (word == "reverse" && reversal);
    if (isSeen)
      return parser.emitError(loc) << "'" << word << "' is given twice";
    if (parser.parseEqual())
      return failure();
    ParseResult parsed = word == "stride"       ? parseArray(strides)
                         : word == "pad"        ? parsePadding(parser, padding)
                         : word == "lhs_dilate" ? parseArray(lhsDilation)
                         : word == "rhs_dilate" ? parseArray(rhsDilation)
                                                : parseBools();
    if (parsed)
      return failure();
  }
}

void printConvWindow(OpAsmPrinter &printer, Operation *,
                     DenseI64ArrayAttr strides, DenseIntElementsAttr padding,
                     DenseI64ArrayAttr lhsDilation,
                     DenseI64ArrayAttr rhsDilation,
                     DenseBoolArrayAttr reversal) {
  StringRef separator = "";
  auto printList = [&](StringRef name, auto values) {
    printer << separator << name << " = [";
    llvm::interleaveComma(values, printer);
    printer << "]";
    separator = ", ";
  };
  if (strides)
    printList("stride", strides.asArrayRef());
  if (padding) {
    printer << separator << "pad = [";
    SmallVector<int64_t> numbers(padding.getValues<int64_t>());
    for (size_t i = 0; i + 1 < numbers.size(); i += 2)
      printer << (i ? ", [" : "[") << numbers[i] << ", " << numbers[i + 1]
              << "]";
    printer << "]";
    separator = ", ";
  }
  if (lhsDilation)
    printList("lhs_dilate", lhsDilation.asArrayRef());
  if (rhsDilation)
    printList("rhs_dilate", rhsDilation.asArrayRef());
  if (reversal) {
    SmallVector<StringRef> words;
    for (bool value : reversal.asArrayRef())
      words.push_back(value ? "true" : "false");
    printList("reverse", words);
  }
}

} // namespace pipemesh::stablehlo
