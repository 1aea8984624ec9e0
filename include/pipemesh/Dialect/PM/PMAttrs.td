//===- PMAttrs.td - attributes of the pm dialect ------------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PM_PMATTRS_TD
#define PIPEMESH_DIALECT_PM_PMATTRS_TD

include "pipemesh/Dialect/PM/PMDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class PM_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<PM_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

class PM_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::pipemesh::pm";
  let genSpecializedAttr = 0;
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

def PM_AxisKind : PM_Enum<"AxisKind", "what a mesh axis divides", [
  I32EnumAttrCase<"Spatial", 0, "spatial">,
  I32EnumAttrCase<"Temporal", 1, "temporal">,
  I32EnumAttrCase<"Stage", 2, "stage">]>;

def PM_MeshAxisAttr : PM_Attr<"MeshAxis", "axis"> {
  let summary = "a named mesh axis with its kind and size";
  let parameters = (ins "::mlir::StringAttr":$name, "AxisKind":$kind,
                        "int64_t":$size);
  let assemblyFormat = "`<` $name `,` $kind `=` $size `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

def PM_ReductionKind : I32EnumAttr<"ReductionKind",
    "how partial values are combined", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">]> {
  let cppNamespace = "::pipemesh::pm";
  let genSpecializedAttr = 0;
}

def PM_DimShardingAttr : PM_Attr<"DimSharding", "dim"> {
  let summary = "the mesh axes over which one dimension is cut";
  let description = [{
    `{"dp", "mb"}`: cut over `dp` and, within each piece, over `mb` (major to
    minor). `{"tp", ?}` is open: propagation may add axes behind it. `{"tp"}p1`
    carries a user priority, 0 binding first. `{"tp"}b3` says that a piece has 3
    elements and not the ceiling of the division (heads that do not divide).
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::StringAttr">:$axes,
    "bool":$open,
    "int64_t":$priority,
    "int64_t":$blockSize);
  let builders = [
    AttrBuilder<(ins CArg<"::llvm::ArrayRef<::mlir::StringAttr>", "{}">:$axes,
                     CArg<"bool", "false">:$open), [{
      return $_get($_ctxt, axes, open, /*priority=*/0, /*blockSize=*/0);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
}

def PM_ShardingAttr : PM_Attr<"Sharding", "sharding"> {
  let summary = "how a value lies on a mesh";
  let description = [{
    One dimension sharding for each dimension of the value, and the axes over
    which the ranks hold parts to be combined:

    ```mlir
    #pm.sharding<@mesh, [{"dp", "mb"}, {} ]>
    #pm.sharding<@mesh, [{}, {"tp"} ], partial = sum{"dp", "mb"}>
    #pm.sharding<@mesh, [{"dp", ?}, {?} ], replicated = {"tp"}>
    ```

    An axis occurs once. Axes that do not occur are replicated over; those that
    `replicated` names may not be added to an open dimension either. An axis may
    be a part of one of the mesh: `"dp:(2)4"` is the part of size 4 behind the
    outermost 2 of `dp`, until `pm-refine-mesh` makes it an axis.
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$mesh,
    ArrayRefParameter<"DimShardingAttr">:$dims,
    ArrayRefParameter<"::mlir::StringAttr">:$partialAxes,
    "ReductionKind":$partialKind,
    OptionalArrayRefParameter<"::mlir::StringAttr">:$replicatedAxes);
  let builders = [
    AttrBuilder<(ins "::mlir::FlatSymbolRefAttr":$mesh,
                     "::llvm::ArrayRef<DimShardingAttr>":$dims), [{
      return $_get($_ctxt, mesh, dims, ::llvm::ArrayRef<::mlir::StringAttr>(),
                   ReductionKind::Sum, ::llvm::ArrayRef<::mlir::StringAttr>());
    }]>,
    AttrBuilder<(ins "::mlir::FlatSymbolRefAttr":$mesh,
                     "::llvm::ArrayRef<DimShardingAttr>":$dims,
                     "::llvm::ArrayRef<::mlir::StringAttr>":$partialAxes,
                     "ReductionKind":$partialKind), [{
      return $_get($_ctxt, mesh, dims, partialAxes, partialKind,
                   ::llvm::ArrayRef<::mlir::StringAttr>());
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Closed and replicated in all `rank` dimensions.
    static ShardingAttr getReplicated(::mlir::MLIRContext *context,
                                      ::mlir::FlatSymbolRefAttr mesh,
                                      int64_t rank);
    bool isPartial() const { return !getPartialAxes().empty(); }
    /// No dimension is cut and nothing is partial.
    bool isReplicated() const;
    /// The same dimensions, without partial axes.
    ShardingAttr withoutPartial() const;
    ShardingAttr withPartial(::llvm::ArrayRef<::mlir::StringAttr> axes,
                             ReductionKind kind = ReductionKind::Sum) const;
    /// Whether a dimension is cut over the axis.
    bool shardsAxis(::llvm::StringRef axis) const;
    bool isPartialOver(::llvm::StringRef axis) const;
  }];
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

def PM_StateKind : PM_Enum<"StateKind", "what a state is", [
  I32EnumAttrCase<"Parameter", 0, "parameter">,
  I32EnumAttrCase<"Moment1", 1, "moment1">,
  I32EnumAttrCase<"Moment2", 2, "moment2">,
  I32EnumAttrCase<"Step", 3, "step">]>;

def PM_StateAttr : PM_Attr<"State", "state"> {
  let summary = "marks an argument and a result that share one buffer";
  let description = [{
    `#pm.state<parameter, "model.norm.weight">`. `storage`, when given, is how
    the buffer lies on the mesh; it does not propagate into the computation.
  }];
  let parameters = (ins "StateKind":$kind, "::mlir::StringAttr":$name,
                        OptionalParameter<"ShardingAttr">:$storage);
  let builders = [
    AttrBuilder<(ins "StateKind":$kind, "::llvm::StringRef":$name), [{
      return $_get($_ctxt, kind, ::mlir::StringAttr::get($_ctxt, name),
                   ShardingAttr());
    }]>
  ];
  let assemblyFormat = "`<` $kind `,` $name (`,` `storage` `=` $storage^)? `>`";
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

def PM_FragmentKind : PM_Enum<"FragmentKind", "the piece of a step", [
  I32EnumAttrCase<"Prologue", 0, "prologue">,
  I32EnumAttrCase<"Forward", 1, "forward">,
  I32EnumAttrCase<"InputGradient", 2, "input_gradient">,
  I32EnumAttrCase<"WeightGradient", 3, "weight_gradient">,
  I32EnumAttrCase<"Backward", 4, "backward">,
  I32EnumAttrCase<"Reduce", 5, "reduce">,
  I32EnumAttrCase<"Update", 6, "update">]>;

def PM_FragmentAttr : PM_Attr<"Fragment", "fragment"> {
  let summary = "the kind and the stage of a fragment";
  let description = [{
    In the order of time: `prologue`, once a step; `forward`, `input_gradient`,
    `weight_gradient` or both as `backward`, once for each micro-batch;
    `reduce`, once a step: gradients summed over ranks, and what the updates of
    other stages need of them; `update`, once a step.
  }];
  let parameters = (ins "FragmentKind":$kind, "int64_t":$stage);
  let assemblyFormat = "`<` $kind `,` $stage `>`";
  let extraClassDeclaration = [{
    /// Runs once for each micro-batch: a temporal axis cuts its values.
    bool isPerMicroBatch() const {
      return getKind() != FragmentKind::Prologue &&
             getKind() != FragmentKind::Reduce &&
             getKind() != FragmentKind::Update;
    }
  }];
}

def PM_BufferKind : PM_Enum<"BufferKind", "what a program buffer holds", [
  I32EnumAttrCase<"Input", 0, "input">,
  I32EnumAttrCase<"State", 1, "state">,
  I32EnumAttrCase<"Activation", 2, "activation">,
  I32EnumAttrCase<"Accumulator", 3, "accumulator">,
  I32EnumAttrCase<"Output", 4, "output">,
  I32EnumAttrCase<"Value", 5, "value">]>;

def PM_ReductionKindAttr : EnumAttr<PM_Dialect, PM_ReductionKind, "reduction">;
def PM_FragmentKindAttr : EnumAttr<PM_Dialect, PM_FragmentKind, "fragment_kind">;
def PM_BufferKindAttr : EnumAttr<PM_Dialect, PM_BufferKind, "buffer_kind">;

#endif
