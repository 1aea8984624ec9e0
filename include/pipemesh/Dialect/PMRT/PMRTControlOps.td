//===- PMRTControlOps.td - loops and choices of a body ------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PMRT_PMRTCONTROLOPS_TD
#define PIPEMESH_DIALECT_PMRT_PMRTCONTROLOPS_TD

include "pipemesh/Dialect/PMRT/PMRTProgramOps.td"

class PMRT_Control<string mnemonic>
    : PMRT_Op<mnemonic, [NoTerminator, NoRegionArguments, SingleBlock,
                         ParentOneOf<["BodyOp", "WhileOp", "CaseOp"]>]> {
  let hasVerifier = 1;
}

def PMRT_WhileOp : PMRT_Control<"while"> {
  let summary = "instructions that are repeated";
  let description = [{
    Runs the instructions of `cond`, then reads one i1 at the place; while that
    is not 0, runs `do` and begins again. What a loop carries stays at its place
    from one iteration to the next. `trips` is the number of iterations where the
    compiler knows it. Every rank that shares a collective inside must find the
    same condition.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_forward "forward" stage 0 {
        pmrt.zero [#pmrt.place<write scratch + 0 : 4>]
        pmrt.while [#pmrt.place<read scratch + 64 : 1>] trips 4 cond {
          pmrt.call @less [#pmrt.place<read scratch + 0 : 4>, #pmrt.place<write scratch + 64 : 1>]
        } do {
          pmrt.call @increment [#pmrt.place<read scratch + 0 : 4>, #pmrt.place<write scratch + 0 : 4>]
        }
      }
    }
    ```
  }];
  let arguments = (ins PMRT_PlaceArrayAttr:$places, OptionalAttr<I64Attr>:$trips);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let assemblyFormat = "$places (`trips` $trips^)? attr-dict-with-keyword `cond` $cond `do` $body";
}

def PMRT_CaseOp : PMRT_Control<"case"> {
  let summary = "instructions that are chosen";
  let description = [{
    Reads one element, of type i32 or i1, at the place, and runs the branch of
    that number; the last one where there is none of that number. Every rank that
    shares a collective inside must find the same index.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_forward "forward" stage 0 {
        pmrt.zero [#pmrt.place<write scratch + 0 : 4>]
        pmrt.case [#pmrt.place<read scratch + 0 : 4>] : i32 {
          pmrt.zero [#pmrt.place<write scratch + 64 : 64>]
        }, {
        }
      }
    }
    ```
  }];
  let arguments = (ins PMRT_PlaceArrayAttr:$places, TypeAttr:$element_type);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let assemblyFormat = "$places `:` $element_type attr-dict-with-keyword $branches";
}

#endif
