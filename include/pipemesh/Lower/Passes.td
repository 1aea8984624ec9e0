//===- Passes.td - lowering to the runtime program ----------*- tablegen -*-===//

#ifndef PIPEMESH_LOWER_PASSES_TD
#define PIPEMESH_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrepareLoops : Pass<"pm-prepare-loops", "::mlir::func::FuncOp"> {
  let summary = "drop what loops do not change, and count their trips";
  let description = [{
    Before: a partitioned fragment. After: what a `stablehlo.while` carries and
    never changes is no longer carried, but read where it is; a loop that counts
    from a constant by a constant to a constant has the number of its trips as
    `pmrt.trips`; optimization barriers, which have done their work, are gone.

    ```mlir
    // before
    %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %more = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %y : tensor<i32>, tensor<4xf32>
    }
    // after: %x in the place of %r#1
    %r = stablehlo.while(%i = %zero) : tensor<i32> attributes {pmrt.trips = 4 : i64}
    ...
    ```
  }];
  let dependentDialects = ["::pipemesh::stablehlo::StableHLODialect"];
}

def PrepareGemms : Pass<"pm-prepare-gemms", "::mlir::func::FuncOp"> {
  let summary = "give every dot_general the layout of a matrix product";
  let description = [{
    Before: a partitioned fragment. After: the dimensions of each operand of a
    `stablehlo.dot_general` collapse to batch dimensions and one matrix, stored
    by rows or by columns; where they did not, a `stablehlo.transpose` stands in
    front. Nothing is transposed that the GEMM can read through its strides.

    ```mlir
    // before: k lies outside of both free dimensions and between them
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x5x6xf32>, tensor<5x7xf32>) -> tensor<4x6x7xf32>
    // after
    %t = stablehlo.transpose %a, dims = [0, 2, 1] : (tensor<4x5x6xf32>) -> tensor<4x6x5xf32>
    %0 = stablehlo.dot_general %t, %b, contracting_dims = [2] x [0] : (tensor<4x6x5xf32>, tensor<5x7xf32>) -> tensor<4x6x7xf32>
    ```

    The host multiplies float32: products of half precision are made in float32
    there. GPUs multiply half precision, with `half-precision`.
  }];
  let options = [Option<"halfPrecision", "half-precision", "bool",
                        /*default=*/"false",
                        "keep products of f16 and bf16, which cuBLASLt has">];
  let dependentDialects = ["::pipemesh::stablehlo::StableHLODialect"];
}

def FuseEpilogues : Pass<"pm-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "let matrix products add a bias and take GELU";
  let description = [{
    Before: a fragment with matrix products of GPUs. After: a product to which a row
    is added is a `pmrt.product` with a bias, and with `gelu` where that is taken of
    the sum (the form with tanh), provided that this leaves nothing of both to a
    kernel: a kernel that computes more adds the bias on its way. What others read of
    the sum is a second result.

    ```mlir
    // before
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    %r = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %z = stablehlo.add %y, %r : tensor<4x8xf32>
    // after
    %z = pmrt.product %x, %w bias %b contracting [1] x [0] : (tensor<4x3xf32>, tensor<3x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::pipemesh::pmrt::PMRTDialect"];
}

def MaterializeAccumulation
    : Pass<"pm-materialize-accumulation", "::mlir::ModuleOp"> {
  let summary = "make the accumulation over micro-batches explicit";
  let description = [{
    Before: partitioned fragments, whose results that are bound to a buffer
    partial over a temporal axis are added to it implicitly. After: where the
    axis is longer than 1, the sum is in the body. A matrix product that is used
    for nothing else is marked `pmrt.accumulate` and adds to the buffer itself;
    any other result gets an argument with the buffer's value and an add.

    ```mlir
    // before
    func.func @stage0_backward(...) -> (tensor<32xf32> {pm.buffer = @acc}) {
      return %g : tensor<32xf32>
    // after
    func.func @stage0_backward(..., %old: tensor<32xf32> {pm.buffer = @acc}) -> (tensor<32xf32> {pm.buffer = @acc}) {
      %sum = stablehlo.add %old, %g : tensor<32xf32>
      return %sum : tensor<32xf32>
    ```
  }];
  let dependentDialects = ["::pipemesh::stablehlo::StableHLODialect"];
}

def LowerToRuntime : Pass<"pm-lower-to-runtime", "::mlir::ModuleOp"> {
  let summary = "give every value a place, and flatten fragments into bodies";
  let description = [{
    Before: a scheduled `pm.program` whose fragments hold only `pmrt.fused`,
    `stablehlo.dot_general`, `stablehlo.reshape`, collectives, and loops and
    choices of them. After: one
    `pmrt.role` a `pm.role`, with the bodies of the fragments that its actions
    run, the buffers that they or its transfers name, and its actions; and one
    private function with the attribute `pmrt.kernel` for each distinct kernel of
    all roles; the fragment functions are gone. `pm.mesh` and `pm.program` stay:
    they are what the manifest is written from.

    Loops and choices become `pmrt.while` and `pmrt.case`. What a loop carries has
    one place for all iterations; a captured value is read where it is.

    Results are computed in the buffer that they are bound to, reshapes are
    views, element-wise kernels work in place, and scratch is reused as soon as a
    value is dead. An activation has as many slots as micro-batches need it at
    once: from the first action or receive that writes it to the last action or
    send that reads it. Accumulators are zeroed in the role that adds to them. A
    channel number belongs to one (buffer, sender, receiver) of the program.

    ```mlir
    // before
    func.func @stage0_forward(%x: tensor<4x8xf32> {pm.buffer = @x}, %w: tensor<2x8xf32> {pm.buffer = @w})
        -> (tensor<4x2xf32> {pm.buffer = @y}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x2xf32>
      return %0 : tensor<4x2xf32>
    }
    // after
    pmrt.body @stage0_forward "forward" stage 0 {
      pmrt.gemm [#pmrt.place<read @x + 0 : 128>, #pmrt.place<read @w + 0 : 64>, #pmrt.place<write @y + 0 : 32>]
        m 4 n 2 k 8 ld [8, 8, 2] trans [0, 1] batch [] strides [] [] [] : f32
    }
    ```
  }];
  let dependentDialects = ["::pipemesh::pmrt::PMRTDialect"];
}

def OverlapCollectives
    : Pass<"pm-overlap-collectives", "::mlir::ModuleOp"> {
  let summary = "sum gradients over the ranks beside the last backward";
  let description = [{
    Before: a runtime program whose reduce (or, with one stage, update) bodies sum
    accumulators over ranks. After: the accumulators are summed in buckets, in the
    order in which the last micro-batch completes them, and a bucket starts where
    its last accumulator is complete; the body waits for it where it was summed
    before. The run of the last micro-batch has a body of its own then, with
    `_last` behind its name.

    A bucket is closed at `bucket-bytes` bytes. What would start behind everything
    else of the step (the last bucket) is summed where it was, and so are
    accumulators of at most 256 bytes, which the vote on the loss reads, and what
    comes out of a place in scratch.

    ```mlir
    // before
    pmrt.body @stage0_backward "backward" stage 0 {
      pmrt.gemm [..., #pmrt.place<update @w1.gradient + 0 : 4096>] ...
      pmrt.gemm [..., #pmrt.place<update @w0.gradient + 0 : 4096>] ...
    }
    pmrt.body @stage0_update "update" stage 0 {
      pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @w0.gradient + 0 : 4096>, #pmrt.place<update @w1.gradient + 0 : 4096>] : f32
    // after, with bucket-bytes=4096
    pmrt.body @stage0_backward_last "backward" stage 0 {
      pmrt.gemm [..., #pmrt.place<update @w1.gradient + 0 : 4096>] ...
      pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @w1.gradient + 0 : 4096>] : f32 event 1
      pmrt.gemm [..., #pmrt.place<update @w0.gradient + 0 : 4096>] ...
    }
    pmrt.body @stage0_update "update" stage 0 {
      pmrt.wait 1
      pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @w0.gradient + 0 : 4096>] : f32
    ```
  }];
  let options = [Option<"bucketBytes", "bucket-bytes", "int64_t",
                        /*default=*/"25 << 20",
                        "bytes at which a bucket is closed; 0: nothing starts "
                        "before the last backward is done">];
}

def VerifyKernels : Pass<"pm-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "check that fragments hold only what the runtime can execute";
  let description = [{
    The verifier of the kernel level: every op of a fragment is a `pmrt.fused`, a
    `stablehlo.dot_general` that is a batched matrix product, a
    `stablehlo.reshape`, a `pm.all_reduce`, a `pm.all_gather`, a
    `pm.reduce_scatter`, or a `stablehlo.while`, `stablehlo.if` or
    `stablehlo.case` of such ops. A collective stands in a loop or a choice only
    where the condition is the same on all ranks that it joins. Changes nothing.
  }];
}

def VerifyRuntime : Pass<"pm-verify-runtime", "::mlir::ModuleOp"> {
  let summary = "check the places of a runtime program";
  let description = [{
    The verifier of the runtime level. Buffers lie in the arena and overlap only
    where one takes the place of the other whole; every place lies in its buffer
    or in scratch; no instruction reads scratch that nothing in its body has
    written; what an instruction writes overlaps what it reads only where a
    kernel works in place; actions and calls name bodies and kernels that exist.
    What starts with an event starts once in a step, is waited for behind that,
    and nothing touches its places between the two. What a role sends on a channel
    another receives, the same micro-batches in the same order, and the roles come to their end, side by side, with receives
    that wait. Changes nothing.
  }];
}

#endif
