// RUN: pmopt %s --pm-differentiate="clip=true decay=matrices" --pm-verify-differentiated | FileCheck %s

// A language model of one layer without attention, its embedding tied to its
// head. The labels are shifted by one inside; -100 is not counted.

// CHECK:       module attributes {
// CHECK-SAME:    pm.recipe = {clips = true, decay = "matrices", optimizer = "adamw", trainable = ["*"]}
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[IDS:[a-z0-9]+]]: tensor<2x5xi32> {pm.input = "input_ids"}
// CHECK-SAME:    %[[LABELS:[a-z0-9]+]]: tensor<2x5xi32> {pm.input = "labels"}
// CHECK-SAME:    %[[E:[a-z0-9]+]]: tensor<9x4xf32> {pm.state = #pm.state<parameter, "embed.weight">}
// CHECK-SAME:    %[[N:[a-z0-9]+]]: tensor<4xf32> {pm.state = #pm.state<parameter, "norm.weight">}
// CHECK-SAME:    %[[EM:[a-z0-9]+]]: tensor<9x4xf32> {pm.state = #pm.state<moment1, "embed.weight">}
// CHECK-SAME:    %[[EV:[a-z0-9]+]]: tensor<9x4xf32> {pm.state = #pm.state<moment2, "embed.weight">}
// CHECK-SAME:    %[[NM:[a-z0-9]+]]: tensor<4xf32> {pm.state = #pm.state<moment1, "norm.weight">}
// CHECK-SAME:    %[[NV:[a-z0-9]+]]: tensor<4xf32> {pm.state = #pm.state<moment2, "norm.weight">}
// CHECK-SAME:    %[[DONE:[a-z0-9]+]]: tensor<f32> {pm.state = #pm.state<step, "step">}
// CHECK-SAME:    %[[LR:[a-z0-9]+]]: tensor<f32> {pm.input = "learning_rate"}
// CHECK-SAME:    %[[B1:[a-z0-9]+]]: tensor<f32> {pm.input = "beta1"}
// CHECK-SAME:    %[[B2:[a-z0-9]+]]: tensor<f32> {pm.input = "beta2"}
// CHECK-SAME:    %[[EPS:[a-z0-9]+]]: tensor<f32> {pm.input = "epsilon"}
// CHECK-SAME:    %[[WD:[a-z0-9]+]]: tensor<f32> {pm.input = "weight_decay"}
// CHECK-SAME:    %[[CLIP:[a-z0-9]+]]: tensor<f32> {pm.input = "clip_norm"}
// CHECK-SAME:    -> (tensor<f32> {pm.output = "loss"}, tensor<2x5x9xf32> {pm.output = "logits"},
// CHECK-SAME:    tensor<f32> {pm.output = "grad_norm"},
// CHECK-SAME:    tensor<9x4xf32> {pm.name = "embed.weight", pm.output = "gradient"},
// CHECK-SAME:    tensor<4xf32> {pm.name = "norm.weight", pm.output = "gradient"},
// CHECK-SAME:    tensor<9x4xf32> {pm.state = #pm.state<parameter, "embed.weight">},
// CHECK-SAME:    tensor<9x4xf32> {pm.state = #pm.state<moment1, "embed.weight">},
// CHECK-SAME:    tensor<9x4xf32> {pm.state = #pm.state<moment2, "embed.weight">},
// CHECK-SAME:    tensor<4xf32> {pm.state = #pm.state<parameter, "norm.weight">},
// CHECK-SAME:    tensor<4xf32> {pm.state = #pm.state<moment1, "norm.weight">},
// CHECK-SAME:    tensor<4xf32> {pm.state = #pm.state<moment2, "norm.weight">},
// CHECK-SAME:    tensor<f32> {pm.state = #pm.state<step, "step">})

// Forward.
// CHECK:         %[[H:.*]] = pm.embedding %[[E]], %[[IDS]] {pm.phase = "forward"}
// CHECK-NEXT:    %[[Y:.*]], %[[RSTD:.*]] = pm.rms_norm %[[H]], %[[N]] {{.*}}pm.phase = "forward"
// CHECK-NEXT:    %[[LOGITS:.*]] = stablehlo.dot_general %[[Y]], %[[E]]
// CHECK:         %{{.*}}, %[[LSE:.*]] = pm.cross_entropy %[[LOGITS]], %[[TARGETS:.*]] {pm.phase = "forward"}
// CHECK:         %[[COUNT:.*]] = stablehlo.maximum
// CHECK:         %[[LOSS:.*]] = stablehlo.divide %{{.*}}, %[[COUNT]] {pm.phase = "forward"}

// Backward: nothing goes towards the count or the integers, the seed of one
// multiplies nothing, and the tied parameter has one gradient.
// CHECK:         %[[INV:.*]] = stablehlo.divide %{{.*}}, %[[COUNT]] {pm.phase = "backward"}
// CHECK-NEXT:    %[[DNLL:.*]] = stablehlo.broadcast_in_dim %[[INV]], dims = [] {pm.phase = "backward"} : (tensor<f32>) -> tensor<2x5xf32>
// CHECK-NEXT:    %[[DLOGITS:.*]] = pm.cross_entropy_grad %[[LOGITS]], %[[TARGETS]], %[[LSE]], %[[DNLL]] {pm.phase = "backward"}
// CHECK-NEXT:    %[[DY:.*]] = stablehlo.dot_general %[[DLOGITS]], %[[E]], contracting_dims = [2] x [0] {pm.phase = "backward"}
// CHECK-NEXT:    %[[DE1:.*]] = stablehlo.dot_general %[[DLOGITS]], %[[Y]], contracting_dims = [0, 1] x [0, 1] {pm.phase = "backward"}
// CHECK-NEXT:    %[[DH:.*]] = pm.rms_norm_input_grad %[[H]], %[[N]], %[[RSTD]], %[[DY]] {pm.phase = "backward"}
// CHECK-NEXT:    %[[DN:.*]] = pm.rms_norm_weight_grad %[[H]], %[[RSTD]], %[[DY]] {pm.phase = "backward"}
// CHECK-NEXT:    %[[DE2:.*]] = pm.embedding_grad %[[IDS]], %[[DH]] {pm.phase = "backward"}
// CHECK-NEXT:    %[[DE:.*]] = stablehlo.add %[[DE1]], %[[DE2]] {pm.phase = "backward"}

// Update: one norm over both parameters, torch's clipping coefficient.
// CHECK-NEXT:    %[[SQE:.*]] = stablehlo.multiply %[[DE]], %[[DE]] {pm.phase = "update"}
// CHECK:         %[[SE:.*]] = stablehlo.reduce(%[[SQE]]
// CHECK:         %[[SQN:.*]] = stablehlo.multiply %[[DN]], %[[DN]] {pm.phase = "update"}
// CHECK:         %[[SN:.*]] = stablehlo.reduce(%[[SQN]]
// CHECK:         %[[S:.*]] = stablehlo.add %[[SE]], %[[SN]] {pm.phase = "update"}
// CHECK-NEXT:    %[[NORM:.*]] = stablehlo.sqrt %[[S]] {pm.phase = "update"}
// CHECK-NEXT:    %[[TINY:.*]] = stablehlo.constant {{.*}}dense<9.99999997E-7>
// CHECK-NEXT:    %[[SAFE:.*]] = stablehlo.add %[[NORM]], %[[TINY]]
// CHECK-NEXT:    %[[RATIO:.*]] = stablehlo.divide %[[CLIP]], %[[SAFE]]
// CHECK-NEXT:    %[[SCALE:.*]] = stablehlo.minimum %[[RATIO]], %{{.*}} {pm.phase = "update"}
// CHECK-NEXT:    %[[T:.*]] = stablehlo.add %[[DONE]], %{{.*}} {pm.phase = "update"}
// CHECK-NEXT:    %[[E2:.*]], %[[EM2:.*]], %[[EV2:.*]] = pm.adamw %[[E]], %[[DE]], %[[EM]], %[[EV]] scalars %[[T]], %[[LR]], %[[B1]], %[[B2]], %[[EPS]], %[[WD]], %[[SCALE]] decay {pm.phase = "update"}
// CHECK-NEXT:    %[[N2:.*]], %[[NM2:.*]], %[[NV2:.*]] = pm.adamw %[[N]], %[[DN]], %[[NM]], %[[NV]] scalars %[[T]], %[[LR]], %[[B1]], %[[B2]], %[[EPS]], %[[WD]], %[[SCALE]] {pm.phase = "update"}
// CHECK-NEXT:    return %[[LOSS]], %[[LOGITS]], %[[NORM]], %[[DE]], %[[DN]], %[[E2]], %[[EM2]], %[[EV2]], %[[N2]], %[[NM2]], %[[NV2]], %[[T]]
module attributes {pm.task = "train"} {
  func.func @main(
      %ids: tensor<2x5xi32> {pm.input = "input_ids"},
      %labels: tensor<2x5xi32> {pm.input = "labels"},
      %embed: tensor<9x4xf32> {pm.state = #pm.state<parameter, "embed.weight">},
      %norm: tensor<4xf32> {pm.state = #pm.state<parameter, "norm.weight">})
      -> (tensor<f32> {pm.output = "loss"}, tensor<2x5x9xf32> {pm.output = "logits"}) {
    %h = pm.embedding %embed, %ids : (tensor<9x4xf32>, tensor<2x5xi32>) -> tensor<2x5x4xf32>
    %y, %rstd = pm.rms_norm %h, %norm epsilon 1.0e-5 : tensor<2x5x4xf32>, tensor<4xf32> -> tensor<2x5xf32>
    %logits = stablehlo.dot_general %y, %embed, contracting_dims = [2] x [1] : (tensor<2x5x4xf32>, tensor<9x4xf32>) -> tensor<2x5x9xf32>
    %ignored = stablehlo.constant dense<-100> : tensor<2x1xi32>
    %next = stablehlo.slice %labels [0:2, 1:5] : (tensor<2x5xi32>) -> tensor<2x4xi32>
    %targets = stablehlo.concatenate %next, %ignored, dim = 1 : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x5xi32>
    %nll, %lse = pm.cross_entropy %logits, %targets : tensor<2x5x9xf32>, tensor<2x5xi32> -> tensor<2x5xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%nll init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x5xf32>, tensor<f32>) -> tensor<f32>
    %marks = stablehlo.constant dense<-100> : tensor<2x5xi32>
    %counted = stablehlo.compare NE, %targets, %marks : (tensor<2x5xi32>, tensor<2x5xi32>) -> tensor<2x5xi1>
    %ones = stablehlo.convert %counted : (tensor<2x5xi1>) -> tensor<2x5xf32>
    %number = stablehlo.reduce(%ones init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x5xf32>, tensor<f32>) -> tensor<f32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %count = stablehlo.maximum %number, %one : tensor<f32>
    %loss = stablehlo.divide %sum, %count : tensor<f32>
    return %loss, %logits : tensor<f32>, tensor<2x5x9xf32>
  }
}
