// RUN: not pmopt %s --pm-apply-strategy=strategy=dx=2 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp=2,dp=4 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp=-2 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp=two 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp=2x 2>&1 | FileCheck %s --check-prefix=SUFFIX
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp=2,,mb=2 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp=99999999 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp=2,ep=2 2>&1 | FileCheck %s --check-prefix=LATER
// RUN: not pmopt %s --pm-apply-strategy=strategy=schedule=fifo 2>&1 | FileCheck %s --check-prefix=FIFO
// RUN: not pmopt %s --pm-apply-strategy=strategy=schedule=1f1b,schedule=gpipe 2>&1 | FileCheck %s --check-prefix=SCHEDULES
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp=4096,pp=4096,tp=2 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp=2,zero=2 2>&1 | FileCheck %s --check-prefix=STAGE2
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp=2,zero=4 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not pmopt %s --pm-apply-strategy=strategy=tp=2,sp=2 2>&1 | FileCheck %s --check-prefix=SEQUENCE
// RUN: pmopt %s --pm-apply-strategy=strategy=tp=2,sp=1 2>&1 | FileCheck %s --check-prefix=NORMS
// RUN: not pmopt %s --pm-apply-strategy=strategy=dp=3,mb=4 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: pmopt %s --pm-apply-strategy=strategy=dp=5 2>&1 | FileCheck %s --check-prefix=IDLE
// RUN: pmopt %s --pm-apply-strategy=strategy=dp=3,mb=2 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: pmopt %s --pm-apply-strategy=strategy=mb=5 2>&1 | FileCheck %s --check-prefix=EMPTYPART
// RUN: not pmopt %s --pm-apply-strategy=strategy=pp=2,chunks=0 2>&1 | FileCheck %s --check-prefix=CHUNKS0
// RUN: not pmopt %s --pm-apply-strategy=strategy=pp=2,chunks=2,chunks=3 2>&1 | FileCheck %s --check-prefix=CHUNKS2
// RUN: not pmopt %s --pm-apply-strategy=strategy=pp=2,chunks=2 2>&1 | FileCheck %s --check-prefix=CHUNKS1F1B
// RUN: not pmopt %s --pm-apply-strategy=strategy=pp=2,schedule=zb-v,chunks=4 2>&1 | FileCheck %s --check-prefix=CHUNKSV
// RUN: not pmopt %s --pm-apply-strategy=strategy=pp=2,stages=3:x 2>&1 | FileCheck %s --check-prefix=STAGESX
// RUN: not pmopt %s --pm-apply-strategy=strategy=pp=2,stages=4:0 2>&1 | FileCheck %s --check-prefix=STAGES0
// RUN: not pmopt %s --pm-apply-strategy=strategy=pp=2,stages=1:1,stages=1:1 2>&1 | FileCheck %s --check-prefix=STAGESTWICE
// RUN: not pmopt %s --pm-apply-strategy=strategy=pp=2,stages=1:1:1 2>&1 | FileCheck %s --check-prefix=STAGESCOUNT
// RUN: not pmopt %s --pm-apply-strategy=strategy=pp=2,chunks=2,schedule=looped-bfs,stages=2:2 2>&1 | FileCheck %s --check-prefix=STAGESCHUNKS
// RUN: not pmopt %s --pm-apply-strategy=strategy=pp=2,recompute=some 2>&1 | FileCheck %s --check-prefix=RECOMPUTE
// RUN: not pmopt %s --pm-apply-strategy=strategy=recompute=full,recompute=none 2>&1 | FileCheck %s --check-prefix=RECOMPUTETWICE
// RUN: not pmopt %s --pm-apply-strategy=strategy=schedule=zb-auto,memory=-1 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not pmopt %s --pm-apply-strategy=strategy=schedule=zb-auto,memory=1,memory=2 2>&1 | FileCheck %s --check-prefix=MEMORYTWICE
// RUN: not pmopt %s --pm-apply-strategy=strategy=schedule=zb-h1,memory=2 2>&1 | FileCheck %s --check-prefix=MEMORYOF
// RUN: not pmopt %s --pm-apply-strategy=strategy=schedule=zb-auto,memory=0.5 2>&1 | FileCheck %s --check-prefix=MEMORYSMALL
// RUN: not pmopt %s --pm-apply-strategy=strategy=schedule=@ 2>&1 | FileCheck %s --check-prefix=FILEPATH
// RUN: not pmopt %s --pm-apply-strategy=strategy=schedule=@none.csv 2>&1 | FileCheck %s --check-prefix=FILENONE
// RUN: not pmopt %s --pm-apply-strategy --pm-apply-strategy 2>&1 | FileCheck %s --check-prefix=AGAIN

// WORD: error: strategy 'dx=2': unknown word 'dx'; known are dp (data parallel ranks), tp (tensor parallel ranks), pp (pipeline ranks), mb (micro-batches), zero (0, 1 or 3), sp (0 or 1), schedule (1f1b, gpipe, interleaved-1f1b, looped-bfs, zb-h1, zb-h2, zb-auto, zb-v, dualpipe-v or @FILE.csv), chunks (stages of each pipeline rank), stages (layers of each stage, such as 3:5), memory (micro-batches that zb-auto may hold) and recompute (none or full)
// TWICE: error: strategy 'dp=2,dp=4': 'dp' is given twice, as 2 and as '4'
// ZERO: error: strategy 'dp=0': 'dp' must be at least 1, but is 0
// NEGATIVE: error: strategy 'dp=-2': 'dp' must be at least 1, but is -2
// NUMBER: error: strategy 'dp=two': the size of 'dp' must be a whole number, but is 'two'
// SUFFIX: error: strategy 'dp=2x': the size of 'dp' must be a whole number, but is '2x'
// FORM: error: strategy 'dp': expected word=size, such as dp=2, but found 'dp'
// EMPTY: error: strategy 'dp=2,,mb=2': expected word=size, such as dp=2, but found ''
// LARGE: error: strategy 'dp=99999999': 'dp' is 99999999, but at most 1048576 are possible
// LATER: error: strategy 'dp=2,ep=2': 'ep' is a strategy of a later version; this one has dp (data parallel ranks)
// FIFO: error: strategy 'schedule=fifo': unknown schedule 'fifo'; known are gpipe, 1f1b, interleaved-1f1b, looped-bfs, zb-h1, zb-h2, zb-auto, zb-v, dualpipe-v, and @FILE.csv for lists of your own
// SCHEDULES: error: strategy 'schedule=1f1b,schedule=gpipe': 'schedule' is given twice, as '1f1b' and as 'gpipe'
// CHUNKS0: error: strategy 'pp=2,chunks=0': 'chunks' must be a whole number from 1 on, but is '0'
// CHUNKS2: error: strategy 'pp=2,chunks=2,chunks=3': 'chunks' is given twice, as 2 and as '3'
// CHUNKS1F1B: error: strategy 'pp=2,chunks=2': 1f1b has 1 chunk on each rank, but chunks is 2; interleaved-1f1b and looped-bfs take any number, zb-v and dualpipe-v take 2
// CHUNKSV: error: strategy 'pp=2,schedule=zb-v,chunks=4': zb-v has 2 chunks on each rank, but chunks is 4; interleaved-1f1b and looped-bfs take other numbers
// STAGE2: error: strategy 'dp=2,zero=2': 'zero=2' is a strategy of a later version; this one has 0, 1 (moments in pieces over dp) and 3 (parameters too)
// STAGE: error: strategy 'dp=2,zero=4': 'zero' must be 0, 1 (moments in pieces over dp) or 3 (parameters too), but is '4'
// SEQUENCE: error: strategy 'tp=2,sp=2': 'sp' must be 0 or 1 (the sequence in pieces over tp between the blocks that tp divides), but is '2'
// NORMS: warning: sp=1 finds no norm over [batch, sequence, hidden]; the sequence stays whole
// RANKS: error: strategy 'dp=4096,pp=4096,tp=2': dp, tp and pp ask for more than 1048576 ranks together
// BATCH: error: the batch of 8 in 'input_ids' has fewer rows than dp=3 times mb=4 = 12 parts; dp times mb can be 1 to 8
// IDLE: warning: dp=5 leaves 1 of 5 ranks without a row of the batch of 8 in 'input_ids', since each takes 2
// PARTS: warning: dp=3 leaves 1 of 3 ranks without a row of the batch of 8 in 'input_ids', since each micro-batch takes 2
// EMPTYPART: warning: mb=5 leaves 1 of 5 micro-batches without a row of the batch of 8 in 'input_ids', since each takes 2
// STAGESX: error: strategy 'pp=2,stages=3:x': 'stages' must be the layers of each stage, whole numbers from 1 on such as 3:5, but has 'x'
// STAGES0: error: strategy 'pp=2,stages=4:0': 'stages' must be the layers of each stage, whole numbers from 1 on such as 3:5, but has '0'
// STAGESTWICE: error: strategy 'pp=2,stages=1:1,stages=1:1': 'stages' is given twice
// STAGESCOUNT: error: strategy 'pp=2,stages=1:1:1': 'stages' has the layers of 3 stages, but pp=2 and one stage for each make 2
// STAGESCHUNKS: error: strategy 'pp=2,chunks=2,schedule=looped-bfs,stages=2:2': 'stages' has the layers of 2 stages, but pp=2 and chunks=2 make 4
// RECOMPUTE: error: strategy 'pp=2,recompute=some': 'recompute' must be none or full (a backward computes its stage's forward again), but is 'some'
// RECOMPUTETWICE: error: strategy 'recompute=full,recompute=none': 'recompute' is given twice
// MEMORY: error: strategy 'schedule=zb-auto,memory=-1': 'memory' must be a number of micro-batches above 0, but is '-1'
// MEMORYTWICE: error: strategy 'schedule=zb-auto,memory=1,memory=2': 'memory' is given twice
// MEMORYOF: error: strategy 'schedule=zb-h1,memory=2': 'memory' is the limit that zb-auto keeps, but the schedule is zb-h1; give schedule=zb-auto, or leave it out
// MEMORYSMALL: error: strategy 'schedule=zb-auto,memory=0.5': zb-auto: a memory limit of 0.5 holds no micro-batch on rank 0, which needs 1
// FILEPATH: error: strategy 'schedule=@': 'schedule=@' lacks the path of a file of action lists, such as schedule=@lists.csv
// FILENONE: error: strategy 'schedule=@none.csv': cannot read the schedule 'none.csv': {{[Nn]}}o such file or directory
// AGAIN: error: the module already has the mesh 'mesh'; a strategy is applied once, to a graph without a mesh
func.func @main(%ids: tensor<8x4xi32> {pm.input = "input_ids"}) {
  return
}
