//===- PMRTAttrs.td - attributes of the pmrt dialect --------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PMRT_PMRTATTRS_TD
#define PIPEMESH_DIALECT_PMRT_PMRTATTRS_TD

include "pipemesh/Dialect/PMRT/PMRTDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def PMRT_Access : I32EnumAttr<"Access", "how an instruction uses a place", [
  I32EnumAttrCase<"Read", 1, "read">,
  I32EnumAttrCase<"Write", 2, "write">,
  I32EnumAttrCase<"ReadWrite", 3, "update">]> {
  let cppNamespace = "::pipemesh::pmrt";
  let genSpecializedAttr = 0;
}

def PMRT_PlaceAttr : AttrDef<PMRT_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "where an instruction reads or writes";
  let description = [{
    `#pmrt.place<read @logits + 0 : 40960>`: 40960 bytes from the start of the
    buffer's slot; `#pmrt.place<write scratch + 64 : 128>`: in the region that
    fragments share.
  }];
  let parameters = (ins "Access":$access,
                        OptionalParameter<"::mlir::FlatSymbolRefAttr">:$buffer,
                        "int64_t":$offset, "int64_t":$bytes);
  let hasCustomAssemblyFormat = 1;
}

def PMRT_PlaceArrayAttr : TypedArrayAttrBase<PMRT_PlaceAttr, "places">;

#endif
