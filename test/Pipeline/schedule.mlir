// RUN: pmopt %s --pm-schedule=name=1f1b | FileCheck %s --check-prefix=ONE
// RUN: pmopt %s --pm-schedule=name=gpipe | FileCheck %s --check-prefix=GPIPE
// RUN: pmopt %s --pm-schedule=name=gpipe --pm-verify-scheduled -o %t
// RUN: not pmopt %s --pm-schedule=name=fifo 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not pmopt %s --pm-schedule --pm-schedule 2>&1 | FileCheck %s --check-prefix=AGAIN

// UNKNOWN: error: unknown schedule 'fifo'; known are gpipe, 1f1b, interleaved-1f1b, looped-bfs, zb-h1, zb-h2, zb-auto, zb-v, dualpipe-v
// AGAIN: error: already has actions; a program is scheduled once

// ONE: pm.role 0 {
// ONE-NEXT: pm.action prologue stage 0 micro_batch 0
// ONE-NEXT: pm.action forward stage 0 micro_batch 0
// ONE-NEXT: pm.action backward stage 0 micro_batch 0
// ONE-NEXT: pm.action forward stage 0 micro_batch 1
// ONE-NEXT: pm.action backward stage 0 micro_batch 1
// ONE-NEXT: pm.action update stage 0 micro_batch 0
// ONE-NEXT: }

// GPIPE: pm.role 0 {
// GPIPE-NEXT: pm.action prologue stage 0 micro_batch 0
// GPIPE-NEXT: pm.action forward stage 0 micro_batch 0
// GPIPE-NEXT: pm.action forward stage 0 micro_batch 1
// GPIPE-NEXT: pm.action backward stage 0 micro_batch 0
// GPIPE-NEXT: pm.action backward stage 0 micro_batch 1
// GPIPE-NEXT: pm.action update stage 0 micro_batch 0
// GPIPE-NEXT: }
pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]
func.func @stage0_prologue() attributes {pm.fragment = #pm.fragment<prologue, 0>} {
  return
}
func.func @stage0_forward() attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
func.func @stage0_backward() attributes {pm.fragment = #pm.fragment<backward, 0>} {
  return
}
func.func @stage0_update() attributes {pm.fragment = #pm.fragment<update, 0>} {
  return
}
pm.program @step on @mesh {
  pm.role 0 {
  }
}
