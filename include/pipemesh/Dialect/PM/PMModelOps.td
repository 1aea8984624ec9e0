//===- PMModelOps.td - fused model ops ----------------------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PM_PMMODELOPS_TD
#define PIPEMESH_DIALECT_PM_PMMODELOPS_TD

include "pipemesh/Dialect/PM/PMAttrs.td"
include "pipemesh/Interfaces/DecomposableOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class PM_ModelOp<string mnemonic, list<Trait> traits = []>
    : Op<PM_Dialect, mnemonic, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<DecomposableOpInterface>])> {
  let hasVerifier = 1;
}

defvar PM_FloatTensor = RankedTensorOf<[AnyFloat]>;
defvar PM_IntTensor = RankedTensorOf<[AnyInteger]>;

def PM_EmbeddingOp : PM_ModelOp<"embedding"> {
  let summary = "rows of a table, chosen by token ids";
  let description = [{
    `result[..., :] = table[ids[...], :]` for a table of [V, D] and ids of any
    shape. An id outside [0, V) is an error of the data: the runtime refuses it
    before the step. Levels: model to partitioned.

    The row of the id `padding`, if there is one, is read like the others, but
    the table gets no gradient from it.

    ```mlir
    %x = pm.embedding %table, %ids : (tensor<256x32xf32>, tensor<8x20xi32>) -> tensor<8x20x32xf32>
    %y = pm.embedding %table, %ids padding 2 : (tensor<256x32xf32>, tensor<8x20xi32>) -> tensor<8x20x32xf32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$table, PM_IntTensor:$ids,
                       OptionalAttr<I64Attr>:$padding);
  let results = (outs PM_FloatTensor:$result);
  let assemblyFormat = [{
    $table `,` $ids (`padding` $padding^)? attr-dict `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$table, "::mlir::Value":$ids), [{
    build($_builder, $_state, result, table, ids, ::mlir::IntegerAttr());
  }]>];
}

def PM_EmbeddingGradOp : PM_ModelOp<"embedding_grad"> {
  let summary = "gradient of `pm.embedding` with respect to its table";
  let description = [{
    `result[v, :] = sum of grad[..., :] where ids[...] == v`; the sum is taken
    in the order of the ids. Levels: differentiated to partitioned.

    ```mlir
    %dt = pm.embedding_grad %ids, %dx : (tensor<8x20xi32>, tensor<8x20x32xf32>) -> tensor<256x32xf32>
    ```
  }];
  let arguments = (ins PM_IntTensor:$ids, PM_FloatTensor:$grad);
  let results = (outs PM_FloatTensor:$result);
  let assemblyFormat = "$ids `,` $grad attr-dict `:` functional-type(operands, results)";
}

def PM_RMSNormOp : PM_ModelOp<"rms_norm", [
    AllTypesMatch<["input", "result"]>]> {
  let summary = "root-mean-square normalisation of the last dimension";
  let description = [{
    `rstd = rsqrt(mean(x*x) + epsilon)`, `result = x * rstd * weight` (Zhang and
    Sennrich 2019). `rstd` has the shape of x without its last dimension.
    Levels: model to partitioned.

    ```mlir
    %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-5 : tensor<8x20x32xf32>, tensor<32xf32> -> tensor<8x20xf32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$input, PM_FloatTensor:$weight,
                       F64Attr:$epsilon);
  let results = (outs PM_FloatTensor:$result, PM_FloatTensor:$rstd);
  let assemblyFormat = [{
    $input `,` $weight `epsilon` $epsilon attr-dict `:` type($input) `,` type($weight) `->` type($rstd)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight, "double":$epsilon)>];
}

def PM_RMSNormInputGradOp : PM_ModelOp<"rms_norm_input_grad", [
    AllTypesMatch<["input", "result", "grad"]>]> {
  let summary = "gradient of `pm.rms_norm` with respect to its input";
  let description = [{
    With `n = x * rstd` and `g = grad * weight`:
    `result = rstd * (g - n * mean(g * n))`.

    ```mlir
    %dx = pm.rms_norm_input_grad %x, %w, %rstd, %dy : tensor<8x20x32xf32>, tensor<32xf32>, tensor<8x20xf32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$input, PM_FloatTensor:$weight,
                       PM_FloatTensor:$rstd, PM_FloatTensor:$grad);
  let results = (outs PM_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weight `,` $rstd `,` $grad attr-dict `:` type($input) `,` type($weight) `,` type($rstd)
  }];
}

def PM_RMSNormWeightGradOp : PM_ModelOp<"rms_norm_weight_grad", [
    AllTypesMatch<["input", "grad"]>]> {
  let summary = "gradient of `pm.rms_norm` with respect to its weight";
  let description = [{
    `result[d] = sum over all rows of grad[..., d] * x[..., d] * rstd[...]`.

    ```mlir
    %dw = pm.rms_norm_weight_grad %x, %rstd, %dy : tensor<8x20x32xf32>, tensor<8x20xf32> -> tensor<32xf32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$input, PM_FloatTensor:$rstd,
                       PM_FloatTensor:$grad);
  let results = (outs PM_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $rstd `,` $grad attr-dict `:` type($input) `,` type($rstd) `->` type($result)
  }];
}

def PM_LayerNormOp : PM_ModelOp<"layer_norm", [
    AllTypesMatch<["input", "result"]>,
    AllTypesMatch<["weight", "bias"]>,
    AllTypesMatch<["mean", "rstd"]>]> {
  let summary = "layer normalisation of the last dimension";
  let description = [{
    `rstd = rsqrt(var(x) + epsilon)` with the biased variance,
    `result = (x - mean) * rstd * weight + bias` (Ba et al. 2016). `mean` and
    `rstd` have the shape of x without its last dimension.

    ```mlir
    %y, %mean, %rstd = pm.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<8x20x32xf32>, tensor<32xf32> -> tensor<8x20xf32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$input, PM_FloatTensor:$weight,
                       PM_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs PM_FloatTensor:$result, PM_FloatTensor:$mean,
                      PM_FloatTensor:$rstd);
  let assemblyFormat = [{
    $input `,` $weight `,` $bias `epsilon` $epsilon attr-dict `:` type($input) `,` type($weight) `->` type($mean)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight, "::mlir::Value":$bias, "double":$epsilon)>];
}

def PM_LayerNormInputGradOp : PM_ModelOp<"layer_norm_input_grad", [
    AllTypesMatch<["input", "result", "grad"]>,
    AllTypesMatch<["mean", "rstd"]>]> {
  let summary = "gradient of `pm.layer_norm` with respect to its input";
  let description = [{
    With `n = (x - mean) * rstd` and `g = grad * weight`:
    `result = rstd * (g - mean(g) - n * mean(g * n))`.

    ```mlir
    %dx = pm.layer_norm_input_grad %x, %w, %mean, %rstd, %dy : tensor<8x20x32xf32>, tensor<32xf32>, tensor<8x20xf32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$input, PM_FloatTensor:$weight,
                       PM_FloatTensor:$mean, PM_FloatTensor:$rstd,
                       PM_FloatTensor:$grad);
  let results = (outs PM_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weight `,` $mean `,` $rstd `,` $grad attr-dict `:` type($input) `,` type($weight) `,` type($rstd)
  }];
}

def PM_LayerNormWeightGradOp : PM_ModelOp<"layer_norm_weight_grad", [
    AllTypesMatch<["input", "grad"]>,
    AllTypesMatch<["mean", "rstd"]>]> {
  let summary = "gradient of `pm.layer_norm` with respect to its weight";
  let description = [{
    `result[d] = sum over all rows of grad[..., d] * (x[..., d] - mean[...]) * rstd[...]`.
    The bias gradient is a plain `stablehlo.reduce` of the cotangent.

    ```mlir
    %dw = pm.layer_norm_weight_grad %x, %mean, %rstd, %dy : tensor<8x20x32xf32>, tensor<8x20xf32> -> tensor<32xf32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$input, PM_FloatTensor:$mean,
                       PM_FloatTensor:$rstd, PM_FloatTensor:$grad);
  let results = (outs PM_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $mean `,` $rstd `,` $grad attr-dict `:` type($input) `,` type($rstd) `->` type($result)
  }];
}

def PM_RopeOp : PM_ModelOp<"rope", [
    AllTypesMatch<["input", "result"]>,
    AllTypesMatch<["cos", "sin"]>]> {
  let summary = "rotary position embedding, half-rotation form";
  let description = [{
    For x of [B, S, H, d] and tables of [S, d/2], with x1 and x2 the halves of
    the last dimension: `result = concat(x1*cos - x2*sin, x2*cos + x1*sin)` (Su
    et al. 2021, in the layout of GPT-NeoX). With `inverse` the angle is
    negated: the transpose of the rotation, which is its gradient.

    ```mlir
    %y = pm.rope %x, %cos, %sin : tensor<8x20x4x8xf32>, tensor<20x4xf32>
    %z = pm.rope %x, %cos, %sin inverse : tensor<8x20x4x8xf32>, tensor<20x4xf32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$input, PM_FloatTensor:$cos,
                       PM_FloatTensor:$sin, UnitAttr:$inverse);
  let results = (outs PM_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $cos `,` $sin (`inverse` $inverse^)? attr-dict `:` type($input) `,` type($cos)
  }];
}

def PM_AttentionOp : PM_ModelOp<"attention", [
    AllTypesMatch<["query", "result"]>,
    AllTypesMatch<["key", "value"]>]> {
  let summary = "causal, possibly grouped and windowed, scaled dot-product attention";
  let description = [{
    q is [B, S, H, d], k and v are [B, T, K, d] with H a multiple of K: query
    head h uses key head h / (H/K). Scores are `scale * q.k`, the row of query
    i sees keys j <= i (S = T), and with `window` = w > 0 only i - j < w; its
    softmax weighs v. `lse` [B, H, S] is the logarithm of the sum of the
    exponentials of the visible scores, which the gradient needs (Dao et al.
    2022, section 3). `window` 0 means no window. With bf16 or f16 all of it is
    computed in f32 and rounded once, and `lse` is f32.

    ```mlir
    %o, %lse = pm.attention %q, %k, %v scale 0.35355339 causal window 6 : tensor<8x20x4x8xf32>, tensor<8x20x2x8xf32> -> tensor<8x4x20xf32>
    %o2, %lse2 = pm.attention %q, %k, %v scale 0.35355339 causal : tensor<8x20x4x8xf32>, tensor<8x20x2x8xf32> -> tensor<8x4x20xf32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$query, PM_FloatTensor:$key,
                       PM_FloatTensor:$value, F64Attr:$scale, UnitAttr:$causal,
                       DefaultValuedAttr<I64Attr, "0">:$window);
  let results = (outs PM_FloatTensor:$result, PM_FloatTensor:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value `scale` $scale (`causal` $causal^)? (`window` $window^)? attr-dict `:` type($query) `,` type($key) `->` type($lse)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value, "double":$scale, "bool":$causal, "int64_t":$window)>];
}

def PM_AttentionGradOp : PM_ModelOp<"attention_grad", [
    AllTypesMatch<["query", "result", "grad", "query_grad"]>,
    AllTypesMatch<["key", "value", "key_grad", "value_grad"]>]> {
  let summary = "gradients of `pm.attention`";
  let description = [{
    With `P = exp(scores - lse)`, `dP = grad v^T` and
    `D = rowsum(grad * result)`: `dS = P * (dP - D)`, `dq = scale * dS k`,
    `dk = scale * dS^T q`, `dv = P^T grad`, summed over the query heads of a key
    head (Dao et al. 2022, appendix B.2). With bf16 or f16 the results of f32
    arithmetic are rounded once.

    ```mlir
    %dq, %dk, %dv = pm.attention_grad %q, %k, %v, %o, %lse, %do scale 0.35355339 causal window 6 : tensor<8x20x4x8xf32>, tensor<8x20x2x8xf32>, tensor<8x4x20xf32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$query, PM_FloatTensor:$key,
                       PM_FloatTensor:$value, PM_FloatTensor:$result,
                       PM_FloatTensor:$lse, PM_FloatTensor:$grad,
                       F64Attr:$scale, UnitAttr:$causal,
                       DefaultValuedAttr<I64Attr, "0">:$window);
  let results = (outs PM_FloatTensor:$query_grad, PM_FloatTensor:$key_grad,
                      PM_FloatTensor:$value_grad);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $result `,` $lse `,` $grad `scale` $scale (`causal` $causal^)? (`window` $window^)? attr-dict
    `:` type($query) `,` type($key) `,` type($lse)
  }];
}

def PM_CrossEntropyOp : PM_ModelOp<"cross_entropy", [
    AllTypesMatch<["nll", "lse"]>]> {
  let summary = "negative log-likelihood of each target";
  let description = [{
    For logits of [..., V] and targets of [...]: `lse = log(sum(exp(logits)))`,
    `nll = lse - logits[target]`, and 0 where the target is -100, which is not
    counted. Both results have the shape of the targets.

    ```mlir
    %nll, %lse = pm.cross_entropy %logits, %targets : tensor<8x20x256xf32>, tensor<8x20xi32> -> tensor<8x20xf32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$logits, PM_IntTensor:$targets);
  let results = (outs PM_FloatTensor:$nll, PM_FloatTensor:$lse);
  let assemblyFormat = [{
    $logits `,` $targets attr-dict `:` type($logits) `,` type($targets) `->` type($nll)
  }];
}

def PM_CrossEntropyGradOp : PM_ModelOp<"cross_entropy_grad", [
    AllTypesMatch<["logits", "result"]>,
    AllTypesMatch<["lse", "grad"]>]> {
  let summary = "gradient of `pm.cross_entropy` with respect to its logits";
  let description = [{
    `result = (exp(logits - lse) - onehot(target)) * grad`, and 0 in the rows
    whose target is -100.

    ```mlir
    %dl = pm.cross_entropy_grad %logits, %targets, %lse, %dnll : tensor<8x20x256xf32>, tensor<8x20xi32>, tensor<8x20xf32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$logits, PM_IntTensor:$targets,
                       PM_FloatTensor:$lse, PM_FloatTensor:$grad);
  let results = (outs PM_FloatTensor:$result);
  let assemblyFormat = [{
    $logits `,` $targets `,` $lse `,` $grad attr-dict `:` type($logits) `,` type($targets) `,` type($lse)
  }];
}

def PM_AdamWOp : PM_ModelOp<"adamw", [
    AllTypesMatch<["param", "grad", "moment1", "moment2", "new_param", "new_moment1", "new_moment2"]>,
    AllTypesMatch<["step", "learning_rate", "beta1", "beta2", "epsilon", "weight_decay", "grad_scale"]>]> {
  let summary = "one AdamW update of a parameter";
  let description = [{
    Loshchilov and Hutter 2019, algorithm 2, as PyTorch computes it. With
    `t` = `step`, the number of this update from 1, and g = grad * grad_scale:

        m' = beta1 m + (1 - beta1) g
        v' = beta2 v + (1 - beta2) g^2
        p' = p (1 - lr wd) - lr / (1 - beta1^t) * m' / (sqrt(v') / sqrt(1 - beta2^t) + eps)

    All scalars are tensors of rank 0 given at run time; `grad_scale` is the
    clipping coefficient. Without `decay` the weight decay is left out. The
    values of m and v are replaced, so argument and result share their buffer.
    Levels: differentiated to partitioned.

    ```mlir
    %p2, %m2, %v2 = pm.adamw %p, %g, %m, %v scalars %t, %lr, %b1, %b2, %eps, %wd, %scale decay : tensor<32x64xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins PM_FloatTensor:$param, PM_FloatTensor:$grad,
                       PM_FloatTensor:$moment1, PM_FloatTensor:$moment2,
                       PM_FloatTensor:$step, PM_FloatTensor:$learning_rate,
                       PM_FloatTensor:$beta1, PM_FloatTensor:$beta2,
                       PM_FloatTensor:$epsilon, PM_FloatTensor:$weight_decay,
                       PM_FloatTensor:$grad_scale, UnitAttr:$decay);
  let results = (outs PM_FloatTensor:$new_param, PM_FloatTensor:$new_moment1,
                      PM_FloatTensor:$new_moment2);
  let assemblyFormat = [{
    $param `,` $grad `,` $moment1 `,` $moment2 `scalars` $step `,` $learning_rate `,` $beta1 `,` $beta2 `,` $epsilon `,`
    $weight_decay `,` $grad_scale (`decay` $decay^)? attr-dict `:` type($param) `,` type($step)
  }];
}

#endif
