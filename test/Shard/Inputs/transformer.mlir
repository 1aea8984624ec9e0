// A layer of grouped attention and a gated MLP between a table and a head that
// share a weight, with every bias, and norms of single heads. Words in capitals
// are replaced: MESH by the axes of a mesh, HEADS and KEYS by the axes that cut the
// heads and the key heads, TP by those that cut everything else, BATCH by those
// of the batch, KDIM and KHEADS by the sizes of the keys.
module attributes {pm.task = "train", pm.batch = 4 : i64, pm.vocabulary = 53 : i64} {
  pm.mesh @mesh = [MESH]
  func.func @main(
      %ids: tensor<4x5xi32> {pm.input = "input_ids", pm.sharding = #pm.sharding<@mesh, [{BATCH}, {}]>},
      %labels: tensor<4x5xi32> {pm.input = "labels", pm.sharding = #pm.sharding<@mesh, [{BATCH}, {}]>},
      %table: tensor<53x12xf32> {pm.state = #pm.state<parameter, "table">, pm.sharding = #pm.sharding<@mesh, [{TP}, {}]>},
      %g1: tensor<12xf32> {pm.state = #pm.state<parameter, "norm1.weight">, pm.sharding = #pm.sharding<@mesh, [{}]>},
      %wq: tensor<24x12xf32> {pm.state = #pm.state<parameter, "q.weight">, pm.sharding = #pm.sharding<@mesh, [{HEADS}, {}]>},
      %bq: tensor<24xf32> {pm.state = #pm.state<parameter, "q.bias">, pm.sharding = #pm.sharding<@mesh, [{HEADS}]>},
      %wk: tensor<KDIMx12xf32> {pm.state = #pm.state<parameter, "k.weight">, pm.sharding = #pm.sharding<@mesh, [{KEYS}, {}]>},
      %bk: tensor<KDIMxf32> {pm.state = #pm.state<parameter, "k.bias">, pm.sharding = #pm.sharding<@mesh, [{KEYS}]>},
      %wv: tensor<KDIMx12xf32> {pm.state = #pm.state<parameter, "v.weight">, pm.sharding = #pm.sharding<@mesh, [{KEYS}, {}]>},
      %gq: tensor<4xf32> {pm.state = #pm.state<parameter, "q_norm.weight">, pm.sharding = #pm.sharding<@mesh, [{}]>},
      %gk: tensor<4xf32> {pm.state = #pm.state<parameter, "k_norm.weight">, pm.sharding = #pm.sharding<@mesh, [{}]>},
      %wo: tensor<12x24xf32> {pm.state = #pm.state<parameter, "o.weight">, pm.sharding = #pm.sharding<@mesh, [{}, {HEADS}]>},
      %bo: tensor<12xf32> {pm.state = #pm.state<parameter, "o.bias">, pm.sharding = #pm.sharding<@mesh, [{}]>},
      %g2: tensor<12xf32> {pm.state = #pm.state<parameter, "norm2.weight">, pm.sharding = #pm.sharding<@mesh, [{}]>},
      %c2: tensor<12xf32> {pm.state = #pm.state<parameter, "norm2.bias">, pm.sharding = #pm.sharding<@mesh, [{}]>},
      %wg: tensor<18x12xf32> {pm.state = #pm.state<parameter, "gate.weight">, pm.sharding = #pm.sharding<@mesh, [{TP}, {}]>},
      %wu: tensor<18x12xf32> {pm.state = #pm.state<parameter, "up.weight">, pm.sharding = #pm.sharding<@mesh, [{TP}, {}]>},
      %bu: tensor<18xf32> {pm.state = #pm.state<parameter, "up.bias">, pm.sharding = #pm.sharding<@mesh, [{TP}]>},
      %wd: tensor<12x18xf32> {pm.state = #pm.state<parameter, "down.weight">, pm.sharding = #pm.sharding<@mesh, [{}, {TP}]>},
      %bd: tensor<12xf32> {pm.state = #pm.state<parameter, "down.bias">, pm.sharding = #pm.sharding<@mesh, [{}]>})
      -> (tensor<f32> {pm.output = "loss"}, tensor<4x5x53xf32> {pm.output = "logits"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %x = pm.embedding %table, %ids : (tensor<53x12xf32>, tensor<4x5xi32>) -> tensor<4x5x12xf32>
    %n1, %r1 = pm.rms_norm %x, %g1 epsilon 1.0e-5 : tensor<4x5x12xf32>, tensor<12xf32> -> tensor<4x5xf32>

    %q0 = stablehlo.dot_general %n1, %wq, contracting_dims = [2] x [1] : (tensor<4x5x12xf32>, tensor<24x12xf32>) -> tensor<4x5x24xf32>
    %q1 = stablehlo.broadcast_in_dim %bq, dims = [2] : (tensor<24xf32>) -> tensor<4x5x24xf32>
    %q2 = stablehlo.add %q0, %q1 : tensor<4x5x24xf32>
    %q3 = stablehlo.reshape %q2 : (tensor<4x5x24xf32>) -> tensor<4x5x6x4xf32>
    %q4, %rq = pm.rms_norm %q3, %gq epsilon 1.0e-5 : tensor<4x5x6x4xf32>, tensor<4xf32> -> tensor<4x5x6xf32>
    %k0 = stablehlo.dot_general %n1, %wk, contracting_dims = [2] x [1] : (tensor<4x5x12xf32>, tensor<KDIMx12xf32>) -> tensor<4x5xKDIMxf32>
    %k1 = stablehlo.broadcast_in_dim %bk, dims = [2] : (tensor<KDIMxf32>) -> tensor<4x5xKDIMxf32>
    %k2 = stablehlo.add %k0, %k1 : tensor<4x5xKDIMxf32>
    %k3 = stablehlo.reshape %k2 : (tensor<4x5xKDIMxf32>) -> tensor<4x5xKHEADSx4xf32>
    %k4, %rk = pm.rms_norm %k3, %gk epsilon 1.0e-5 : tensor<4x5xKHEADSx4xf32>, tensor<4xf32> -> tensor<4x5xKHEADSxf32>
    %v0 = stablehlo.dot_general %n1, %wv, contracting_dims = [2] x [1] : (tensor<4x5x12xf32>, tensor<KDIMx12xf32>) -> tensor<4x5xKDIMxf32>
    %v1 = stablehlo.reshape %v0 : (tensor<4x5xKDIMxf32>) -> tensor<4x5xKHEADSx4xf32>
    %position = stablehlo.iota dim = 0 : tensor<5x2xf32>
    %cos = stablehlo.cosine %position : tensor<5x2xf32>
    %sin = stablehlo.sine %position : tensor<5x2xf32>
    %q5 = pm.rope %q4, %cos, %sin : tensor<4x5x6x4xf32>, tensor<5x2xf32>
    %k5 = pm.rope %k4, %cos, %sin : tensor<4x5xKHEADSx4xf32>, tensor<5x2xf32>
    %a0, %lse = pm.attention %q5, %k5, %v1 scale 0.5 causal : tensor<4x5x6x4xf32>, tensor<4x5xKHEADSx4xf32> -> tensor<4x6x5xf32>
    %a1 = stablehlo.reshape %a0 : (tensor<4x5x6x4xf32>) -> tensor<4x5x24xf32>
    %o0 = stablehlo.dot_general %a1, %wo, contracting_dims = [2] x [1] : (tensor<4x5x24xf32>, tensor<12x24xf32>) -> tensor<4x5x12xf32>
    %o1 = stablehlo.broadcast_in_dim %bo, dims = [2] : (tensor<12xf32>) -> tensor<4x5x12xf32>
    %o2 = stablehlo.add %o0, %o1 : tensor<4x5x12xf32>
    %y = stablehlo.add %x, %o2 : tensor<4x5x12xf32>

    %n2, %m2, %r2 = pm.layer_norm %y, %g2, %c2 epsilon 1.0e-5 : tensor<4x5x12xf32>, tensor<12xf32> -> tensor<4x5xf32>
    %gate = stablehlo.dot_general %n2, %wg, contracting_dims = [2] x [1] : (tensor<4x5x12xf32>, tensor<18x12xf32>) -> tensor<4x5x18xf32>
    %u0 = stablehlo.dot_general %n2, %wu, contracting_dims = [2] x [1] : (tensor<4x5x12xf32>, tensor<18x12xf32>) -> tensor<4x5x18xf32>
    %u1 = stablehlo.broadcast_in_dim %bu, dims = [2] : (tensor<18xf32>) -> tensor<4x5x18xf32>
    %u2 = stablehlo.add %u0, %u1 : tensor<4x5x18xf32>
    %sigmoid = stablehlo.logistic %gate : tensor<4x5x18xf32>
    %silu = stablehlo.multiply %gate, %sigmoid : tensor<4x5x18xf32>
    %h = stablehlo.multiply %silu, %u2 : tensor<4x5x18xf32>
    %d0 = stablehlo.dot_general %h, %wd, contracting_dims = [2] x [1] : (tensor<4x5x18xf32>, tensor<12x18xf32>) -> tensor<4x5x12xf32>
    %d1 = stablehlo.broadcast_in_dim %bd, dims = [2] : (tensor<12xf32>) -> tensor<4x5x12xf32>
    %d2 = stablehlo.add %d0, %d1 : tensor<4x5x12xf32>
    %z = stablehlo.add %y, %d2 : tensor<4x5x12xf32>

    %logits = stablehlo.dot_general %z, %table, contracting_dims = [2] x [1] : (tensor<4x5x12xf32>, tensor<53x12xf32>) -> tensor<4x5x53xf32>
    %nll, %lse2 = pm.cross_entropy %logits, %labels : tensor<4x5x53xf32>, tensor<4x5xi32> -> tensor<4x5xf32>
    %ignored = stablehlo.constant dense<-100> : tensor<4x5xi32>
    %counted = stablehlo.compare NE, %labels, %ignored : (tensor<4x5xi32>, tensor<4x5xi32>) -> tensor<4x5xi1>
    %counts = stablehlo.convert %counted : (tensor<4x5xi1>) -> tensor<4x5xf32>
    %total = stablehlo.reduce(%counts init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<f32>
    %count = stablehlo.maximum %total, %one : tensor<f32>
    %sum = stablehlo.reduce(%nll init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<f32>
    %loss = stablehlo.divide %sum, %count : tensor<f32>
    return %loss, %logits : tensor<f32>, tensor<4x5x53xf32>
  }
}
