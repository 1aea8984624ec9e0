// Stages and ranks that are not there. Found by damaged texts.
// RUN: pmopt %s --pm-schedule -split-input-file -verify-diagnostics

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]
// expected-error @below {{is a fragment of stage 4294967296, but there are 2 stages}}
func.func @a() attributes {pm.fragment = #pm.fragment<forward, 4294967296>} {
  return
}
pm.program @step on @mesh {
  pm.role 0 {
  }
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]
pm.program @step on @mesh {
  // expected-error @below {{is of pipeline rank -1, but the mesh has 2 of them}}
  pm.role -1 {
  }
}

// -----

// expected-error @below {{stage 1 lies on pipeline rank 2, but the mesh has 2 of them}}
module attributes {pm.rank_of_stage = array<i64: 0, 2>} {
  pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]
  pm.program @step on @mesh {
    pm.role 0 {
    }
  }
}

// -----

// A program without roles has nobody who sends.
pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]
func.func @a() -> (tensor<4xf32> {pm.buffer = @x, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %0 = stablehlo.constant dense<1.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @b(%x: tensor<4xf32> {pm.buffer = @x, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}) attributes {pm.fragment = #pm.fragment<forward, 1>} {
  return
}
pm.program @step on @mesh {
  pm.buffer @x activation : tensor<4xf32> sharding <@mesh, [{"mb"}]>
}
