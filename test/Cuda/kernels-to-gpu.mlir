// RUN: pmopt --pm-fuse-kernels --pm-kernels-to-gpu --split-input-file %s | FileCheck %s

// A vector of four elements for each thread; the three behind the last whole vector
// are the first threads'.
// CHECK-LABEL: gpu.func @add_multiply_4099_0
// CHECK-SAME: (%[[X:.*]]: !llvm.ptr<1>, %[[Y:.*]]: !llvm.ptr<1>, %[[R:.*]]: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>) kernel
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 9, 1, 1>
// CHECK: scf.if
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.mulf {{.*}} : vector<4xf32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK: scf.if
// CHECK: arith.addf {{.*}} : f32
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func @elements_of_a_flat_kernel(%x: tensor<4099xf32>, %y: tensor<4099xf32>) -> tensor<4099xf32> {
  %sum = stablehlo.add %x, %y : tensor<4099xf32>
  %r = stablehlo.multiply %sum, %y : tensor<4099xf32>
  return %r : tensor<4099xf32>
}

// -----

// A warp for each row, whose threads exchange their sums.
// CHECK-LABEL: gpu.func @add_rms_norm_64x128_0
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 16, 1, 1>
// CHECK: %[[SUMS:.*]] = scf.for {{.*}} -> (vector<4xf32>)
// CHECK:   llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: nvvm.bar.warp.sync
// CHECK: scf.for
func.func @row_of_a_warp(%x: tensor<64x128xf32>, %y: tensor<64x128xf32>, %w: tensor<128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>) {
  %sum = stablehlo.add %x, %y : tensor<64x128xf32>
  %r, %rstd = pm.rms_norm %sum, %w epsilon 1.0e-5 : tensor<64x128xf32>, tensor<128xf32> -> tensor<64xf32>
  return %sum, %r : tensor<64x128xf32>, tensor<64x128xf32>
}

// -----

// A block for each wide row: sums go through shared memory, and the eight warps' are
// joined by three more exchanges.
// CHECK-LABEL: llvm.mlir.global internal @rms_norm_64_0_shared_0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<8 x f32>
// CHECK: gpu.func @rms_norm_64_0
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 64, 1, 1>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: scf.if
// CHECK-NEXT: arith.divui
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK-COUNT-3: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
func.func @row_of_a_block(%x: tensor<64x4096xf32>, %w: tensor<4096xf32>) -> (tensor<64x4096xf32>, tensor<64xf32>) {
  %r, %rstd = pm.rms_norm %x, %w epsilon 1.0e-5 : tensor<64x4096xf32>, tensor<4096xf32> -> tensor<64xf32>
  return %r, %rstd : tensor<64x4096xf32>, tensor<64xf32>
}

// -----

// A block for 32 columns; its sixteen warps take rows in turn.
// CHECK-LABEL: llvm.mlir.global internal @reduce_96_0_shared_0() {{.*}} : !llvm.array<512 x f32>
// CHECK: gpu.func @reduce_96_0
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>, known_grid_size = array<i32: 3, 1, 1>
// CHECK: %[[C16:.*]] = arith.constant 16 : i64
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[C16]]
// CHECK-COUNT-5: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func @sums_over_rows(%x: tensor<64x96xf32>) -> tensor<96xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x96xf32>, tensor<f32>) -> tensor<96xf32>
  return %y : tensor<96xf32>
}

// -----

// Two threads hold a query of 64 elements; tiles of 32 keys and values are shared.
// CHECK-LABEL: llvm.mlir.global internal @attention_2x64x4x64_0_shared_0() {{.*}} : !llvm.array<2048 x f32>
// CHECK: gpu.func @attention_2x64x4x64_0
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 8, 1, 1>
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: math.fma
// CHECK: gpu.shuffle xor
// CHECK: math.exp
func.func @attention(%q: tensor<2x64x4x64xf32>, %k: tensor<2x64x2x64xf32>, %v: tensor<2x64x2x64xf32>) -> tensor<2x64x4x64xf32> {
  %o, %lse = pm.attention %q, %k, %v scale 0.125 causal : tensor<2x64x4x64xf32>, tensor<2x64x2x64xf32> -> tensor<2x4x64xf32>
  return %o : tensor<2x64x4x64xf32>
}

// -----

// Equal kernels are one.
// CHECK-LABEL: gpu.module @kernels
// CHECK-COUNT-1: gpu.func
// CHECK-NOT: gpu.func
func.func @first(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = stablehlo.tanh %x : tensor<64xf32>
  return %r : tensor<64xf32>
}
func.func @second(%y: tensor<64xf32>) -> tensor<64xf32> {
  %r = stablehlo.tanh %y : tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// In half precision rows are extended as they are read; tiles, sums and the logarithms
// are float32, and results are rounded as they are stored.
// CHECK-LABEL: llvm.mlir.global internal @attention_2x20x4x16_0_shared_0() {{.*}} x f32>
// CHECK: gpu.func @attention_2x20x4x16_0
// CHECK: %[[QUERY:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<4xbf16>
// CHECK: arith.extf %[[QUERY]] : vector<4xbf16> to vector<4xf32>
// CHECK: %[[RESULT:.*]] = arith.truncf %{{.*}} : vector<4xf32> to vector<4xbf16>
// CHECK: llvm.store %[[RESULT]], %{{.*}} {alignment = 8 : i64} : vector<4xbf16>, !llvm.ptr<1>
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
func.func @attention_in_half_precision(%q: tensor<2x20x4x16xbf16>, %k: tensor<2x20x2x16xbf16>, %v: tensor<2x20x2x16xbf16>) -> tensor<2x20x4x16xbf16> {
  %o, %lse = pm.attention %q, %k, %v scale 0.25 causal : tensor<2x20x4x16xbf16>, tensor<2x20x2x16xbf16> -> tensor<2x4x20xf32>
  return %o : tensor<2x20x4x16xbf16>
}
