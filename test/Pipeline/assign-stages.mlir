// RUN: pmopt %s --pm-assign-stages --split-input-file --verify-diagnostics | FileCheck %s

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @one_stage
func.func @one_stage(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: stablehlo.tanh %{{.*}} {pm.stage = 0 : i64}
  %0 = stablehlo.tanh %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{the stage axis 'pp' has size 2, but this version assigns one stage only; leave the axis out}}
pm.mesh @mesh = [<"pp", stage = 2>]

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @stage_out_of_range(%x: tensor<8xf32>) {
  // expected-error @below {{is on stage 3, but the mesh has one stage, 0}}
  %0 = stablehlo.tanh %x {pm.stage = 3 : i64} : tensor<8xf32>
  return
}

// -----

// expected-error @below {{the module has no mesh; run pm-apply-strategy, or add a pm.mesh}}
module {
}
