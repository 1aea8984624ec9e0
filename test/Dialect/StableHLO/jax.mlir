// Modules that JAX prints parse, verify and come back.
// REQUIRES: shared
// RUN: pmopt --verify-roundtrip %shared/stablehlo/mlp_forward/module.mlir -o %t
// RUN: pmopt --verify-roundtrip %shared/stablehlo/mlp_forward/module_loc.mlir -o %t
// RUN: pmopt --verify-roundtrip %shared/stablehlo/decode_step/module.mlir -o %t
// RUN: pmopt --verify-roundtrip %shared/stablehlo/gpt_train_adamw/module.mlir -o %t
// RUN: pmopt --verify-roundtrip %shared/stablehlo/gpt_scan_train/module.mlir -o %t
// RUN: pmopt --verify-roundtrip %shared/stablehlo/gpt_scan_train/module_loc.mlir -o %t
