//===- PMRTDialect.cpp - registration and verifiers -----------------------===//

#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pipemesh::pmrt;

#include "pipemesh/Dialect/PMRT/PMRTDialect.cpp.inc"
#include "pipemesh/Dialect/PMRT/PMRTEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "pipemesh/Dialect/PMRT/PMRTAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/PMRT/PMRTOps.cpp.inc"

void PMRTDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "pipemesh/Dialect/PMRT/PMRTAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/PMRT/PMRTOps.cpp.inc"
      >();
}

void YieldOp::build(OpBuilder &, OperationState &) {}

LogicalResult FusedOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("has a region whose arguments are not its operands");
  if (block.getTerminator()->getOperandTypes() != getResultTypes())
    return emitOpError("yields other types than its results");
  if (getInPlace().size() != getNumResults())
    return emitOpError("has ") << getInPlace().size()
                               << " entries in 'in_place' for "
                               << getNumResults() << " results";
  for (auto [index, operand] : llvm::enumerate(getInPlace())) {
    if (operand < 0)
      continue;
    if (operand >= static_cast<int64_t>(getInputs().size()) ||
        getInputs()[operand].getType() != getResult(index).getType())
      return emitOpError("'in_place' gives result ")
             << index << " the buffer of operand " << operand
             << ", which is not an operand of the same type";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Place: <read @buffer + offset : bytes>
//===----------------------------------------------------------------------===//

Attribute PlaceAttr::parse(AsmParser &parser, Type) {
  StringRef word;
  SMLoc loc;
  FlatSymbolRefAttr buffer;
  int64_t offset = 0, bytes = 0;
  if (parser.parseLess())
    return {};
  loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return {};
  auto access = symbolizeAccess(word);
  if (!access) {
    parser.emitError(loc, "expected read, write or update, but found '")
        << word << "'";
    return {};
  }
  if (failed(parser.parseOptionalKeyword("scratch")) &&
      parser.parseAttribute(buffer))
    return {};
  if (parser.parsePlus() || parser.parseInteger(offset) ||
      parser.parseColon() || parser.parseInteger(bytes) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), *access, buffer, offset, bytes);
}

void PlaceAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyAccess(getAccess()) << " ";
  if (getBuffer())
    printer << getBuffer();
  else
    printer << "scratch";
  printer << " + " << getOffset() << " : " << getBytes() << ">";
}

LogicalResult GemmOp::verify() {
  size_t needed = 3 + getBias() + getBefore();
  if (getPlaces().size() != needed)
    return emitOpError("needs ")
           << needed << " places: of A, B and C"
           << (getBias() ? ", the bias" : "")
           << (getBefore() ? ", the argument of GELU" : "") << ", but has "
           << getPlaces().size();
  if (getBefore() && !getGelu())
    return emitOpError("keeps the argument of GELU, which it does not compute");
  if (getAccumulate() && (getBias() || getGelu()))
    return emitOpError("adds to what a bias or GELU has changed");
  if (getLeading().size() != 3 || getTrans().size() != 2)
    return emitOpError("needs three leading dimensions and two transpositions");
  size_t rank = getBatch().size();
  if (rank > 4)
    return emitOpError("has ") << rank << " batch dimensions, at most 4 fit";
  if (getStrideA().size() != rank || getStrideB().size() != rank ||
      getStrideC().size() != rank)
    return emitOpError("needs one stride of A, B and C for each of ")
           << rank << " batch dimensions";
  Type element = getElementType(), result = getTypeOfResult();
  bool widens = (element.isF16() || element.isBF16()) && result.isF32();
  if (result != element && !widens)
    return emitOpError("multiplies ")
           << element << " to " << result
           << "; half precision may give f32, other types only themselves";
  return success();
}

LogicalResult ProductOp::verify() {
  auto lhs = cast<RankedTensorType>(getLhs().getType()),
       rhs = cast<RankedTensorType>(getRhs().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  if (getLhsContracting().size() != getRhsContracting().size())
    return emitOpError("contracts ")
           << getLhsContracting().size()
           << " dimensions of the left operand and "
           << getRhsContracting().size() << " of the right one";
  auto rest = [](RankedTensorType type, ArrayRef<int64_t> contracted) {
    SmallVector<int64_t> shape;
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      if (!llvm::is_contained(contracted, static_cast<int64_t>(dim)))
        shape.push_back(size);
    return shape;
  };
  for (auto [l, r] : llvm::zip(getLhsContracting(), getRhsContracting()))
    if (l < 0 || l >= lhs.getRank() || r < 0 || r >= rhs.getRank() ||
        lhs.getDimSize(l) != rhs.getDimSize(r))
      return emitOpError("contracts dimension ")
             << l << " of " << lhs << " with dimension " << r << " of " << rhs;
  SmallVector<int64_t> shape = rest(lhs, getLhsContracting()),
                       columns = rest(rhs, getRhsContracting());
  shape.append(columns);
  if (result.getShape() != ArrayRef(shape))
    return emitOpError("has the result ")
           << result << ", but its operands give " << result.clone(shape);
  if (getBias() && getBias().getType() != result.clone(columns))
    return emitOpError("has the bias ")
           << getBias().getType() << ", but needs " << result.clone(columns);
  if (getBefore() && getBefore().getType() != result)
    return emitOpError("keeps ")
           << getBefore().getType() << ", but the result is " << result;
  if (getBefore() && !getGelu())
    return emitOpError("keeps the argument of GELU, which it does not compute");
  return success();
}

LogicalResult AttentionOp::verify() {
  Type element = getElementType();
  if (!element.isBF16() && !element.isF16())
    return emitOpError("has elements of ")
           << element << ", but is there for bf16 and f16";
  int64_t batch = getBatch(), heads = getHeads(), keyHeads = getKeyHeads(),
          queries = getQueries(), keyCount = getKeys(), size = getSize();
  if (std::min({batch, heads, keyHeads, queries, keyCount, size}) < 1 ||
      heads % keyHeads != 0)
    return emitOpError("has ")
           << getBatch() << " x " << heads << " heads of " << getSize() << ", "
           << keyHeads << " heads of keys, " << getQueries() << " queries and "
           << getKeys() << " keys";
  if (getCausal() && getQueries() != getKeys())
    return emitOpError("is causal, but has ")
           << getQueries() << " queries and " << getKeys() << " keys";
  int64_t rows = 2 * batch * queries * heads * size;
  int64_t keys = 2 * batch * keyCount * keyHeads * size;
  int64_t logarithms = 4 * batch * heads * queries;
  SmallVector<int64_t> bytes{rows, keys, keys, rows, logarithms};
  if (getGradient())
    bytes.append({rows, rows, keys, keys});
  size_t firstResult = getGradient() ? 6 : 3;
  if (getPlaces().size() != bytes.size())
    return emitOpError("needs ")
           << bytes.size() << " places, but has " << getPlaces().size();
  for (auto [i, place] : llvm::enumerate(getPlaces().getAsRange<PlaceAttr>())) {
    if (place.getBytes() != bytes[i])
      return emitOpError("has place ")
             << i << " of " << place.getBytes() << " bytes, but its tensor has "
             << bytes[i];
    Access access = i < firstResult ? Access::Read : Access::Write;
    if (place.getAccess() != access)
      return emitOpError("has place ")
             << i << " for " << stringifyAccess(place.getAccess())
             << ", but makes a " << stringifyAccess(access);
  }
  return success();
}

int64_t AttentionOp::getWorkspaceBytes() {
  // For what a plan has besides.
  constexpr int64_t least = 4096;
  if (!getGradient())
    return least;
  auto aligned = [](int64_t bytes) -> int64_t {
    return llvm::alignTo(bytes, 256);
  };
  int64_t rows = getBatch() * getHeads();
  int64_t sums = aligned(4 * rows * getQueries());
  int64_t queryGrad = aligned(4 * rows * getQueries() * getSize());
  int64_t spread = getHeads() == getKeyHeads()
                       ? 0
                       : 2 * aligned(2 * rows * getKeys() * getSize());
  // In tiles of queries and keys.
  int64_t scores = 2 * rows * llvm::alignTo(getQueries(), 64) *
                   llvm::alignTo(getKeys(), 128);
  if (scores > kMostScoreBytes)
    scores = 0;
  return sums + spread + std::max<int64_t>(2 * queryGrad, scores) + least;
}

int64_t AttentionOp::getFlops() {
  int64_t product =
      2 * getBatch() * getHeads() * getQueries() * getKeys() * getSize();
  return getGradient() ? 5 * product : 2 * product;
}

/// The places of a collective along one dimension hold what the counts say.
static LogicalResult verifyBlocks(Operation *op, PlaceAttr block,
                                  PlaceAttr whole, int64_t outer, int64_t piece,
                                  int64_t row, Type element) {
  Type part = element;
  if (auto complex = dyn_cast<ComplexType>(element))
    part = complex.getElementType();
  int64_t size =
      part.isIntOrFloat() ? (part.getIntOrFloatBitWidth() + 7) / 8 : 0;
  if (part != element)
    size *= 2;
  if (size == 0)
    return op->emitOpError("moves elements of ")
           << element << ", which is no type of numbers";
  if (outer < 0 || piece < 0 || row < piece)
    return op->emitOpError("has pieces of ")
           << piece << " elements in a row of " << row << ", " << outer
           << " times; a piece is part of a row";
  if (block.getBytes() != outer * piece * size)
    return op->emitOpError("has a block of ")
           << block.getBytes() << " bytes, but " << outer << " pieces of "
           << piece << " elements have " << outer * piece * size;
  if (whole.getBytes() != outer * row * size)
    return op->emitOpError("has a whole of ")
           << whole.getBytes() << " bytes, but " << outer << " rows of " << row
           << " elements have " << outer * row * size;
  return success();
}

static LogicalResult verifyTwoPlaces(Operation *op, ArrayAttr places) {
  if (places.size() != 2)
    return op->emitOpError("needs the places of a block and of the whole, but "
                           "has ")
           << places.size();
  return success();
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyTwoPlaces(*this, getPlaces())))
    return failure();
  return verifyBlocks(*this, cast<PlaceAttr>(getPlaces()[0]),
                      cast<PlaceAttr>(getPlaces()[1]), getOuter(), getPiece(),
                      getRow(), getElementType());
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyTwoPlaces(*this, getPlaces())))
    return failure();
  return verifyBlocks(*this, cast<PlaceAttr>(getPlaces()[1]),
                      cast<PlaceAttr>(getPlaces()[0]), getOuter(), getPiece(),
                      getRow(), getElementType());
}

/// Bytes of an element; 0 of what is no type of numbers.
static int64_t bytesOf(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * bytesOf(complex.getElementType());
  return element.isIntOrFloat() ? (element.getIntOrFloatBitWidth() + 7) / 8 : 0;
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyTwoPlaces(*this, getPlaces())))
    return failure();
  int64_t size = bytesOf(getElementType());
  if (size == 0)
    return emitOpError("moves elements of ")
           << getElementType() << ", which is no type of numbers";
  int64_t rest = getOuter() * getMiddle() * getInner() * size;
  int64_t counts[] = {int64_t(getSplitSize() * getConcatPiece()),
                      int64_t(getSplitPiece() * getConcatSize())};
  for (auto [number, count] : llvm::enumerate(counts)) {
    auto place = cast<PlaceAttr>(getPlaces()[number]);
    if (place.getBytes() != rest * count)
      return emitOpError("has ")
             << place.getBytes() << (number ? " bytes after" : " bytes before")
             << " the exchange, but its sizes make " << rest * count;
  }
  return success();
}

LogicalResult PermuteOp::verify() {
  if (failed(verifyTwoPlaces(*this, getPlaces())))
    return failure();
  int64_t size = bytesOf(getElementType());
  auto own = cast<PlaceAttr>(getPlaces()[0]),
       received = cast<PlaceAttr>(getPlaces()[1]);
  if (size == 0 || own.getBytes() % size != 0)
    return emitOpError("moves ") << own.getBytes() << " bytes of "
                                 << getElementType() << ", which are no elements";
  if (own.getBytes() != received.getBytes())
    return emitOpError("moves ") << own.getBytes() << " bytes to a place of "
                                 << received.getBytes();
  for (int64_t source : getSources())
    if (source < -1 || source >= int64_t(getSources().size()))
      return emitOpError("has the source ")
             << source << " of " << getSources().size() << " members";
  return success();
}

/// The one place that a loop or a choice reads holds one element.
static LogicalResult verifyCondition(Operation *op, ArrayAttr places,
                                     Type element) {
  if (places.size() != 1)
    return op->emitOpError("needs the place of its condition, but has ")
           << places.size() << " places";
  auto place = cast<PlaceAttr>(places[0]);
  int64_t bytes = element.isInteger(1) ? 1 : 4;
  if (place.getAccess() != Access::Read || place.getBytes() != bytes)
    return op->emitOpError("has the condition ")
           << place << ", but reads one element of " << bytes
           << (bytes == 1 ? " byte" : " bytes");
  return success();
}

LogicalResult WhileOp::verify() {
  return verifyCondition(*this, getPlaces(),
                         IntegerType::get(getContext(), 1));
}

LogicalResult CaseOp::verify() {
  Type element = getElementType();
  if (!element.isInteger(1) && !element.isSignlessInteger(32))
    return emitOpError("chooses by an element of ")
           << element << ", but must by one of i1 or i32";
  if (getBranches().empty())
    return emitOpError("has no branches");
  return verifyCondition(*this, getPlaces(), element);
}
