//===- PMRTProgramOps.td - ops of the program step ----------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PMRT_PMRTPROGRAMOPS_TD
#define PIPEMESH_DIALECT_PMRT_PMRTPROGRAMOPS_TD

include "pipemesh/Dialect/PMRT/PMRTAttrs.td"
include "mlir/IR/SymbolInterfaces.td"

class PMRT_Op<string mnemonic, list<Trait> traits = []>
    : Op<PMRT_Dialect, mnemonic, traits>;

class PMRT_Instruction<string mnemonic>
    : PMRT_Op<mnemonic, [ParentOneOf<["BodyOp", "WhileOp", "CaseOp"]>]>;

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
  let summary = "the instruction list of a fragment";
  let description = [{
    Executed in order; once for each stage and kind, however many micro-batches
    there are. `kind` is the name of a `pm` fragment kind. Only loops and choices
    (`pmrt.while`, `pmrt.case`) hold instructions of their own; the bundle has
    them flat, with jumps.

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

class PMRT_Transfer<string mnemonic> : PMRT_Op<mnemonic, [HasParent<"RoleOp">]> {
  let arguments = (ins FlatSymbolRefAttr:$buffer, I64Attr:$peer,
                       I64Attr:$micro_batch, I64Attr:$channel);
}

def PMRT_SendOp : PMRT_Transfer<"send"> {
  let summary = "the start of a transfer to another role";
  let description = [{
    Sends the micro-batch's slot of the buffer to the rank of role `peer` with
    the same coordinates on all other axes. It never waits, and the slot may be
    written again at once. The channel belongs to one (buffer, sender, receiver)
    of the whole program; what is sent on it is received in the same order.

    ```mlir
    pmrt.role @role_0 arena 64 scratch 64 : 0 {
      pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
      pmrt.body @stage0_forward "forward" stage 0 {
        pmrt.zero [#pmrt.place<write @x + 0 : 64>]
      }
      pmrt.action @stage0_forward micro_batch 0
      pmrt.send @x to 1 micro_batch 0 channel 0
    }
    pmrt.role @role_1 arena 64 scratch 64 : 0 {
      pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
      pmrt.receive @x from 0 micro_batch 0 channel 0
    }
    ```
  }];
  let assemblyFormat = "$buffer `to` $peer `micro_batch` $micro_batch `channel` $channel attr-dict";
}

def PMRT_ReceiveOp : PMRT_Transfer<"receive"> {
  let summary = "the end of a transfer from another role";
  let description = [{
    Waits for what role `peer` has sent on the channel, and puts it into the
    micro-batch's slot of this role's buffer.

    ```mlir
    pmrt.role @role_0 arena 64 scratch 64 : 0 {
      pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
      pmrt.receive @x from 1 micro_batch 0 channel 3
    }
    pmrt.role @role_1 arena 64 scratch 64 : 0 {
      pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
      pmrt.send @x to 0 micro_batch 0 channel 3
    }
    ```
  }];
  let assemblyFormat = "$buffer `from` $peer `micro_batch` $micro_batch `channel` $channel attr-dict";
}

def PMRT_GemmOp : PMRT_Instruction<"gemm"> {
  let summary = "batched matrix product";
  let description = [{
    Places are A, B, C. `C[i, j] = sum_k A[i, k] B[k, j]`, added to C with
    `accumulate`; `trans_a` says that A is stored [k, i], `trans_b` that B is
    stored [j, k]. Leading dimensions and batch strides are in elements; a
    stride of 0 shares an operand over that batch dimension. A and B are of the
    element type; C too, unless a result type (f32 of half precision) is named.
    With `bias`, a fourth place is a row that is added to each of C; `gelu` follows,
    of which a last place, `before`, keeps the argument, stored as C is.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_forward "forward" stage 0 {
        pmrt.gemm [#pmrt.place<read scratch + 0 : 96>, #pmrt.place<read scratch + 128 : 48>, #pmrt.place<write scratch + 256 : 32>]
          m 4 n 2 k 6 ld [6, 6, 2] trans [0, 1] batch [] strides [] []  [] : f32
        pmrt.gemm [#pmrt.place<read scratch + 0 : 48>, #pmrt.place<read scratch + 128 : 24>, #pmrt.place<write scratch + 256 : 32>]
          m 4 n 2 k 6 ld [6, 6, 2] trans [0, 1] batch [] strides [] []  [] : bf16 -> f32
      }
    }
    ```
  }];
  let arguments = (ins PMRT_PlaceArrayAttr:$places, I64Attr:$m, I64Attr:$n,
                       I64Attr:$k, DenseI64ArrayAttr:$leading,
                       DenseI64ArrayAttr:$trans, DenseI64ArrayAttr:$batch,
                       DenseI64ArrayAttr:$stride_a, DenseI64ArrayAttr:$stride_b,
                       DenseI64ArrayAttr:$stride_c, TypeAttr:$element_type,
                       OptionalAttr<TypeAttr>:$result_type,
                       UnitAttr:$accumulate, UnitAttr:$bias, UnitAttr:$gelu,
                       UnitAttr:$before);
  let assemblyFormat = [{
    $places `m` $m `n` $n `k` $k `ld` $leading `trans` $trans `batch` $batch
    `strides` $stride_a $stride_b $stride_c (`accumulate` $accumulate^)?
    (`bias` $bias^)? (`gelu` $gelu^)? (`before` $before^)?
    `:` $element_type (`->` $result_type^)? attr-dict
  }];
  let extraClassDeclaration = [{
    mlir::Type getTypeOfResult() {
      return getResultType().value_or(getElementType());
    }
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

def PMRT_AttentionOp : PMRT_Instruction<"attention"> {
  let summary = "scaled dot-product attention by a GPU's library";
  let description = [{
    What `pm.attention` computes, or with `gradient` what `pm.attention_grad` does,
    in bf16 or f16. Places are Q, K, V, O and the logarithms of the sums, in f32; of
    the gradient Q, K, V, O, the logarithms, dO, dQ, dK and dV. Each is a tensor of
    [batch, positions, heads, size] whose rows lie together; the logarithms are
    [batch, heads, queries]. Programs for the host never have it.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_forward "forward" stage 0 {
        pmrt.zero [#pmrt.place<write scratch + 0 : 384>]
        pmrt.attention [#pmrt.place<read scratch + 0 : 128>, #pmrt.place<read scratch + 128 : 64>, #pmrt.place<read scratch + 192 : 64>, #pmrt.place<write scratch + 384 : 128>, #pmrt.place<write scratch + 512 : 32>]
          batch 1 heads 2 of 1 queries 4 keys 4 size 8 scale 0.35355339 causal : bf16
      }
    }
    ```
  }];
  let arguments = (ins PMRT_PlaceArrayAttr:$places, I64Attr:$batch,
                       I64Attr:$heads, I64Attr:$key_heads, I64Attr:$queries,
                       I64Attr:$keys, I64Attr:$size, F64Attr:$scale,
                       UnitAttr:$causal, UnitAttr:$gradient,
                       TypeAttr:$element_type);
  let assemblyFormat = [{
    $places `batch` $batch `heads` $heads `of` $key_heads `queries` $queries
    `keys` $keys `size` $size `scale` $scale (`causal` $causal^)?
    (`gradient` $gradient^)? `:` $element_type attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Bytes that it may use while it runs. cuDNN keeps the sums of dO * O in it, of
    /// heads that share keys the gradients of each, and either all scores of a head's
    /// gradient, which gives the same bits each time, or where those take more than
    /// `kMostScoreBytes` two copies of the queries' gradient in f32.
    int64_t getWorkspaceBytes();
    static constexpr int64_t kMostScoreBytes = 256 << 20;
    /// A multiply-add counts as two.
    int64_t getFlops();
  }];
}

def PMRT_AllReduceOp : PMRT_Instruction<"all_reduce"> {
  let summary = "an all-reduce in place";
  let description = [{
    One exchange of all places between the ranks that differ on `axes`. With an
    `event` it only starts here and goes on beside what follows; nothing touches
    its places until `pmrt.wait` for that event. What starts so runs in the order
    of the starts, apart from the collectives that have no event.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_update "update" stage 0 {
        pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update scratch + 0 : 64>] : f32
      }
    }
    ```
  }];
  let arguments = (ins StrAttr:$reduction, StrArrayAttr:$axes,
                       PMRT_PlaceArrayAttr:$places, TypeAttr:$element_type,
                       OptionalAttr<I64Attr>:$event);
  let assemblyFormat = "$reduction `over` $axes $places `:` $element_type (`event` $event^)? attr-dict";
}

def PMRT_WaitOp : PMRT_Instruction<"wait"> {
  let summary = "the end of a collective that was started";
  let description = [{
    Waits until the collective with this event is done. An event belongs to one
    start of a step.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 64 : 64 {
      pmrt.buffer @g offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
      pmrt.body @stage0_backward "backward" stage 0 {
        pmrt.zero [#pmrt.place<write @g + 0 : 64>]
        pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @g + 0 : 64>] : f32 event 1
      }
      pmrt.body @stage0_update "update" stage 0 {
        pmrt.wait 1
        pmrt.zero [#pmrt.place<write @g + 0 : 64>]
      }
      pmrt.action @stage0_backward micro_batch 0
      pmrt.action @stage0_update micro_batch 0
    }
    ```
  }];
  let arguments = (ins I64Attr:$event);
  let assemblyFormat = "$event attr-dict";
}

class PMRT_DimCollective<string mnemonic> : PMRT_Instruction<mnemonic> {
  let hasVerifier = 1;
}

def PMRT_AllGatherOp : PMRT_DimCollective<"all_gather"> {
  let summary = "joins the blocks of several ranks along one dimension";
  let description = [{
    Places are this rank's block, then the whole. `outer` is the number of
    indices outside of the dimension: a block is `outer` pieces of `piece`
    elements, the whole `outer` rows of `row` elements, in which the piece of
    member i of the ranks that differ on `axes` begins at element `i * piece`.
    Where the last pieces do not fit in the row, their ends are padding.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_prologue "prologue" stage 0 {
        pmrt.zero [#pmrt.place<write scratch + 0 : 64>]
        pmrt.all_gather over ["tp"] [#pmrt.place<read scratch + 0 : 64>, #pmrt.place<write scratch + 64 : 128>]
          outer 2 piece 8 row 16 : f32
      }
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$axes, PMRT_PlaceArrayAttr:$places,
                       I64Attr:$outer, I64Attr:$piece, I64Attr:$row,
                       TypeAttr:$element_type);
  let assemblyFormat = [{
    `over` $axes $places `outer` $outer `piece` $piece `row` $row `:` $element_type attr-dict
  }];
}

def PMRT_ReduceScatterOp : PMRT_DimCollective<"reduce_scatter"> {
  let summary = "combines the parts of several ranks, and keeps one block";
  let description = [{
    Places are the whole, then this rank's block; `outer`, `piece` and `row` are
    as in `pmrt.all_gather`. Parts are combined in the order of the ranks.

    ```mlir
    pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
      pmrt.body @stage0_update "update" stage 0 {
        pmrt.zero [#pmrt.place<write scratch + 0 : 128>]
        pmrt.reduce_scatter "sum" over ["dp"] [#pmrt.place<read scratch + 0 : 128>, #pmrt.place<write scratch + 128 : 64>]
          outer 1 piece 16 row 32 : f32
      }
    }
    ```
  }];
  let arguments = (ins StrAttr:$reduction, StrArrayAttr:$axes,
                       PMRT_PlaceArrayAttr:$places, I64Attr:$outer,
                       I64Attr:$piece, I64Attr:$row, TypeAttr:$element_type);
  let assemblyFormat = [{
    $reduction `over` $axes $places `outer` $outer `piece` $piece `row` $row `:` $element_type attr-dict
  }];
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
