//===- PMRTProgramOps.td - ops of the program step ----------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PMRT_PMRTPROGRAMOPS_TD
#define PIPEMESH_DIALECT_PMRT_PMRTPROGRAMOPS_TD

include "pipemesh/Dialect/PMRT/PMRTAttrs.td"
include "mlir/IR/SymbolInterfaces.td"

class PMRT_Op<string mnemonic, list<Trait> traits = []>
    : Op<PMRT_Dialect, mnemonic, traits>;

class PMRT_Instruction<string mnemonic>
    : PMRT_Op<mnemonic, [HasParent<"BodyOp">]>;

def PMRT_RoleOp : PMRT_Op<"role", [Symbol, NoTerminator, NoRegionArguments,
    SingleBlock, SymbolTable]> {
  let summary = "the runtime program of one pipeline rank";
  let description = [{
    Buffers with their places in the arena, bodies, and the action list. The
    arena is `arena_bytes` long; the scratch region begins at `scratch_offset`.

    ```mlir
    pmrt.role @role_0 arena 256 scratch 128 : 128 {
      pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
      pmrt.body @stage0_forward "forward" stage 0 {
        pmrt.zero [#pmrt.place<write @x + 0 : 64>]
      }
      pmrt.action @stage0_forward micro_batch 0
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$arena_bytes,
                       I64Attr:$scratch_offset, I64Attr:$scratch_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `arena` $arena_bytes `scratch` $scratch_offset `:` $scratch_bytes attr-dict-with-keyword $body";
}

def PMRT_BufferOp : PMRT_Op<"buffer", [Symbol, HasParent<"RoleOp">]> {
  let summary = "a program buffer and its place in the arena";
  let description = [{
    `bytes` of one slot; slot i begins at `offset + i * stride`. The type is that
    of one slot. Two buffers may share a place where one takes over the other's
    value.

    ```mlir
    pmrt.role @role_0 arena 128 scratch 128 : 0 {
      pmrt.buffer @x offset 0 bytes 64 slots 2 stride 64 : tensor<16xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$offset,
                       I64Attr:$bytes, I64Attr:$slots, I64Attr:$slot_stride,
                       TypeAttrOf<AnyRankedTensor>:$type);
  let assemblyFormat = "$sym_name `offset` $offset `bytes` $bytes `slots` $slots `stride` $slot_stride `:` $type attr-dict";
}

def PMRT_BodyOp : PMRT_Op<"body", [Symbol, NoTerminator, NoRegionArguments,
    SingleBlock, HasParent<"RoleOp">]> {
  let summary = "the flat instruction list of a fragment";
  let description = [{
    Executed in order; once for each stage and kind, however many micro-batches
    there are. `kind` is the name of a `pm` fragment kind.

    ```mlir
    pmrt.role @role_0 arena 64 scratch 64 : 0 {
      pmrt.body @stage0_update "update" stage 0 {
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, I64Attr:$stage);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $kind `stage` $stage attr-dict-with-keyword $body";
}

def PMRT_ActionOp : PMRT_Op<"action", [HasParent<"RoleOp">]> {
  let summary = "one run of a body";
  let description = [{
    ```mlir
    pmrt.role @role_0 arena 64 scratch 64 : 0 {
      pmrt.body @stage0_forward "forward" stage 0 {
      }
      pmrt.action @stage0_forward micro_batch 0
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$fragment, I64Attr:$micro_batch);
  let assemblyFormat = "$fragment `micro_batch` $micro_batch attr-dict";
}

def PMRT_GemmOp : PMRT_Instruction<"gemm"> {
  let summary = "batched matrix product";
  let description = [{
    Places are A, B, C. `C[i, j] = sum_k A[i, k] B[k, j]`, added to C with
    `accumulate`; `trans_a` says that A is stored [k, i], `trans_b` that B is
    stored [j, k]. Leading dimensions and batch strides are in elements; a
    stride of 0 shares an operand over that batch dimension.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_forward "forward" stage 0 {
        pmrt.gemm [#pmrt.place<read scratch + 0 : 96>, #pmrt.place<read scratch + 128 : 48>, #pmrt.place<write scratch + 256 : 32>]
          m 4 n 2 k 6 ld [6, 6, 2] trans [0, 1] batch [] strides [] []  [] : f32
      }
    }
    ```
  }];
  let arguments = (ins PMRT_PlaceArrayAttr:$places, I64Attr:$m, I64Attr:$n,
                       I64Attr:$k, DenseI64ArrayAttr:$leading,
                       DenseI64ArrayAttr:$trans, DenseI64ArrayAttr:$batch,
                       DenseI64ArrayAttr:$stride_a, DenseI64ArrayAttr:$stride_b,
                       DenseI64ArrayAttr:$stride_c, TypeAttr:$element_type,
                       UnitAttr:$accumulate);
  let assemblyFormat = [{
    $places `m` $m `n` $n `k` $k `ld` $leading `trans` $trans `batch` $batch
    `strides` $stride_a $stride_b $stride_c (`accumulate` $accumulate^)? `:` $element_type attr-dict
  }];
  let hasVerifier = 1;
}

def PMRT_CallOp : PMRT_Instruction<"call"> {
  let summary = "a compiled kernel";
  let description = [{
    Places are the kernel's operands, then its results. The kernel is a private
    function with the attribute `pmrt.kernel`, whose body is one `pmrt.fused`.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_forward "forward" stage 0 {
        pmrt.call @negate_16 [#pmrt.place<read scratch + 0 : 64>, #pmrt.place<write scratch + 64 : 64>]
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, PMRT_PlaceArrayAttr:$places);
  let assemblyFormat = "$kernel $places attr-dict";
}

def PMRT_AllReduceOp : PMRT_Instruction<"all_reduce"> {
  let summary = "an all-reduce in place";
  let description = [{
    One exchange of all places between the ranks that differ on `axes`.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_update "update" stage 0 {
        pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update scratch + 0 : 64>] : f32
      }
    }
    ```
  }];
  let arguments = (ins StrAttr:$reduction, StrArrayAttr:$axes,
                       PMRT_PlaceArrayAttr:$places, TypeAttr:$element_type);
  let assemblyFormat = "$reduction `over` $axes $places `:` $element_type attr-dict";
}

def PMRT_CopyOp : PMRT_Instruction<"copy"> {
  let summary = "a copy from the first place to the second";
  let description = [{
    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_update "update" stage 0 {
        pmrt.copy [#pmrt.place<read scratch + 0 : 64>, #pmrt.place<write scratch + 64 : 64>]
      }
    }
    ```
  }];
  let arguments = (ins PMRT_PlaceArrayAttr:$places);
  let assemblyFormat = "$places attr-dict";
}

def PMRT_ZeroOp : PMRT_Instruction<"zero"> {
  let summary = "sets a place to zero bytes";
  let description = [{
    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_prologue "prologue" stage 0 {
        pmrt.zero [#pmrt.place<write scratch + 0 : 64>]
      }
    }
    ```
  }];
  let arguments = (ins PMRT_PlaceArrayAttr:$places);
  let assemblyFormat = "$places attr-dict";
}

#endif
