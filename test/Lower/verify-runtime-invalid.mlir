// RUN: pmopt %s --split-input-file --verify-diagnostics --pm-verify-runtime

pmrt.role @role_0 arena 128 scratch 64 : 64 {
  // expected-error @below {{ends at byte 128 of the arena, but scratch begins at 64}}
  pmrt.buffer @x offset 0 bytes 64 slots 2 stride 64 : tensor<16xf32>
}

// -----

pmrt.role @role_0 arena 192 scratch 192 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  // expected-error @below {{at byte 32 overlaps buffer 'x', which ends at 64}}
  pmrt.buffer @y offset 32 bytes 64 slots 1 stride 64 : tensor<16xf32>
}

// -----

pmrt.role @role_0 arena 128 scratch 64 : 64 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.body @stage0_forward "forward" stage 0 {
    // expected-error @below {{reads #pmrt.place<read scratch + 0 : 64>, which no instruction before it has written}}
    pmrt.copy [#pmrt.place<read scratch + 0 : 64>, #pmrt.place<write @x + 0 : 64>]
  }
}

// -----

pmrt.role @role_0 arena 128 scratch 64 : 64 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.body @stage0_forward "forward" stage 0 {
    // expected-error @below {{place #pmrt.place<write @x + 32 : 64> lies outside of 64 bytes}}
    pmrt.zero [#pmrt.place<write @x + 32 : 64>]
  }
}

// -----

// A forward fragment sees the slot of its micro-batch only; a prologue all.
pmrt.role @role_0 arena 128 scratch 128 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 2 stride 64 : tensor<16xf32>
  pmrt.body @stage0_prologue "prologue" stage 0 {
    pmrt.zero [#pmrt.place<write @x + 0 : 128>]
  }
  pmrt.body @stage0_forward "forward" stage 0 {
    // expected-error @below {{place #pmrt.place<write @x + 0 : 128> lies outside of 64 bytes}}
    pmrt.zero [#pmrt.place<write @x + 0 : 128>]
  }
}

// -----

pmrt.role @role_0 arena 128 scratch 128 : 0 {
  pmrt.buffer @x offset 0 bytes 128 slots 1 stride 128 : tensor<32xf32>
  pmrt.body @stage0_update "update" stage 0 {
    // expected-error @below {{writes #pmrt.place<write @x + 32 : 64>, which overlaps #pmrt.place<read @x + 0 : 64> of the same instruction}}
    pmrt.copy [#pmrt.place<read @x + 0 : 64>, #pmrt.place<write @x + 32 : 64>]
  }
}

// -----

pmrt.role @role_0 arena 64 scratch 64 : 0 {
  // expected-error @below {{runs 'nothing', which is no body of the role}}
  pmrt.action @nothing micro_batch 0
}

// -----

pmrt.role @role_0 arena 64 scratch 64 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.body @stage0_update "update" stage 0 {
    // expected-error @below {{calls 'nothing', which is no kernel}}
    pmrt.call @nothing [#pmrt.place<update @x + 0 : 64>]
  }
}
