// Enumerations and dimension-number attributes of the stablehlo dialect.
#ifndef PIPEMESH_STABLEHLO_ATTRS_TD
#define PIPEMESH_STABLEHLO_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "pipemesh/Dialect/StableHLO/StableHLODialect.td"

// ---- Enumerations ----------------------------------------------------------

class StableHLO_Enum<string name, string summary, list<string> cases>
    : I32EnumAttr<name, summary,
                  !foreach(i, !range(0, !size(cases)), I32EnumAttrCase<cases[i], i>)> {
  let cppNamespace = "::pipemesh::stablehlo";
  let genSpecializedAttr = 0;
}

def StableHLO_ComparisonDirection : StableHLO_Enum<"ComparisonDirection",
    "Which relation a comparison tests", ["EQ", "NE", "GE", "GT", "LE", "LT"]>;
def StableHLO_ComparisonType : StableHLO_Enum<"ComparisonType",
    "How a comparison reads its elements",
    ["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"]>;
def StableHLO_Precision : StableHLO_Enum<"Precision",
    "How precisely a contraction computes", ["DEFAULT", "HIGH", "HIGHEST"]>;
def StableHLO_RngAlgorithm : StableHLO_Enum<"RngAlgorithm",
    "Which generator makes random bits", ["DEFAULT", "THREE_FRY", "PHILOX"]>;

def StableHLO_ComparisonDirectionAttr
    : EnumAttr<StableHLO_Dialect, StableHLO_ComparisonDirection, "comparison_direction">;
def StableHLO_ComparisonTypeAttr
    : EnumAttr<StableHLO_Dialect, StableHLO_ComparisonType, "comparison_type">;
def StableHLO_PrecisionAttr
    : EnumAttr<StableHLO_Dialect, StableHLO_Precision, "precision">;
def StableHLO_RngAlgorithmAttr
    : EnumAttr<StableHLO_Dialect, StableHLO_RngAlgorithm, "rng_algorithm">;
def StableHLO_PrecisionConfigAttr
    : TypedArrayAttrBase<StableHLO_PrecisionAttr, "precision of each operand">;

// ---- Dimension numbers -----------------------------------------------------

class StableHLO_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<StableHLO_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

// A list of dimensions, left out of the text when empty.
class StableHLO_Dims<string desc> : OptionalArrayRefParameter<"int64_t", desc>;

def StableHLO_DotDimensionNumbersAttr : StableHLO_Attr<"DotDimensionNumbers", "dot"> {
  let summary = "Which dimensions a dot_general batches and contracts";
  let description = [{
    `#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0],
    lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>`:
    the i-th dimensions of both lists of a pair belong together. Empty lists are
    left out.
  }];
  let parameters = (ins
    StableHLO_Dims<"batching dimensions of the left operand">:$lhsBatchingDimensions,
    StableHLO_Dims<"batching dimensions of the right operand">:$rhsBatchingDimensions,
    StableHLO_Dims<"contracted dimensions of the left operand">:$lhsContractingDimensions,
    StableHLO_Dims<"contracted dimensions of the right operand">:$rhsContractingDimensions
  );
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_DotAlgorithmAttr : StableHLO_Attr<"DotAlgorithm", "dot_algorithm"> {
  let summary = "The algorithm of a dot_general, when it is prescribed";
  let description = [{
    The types that the operands are rounded to, the type that is accumulated in,
    and into how many components and multiplications the operands are split.
  }];
  let parameters = (ins
    "::mlir::Type":$lhsPrecisionType, "::mlir::Type":$rhsPrecisionType,
    "::mlir::Type":$accumulationType,
    "int64_t":$lhsComponentCount, "int64_t":$rhsComponentCount,
    "int64_t":$numPrimitiveOperations, "bool":$allowImpreciseAccumulation
  );
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_GatherDimensionNumbersAttr : StableHLO_Attr<"GatherDimensionNumbers", "gather"> {
  let summary = "How a gather's operand, indices and result dimensions correspond";
  let description = [{
    `#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>`. `offset_dims` are the
    dimensions of the result that run inside a slice; `collapsed_slice_dims` and
    `operand_batching_dims` are the dimensions of the operand that do not;
    `start_index_map` says which dimension of the operand each component of an
    index vector addresses; `index_vector_dim` is the dimension of the indices
    that holds the components (their rank, when it is implied).
  }];
  let parameters = (ins
    StableHLO_Dims<"dimensions of the result inside a slice">:$offsetDims,
    StableHLO_Dims<"dimensions of the operand dropped from a slice">:$collapsedSliceDims,
    StableHLO_Dims<"batching dimensions of the operand">:$operandBatchingDims,
    StableHLO_Dims<"batching dimensions of the indices">:$startIndicesBatchingDims,
    StableHLO_Dims<"operand dimension of each index component">:$startIndexMap,
    DefaultValuedParameter<"int64_t", "0">:$indexVectorDim
  );
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_ScatterDimensionNumbersAttr : StableHLO_Attr<"ScatterDimensionNumbers", "scatter"> {
  let summary = "How a scatter's input, indices and update dimensions correspond";
  let description = [{
    `#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
    scatter_dims_to_operand_dims = [0], index_vector_dim = 1>`: the mirror image
    of `#stablehlo.gather`, with the updates in the place of its result.
  }];
  let parameters = (ins
    StableHLO_Dims<"dimensions of the updates inside a window">:$updateWindowDims,
    StableHLO_Dims<"dimensions of the input that a window lacks">:$insertedWindowDims,
    StableHLO_Dims<"batching dimensions of the input">:$inputBatchingDims,
    StableHLO_Dims<"batching dimensions of the indices">:$scatterIndicesBatchingDims,
    StableHLO_Dims<"input dimension of each index component">:$scatterDimsToOperandDims,
    DefaultValuedParameter<"int64_t", "0">:$indexVectorDim
  );
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_ConvDimensionNumbersAttr : StableHLO_Attr<"ConvDimensionNumbers", "conv"> {
  let summary = "Which dimensions of a convolution are batch, features and space";
  let description = [{
    `#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>`: for each dimension of the
    input, of the kernel and of the result what it is: `b` the batch, `f` the
    features, `i` and `o` the input and output features of the kernel, a number
    the spatial dimension of this number.
  }];
  let parameters = (ins
    "int64_t":$inputBatchDimension, "int64_t":$inputFeatureDimension,
    StableHLO_Dims<"spatial dimensions of the input">:$inputSpatialDimensions,
    "int64_t":$kernelInputFeatureDimension, "int64_t":$kernelOutputFeatureDimension,
    StableHLO_Dims<"spatial dimensions of the kernel">:$kernelSpatialDimensions,
    "int64_t":$outputBatchDimension, "int64_t":$outputFeatureDimension,
    StableHLO_Dims<"spatial dimensions of the result">:$outputSpatialDimensions
  );
  let hasCustomAssemblyFormat = 1;
}

// ---- Calls -----------------------------------------------------------------

def StableHLO_OutputOperandAliasAttr
    : StableHLO_Attr<"OutputOperandAlias", "output_operand_alias"> {
  let summary = "A result of a custom call that may share an operand's memory";
  let description = [{
    `#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0,
    operand_tuple_indices = []>`.
  }];
  let parameters = (ins
    StableHLO_Dims<"which result, where there are several">:$outputTupleIndices,
    "int64_t":$operandIndex,
    StableHLO_Dims<"which part of the operand">:$operandTupleIndices
  );
  let assemblyFormat = [{
    `<` `output_tuple_indices` `=` custom<Dims>($outputTupleIndices) `,`
    `operand_index` `=` $operandIndex `,`
    `operand_tuple_indices` `=` custom<Dims>($operandTupleIndices) `>`
  }];
}

// ---- Collectives -----------------------------------------------------------

def StableHLO_ChannelHandleAttr : StableHLO_Attr<"ChannelHandle", "channel_handle"> {
  let summary = "The channel of a collective";
  let description = [{
    `#stablehlo.channel_handle<handle = 1, type = 1>`. With a channel a collective
    is one of partitions, which is what exports of one program for all devices
    have; `handle` is the channel's number, `type` 1 between devices.
  }];
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` `handle` `=` $handle `,` `type` `=` $type `>`";
}

#endif // PIPEMESH_STABLEHLO_ATTRS_TD
