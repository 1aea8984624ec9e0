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

// -----

pmrt.role @role_0 arena 64 scratch 64 : 0 {
  // expected-error @below {{moves @x, which is no buffer of the role}}
  pmrt.send @x to 1 micro_batch 0 channel 0
}
pmrt.role @role_1 arena 64 scratch 64 : 0 {
}

// -----

pmrt.role @role_0 arena 64 scratch 64 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  // expected-error @below {{has the peer 0, which is not another of 1 roles}}
  pmrt.send @x to 0 micro_batch 0 channel 0
}

// -----

pmrt.role @role_0 arena 64 scratch 64 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  // expected-error @below {{on channel 4 is received by nobody}}
  pmrt.send @x to 1 micro_batch 0 channel 4
}
pmrt.role @role_1 arena 64 scratch 64 : 0 {
}

// -----

pmrt.role @role_0 arena 64 scratch 64 : 0 {
}
pmrt.role @role_1 arena 64 scratch 64 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  // expected-error @below {{on channel 0 waits for what nobody sends}}
  pmrt.receive @x from 0 micro_batch 0 channel 0
}

// -----

pmrt.role @role_0 arena 64 scratch 64 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  // expected-note @below {{sent here}}
  pmrt.send @x to 1 micro_batch 0 channel 0
}
pmrt.role @role_1 arena 64 scratch 64 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  // expected-error @below {{takes micro-batch 1 from channel 0, where micro-batch 0 comes}}
  pmrt.receive @x from 0 micro_batch 1 channel 0
}

// -----

pmrt.role @role_0 arena 64 scratch 64 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.send @x to 1 micro_batch 0 channel 0
}
pmrt.role @role_1 arena 64 scratch 64 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<8xf64>
  // expected-error @below {{moves 'tensor<8xf64>', but the other role has 'tensor<16xf32>'}}
  pmrt.receive @x from 0 micro_batch 0 channel 0
}

// -----

pmrt.role @role_0 arena 128 scratch 128 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.buffer @y offset 64 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.send @x to 1 micro_batch 0 channel 0
  // expected-error @below {{uses channel 0 for 'y' from 0 to 1, but it belongs to 'x' from 0 to 1}}
  pmrt.send @y to 1 micro_batch 0 channel 0
}
pmrt.role @role_1 arena 64 scratch 64 : 0 {
}

// -----

// Each waits for the other before it sends.
pmrt.role @role_0 arena 128 scratch 128 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.buffer @y offset 64 bytes 64 slots 1 stride 64 : tensor<16xf32>
  // expected-error @below {{on channel 1 waits for a send that waits for it, over the receives of other roles}}
  pmrt.receive @y from 1 micro_batch 0 channel 1
  pmrt.send @x to 1 micro_batch 0 channel 0
}
pmrt.role @role_1 arena 128 scratch 128 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.buffer @y offset 64 bytes 64 slots 1 stride 64 : tensor<16xf32>
  // expected-note @below {{role 1 waits here}}
  pmrt.receive @x from 0 micro_batch 0 channel 0
  pmrt.send @y to 0 micro_batch 0 channel 1
}

// -----

pmrt.role @role_0 arena 256 scratch 256 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.buffer @y offset 64 bytes 128 slots 1 stride 128 : tensor<32xf32>
  pmrt.body @stage0_update "update" stage 0 {
    // expected-error @below {{has a block of 64 bytes, but 2 pieces of 16 elements have 128}}
    pmrt.all_gather over ["tp"] [#pmrt.place<read @x + 0 : 64>, #pmrt.place<write @y + 0 : 128>] outer 2 piece 16 row 16 : f32
  }
}

// -----

pmrt.role @role_0 arena 256 scratch 256 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.buffer @y offset 64 bytes 128 slots 1 stride 128 : tensor<32xf32>
  pmrt.body @stage0_update "update" stage 0 {
    // expected-error @below {{has a whole of 64 bytes, but 1 rows of 32 elements have 128}}
    pmrt.reduce_scatter "sum" over ["tp"] [#pmrt.place<read @x + 0 : 64>, #pmrt.place<write @y + 0 : 64>] outer 1 piece 16 row 32 : f32
  }
}

// -----

pmrt.role @role_0 arena 256 scratch 256 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.body @stage0_update "update" stage 0 {
    // expected-error @below {{needs the places of a block and of the whole, but has 1}}
    pmrt.all_gather over ["tp"] [#pmrt.place<read @x + 0 : 64>] outer 1 piece 16 row 16 : f32
  }
}

// -----

pmrt.role @role_0 arena 256 scratch 256 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.body @stage0_update "update" stage 0 {
    // expected-error @below {{has pieces of 16 elements in a row of 8, 1 times; a piece is part of a row}}
    pmrt.all_gather over ["tp"] [#pmrt.place<read @x + 0 : 64>, #pmrt.place<write @x + 0 : 32>] outer 1 piece 16 row 8 : f32
  }
}

// -----

pmrt.role @role_0 arena 256 scratch 256 : 0 {
  pmrt.buffer @x offset 0 bytes 96 slots 1 stride 128 : tensor<24xf32>
  pmrt.buffer @y offset 128 bytes 96 slots 1 stride 128 : tensor<24xf32>
  pmrt.body @stage0_update "update" stage 0 {
    // expected-error @below {{has 96 bytes after the exchange, but its sizes make 48}}
    pmrt.all_to_all over ["tp"] [#pmrt.place<read @x + 0 : 96>, #pmrt.place<write @y + 0 : 96>] outer 1 middle 1 inner 2 split 4 pieces 2 concat 3 pieces 3 split_first : f32
  }
}

// -----

pmrt.role @role_0 arena 256 scratch 256 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.buffer @y offset 64 bytes 128 slots 1 stride 128 : tensor<32xf32>
  pmrt.body @stage0_update "update" stage 0 {
    // expected-error @below {{moves 64 bytes to a place of 128}}
    pmrt.permute over ["tp"] sources [1, 0] [#pmrt.place<read @x + 0 : 64>, #pmrt.place<write @y + 0 : 128>] : f32
  }
}

// -----

pmrt.role @role_0 arena 256 scratch 256 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.buffer @y offset 64 bytes 64 slots 1 stride 64 : tensor<16xf32>
  pmrt.body @stage0_update "update" stage 0 {
    // expected-error @below {{has the source 2 of 2 members}}
    pmrt.permute over ["tp"] sources [1, 2] [#pmrt.place<read @x + 0 : 64>, #pmrt.place<write @y + 0 : 64>] : f32
  }
}

// -----

// What is started is left alone until it is waited for.
pmrt.role @role_0 arena 1024 scratch 1024 : 0 {
  pmrt.buffer @g offset 0 bytes 1024 slots 1 stride 1024 : tensor<256xf32>
  pmrt.body @stage0_backward "backward" stage 0 {
    // expected-note @below {{started here}}
    pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @g + 0 : 1024>] : f32 event 1
  }
  pmrt.body @stage0_update "update" stage 0 {
    // expected-error @below {{touches #pmrt.place<write @g + 0 : 1024>, which is on its way until event 1 is waited for}}
    pmrt.zero [#pmrt.place<write @g + 0 : 1024>]
    pmrt.wait 1
  }
  pmrt.action @stage0_backward micro_batch 0
  pmrt.action @stage0_update micro_batch 0
}

// -----

pmrt.role @role_0 arena 1024 scratch 1024 : 0 {
  pmrt.buffer @g offset 0 bytes 1024 slots 1 stride 1024 : tensor<256xf32>
  pmrt.body @stage0_backward "backward" stage 0 {
    // expected-error @below {{starts event 1, which nothing waits for}}
    pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @g + 0 : 1024>] : f32 event 1
  }
  pmrt.action @stage0_backward micro_batch 0
}

// -----

pmrt.role @role_0 arena 1024 scratch 1024 : 0 {
  pmrt.buffer @g offset 0 bytes 1024 slots 1 stride 1024 : tensor<256xf32>
  pmrt.body @stage0_backward "backward" stage 0 {
    // expected-error @below {{starts event 1 a second time in the step}}
    pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @g + 0 : 1024>] : f32 event 1
    pmrt.wait 1
  }
  pmrt.action @stage0_backward micro_batch 0
  pmrt.action @stage0_backward micro_batch 1
}

// -----

pmrt.role @role_0 arena 64 scratch 64 : 0 {
  pmrt.body @stage0_update "update" stage 0 {
    // expected-error @below {{waits for event 2, which is not on its way}}
    pmrt.wait 2
  }
  pmrt.action @stage0_update micro_batch 0
}

// -----

pmrt.role @role_0 arena 128 scratch 0 : 128 {
  pmrt.body @stage0_backward "backward" stage 0 {
    pmrt.zero [#pmrt.place<write scratch + 0 : 64>]
    // expected-error @below {{which is no buffer: scratch holds nothing from one fragment to the next}}
    pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update scratch + 0 : 64>] : f32 event 1
    pmrt.wait 1
  }
  pmrt.action @stage0_backward micro_batch 0
}

// -----

pmrt.role @role_0 arena 1088 scratch 1024 : 64 {
  pmrt.buffer @g offset 0 bytes 1024 slots 1 stride 1024 : tensor<256xf32>
  pmrt.body @stage0_backward "backward" stage 0 {
    pmrt.zero [#pmrt.place<write scratch + 0 : 4>]
    pmrt.case [#pmrt.place<read scratch + 0 : 4>] : i32 {
      // expected-error @below {{stands in a loop or a choice, where an event may not be}}
      pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @g + 0 : 1024>] : f32 event 1
    }, {
    }
    pmrt.wait 1
  }
  pmrt.action @stage0_backward micro_batch 0
}
