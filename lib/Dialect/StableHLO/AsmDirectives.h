// Custom directives of the assembly formats: the parts of StableHLO's text that
// declarative formats cannot say. Private to the dialect's library.
#ifndef PIPEMESH_LIB_DIALECT_STABLEHLO_ASMDIRECTIVES_H
#define PIPEMESH_LIB_DIALECT_STABLEHLO_ASMDIRECTIVES_H

#include "pipemesh/Dialect/StableHLO/StableHLO.h"

namespace pipemesh::stablehlo {

/// `T` when all types are equal, else `(operand types) -> T`. The last type is
/// the result's.
mlir::ParseResult parseSameTypeList(mlir::OpAsmParser &parser,
                                    llvm::ArrayRef<mlir::Type *> types);
void printSameTypeList(mlir::OpAsmPrinter &printer,
                       llvm::ArrayRef<mlir::Type> types);

template <typename... Types>
mlir::ParseResult parseSameType(mlir::OpAsmParser &parser, Types &...types) {
  return parseSameTypeList(parser, {&types...});
}
template <typename... Types>
void printSameType(mlir::OpAsmPrinter &printer, mlir::Operation *,
                   Types... types) {
  printSameTypeList(printer, {mlir::Type(types)...});
}

/// `P, T` (predicate and values) when both values and the result have one type,
/// else `(P, T, T) -> T`.
mlir::ParseResult parseSelectType(mlir::OpAsmParser &parser, mlir::Type &pred,
                                  mlir::Type &onTrue, mlir::Type &onFalse,
                                  mlir::Type &result);
void printSelectType(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                     mlir::Type pred, mlir::Type onTrue, mlir::Type onFalse,
                     mlir::Type result);

/// The types of as many results as operands.
mlir::ParseResult
parsePairwiseSameTypes(mlir::OpAsmParser &parser,
                       llvm::SmallVectorImpl<mlir::Type> &operands,
                       llvm::SmallVectorImpl<mlir::Type> &results);
void printPairwiseSameTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                            mlir::TypeRange operands, mlir::TypeRange results);

/// `%a, %b,`: operands, each followed by a comma.
mlir::ParseResult parseOperandsThenComma(
    mlir::OpAsmParser &parser,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &operands);
void printOperandsThenComma(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                            mlir::OperandRange operands);

/// `[0:512, 0:8:2]`: start, limit and, where it is not 1, stride.
mlir::ParseResult parseSliceRanges(mlir::OpAsmParser &parser,
                                   mlir::DenseI64ArrayAttr &starts,
                                   mlir::DenseI64ArrayAttr &limits,
                                   mlir::DenseI64ArrayAttr &strides);
void printSliceRanges(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::DenseI64ArrayAttr starts,
                      mlir::DenseI64ArrayAttr limits,
                      mlir::DenseI64ArrayAttr strides);

/// `batching_dims = [0] x [0], contracting_dims = [2] x [1]`.
mlir::ParseResult parseDotDimensions(mlir::OpAsmParser &parser,
                                     DotDimensionNumbersAttr &dims);
void printDotDimensions(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                        DotDimensionNumbersAttr dims);

/// `, precision = [DEFAULT, DEFAULT], algorithm = <...>`, both optional.
mlir::ParseResult parsePrecisionAndAlgorithm(mlir::OpAsmParser &parser,
                                             mlir::ArrayAttr &precision,
                                             DotAlgorithmAttr &algorithm);
void printPrecisionAndAlgorithm(mlir::OpAsmPrinter &printer,
                                mlir::Operation *op, mlir::ArrayAttr precision,
                                DotAlgorithmAttr algorithm);

/// The type of a complex result, that of its parts being implied, else
/// `(operand types) -> T`.
mlir::ParseResult parseComplexType(mlir::OpAsmParser &parser, mlir::Type &lhs,
                                   mlir::Type &rhs, mlir::Type &result);
void printComplexType(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::Type lhs, mlir::Type rhs, mlir::Type result);

/// `e8m7`: bits of exponent and of mantissa.
mlir::ParseResult parseFloatFormat(mlir::OpAsmParser &parser,
                                   mlir::IntegerAttr &exponent,
                                   mlir::IntegerAttr &mantissa);
void printFloatFormat(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::IntegerAttr exponent, mlir::IntegerAttr mantissa);

/// `@target`, of a string.
mlir::ParseResult parseCallTarget(mlir::OpAsmParser &parser,
                                  mlir::StringAttr &target);
void printCallTarget(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                     mlir::StringAttr target);

/// `[b, f, 0]x[o, i, 0]->[b, f, 0]`.
mlir::ParseResult parseConvDimensions(mlir::AsmParser &parser,
                                      ConvDimensionNumbersAttr &dims);
void printConvDimensions(mlir::AsmPrinter &printer,
                         ConvDimensionNumbersAttr dims);
inline void printConvDimensions(mlir::OpAsmPrinter &printer, mlir::Operation *,
                                ConvDimensionNumbersAttr dims) {
  printConvDimensions(printer, dims);
}

/// `stride = [1], pad = [[2, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse =
/// [false]`, each of them optional.
mlir::ParseResult parseConvWindow(mlir::OpAsmParser &parser,
                                  mlir::DenseI64ArrayAttr &strides,
                                  mlir::DenseIntElementsAttr &padding,
                                  mlir::DenseI64ArrayAttr &lhsDilation,
                                  mlir::DenseI64ArrayAttr &rhsDilation,
                                  mlir::DenseBoolArrayAttr &reversal);
void printConvWindow(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                     mlir::DenseI64ArrayAttr strides,
                     mlir::DenseIntElementsAttr padding,
                     mlir::DenseI64ArrayAttr lhsDilation,
                     mlir::DenseI64ArrayAttr rhsDilation,
                     mlir::DenseBoolArrayAttr reversal);

} // namespace pipemesh::stablehlo

#endif // PIPEMESH_LIB_DIALECT_STABLEHLO_ASMDIRECTIVES_H
