//===- pmrt.h - C ABI between a compiled role and the runtime -------------===//
//
// A bundle holds one shared object a role. It exports one symbol,
// `pmrt_role_table`, constant tables that describe the whole program of the
// role, and the machine code of its kernels. The runtime owns the memory, the
// threads and the communication; a role owns nothing and calls nothing but the
// functions that it is handed in `pmrt_kernel_context`.
//
// Sizes are in bytes and counts in elements unless said otherwise. Every
// pointer in a table is valid as long as the shared object is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef PMRT_PMRT_H
#define PMRT_PMRT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Raised whenever the layout or the meaning of anything below changes.
#define PMRT_ABI_VERSION 7u

/// The name of the exported `const pmrt_role` object.
#define PMRT_ROLE_SYMBOL "pmrt_role_table"

typedef enum pmrt_dtype {
  PMRT_F32 = 0,
  PMRT_F64 = 1,
  PMRT_BF16 = 2,
  PMRT_F16 = 3,
  PMRT_I32 = 4,
  PMRT_I64 = 5,
  PMRT_I1 = 6, ///< one byte an element, 0 or 1
  PMRT_U32 = 7,
  PMRT_U64 = 8,
  PMRT_I8 = 9,
  PMRT_U8 = 10,
  PMRT_I16 = 11,
  PMRT_U16 = 12,
  PMRT_C64 = 13, ///< two float32: real, imaginary
  PMRT_C128 = 14 ///< two float64
} pmrt_dtype;

/// A program-level value that outlives one fragment. Its place in the arena is
/// `offset + (micro_batch % slots) * slot_stride`; a fragment that runs once a
/// step (prologue, update) addresses slot 0, and may reach all slots of an
/// input through its offset because they lie one after the other.
typedef struct pmrt_buffer {
  const char *name;
  uint64_t offset;
  uint64_t bytes; ///< of one slot
  uint64_t slot_stride;
  uint32_t slots;
  uint32_t dtype; ///< pmrt_dtype
} pmrt_buffer;

#define PMRT_SCRATCH (-1)

enum {
  PMRT_READ = 1,
  PMRT_WRITE = 2
};

/// Where an instruction reads or writes: in a program buffer, or in the
/// scratch region that is reused by every fragment (buffer == PMRT_SCRATCH).
typedef struct pmrt_operand {
  int32_t buffer;
  uint32_t access; ///< PMRT_READ | PMRT_WRITE
  uint64_t offset; ///< from the start of the slot or of the scratch region
  uint64_t bytes;
} pmrt_operand;

typedef enum pmrt_opcode {
  PMRT_OP_GEMM =
      1, ///< descriptor: pmrt_gemm; operands: A, B, C, the epilogue's
  PMRT_OP_KERNEL = 2,     ///< descriptor: pmrt_kernel
  PMRT_OP_ALL_REDUCE = 3, ///< descriptor: pmrt_collective; operands in place
  PMRT_OP_COPY = 4,       ///< operands: source, destination of equal size
  PMRT_OP_ZERO = 5,       ///< operands: destination
  PMRT_OP_ALL_GATHER = 6, ///< descriptor: pmrt_collective; block, whole
  PMRT_OP_REDUCE_SCATTER = 7, ///< descriptor: pmrt_collective; whole, block
  PMRT_OP_ALL_TO_ALL = 8,     ///< descriptor: pmrt_all_to_all; before, after
  PMRT_OP_PERMUTE = 9,        ///< descriptor: pmrt_permute; own, received
  PMRT_OP_JUMP = 10,          ///< descriptor: pmrt_jump; no operand
  PMRT_OP_SWITCH = 11,        ///< descriptor: pmrt_jump; operand: the index
  PMRT_OP_WAIT = 12,          ///< no descriptor, no operand; `event`
  PMRT_OP_ATTENTION = 13      ///< descriptor: pmrt_attention; on GPUs only
} pmrt_opcode;

#define PMRT_MAX_BATCH_DIMS 4

/// C[i, j] (+)= alpha * sum_k A[i, k] B[k, j], for every index of up to four
/// batch dimensions. All matrices are row-major; `trans_a` says that A is
/// stored [k, i], `trans_b` that B is stored [j, k]. Strides are in elements
/// and may be 0 (an operand shared by the whole batch dimension). The host has
/// float32; a GPU also half precision, whose sums are float32, and float64.
typedef struct pmrt_gemm {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  int64_t batch[PMRT_MAX_BATCH_DIMS]; ///< 1 where unused
  int64_t stride_a[PMRT_MAX_BATCH_DIMS];
  int64_t stride_b[PMRT_MAX_BATCH_DIMS];
  int64_t stride_c[PMRT_MAX_BATCH_DIMS];
  float alpha;
  uint8_t trans_a, trans_b;
  uint8_t accumulate; ///< 1: add to C
  uint8_t dtype;      ///< pmrt_dtype of A and B
  uint32_t epilogue;  ///< PMRT_EPILOGUE_*, added up; 0 on the host
  /// pmrt_dtype of C (and of the epilogue's operands): `dtype`, or PMRT_F32
  /// where A and B are of half precision.
  uint32_t result_dtype;
} pmrt_gemm;

/// What is done to C before it is stored.
enum {
  PMRT_EPILOGUE_BIAS =
      1, ///< a fourth operand of n elements is added to each row
  PMRT_EPILOGUE_GELU = 2, ///< 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  /// With GELU: the last operand keeps its argument, stored as C is; `ldc` is a
  /// multiple of 8.
  PMRT_EPILOGUE_BEFORE = 4
};

/// Scaled dot-product attention by cuDNN: O = softmax(scale Q K^T) V for each head,
/// where query head h reads key head h / (heads / key_heads), and of a causal one
/// query i sees keys j <= i. `stats` [batch, heads, queries] is the natural logarithm
/// of the sum of the exponentials of the visible scores, in float32; all else is of
/// type `dtype`, bfloat16 or float16, and is computed in float32.
///
/// Operands: Q, K, V, O, stats; those of the gradient: Q, K, V, O, stats, dO, dQ, dK,
/// dV. Strides are from one batch, position and head to the next, in elements; a
/// head's row lies together. dQ lies as Q, dK as K, dV as V and dO as O.
typedef struct pmrt_attention {
  int64_t batch, heads, key_heads, queries, keys;
  int64_t size; ///< of a head's row
  int64_t query_strides[3], key_strides[3], value_strides[3], result_strides[3];
  uint64_t workspace_bytes; ///< that it may use of the stream's
  float scale;
  uint8_t causal, gradient; ///< 0 or 1
  uint8_t dtype;            ///< pmrt_dtype
  uint8_t reserved;
} pmrt_attention;

/// Handed to every kernel.
typedef struct pmrt_kernel_context {
  /// Single-threaded float32 GEMM for kernels that contain small products
  /// (attention): C = alpha op(A) op(B) + beta C, row-major.
  void (*sgemm)(int64_t trans_a, int64_t trans_b, int64_t m, int64_t n,
                int64_t k, float alpha, const float *a, int64_t lda,
                const float *b, int64_t ldb, float beta, float *c,
                int64_t ldc);
  /// This rank's index along each mesh axis, in mesh order; a temporal axis
  /// holds the micro-batch of the action (0 in a prologue or an update).
  const int64_t *coordinates;
} pmrt_kernel_context;

/// Runs iterations [begin, end) of the kernel's parallel extent. Disjoint
/// ranges touch disjoint parts of what the kernel writes, so that any split
/// over threads gives the same bits. `scratch` is private to the call.
typedef void (*pmrt_kernel_fn)(void *const *operands, int64_t begin,
                               int64_t end, void *scratch,
                               const pmrt_kernel_context *context);

typedef struct pmrt_kernel {
  const char *name;
  pmrt_kernel_fn function; ///< null in a role for GPUs
  int64_t extent; ///< size of the parallel loop
  int64_t grain;  ///< fewest iterations worth a thread of their own
  uint64_t scratch_bytes; ///< for each call; on a GPU for the whole launch
  uint64_t flops;         ///< of the whole extent
  uint64_t bytes;         ///< read and written by the whole extent
} pmrt_kernel;

typedef enum pmrt_reduction {
  PMRT_SUM = 0,
  PMRT_MAX = 1,
  PMRT_MIN = 2
} pmrt_reduction;

/// One collective over the members of a communicator. Reductions are made in
/// the order of the ranks.
///
/// All-reduce: several operands are one exchange (a bucket); `counts[i]`
/// elements of `dtype` each, in place.
///
/// All-gather and reduce-scatter have two operands, and join or cut one
/// dimension, outside of which lie `outer` indices. A member's block is
/// `outer` pieces of `counts[0]` elements; the whole is `outer` rows of
/// `counts[1]` elements, in which the piece of member i begins at element
/// `i * counts[0]`. Where the last pieces do not fit in the row, their ends
/// (all of them, perhaps) are padding that is neither read nor written.
typedef struct pmrt_collective {
  uint32_t communicator; ///< index in pmrt_role.communicators
  uint32_t dtype;
  uint32_t reduction; ///< pmrt_reduction
  uint32_t sequence;  ///< number of this collective in its fragment
  const uint64_t *counts; ///< one for each operand
  uint64_t outer;         ///< 1 of an all-reduce
} pmrt_collective;

/// An all-to-all moves the cut of the members from dimension `concat` to
/// dimension `split`. Both operands are arrays of four loops,
/// outer x first x middle x second x inner, where `first` and `second` are the
/// two dimensions in the order of the tensor; before, a member has `split_size`
/// elements of the split dimension and `concat_piece` of the other; after,
/// `split_piece` and `concat_size`. Member i holds from element
/// `i * concat_piece` (before) and `i * split_piece` (after) on; what lies behind
/// an end is padding that is neither read nor written.
typedef struct pmrt_all_to_all {
  uint32_t communicator; ///< index in pmrt_role.communicators
  uint32_t dtype;
  uint32_t sequence;    ///< number of this collective in its fragment
  uint32_t split_first; ///< 1: the split dimension is the outer one of the two
  uint64_t outer, middle, inner;
  uint64_t split_size, split_piece;
  uint64_t concat_size, concat_piece;
} pmrt_all_to_all;

/// Each member gets the operand of another one, or zero. An operand of several
/// equal parts is that of several members: a part is the same part of its source.
typedef struct pmrt_permute {
  uint32_t communicator;
  uint32_t dtype;
  uint32_t sequence;
  uint32_t num_members;
  uint64_t count;
  const int32_t *sources; ///< for each part and member, in its order; -1: zero
  uint64_t num_parts;
} pmrt_permute;

/// Goes on at an instruction of the same body. A jump has one target. A switch
/// reads its operand, one element of type i32 or i1, which every rank that
/// shares a collective behind it must hold alike: 0 takes targets[0] and so on,
/// anything else the last.
typedef struct pmrt_jump {
  uint32_t num_targets;
  uint32_t dtype; ///< of the operand of a switch
  const uint64_t *targets;
} pmrt_jump;

/// A collective with an event only starts; it goes on beside the instructions that
/// follow, and nothing touches its operands until a PMRT_OP_WAIT for the event,
/// which stands behind it in the step. What is started runs in the order of the
/// starts. An event belongs to one start, which runs once a step.
typedef struct pmrt_instruction {
  uint32_t opcode; ///< pmrt_opcode
  uint32_t stream; ///< 0 compute, 1 and up communication
  uint32_t num_operands;
  uint32_t event; ///< 0: none
  const pmrt_operand *operands;
  const void *descriptor;
  const char *location; ///< model location, e.g. "model.layers.3.mlp.up_proj"
} pmrt_instruction;

typedef enum pmrt_fragment_kind {
  PMRT_PROLOGUE = 0,
  PMRT_FORWARD = 1,
  PMRT_INPUT_GRADIENT = 2,
  PMRT_WEIGHT_GRADIENT = 3,
  PMRT_BACKWARD = 4, ///< input and weight gradients in one
  PMRT_REDUCE = 5, ///< gradients summed over ranks, once a step
  PMRT_UPDATE = 6
} pmrt_fragment_kind;

/// The body of a fragment: once for each stage and kind.
typedef struct pmrt_body {
  const char *name;
  uint32_t kind; ///< pmrt_fragment_kind
  uint32_t stage;
  uint64_t num_instructions;
  const pmrt_instruction *instructions;
} pmrt_body;

typedef enum pmrt_action_kind {
  PMRT_RUN = 0,    ///< run the body `index`
  PMRT_SEND = 1,   ///< start the transfer of buffer `index`; never waits
  PMRT_RECEIVE = 2 ///< wait for a transfer into buffer `index`
} pmrt_action_kind;

/// One entry of the role's total order. A transfer moves the slot of a
/// micro-batch (0 of a buffer that holds one value a step) to or from the rank
/// of role `peer` with the same coordinates on every axis but the stage axis.
/// After a send the slot may be written again. `channel` is the same number on
/// both sides and belongs to one (sender, receiver, value); what is sent on a
/// channel is received in the same order.
typedef struct pmrt_action {
  uint32_t kind; ///< pmrt_action_kind
  uint32_t index;
  uint32_t micro_batch;
  uint32_t peer;
  uint32_t channel;
  uint32_t reserved;
} pmrt_action;

/// The mesh axes over which the members of a communicator differ. Collectives
/// that are started have communicators of a lane of their own, so that their
/// order is theirs alone.
typedef struct pmrt_communicator {
  const char *name;
  uint32_t num_axes;
  uint32_t lane; ///< 0: in the order of the instructions; 1: started
  const uint32_t *axes; ///< indices of mesh axes
} pmrt_communicator;

typedef struct pmrt_axis {
  const char *name;
  uint32_t kind; ///< 0 spatial, 1 temporal, 2 stage
  uint32_t size;
} pmrt_axis;

/// What a kernel is launched on. Its parameters are pointers to device memory: the
/// instruction's operands, the rank's coordinates (int64, one a mesh axis) and
/// scratch.
typedef struct pmrt_launch {
  uint32_t blocks, threads;
} pmrt_launch;

/// The functions of all kernels, by their names.
typedef struct pmrt_image {
  uint32_t processor; ///< 90 for machine code of sm_90; 0 for text (PTX)
  uint32_t reserved;
  uint64_t bytes;
  const void *data; ///< text ends with a zero byte, which `bytes` counts
} pmrt_image;

/// A part of the arena for what a stream needs while one of its instructions runs:
/// a kernel's scratch, a matrix product's, the packed operands of a collective.
typedef struct pmrt_workspace {
  uint64_t offset, bytes;
} pmrt_workspace;

/// What a role for GPUs has besides.
typedef struct pmrt_device_code {
  const pmrt_launch *launches; ///< one for each kernel
  uint32_t num_images, num_workspaces;
  const pmrt_image *images;
  const pmrt_workspace *workspaces; ///< of the streams of pmrt_instruction
} pmrt_device_code;

typedef struct pmrt_role {
  uint32_t abi_version;
  uint32_t num_axes;
  const pmrt_axis *axes; ///< outermost first
  uint64_t arena_bytes;  ///< everything below, aligned to 64
  uint64_t scratch_offset;
  uint64_t scratch_bytes;
  uint32_t num_buffers, num_kernels, num_bodies, num_communicators;
  uint64_t num_actions;
  const pmrt_buffer *buffers;
  const pmrt_kernel *kernels;
  const pmrt_body *bodies;
  const pmrt_communicator *communicators;
  const pmrt_action *actions; ///< of one step
  const char *bundle_hash;
  const pmrt_device_code *device; ///< null: a role for the host
} pmrt_role;

#ifdef __cplusplus
}
#endif

#endif // PMRT_PMRT_H
