//===- PMRTExchangeOps.td - exchanges that move blocks ------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PMRT_PMRTEXCHANGEOPS_TD
#define PIPEMESH_DIALECT_PMRT_PMRTEXCHANGEOPS_TD

include "pipemesh/Dialect/PMRT/PMRTProgramOps.td"

def PMRT_AllToAllOp : PMRT_DimCollective<"all_to_all"> {
  let summary = "moves the cut of several ranks from one dimension to another";
  let description = [{
    Places are what a rank has before and after: arrays of outer x first x middle
    x second x inner elements, where `first` and `second` are the two dimensions
    in the order of the tensor, that which is split first where `split_first`
    stands. Before, a rank has all `split` elements of the one and a piece of the
    other; after, a piece of the one and all `concat` elements of the other.
    Pieces behind the end are short or empty.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_forward "forward" stage 0 {
        pmrt.zero [#pmrt.place<write scratch + 0 : 96>]
        pmrt.all_to_all over ["tp"] [#pmrt.place<read scratch + 0 : 96>, #pmrt.place<write scratch + 128 : 96>]
          outer 1 middle 1 inner 2 split 4 pieces 2 concat 6 pieces 3 split_first : f32
      }
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$axes, PMRT_PlaceArrayAttr:$places,
                       I64Attr:$outer, I64Attr:$middle, I64Attr:$inner,
                       I64Attr:$split_size, I64Attr:$split_piece,
                       I64Attr:$concat_size, I64Attr:$concat_piece,
                       UnitAttr:$split_first, TypeAttr:$element_type);
  let assemblyFormat = [{
    `over` $axes $places `outer` $outer `middle` $middle `inner` $inner
    `split` $split_size `pieces` $split_piece
    `concat` $concat_size `pieces` $concat_piece
    (`split_first` $split_first^)? `:` $element_type attr-dict
  }];
}

def PMRT_PermuteOp : PMRT_DimCollective<"permute"> {
  let summary = "each rank gets the value of another one";
  let description = [{
    Places are the own value and the received one, of equal size. Member i of the
    ranks that differ on `axes` gets that of member `sources[i]`, or zero where
    it is -1. With k sources for each of n members, part j of k equal ones of member i
    is that of member `sources[j n + i]`.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_forward "forward" stage 0 {
        pmrt.zero [#pmrt.place<write scratch + 0 : 64>]
        pmrt.permute over ["dp"] sources [1, 0] [#pmrt.place<read scratch + 0 : 64>, #pmrt.place<write scratch + 64 : 64>] : f32
      }
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$axes, DenseI64ArrayAttr:$sources,
                       PMRT_PlaceArrayAttr:$places, TypeAttr:$element_type);
  let assemblyFormat = [{
    `over` $axes `sources` $sources $places `:` $element_type attr-dict
  }];
}

#endif
