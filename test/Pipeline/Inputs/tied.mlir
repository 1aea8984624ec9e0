// A training step as pm-differentiate writes it: one table is the embedding and
// the output head, one linear layer is frozen, gradients are clipped.
module attributes {pm.task = "train", pm.batch = 12 : i64, pm.vocabulary = 16 : i64} {
  func.func @main(
      %ids: tensor<12x4xi32> {pm.input = "input_ids"},
      %labels: tensor<12x4xi32> {pm.input = "labels"},
      %table: tensor<16x6xf32> {pm.state = #pm.state<parameter, "table">},
      %gain: tensor<6xf32> {pm.state = #pm.state<parameter, "norm.weight">},
      %frozen: tensor<6x6xf32> {pm.state = #pm.state<parameter, "frozen.weight">},
      %table_m: tensor<16x6xf32> {pm.state = #pm.state<moment1, "table">},
      %table_v: tensor<16x6xf32> {pm.state = #pm.state<moment2, "table">},
      %gain_m: tensor<6xf32> {pm.state = #pm.state<moment1, "norm.weight">},
      %gain_v: tensor<6xf32> {pm.state = #pm.state<moment2, "norm.weight">},
      %step: tensor<f32> {pm.state = #pm.state<step, "step">},
      %lr: tensor<f32> {pm.input = "learning_rate"},
      %beta1: tensor<f32> {pm.input = "beta1"},
      %beta2: tensor<f32> {pm.input = "beta2"},
      %eps: tensor<f32> {pm.input = "epsilon"},
      %decay: tensor<f32> {pm.input = "weight_decay"},
      %clip: tensor<f32> {pm.input = "clip_norm"})
      -> (tensor<f32> {pm.output = "loss"},
          tensor<12x4x16xf32> {pm.output = "logits"},
          tensor<f32> {pm.output = "grad_norm"},
          tensor<16x6xf32> {pm.output = "gradient", pm.name = "table"},
          tensor<6xf32> {pm.output = "gradient", pm.name = "norm.weight"},
          tensor<16x6xf32> {pm.state = #pm.state<parameter, "table">},
          tensor<6xf32> {pm.state = #pm.state<parameter, "norm.weight">},
          tensor<6x6xf32> {pm.state = #pm.state<parameter, "frozen.weight">},
          tensor<16x6xf32> {pm.state = #pm.state<moment1, "table">},
          tensor<16x6xf32> {pm.state = #pm.state<moment2, "table">},
          tensor<6xf32> {pm.state = #pm.state<moment1, "norm.weight">},
          tensor<6xf32> {pm.state = #pm.state<moment2, "norm.weight">},
          tensor<f32> {pm.state = #pm.state<step, "step">}) {
    %zero = stablehlo.constant {pm.phase = "forward"} dense<0.0> : tensor<f32>
    %one = stablehlo.constant {pm.phase = "forward"} dense<1.0> : tensor<f32>
    %ignored = stablehlo.constant {pm.phase = "forward"} dense<-100> : tensor<i32>
    %x = pm.embedding %table, %ids {pm.phase = "forward"} : (tensor<16x6xf32>, tensor<12x4xi32>) -> tensor<12x4x6xf32>
    %h, %rstd = pm.rms_norm %x, %gain epsilon 1.0e-5 {pm.phase = "forward"} : tensor<12x4x6xf32>, tensor<6xf32> -> tensor<12x4xf32>
    %z = stablehlo.dot_general %h, %frozen, contracting_dims = [2] x [1] {pm.phase = "forward"} : (tensor<12x4x6xf32>, tensor<6x6xf32>) -> tensor<12x4x6xf32>
    %logits = stablehlo.dot_general %z, %table, contracting_dims = [2] x [1] {pm.phase = "forward"} : (tensor<12x4x6xf32>, tensor<16x6xf32>) -> tensor<12x4x16xf32>
    %shifted = stablehlo.slice %labels [0:12, 1:4] {pm.phase = "forward"} : (tensor<12x4xi32>) -> tensor<12x3xi32>
    %last = stablehlo.broadcast_in_dim %ignored, dims = [] {pm.phase = "forward"} : (tensor<i32>) -> tensor<12x1xi32>
    %targets = stablehlo.concatenate %shifted, %last, dim = 1 {pm.phase = "forward"} : (tensor<12x3xi32>, tensor<12x1xi32>) -> tensor<12x4xi32>
    %ignored_all = stablehlo.broadcast_in_dim %ignored, dims = [] {pm.phase = "forward"} : (tensor<i32>) -> tensor<12x4xi32>
    %counted = stablehlo.compare NE, %targets, %ignored_all {pm.phase = "forward"} : (tensor<12x4xi32>, tensor<12x4xi32>) -> tensor<12x4xi1>
    %counted_f = stablehlo.convert %counted {pm.phase = "forward"} : (tensor<12x4xi1>) -> tensor<12x4xf32>
    %total = stablehlo.reduce(%counted_f init: %zero) applies stablehlo.add across dimensions = [0, 1] {pm.phase = "forward"} : (tensor<12x4xf32>, tensor<f32>) -> tensor<f32>
    %count = stablehlo.maximum %total, %one {pm.phase = "forward"} : tensor<f32>
    %nll, %lse = pm.cross_entropy %logits, %targets {pm.phase = "forward"} : tensor<12x4x16xf32>, tensor<12x4xi32> -> tensor<12x4xf32>
    %sum = stablehlo.reduce(%nll init: %zero) applies stablehlo.add across dimensions = [0, 1] {pm.phase = "forward"} : (tensor<12x4xf32>, tensor<f32>) -> tensor<f32>
    %loss = stablehlo.divide %sum, %count {pm.phase = "forward"} : tensor<f32>

    %dsum = stablehlo.divide %one, %count {pm.phase = "backward"} : tensor<f32>
    %dnll = stablehlo.broadcast_in_dim %dsum, dims = [] {pm.phase = "backward"} : (tensor<f32>) -> tensor<12x4xf32>
    %dlogits = pm.cross_entropy_grad %logits, %targets, %lse, %dnll {pm.phase = "backward"} : tensor<12x4x16xf32>, tensor<12x4xi32>, tensor<12x4xf32>
    %dtable1 = stablehlo.dot_general %dlogits, %z, contracting_dims = [0, 1] x [0, 1] {pm.phase = "backward"} : (tensor<12x4x16xf32>, tensor<12x4x6xf32>) -> tensor<16x6xf32>
    %dz = stablehlo.dot_general %dlogits, %table, contracting_dims = [2] x [0] {pm.phase = "backward"} : (tensor<12x4x16xf32>, tensor<16x6xf32>) -> tensor<12x4x6xf32>
    %dh = stablehlo.dot_general %dz, %frozen, contracting_dims = [2] x [0] {pm.phase = "backward"} : (tensor<12x4x6xf32>, tensor<6x6xf32>) -> tensor<12x4x6xf32>
    %dgain = pm.rms_norm_weight_grad %x, %rstd, %dh {pm.phase = "backward"} : tensor<12x4x6xf32>, tensor<12x4xf32> -> tensor<6xf32>
    %dx = pm.rms_norm_input_grad %x, %gain, %rstd, %dh {pm.phase = "backward"} : tensor<12x4x6xf32>, tensor<6xf32>, tensor<12x4xf32>
    %dtable2 = pm.embedding_grad %ids, %dx {pm.phase = "backward"} : (tensor<12x4xi32>, tensor<12x4x6xf32>) -> tensor<16x6xf32>
    %dtable = stablehlo.add %dtable1, %dtable2 {pm.phase = "backward"} : tensor<16x6xf32>

    %q1 = stablehlo.multiply %dtable, %dtable {pm.phase = "update"} : tensor<16x6xf32>
    %s1 = stablehlo.reduce(%q1 init: %zero) applies stablehlo.add across dimensions = [0, 1] {pm.phase = "update"} : (tensor<16x6xf32>, tensor<f32>) -> tensor<f32>
    %q2 = stablehlo.multiply %dgain, %dgain {pm.phase = "update"} : tensor<6xf32>
    %s2 = stablehlo.reduce(%q2 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "update"} : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    %s = stablehlo.add %s1, %s2 {pm.phase = "update"} : tensor<f32>
    %norm = stablehlo.sqrt %s {pm.phase = "update"} : tensor<f32>
    %tiny = stablehlo.constant {pm.phase = "update"} dense<1.0e-6> : tensor<f32>
    %safe = stablehlo.add %norm, %tiny {pm.phase = "update"} : tensor<f32>
    %ratio = stablehlo.divide %clip, %safe {pm.phase = "update"} : tensor<f32>
    %coefficient = stablehlo.minimum %ratio, %one {pm.phase = "update"} : tensor<f32>
    %step1 = stablehlo.add %step, %one {pm.phase = "update"} : tensor<f32>
    %table1, %table_m1, %table_v1 = pm.adamw %table, %dtable, %table_m, %table_v scalars %step1, %lr, %beta1, %beta2, %eps, %decay, %coefficient decay {pm.phase = "update"} : tensor<16x6xf32>, tensor<f32>
    %gain1, %gain_m1, %gain_v1 = pm.adamw %gain, %dgain, %gain_m, %gain_v scalars %step1, %lr, %beta1, %beta2, %eps, %decay, %coefficient {pm.phase = "update"} : tensor<6xf32>, tensor<f32>
    return %loss, %logits, %norm, %dtable, %dgain, %table1, %gain1, %frozen, %table_m1, %table_v1, %gain_m1, %gain_v1, %step1 : tensor<f32>, tensor<12x4x16xf32>, tensor<f32>, tensor<16x6xf32>, tensor<6xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6x6xf32>, tensor<16x6xf32>, tensor<16x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<f32>
  }
}
