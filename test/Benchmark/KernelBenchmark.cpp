//===- KernelBenchmark.cpp - kernels beside memcpy ------------------------===//
//
// Times the kernels of common model ops on one thread, and a memcpy that moves
// as many bytes. Prints one line a kernel: milliseconds, and their ratio.
//
//===----------------------------------------------------------------------===//

#include "../Lower/Kernels/CompiledFunction.h"
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

using namespace pipemesh::test;

namespace {

/// Seconds of the fastest copy that reads and writes `bytes` together.
double measureCopy(uint64_t bytes) {
  std::vector<char> from(bytes / 2, 1), to(bytes / 2, 2);
  double best = 1e9;
  for (int i = 0; i < 7; ++i) {
    auto start = std::chrono::steady_clock::now();
    memcpy(to.data(), from.data(), from.size());
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

void measure(const char *name, const std::string &text) {
  CompiledFunction function(text);
  if (!function.isValid())
    return;
  double kernel = function.measure(7);
  double copy = measureCopy(function.getKernels()[0].bytes);
  printf("%-24s %8.3f ms  memcpy %8.3f ms  ratio %.2f\n", name, kernel * 1e3,
         copy * 1e3, kernel / copy);
}

} // namespace

int main() {
  measure("softmax 4096x1024", R"(
func.func @f(%x: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<4096xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4096xf32>) -> tensor<4096x1024xf32>
  %s = stablehlo.subtract %x, %mb : tensor<4096x1024xf32>
  %e = stablehlo.exponential %s : tensor<4096x1024xf32>
  %d = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<4096xf32>
  %db = stablehlo.broadcast_in_dim %d, dims = [0] : (tensor<4096xf32>) -> tensor<4096x1024xf32>
  %p = stablehlo.divide %e, %db : tensor<4096x1024xf32>
  return %p : tensor<4096x1024xf32>
}
)");
  measure("rms_norm 1024x576", R"(
func.func @f(%x: tensor<8x128x576xf32>, %w: tensor<576xf32>) -> (tensor<8x128x576xf32>, tensor<8x128xf32>) {
  %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-5 : tensor<8x128x576xf32>, tensor<576xf32> -> tensor<8x128xf32>
  return %y, %rstd : tensor<8x128x576xf32>, tensor<8x128xf32>
}
)");
  measure("rms_norm_weight_grad", R"(
func.func @f(%x: tensor<8x128x576xf32>, %r: tensor<8x128xf32>, %dy: tensor<8x128x576xf32>) -> tensor<576xf32> {
  %dw = pm.rms_norm_weight_grad %x, %r, %dy : tensor<8x128x576xf32>, tensor<8x128xf32> -> tensor<576xf32>
  return %dw : tensor<576xf32>
}
)");
  measure("gated unit 1024x1536", R"(
func.func @f(%g: tensor<8x128x1536xf32>, %u: tensor<8x128x1536xf32>) -> tensor<8x128x1536xf32> {
  %s = stablehlo.logistic %g : tensor<8x128x1536xf32>
  %a = stablehlo.multiply %g, %s : tensor<8x128x1536xf32>
  %y = stablehlo.multiply %a, %u : tensor<8x128x1536xf32>
  return %y : tensor<8x128x1536xf32>
}
)");
  measure("cross_entropy 1024x2048", R"(
func.func @f(%x: tensor<8x128x2048xf32>, %t: tensor<8x128xi32>) -> (tensor<8x128xf32>, tensor<8x128xf32>) {
  %nll, %lse = pm.cross_entropy %x, %t : tensor<8x128x2048xf32>, tensor<8x128xi32> -> tensor<8x128xf32>
  return %nll, %lse : tensor<8x128xf32>, tensor<8x128xf32>
}
)");
  measure("cross_entropy_grad", R"(
func.func @f(%x: tensor<8x128x2048xf32>, %t: tensor<8x128xi32>, %lse: tensor<8x128xf32>, %d: tensor<8x128xf32>) -> tensor<8x128x2048xf32> {
  %dx = pm.cross_entropy_grad %x, %t, %lse, %d : tensor<8x128x2048xf32>, tensor<8x128xi32>, tensor<8x128xf32>
  return %dx : tensor<8x128x2048xf32>
}
)");
  measure("rope 8x128x9x64", R"(
func.func @f(%x: tensor<8x128x9x64xf32>, %c: tensor<128x32xf32>, %s: tensor<128x32xf32>) -> tensor<8x128x9x64xf32> {
  %y = pm.rope %x, %c, %s : tensor<8x128x9x64xf32>, tensor<128x32xf32>
  return %y : tensor<8x128x9x64xf32>
}
)");
  measure("adamw 4096x1024", R"(
func.func @f(%p: tensor<4096x1024xf32>, %g: tensor<4096x1024xf32>, %m: tensor<4096x1024xf32>, %v: tensor<4096x1024xf32>,
    %t: tensor<f32>, %lr: tensor<f32>, %b1: tensor<f32>, %b2: tensor<f32>, %eps: tensor<f32>, %wd: tensor<f32>, %scale: tensor<f32>)
    -> (tensor<4096x1024xf32>, tensor<4096x1024xf32>, tensor<4096x1024xf32>) {
  %p2, %m2, %v2 = pm.adamw %p, %g, %m, %v scalars %t, %lr, %b1, %b2, %eps, %wd, %scale decay : tensor<4096x1024xf32>, tensor<f32>
  return %p2, %m2, %v2 : tensor<4096x1024xf32>, tensor<4096x1024xf32>, tensor<4096x1024xf32>
}
)");
}
