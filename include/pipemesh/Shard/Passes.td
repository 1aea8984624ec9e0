//===- Passes.td - sharding and partitioning ----------------*- tablegen -*-===//

#ifndef PIPEMESH_SHARD_PASSES_TD
#define PIPEMESH_SHARD_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyStrategyPass : Pass<"pm-apply-strategy", "::mlir::ModuleOp"> {
  let summary = "make the mesh of a strategy and annotate the model";
  let description = [{
    Before: a model graph or a differentiated graph without a mesh. After: the
    module has the `pm.mesh` of the strategy, and the arguments that the strategy
    decides on carry `pm.sharding`: the run-time inputs that have a batch
    dimension are cut along it over `dp` and `mb`, parameters are cut over `tp`
    as below, and all other state is replicated. Moments and gradients are cut
    as their parameter. Everything else follows by propagation.

    A strategy is a list of `word=size`, outermost axis first: `dp` (data
    parallelism) and `tp` (tensor parallelism) are spatial axes, `pp` (pipeline)
    a stage axis, `mb` (micro-batches) a temporal one. `dp`, outermost, and `mb`
    are in the mesh where they are not given, of size 1; `mb` comes behind the
    others, wherever it stands in the string. `schedule=NAME` becomes
    `pm.schedule` of the module.

    `zero=1` keeps moments in pieces over `dp`, `zero=3` parameters too
    (Rajbhandari et al. 2020): the first dimension that is whole and divides, else
    the longest. A gradient is brought to the pieces behind its sum, a parameter is
    whole where it is used. `sp=1` cuts the sequence over `tp` where the residual
    stream is normalised (Korthikanti et al. 2022), and gathers it for products.
    Both are `pm.constrain`s with `pm.forward_only`, which propagation does not
    carry to their operand.

    What `tp` cuts is found by the structure of the forward ops (Shoeybi et al.
    2019, section 3), not by names. A dimension is followed back through the
    factors of the ops' sharding rules, to dimensions of parameters:

    - the heads of a `pm.attention`, to the columns of the products that make
      queries, keys and values, and their biases;
    - the contracted dimension of a product of an activation with a parameter,
      when it comes from columns of other products, element by element or by
      such an attention: it takes its weight by rows;
    - the vocabulary: the rows of a table that `pm.embedding` looks up by an
      input, and what makes the logits of `pm.cross_entropy`. It need not divide.

    A parameter is cut along one dimension: the vocabulary first, then in the
    order of the ops. An attention that stays whole gets a remark, a graph in
    which nothing is cut a warning. Where `tp` is a multiple of the key-value heads
    and divides the query heads, the mesh has the axes `tp.kv`, of as many ranks as
    there are key-value heads, and within it `tp.group` in place of `tp`; keys and
    values are cut over the first, everything else over both. Else a key-value head
    stays with its query heads, and where these groups do not divide, the cuts have
    the block sizes of whole groups, the last ranks fewer or none, and a warning
    says so. Columns need not divide, unless they are split or joined by the way.
    Fewer query heads or columns than ranks are refused.

    Nor need the batch divide. Each micro-batch of each rank has the same number of
    rows, rounded up, the last ones fewer or none; fewer rows than there are
    micro-batches on all ranks are refused.

    With `strategy="dp=2,mb=2"`:

    ```mlir
    func.func @main(%ids: tensor<8x20xi32> {pm.input = "input_ids"},
                    %w: tensor<64x32xf32> {pm.state = #pm.state<parameter, "w">})
    ```

    becomes

    ```mlir
    pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]
    func.func @main(%ids: tensor<8x20xi32> {pm.input = "input_ids",
                      pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {} ]>},
                    %w: tensor<64x32xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {} ]>,
                      pm.state = #pm.state<parameter, "w">})
    ```

    With `strategy="tp=2"` the parameters of

    ```mlir
    %h = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<8x64xf32>
    %a = stablehlo.tanh %h : tensor<8x64xf32>
    %y = stablehlo.dot_general %a, %down, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
    ```

    get `[{}, {"tp"} ]` for `%up` and `[{"tp"}, {} ]` for `%down`.
  }];
  let dependentDialects = ["::pipemesh::pm::PMDialect"];
  let options = [
    Option<"strategy", "strategy", "std::string", /*default=*/"\"\"",
           "such as dp=2,pp=2,tp=2,mb=4,schedule=1f1b; empty is one rank and "
           "one micro-batch">
  ];
}

def RefineMeshPass : Pass<"pm-refine-mesh", "::mlir::ModuleOp"> {
  let summary = "make parts of axes axes of the mesh";
  let description = [{
    Before: shardings, manual axes and collectives may name a part of an axis:
    `"x:(2)4"` is the part of size 4 behind the outermost 2 of `x`. After: the
    mesh has an axis for each part, `x.0`, `x.1` and so on, major to minor, the
    coarsest ones of which every part that is named consists, and everything that
    named `x` or a part of it names them. Ranks keep their places. Parts of one
    axis that have no common refinement (2 and 3 of 6) are refused, and so are
    parts of temporal and stage axes.

    ```mlir
    pm.mesh @mesh = [<"x", spatial = 4>]
    func.func @main(%a: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x:(1)2"}, {"x:(2)2"} ]>},
                    %b: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {} ]>})
    ```

    becomes

    ```mlir
    pm.mesh @mesh = [<"x.0", spatial = 2>, <"x.1", spatial = 2>]
    func.func @main(%a: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x.0"}, {"x.1"} ]>},
                    %b: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x.0", "x.1"}, {} ]>})
    ```
  }];
  let dependentDialects = ["::pipemesh::pm::PMDialect",
                           "::pipemesh::stablehlo::StableHLODialect"];
}

def PropagatePass : Pass<"pm-propagate", "::mlir::ModuleOp"> {
  let summary = "give every value a sharding, and insert the reshards";
  let description = [{
    Before: a module with one mesh; arguments, results and ops may carry
    shardings, which bind, as does `pm.constrain`. After: every op of a function
    carries `pm.shardings`, arguments and results carry `pm.sharding`,
    `pm.constrain` and `pm.sharding_group` are gone, and wherever a use needs
    another sharding than its value has stands a `pm.reshard`.

    Axes move forward and backward through the factors of the ops' sharding
    rules until nothing changes: first those of annotated dimensions of priority
    0, then those of priority 1, and so on, so that a lower number binds where two
    want the same. Between equal ones the choice that moves the fewest bytes wins.
    A closed dimension stays as it is; an open one may get axes behind its own, but
    none that the annotation calls replicated. Axes of the stage kind do not take
    part. Nor does state: its arguments are what their annotation says, or
    replicated; a moment without one lies as its parameter does. The values of a
    `pm.sharding_group` lie alike.

    A dimension need not divide, as long as no temporal axis cuts it: its last
    blocks are short or empty. Where it consists of several factors (heads and
    their width), blocks are whole elements of the major one, and the cut carries
    their size. An axis that an op could use in two dimensions, as a reshape of 8
    to 2 x 4 under an axis of 4 can, is split in two as by `pm-refine-mesh`, and
    propagation starts again.

    What a `stablehlo.while` carries has one sharding, in front of it, in both
    regions and behind it; the branches of `if` and `case` give their results'.
    Conditions and indices are whole. A value from outside that a loop needs
    otherwise is resharded in front of the loop. Inside of a
    `pm.manual_computation` only the other axes move; its operands are brought to
    its `in_shardings`, whose open dimensions are filled in. What other regions
    take from outside is whole.

    Then, in the order of the ops, partial values appear where a summed factor is
    cut, in the results that do not contain it. They flow through the ops that are
    linear in them and are added to each other, through loops too: a sum that
    starts from zero, and to which the body only adds, is made whole behind the
    loop. A value is made whole at once where some use needs it whole, and where
    flowing on would move more bytes: where an op makes more of it, or several
    users would each have to reduce what they make of it. A value that is partial
    over a temporal axis too flows on, since that sum has to wait for the other
    micro-batches anyhow. An argument, a result or a constraint may be annotated
    as partial. An op without a rule is replicated, with a remark that names it.
    The pass does nothing to its own output.

    ```mlir
    func.func @main(%x: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {} ]>},
                    %dy: tensor<8x4xf32>) -> tensor<16x4xf32> {
      %dw = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
      return %dw : tensor<16x4xf32>
    }
    ```

    becomes (`dy` is cut as the contraction asks; types are left out)

    ```mlir
    func.func @main(%x {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {} ]>},
                    %dy {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {} ]>})
        -> (tensor<16x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {} ]>}) {
      %dw = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0]
        {pm.shardings = [#pm.sharding<@mesh, [{}, {} ], partial = sum{"dp", "mb"}>]}
      %r = pm.reshard %dw from <@mesh, [{}, {} ], partial = sum{"dp", "mb"}> to <@mesh, [{}, {} ]>
        {pm.shardings = [#pm.sharding<@mesh, [{}, {} ]>]}
      return %r
    }
    ```
  }];
  let dependentDialects = ["::pipemesh::pm::PMDialect"];
}

def VerifyShardedPass : Pass<"pm-verify-sharded", "::mlir::ModuleOp"> {
  let summary = "check that a module is a sharded graph";
  let description = [{
    Every argument, result and op of a function has a closed sharding over the
    axes of the module's mesh, each axis once, in blocks that cover the dimension,
    and each op's operands and results agree under its rule: what they say of one
    factor is the same, a partial value is used only by an op that is linear in
    it, and a difference is bridged by a `pm.reshard`. What a loop carries and what
    branches give lies as the op's result does; conditions are whole; inside of a
    manual computation no value is cut over its axes. Changes nothing.
  }];
}

def PartitionPass : Pass<"pm-partition", "::mlir::ModuleOp"> {
  let summary = "local shapes, and collectives for reshards";
  let description = [{
    Before: fragments (or a plain sharded function) with global shapes. After:
    each function is what one rank runs. A dimension is divided by the sizes of
    its *active* axes: the spatial ones always, the temporal ones in fragments
    that run once for each micro-batch, so not in a prologue, an update or a
    plain function. Buffers get the type of one micro-batch on one rank, and keep
    the global one as `global_type`. `pm.shardings` is gone.

    A dimension that its axes do not divide has blocks of the size rounded up, or of
    the block size that its sharding names (9 heads of 64 as 6 and 3), on every rank
    and in every micro-batch; the last ones are short or empty, and what lies behind
    their end is padding. An argument or a result of a plain function keeps the type of
    the whole value as `pm.global_type`. Padding of parameters and moments is zero
    by contract, and stays zero in what is computed from them element by element,
    in the gradient of the logits and in that of a table. Any other padding is
    replaced by the neutral element in front of an op that mixes elements along the
    dimension. An op that takes such a dimension apart in a way that blocks do not
    follow is refused by name.

    A `pm.reshard` becomes the cheapest steps from one sharding to the other: slices
    at the rank's coordinate, `pm.all_reduce`, `pm.reduce_scatter`,
    `pm.all_gather`, `pm.all_to_all` and `pm.collective_permute`, by the time that
    what a rank sends takes on the axes' links, and their latency. Over inactive
    axes it is nothing: in an update a value that is partial over `mb` is the
    accumulated sum. Micro-batches are not gathered. Constants and iotas that are
    cut follow the rank's coordinate.

    The regions of `while`, `if` and `case` are partitioned like any block: what they
    carry has the shardings of the op's results, and conditions are the same on all
    ranks. Regions of `reduce`, `sort`, `scatter` and the like hold scalars and stay
    as they are. A `pm.manual_computation` is dissolved: its body stands for what a
    rank of its manual axes does.

    Ops that index a cut dimension take what the rank has: a gather and a
    dynamic_slice give zero for the rows of others, and their sum is the result; a
    scatter and a dynamic_update_slice write what falls into the rank's block. What
    mixes elements along a cut dimension (argmax, top_k, cumulative sums) works on
    the rank's part first and exchanges the results; where there is no such way the
    dimension is moved to another one or gathered, whichever sends less. Random bits
    are those of the whole value, on any mesh.

    Where the vocabulary is cut, a lookup takes the rows that the rank has and zero
    for the others, the gradient of a table gets the rows that the rank has, and a
    cross-entropy becomes two passes over the rank's logits around an exchange of
    each row's maximum, and one of its sum and of the target's logit.

    ```mlir
    func.func @stage0_update(%g: tensor<16x4xf32> {pm.buffer = @g, ...})
        attributes {pm.fragment = #pm.fragment<update, 0>} {
      %r = pm.reshard %g from <@mesh, [{}, {} ], partial = sum{"dp", "mb"}> to <@mesh, [{}, {} ]> : tensor<16x4xf32>
    ```

    becomes

    ```mlir
      %r = pm.all_reduce sum(%g) over ["dp"] on @mesh : tensor<16x4xf32>
    ```
  }];
  let dependentDialects = ["::pipemesh::pm::PMDialect",
                           "::pipemesh::stablehlo::StableHLODialect"];
}

def CombineCollectivesPass
    : Pass<"pm-combine-collectives", "::mlir::ModuleOp"> {
  let summary = "merge independent collectives into buckets";
  let description = [{
    Equal collectives of one block become one. All-reduces of one block over the
    same axes, of the same kind and element type, of which none needs the result of
    another, become one `pm.all_reduce` with several operands, of at most
    `bucket-bytes` together; one that is larger by itself stays alone. Gathers and
    reduce-scatters of at most a twentieth of that, for which latency counts more
    than bytes, are packed likewise: the blocks of all lie in one row for each rank,
    which is gathered or scattered, and are taken out behind it. Ops that wait for a
    merged result move behind it; the order stays as it is otherwise.

    ```mlir
    %a = pm.all_reduce sum(%x) over ["dp"] on @mesh : tensor<4xf32>
    %c = stablehlo.negate %a : tensor<4xf32>
    %b = pm.all_reduce sum(%y) over ["dp"] on @mesh : tensor<8xf32>
    ```

    becomes

    ```mlir
    %ab:2 = pm.all_reduce sum(%x, %y) over ["dp"] on @mesh : tensor<4xf32>, tensor<8xf32>
    %c = stablehlo.negate %ab#0 : tensor<4xf32>
    ```
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"33554432",
           "largest size of a bucket in bytes">
  ];
}

def VerifyPartitionedPass : Pass<"pm-verify-partitioned", "::mlir::ModuleOp"> {
  let summary = "check that a module holds SPMD fragments";
  let description = [{
    No reshard, constraint or op sharding is left; collectives run over spatial
    axes of the mesh; each argument and result of a fragment has the local type
    that its buffer's global type, its sharding and the active axes give. Changes
    nothing.
  }];
}

#endif
