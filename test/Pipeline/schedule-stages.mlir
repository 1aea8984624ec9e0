// RUN: pmopt %s --pm-schedule=name=1f1b | FileCheck %s --check-prefix=ONE
// RUN: pmopt %s --pm-schedule=name=gpipe | FileCheck %s --check-prefix=GPIPE
// RUN: sed 's/temporal = 4/temporal = 1/' %s | pmopt --pm-schedule | FileCheck %s --check-prefix=FEW
// The module names the schedule, unless the option does.
// RUN: sed 's/^module {/module attributes {pm.schedule = "gpipe"} {/' %s | pmopt --pm-schedule | FileCheck %s --check-prefix=GPIPE
// RUN: sed 's/^module {/module attributes {pm.schedule = "gpipe"} {/' %s | pmopt --pm-schedule=name=1f1b | FileCheck %s --check-prefix=ONE
// RUN: sed 's/^module {/module attributes {pm.schedule = "zb-auto"} {/' %s | not pmopt --pm-schedule 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: zb-auto is fitted to the costs of stages; give the schedule in the strategy, so that pm-assign-stages finds its lists

// A stage starts as many micro-batches as there are stages behind it.
// ONE: pm.role 0 {
// ONE-NEXT: pm.action forward stage 0 micro_batch 0
// ONE-NEXT: pm.action forward stage 0 micro_batch 1
// ONE-NEXT: pm.action forward stage 0 micro_batch 2
// ONE-NEXT: pm.action backward stage 0 micro_batch 0
// ONE-NEXT: pm.action forward stage 0 micro_batch 3
// ONE-NEXT: pm.action backward stage 0 micro_batch 1
// ONE-NEXT: pm.action backward stage 0 micro_batch 2
// ONE-NEXT: pm.action backward stage 0 micro_batch 3
// ONE-NEXT: pm.action reduce stage 0 micro_batch 0
// ONE-NEXT: pm.action update stage 0 micro_batch 0
// ONE-NEXT: }
// ONE-NEXT: pm.role 1 {
// ONE-NEXT: pm.action forward stage 1 micro_batch 0
// ONE-NEXT: pm.action forward stage 1 micro_batch 1
// ONE-NEXT: pm.action backward stage 1 micro_batch 0
// ONE-NEXT: pm.action forward stage 1 micro_batch 2
// ONE-NEXT: pm.action backward stage 1 micro_batch 1
// ONE-NEXT: pm.action forward stage 1 micro_batch 3
// ONE-NEXT: pm.action backward stage 1 micro_batch 2
// ONE-NEXT: pm.action backward stage 1 micro_batch 3
// ONE-NEXT: }
// ONE-NEXT: pm.role 2 {
// ONE-NEXT: pm.action forward stage 2 micro_batch 0
// ONE-NEXT: pm.action backward stage 2 micro_batch 0
// ONE-NEXT: pm.action forward stage 2 micro_batch 1
// ONE-NEXT: pm.action backward stage 2 micro_batch 1
// ONE-NEXT: pm.action forward stage 2 micro_batch 2
// ONE-NEXT: pm.action backward stage 2 micro_batch 2
// ONE-NEXT: pm.action forward stage 2 micro_batch 3
// ONE-NEXT: pm.action backward stage 2 micro_batch 3
// ONE-NEXT: }

// GPIPE: pm.role 1 {
// GPIPE-NEXT: pm.action forward stage 1 micro_batch 0
// GPIPE-NEXT: pm.action forward stage 1 micro_batch 1
// GPIPE-NEXT: pm.action forward stage 1 micro_batch 2
// GPIPE-NEXT: pm.action forward stage 1 micro_batch 3
// GPIPE-NEXT: pm.action backward stage 1 micro_batch 0
// GPIPE-NEXT: pm.action backward stage 1 micro_batch 1
// GPIPE-NEXT: pm.action backward stage 1 micro_batch 2
// GPIPE-NEXT: pm.action backward stage 1 micro_batch 3
// GPIPE-NEXT: }

// Fewer micro-batches than stages.
// FEW: pm.role 0 {
// FEW-NEXT: pm.action forward stage 0 micro_batch 0
// FEW-NEXT: pm.action backward stage 0 micro_batch 0
// FEW-NEXT: pm.action reduce stage 0 micro_batch 0
// FEW-NEXT: pm.action update stage 0 micro_batch 0
// FEW-NEXT: }
// FEW-NEXT: pm.role 1 {
// FEW-NEXT: pm.action forward stage 1 micro_batch 0
// FEW-NEXT: pm.action backward stage 1 micro_batch 0
// FEW-NEXT: }
module {
  pm.mesh @mesh = [<"dp", spatial = 2>, <"pp", stage = 3>, <"mb", temporal = 4>]
  func.func @stage0_forward() attributes {pm.fragment = #pm.fragment<forward, 0>} {
    return
  }
  func.func @stage0_backward() attributes {pm.fragment = #pm.fragment<backward, 0>} {
    return
  }
  func.func @stage0_reduce() attributes {pm.fragment = #pm.fragment<reduce, 0>} {
    return
  }
  func.func @stage0_update() attributes {pm.fragment = #pm.fragment<update, 0>} {
    return
  }
  func.func @stage1_forward() attributes {pm.fragment = #pm.fragment<forward, 1>} {
    return
  }
  func.func @stage1_backward() attributes {pm.fragment = #pm.fragment<backward, 1>} {
    return
  }
  func.func @stage2_forward() attributes {pm.fragment = #pm.fragment<forward, 2>} {
    return
  }
  func.func @stage2_backward() attributes {pm.fragment = #pm.fragment<backward, 2>} {
    return
  }
  pm.program @step on @mesh {
    pm.role 0 {
    }
    pm.role 1 {
    }
    pm.role 2 {
    }
  }
}
