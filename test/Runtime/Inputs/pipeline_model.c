//===- pipeline_model.c - Two stages written by hand ----------------------===//
//
// h = w0 * id on stage 0; y = w1 * h and loss = mean(y) on stage 1; the update
// is w -= learning_rate * gradient. Stage 0 makes all forwards first, stage 1
// alternates. The mesh is dp=DP (spatial) by pp=2 (stage) by mb=4 (temporal);
// ROLE is the stage. Each forward and each backward sleeps for SLEEP_US.
// FAULT adds one mistake that the runtime has to catch:
//   1  stage 0 expects the gradients of two micro-batches in another order
//   2  stage 1 sends a gradient before it has computed it
//   3  a transfer goes to a role that there is not
//
//===----------------------------------------------------------------------===//

#include "pmrt/pmrt.h"

#include <math.h>
#include <stddef.h>
#include <time.h>

#ifndef FAULT
#define FAULT 0
#endif
#ifndef SLEEP_US
#define SLEEP_US 0
#endif

enum {
  TOKENS = 32,
  MB = 4,
  ROWS = TOKENS / (DP * MB), // of a rank's micro-batch
  ROW_BYTES = ROWS * 4
};

// Buffers, in the manifest's order; the first ones are in both roles.
enum { H, DH, RATE, W, DW, SQUARES0, SQUARES1, GRAD_NORM, FIRST_OWN };
enum { INPUT_IDS = FIRST_OWN };
enum { LOSS_SUM = FIRST_OWN, LOSS };

#define ALIGN(BYTES) (((BYTES) + 63) / 64 * 64)
enum {
  AT_H = 0,
  AT_DH = AT_H + MB * ALIGN(ROW_BYTES),
  AT_SCALARS = AT_DH + MB * ALIGN(ROW_BYTES),
  AT_INPUT_IDS = AT_SCALARS + 8 * 64,
  AT_SCRATCH = AT_INPUT_IDS + ALIGN(MB * ROW_BYTES),
  ARENA_BYTES = AT_SCRATCH + 64
};

#define SCALAR(NAME, PLACE) {NAME, AT_SCALARS + 64 * PLACE, 4, 64, 1, PMRT_F32}

static const pmrt_buffer buffers[] = {
    {"h", AT_H, ROW_BYTES, ALIGN(ROW_BYTES), MB, PMRT_F32},
    {"dh", AT_DH, ROW_BYTES, ALIGN(ROW_BYTES), MB, PMRT_F32},
    SCALAR("learning_rate", 0),
    SCALAR(ROLE ? "w1" : "w0", 1),
    SCALAR(ROLE ? "w1.gradient" : "w0.gradient", 2),
    SCALAR("squares0", 3),
    SCALAR("squares1", 4),
    SCALAR("grad_norm", 5),
#if ROLE == 0
    {"input_ids", AT_INPUT_IDS, ROW_BYTES, ROW_BYTES, MB, PMRT_I32},
#else
    SCALAR("loss_sum", 6),
    SCALAR("loss", 7),
#endif
};

// Kernels.

#define KERNEL_FUNCTION(NAME)                                                  \
  static void NAME(void *const *operands, int64_t begin, int64_t end,          \
                   void *scratch, const pmrt_kernel_context *context)

static void rest(void) {
  struct timespec time = {SLEEP_US / 1000000, SLEEP_US % 1000000 * 1000L};
  nanosleep(&time, NULL);
}

#if ROLE == 0
KERNEL_FUNCTION(forward) {
  const int32_t *ids = operands[0];
  float w = *(float *)operands[1], *h = operands[2];
  for (int64_t i = 0; i < ROWS; ++i)
    h[i] = w * (float)ids[i];
  rest();
}

KERNEL_FUNCTION(backward) {
  const int32_t *ids = operands[0];
  const float *dh = operands[1];
  float *dw = operands[2];
  for (int64_t i = 0; i < ROWS; ++i)
    *dw += dh[i] * (float)ids[i];
  rest();
}
#else
KERNEL_FUNCTION(forward) {
  const float *h = operands[0];
  float w = *(float *)operands[1], *sum = operands[2];
  for (int64_t i = 0; i < ROWS; ++i)
    *sum += w * h[i] / TOKENS;
  rest();
}

KERNEL_FUNCTION(backward) {
  const float *h = operands[0];
  float w = *(float *)operands[1], *dh = operands[2], *dw = operands[3];
  for (int64_t i = 0; i < ROWS; ++i) {
    dh[i] = w / TOKENS;
    *dw += h[i] / TOKENS;
  }
  rest();
}
#endif

KERNEL_FUNCTION(square) {
  float dw = *(float *)operands[0];
  *(float *)operands[1] = dw * dw;
}

KERNEL_FUNCTION(update_weight) {
  float *w = operands[0];
  *w -= *(float *)operands[1] * *(float *)operands[2];
  *(float *)operands[5] =
      sqrtf(*(float *)operands[3] + *(float *)operands[4]);
#if ROLE == 1
  *(float *)operands[7] = *(float *)operands[6];
#endif
}

static const pmrt_kernel kernels[] = {
    {"forward", forward, 1, 1, 0, 2 * ROWS, 2 * ROW_BYTES},
    {"backward", backward, 1, 1, 0, 4 * ROWS, 2 * ROW_BYTES},
    {"square", square, 1, 1, 0, 1, 8},
    {"update", update_weight, 1, 1, 0, 2, 8}};

// Instructions.

#define R PMRT_READ
#define WR PMRT_WRITE
#define RW (PMRT_READ | PMRT_WRITE)
#define KERNEL(INDEX, OPERANDS, LOCATION)                                      \
  {PMRT_OP_KERNEL, 0, sizeof(OPERANDS) / sizeof(OPERANDS[0]), 0, OPERANDS,     \
   &kernels[INDEX], LOCATION}
#define LAYER (ROLE ? "layers.1" : "layers.0")

#if ROLE == 0
static const pmrt_operand forward_operands[] = {{INPUT_IDS, R, 0, ROW_BYTES},
                                                {W, R, 0, 4},
                                                {H, WR, 0, ROW_BYTES}};
static const pmrt_operand backward_operands[] = {
    {INPUT_IDS, R, 0, ROW_BYTES}, {DH, R, 0, ROW_BYTES}, {DW, RW, 0, 4}};
#else
static const pmrt_operand forward_operands[] = {
    {H, R, 0, ROW_BYTES}, {W, R, 0, 4}, {LOSS_SUM, RW, 0, 4}};
static const pmrt_operand backward_operands[] = {{H, R, 0, ROW_BYTES},
                                                 {W, R, 0, 4},
                                                 {DH, WR, 0, ROW_BYTES},
                                                 {DW, RW, 0, 4}};
#endif
static const pmrt_instruction forward_body[] = {
    KERNEL(0, forward_operands, LAYER)};
static const pmrt_instruction backward_body[] = {
    KERNEL(1, backward_operands, LAYER)};

static const pmrt_operand sum_operands[] = {{DW, RW, 0, 4},
#if ROLE == 1
                                            {LOSS_SUM, RW, 0, 4}
#endif
};
static const uint64_t sum_counts[] = {1, 1};
static const pmrt_collective sum = {0, PMRT_F32, PMRT_SUM, 0, sum_counts, 1};
static const pmrt_operand square_operands[] = {
    {DW, R, 0, 4}, {ROLE ? SQUARES1 : SQUARES0, WR, 0, 4}};
static const pmrt_instruction reduce_body[] = {
    {PMRT_OP_ALL_REDUCE, 1, 1 + ROLE, 0, sum_operands, &sum, LAYER},
    KERNEL(2, square_operands, LAYER)};

static const pmrt_operand update_operands[] = {
    {W, RW, 0, 4},       {RATE, R, 0, 4},       {DW, R, 0, 4},
    {SQUARES0, R, 0, 4}, {SQUARES1, R, 0, 4},   {GRAD_NORM, WR, 0, 4},
#if ROLE == 1
    {LOSS_SUM, R, 0, 4}, {LOSS, WR, 0, 4}
#endif
};
static const pmrt_instruction update_body[] = {
    KERNEL(3, update_operands, LAYER)};

#define BODY(NAME, KIND)                                                       \
  {ROLE ? "stage1_" #NAME : "stage0_" #NAME, KIND, ROLE,                       \
   sizeof(NAME##_body) / sizeof(NAME##_body[0]), NAME##_body}
enum { F, B, REDUCE, U };
static const pmrt_body bodies[] = {
    BODY(forward, PMRT_FORWARD), BODY(backward, PMRT_BACKWARD),
    BODY(reduce, PMRT_REDUCE), BODY(update, PMRT_UPDATE)};

#define RUN(BODY, M) {PMRT_RUN, BODY, M, 0, 0, 0}
#define SEND(BUFFER, M, CHANNEL) {PMRT_SEND, BUFFER, M, 1 - ROLE, CHANNEL, 0}
#define RECEIVE(BUFFER, M, CHANNEL)                                            \
  {PMRT_RECEIVE, BUFFER, M, 1 - ROLE, CHANNEL, 0}
// Channels: 0 h, 1 dh, 2 and 3 the squares.
static const pmrt_action actions[] = {
#if ROLE == 0
#define FORWARD(M) RUN(F, M), SEND(H, M, 0)
#define BACKWARD(M) RECEIVE(DH, M, 1), RUN(B, M)
    FORWARD(0), FORWARD(1), FORWARD(2), FORWARD(3),
    BACKWARD(0), BACKWARD(1),
#if FAULT == 1
    BACKWARD(3), BACKWARD(2),
#else
    BACKWARD(2), BACKWARD(3),
#endif
    RUN(REDUCE, 0), SEND(SQUARES0, 0, 2), RECEIVE(SQUARES1, 0, 3),
#else
#if FAULT == 2
#define BOTH(M) RECEIVE(H, M, 0), RUN(F, M), SEND(DH, M, 1), RUN(B, M)
#else
#define BOTH(M) RECEIVE(H, M, 0), RUN(F, M), RUN(B, M), SEND(DH, M, 1)
#endif
    BOTH(0), BOTH(1), BOTH(2), BOTH(3),
    RUN(REDUCE, 0), SEND(SQUARES1, 0, 3), RECEIVE(SQUARES0, 0, 2),
#endif
#if FAULT == 3
    {PMRT_SEND, H, 0, 5, 9, 0},
#endif
    RUN(U, 0)};

static const uint32_t dp_axes[] = {0};
static const pmrt_communicator communicators[] = {{"dp", 1, 0, dp_axes}};
static const pmrt_axis axes[] = {{"dp", 0, DP}, {"pp", 2, 2}, {"mb", 1, MB}};

__attribute__((visibility("default"))) const pmrt_role pmrt_role_table = {
    PMRT_ABI_VERSION,
    3,
    axes,
    ARENA_BYTES,
    AT_SCRATCH,
    64,
    sizeof(buffers) / sizeof(buffers[0]),
    sizeof(kernels) / sizeof(kernels[0]),
    sizeof(bodies) / sizeof(bodies[0]),
    1,
    sizeof(actions) / sizeof(actions[0]),
    buffers,
    kernels,
    bodies,
    communicators,
    actions,
    "pipeline-hash"};
