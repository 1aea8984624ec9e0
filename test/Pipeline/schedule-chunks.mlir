// RUN: sed 's/SCHEDULE/interleaved-1f1b/; s/RANKS/0, 1, 0, 1/' %s | pmopt --pm-schedule | FileCheck %s --check-prefix=LOOP
// RUN: sed 's/SCHEDULE/zb-v/; s/RANKS/0, 1, 1, 0/' %s | pmopt --pm-schedule | FileCheck %s --check-prefix=V
// RUN: sed 's/SCHEDULE/zb-v/; s/RANKS/0, 1, 0, 1/' %s | not pmopt --pm-schedule 2>&1 | FileCheck %s --check-prefix=PLACES
// RUN: sed 's/SCHEDULE/1f1b/; s/RANKS/0, 1, 0, 1/' %s | not pmopt --pm-schedule 2>&1 | FileCheck %s --check-prefix=ONE

// A role runs all stages of its rank.

// LOOP: pm.role 0 {
// LOOP-NEXT: pm.action forward stage 0 micro_batch 0
// LOOP-NEXT: pm.action forward stage 0 micro_batch 1
// LOOP-NEXT: pm.action forward stage 2 micro_batch 0
// LOOP-NEXT: pm.action forward stage 2 micro_batch 1
// LOOP-NEXT: }
// LOOP-NEXT: pm.role 1 {
// LOOP-NEXT: pm.action forward stage 1 micro_batch 0
// LOOP-NEXT: pm.action forward stage 1 micro_batch 1
// LOOP-NEXT: pm.action forward stage 3 micro_batch 0
// LOOP-NEXT: pm.action forward stage 3 micro_batch 1

// V: pm.role 0 {
// V-NEXT: pm.action forward stage 0 micro_batch 0
// V-NEXT: pm.action forward stage 0 micro_batch 1
// V-NEXT: pm.action forward stage 3 micro_batch 0
// V-NEXT: pm.action forward stage 3 micro_batch 1
// V-NEXT: }
// V-NEXT: pm.role 1 {
// V-NEXT: pm.action forward stage 1 micro_batch 0
// V-NEXT: pm.action forward stage 2 micro_batch 0
// V-NEXT: pm.action forward stage 1 micro_batch 1
// V-NEXT: pm.action forward stage 2 micro_batch 1

// PLACES: error: the module's stages lie on other ranks than zb-v has them; give the schedule in the strategy, so that pm-assign-stages knows it
// ONE: error: 1f1b has 1 chunk on each rank, but chunks is 2;

module attributes {pm.schedule = "SCHEDULE", pm.rank_of_stage = array<i64: RANKS>} {
  pm.mesh @mesh = [<"dp", spatial = 1>, <"pp", stage = 2>, <"mb", temporal = 2>]
  func.func @stage0_forward() attributes {pm.fragment = #pm.fragment<forward, 0>} {
    return
  }
  func.func @stage1_forward() attributes {pm.fragment = #pm.fragment<forward, 1>} {
    return
  }
  func.func @stage2_forward() attributes {pm.fragment = #pm.fragment<forward, 2>} {
    return
  }
  func.func @stage3_forward() attributes {pm.fragment = #pm.fragment<forward, 3>} {
    return
  }
  pm.program @step on @mesh {
    pm.role 0 {
    }
    pm.role 1 {
    }
  }
}
