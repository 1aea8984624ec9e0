// RUN: pmopt %s --pm-verify-scheduled --split-input-file --verify-diagnostics

// expected-error @below {{expected a mesh and one program, but the module has no mesh and 0 programs; run pm-split-stages}}
module {
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
func.func @stage0_forward() attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
// expected-error @below {{no action runs 'stage0_forward' for micro-batch 1 of 2}}
pm.program @step on @mesh {
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
  }
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
func.func @stage0_forward() attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
func.func @stage0_backward() attributes {pm.fragment = #pm.fragment<backward, 0>} {
  return
}
pm.program @step on @mesh {
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
    // expected-error @below {{runs before the forward of micro-batch 1}}
    pm.action backward stage 0 micro_batch 1
  }
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
func.func @stage0_forward() attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
func.func @stage0_update() attributes {pm.fragment = #pm.fragment<update, 0>} {
  return
}
pm.program @step on @mesh {
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
    // expected-error @below {{runs before the forward of micro-batch 1}}
    pm.action update stage 0 micro_batch 0
    pm.action forward stage 0 micro_batch 1
  }
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
func.func @stage0_forward() attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
pm.program @step on @mesh {
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
    // expected-error @below {{runs a second time}}
    pm.action forward stage 0 micro_batch 0
  }
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
pm.program @step on @mesh {
  pm.role 0 {
    // expected-error @below {{runs a fragment that the module does not have}}
    pm.action forward stage 0 micro_batch 0
  }
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
func.func @stage0_forward() attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
pm.program @step on @mesh {
  pm.role 0 {
    // expected-error @below {{runs micro-batch 2 of 2}}
    pm.action forward stage 0 micro_batch 2
  }
}
