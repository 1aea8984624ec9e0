// RUN: pmopt %s --pm-apply-strategy=strategy=dp=2,mb=4 | FileCheck %s
// RUN: pmopt %s --pm-apply-strategy=strategy=mb=4,dp=2 | FileCheck %s
// RUN: pmopt %s --pm-apply-strategy=strategy=pp=2,mb=2,dp=2,schedule=gpipe | FileCheck %s --check-prefix=ORDER
// RUN: pmopt %s --pm-apply-strategy=strategy=pp=2,tp=1 | FileCheck %s --check-prefix=GIVEN
// RUN: pmopt %s --pm-apply-strategy | FileCheck %s --check-prefix=ALONE

// Micro-batches come behind the spatial axes, whatever the string says.
// CHECK: pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 4>]
// ORDER: module attributes {pm.schedule = "gpipe"}
// ORDER: pm.mesh @mesh = [<"pp", stage = 2>, <"dp", spatial = 2>, <"mb", temporal = 2>]
// GIVEN: module {
// GIVEN: pm.mesh @mesh = [<"dp", spatial = 1>, <"pp", stage = 2>, <"tp", spatial = 1>, <"mb", temporal = 1>]
// ALONE: pm.mesh @mesh = [<"dp", spatial = 1>, <"mb", temporal = 1>]

// CHECK-LABEL: func.func @inputs_are_cut_and_state_is_whole
// CHECK-SAME: pm.input = "input_ids", pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>
// CHECK-SAME: pm.sharding = #pm.sharding<@mesh, [{}, {}]>, pm.state = #pm.state<parameter, "w">
// CHECK-SAME: {pm.input = "learning_rate"}
// ALONE: pm.input = "input_ids", pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>
func.func @inputs_are_cut_and_state_is_whole(
    %ids: tensor<8x4xi32> {pm.input = "input_ids"},
    %w: tensor<3x4xf32> {pm.state = #pm.state<parameter, "w">},
    %rate: tensor<f32> {pm.input = "learning_rate"}) {
  return
}
