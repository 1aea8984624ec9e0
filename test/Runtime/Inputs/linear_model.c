//===- linear_model.c - A role written by hand ----------------------------===//
//
// logits = embed[input_ids] head^T, cross-entropy against the next label, AdamW
// on `head`; `embed` is frozen. The mesh is dp=DP (spatial) by mb=MB (temporal).
// FAULT adds one mistake that the runtime has to catch:
//   1  a kernel reads a scratch operand that nothing has written
//   2  a kernel uses its private scratch before it has written it
//   3  an operand ends behind its buffer
//   4  the ABI version is another one
//   5  a kernel divides by zero, so that its process is ended by a signal
//
//===----------------------------------------------------------------------===//

#include "pmrt/pmrt.h"

#include <math.h>
#include <stddef.h>

#ifndef FAULT
#define FAULT 0
#endif

enum {
  BATCH = 8,
  SEQUENCE = 4,
  VOCABULARY = 16,
  WIDTH = 8,
  SEQUENCES = BATCH / (DP * MB), // of a rank's micro-batch
  ROWS = SEQUENCES * SEQUENCE,
  WEIGHTS = VOCABULARY * WIDTH
};

// Buffers, in the manifest's order.
enum {
  INPUT_IDS,
  LABELS,
  LEARNING_RATE,
  BETA1,
  BETA2,
  EPSILON,
  WEIGHT_DECAY,
  EMBED,
  HEAD,
  MOMENT1,
  MOMENT2,
  STEP,
  COUNT,
  X,
  LOGITS,
  DLOGITS,
  LOSS_SUM,
  GRADIENT,
  LOSS,
  GRAD_NORM,
  NUM_BUFFERS
};

#define ALIGN(BYTES) (((BYTES) + 63) / 64 * 64)
#define IDS_BYTES (ROWS * 4)
#define X_BYTES ((uint64_t)ROWS * WIDTH * 4)
#define LOGITS_BYTES ((uint64_t)ROWS * VOCABULARY * 4)
#define WEIGHT_BYTES ((uint64_t)WEIGHTS * 4)

enum {
  AT_INPUT_IDS = 0,
  AT_LABELS = AT_INPUT_IDS + ALIGN(MB * IDS_BYTES),
  AT_SCALARS = AT_LABELS + ALIGN(MB * IDS_BYTES), // 64 bytes each
  AT_EMBED = AT_SCALARS + 10 * 64,
  AT_HEAD = AT_EMBED + ALIGN(WEIGHT_BYTES),
  AT_MOMENT1 = AT_HEAD + ALIGN(WEIGHT_BYTES),
  AT_MOMENT2 = AT_MOMENT1 + ALIGN(WEIGHT_BYTES),
  AT_X = AT_MOMENT2 + ALIGN(WEIGHT_BYTES),
  AT_LOGITS = AT_X + MB * ALIGN(X_BYTES),
  AT_DLOGITS = AT_LOGITS + ALIGN(LOGITS_BYTES),
  AT_GRADIENT = AT_DLOGITS + MB * ALIGN(LOGITS_BYTES),
  AT_SCRATCH = AT_GRADIENT + ALIGN(WEIGHT_BYTES),
  SCRATCH_BYTES = ALIGN(ROWS * 4) + 64,
  ARENA_BYTES = AT_SCRATCH + SCRATCH_BYTES
};

#define SCALAR(NAME, PLACE) {NAME, AT_SCALARS + 64 * PLACE, 4, 64, 1, PMRT_F32}

static const pmrt_buffer buffers[NUM_BUFFERS] = {
    {"input_ids", AT_INPUT_IDS, IDS_BYTES, IDS_BYTES, MB, PMRT_I32},
    {"labels", AT_LABELS, IDS_BYTES, IDS_BYTES, MB, PMRT_I32},
    SCALAR("learning_rate", 0),
    SCALAR("beta1", 1),
    SCALAR("beta2", 2),
    SCALAR("epsilon", 3),
    SCALAR("weight_decay", 4),
    {"embed", AT_EMBED, WEIGHT_BYTES, WEIGHT_BYTES, 1, PMRT_F32},
    {"head", AT_HEAD, WEIGHT_BYTES, WEIGHT_BYTES, 1, PMRT_F32},
    {"head.m", AT_MOMENT1, WEIGHT_BYTES, WEIGHT_BYTES, 1, PMRT_F32},
    {"head.v", AT_MOMENT2, WEIGHT_BYTES, WEIGHT_BYTES, 1, PMRT_F32},
    SCALAR("step", 5),
    SCALAR("count", 6),
    {"x", AT_X, X_BYTES, ALIGN(X_BYTES), MB, PMRT_F32},
    {"logits", AT_LOGITS, LOGITS_BYTES, LOGITS_BYTES, 1, PMRT_F32},
    {"dlogits", AT_DLOGITS, LOGITS_BYTES, ALIGN(LOGITS_BYTES), MB, PMRT_F32},
    SCALAR("loss_sum", 7),
    {"head.gradient", AT_GRADIENT, WEIGHT_BYTES, WEIGHT_BYTES, 1, PMRT_F32},
    SCALAR("loss", 8),
    SCALAR("grad_norm", 9)};

// Kernels.

static void count_targets(void *const *operands, int64_t begin, int64_t end,
                          void *scratch, const pmrt_kernel_context *context) {
  const int32_t *labels = operands[0];
  float *count = operands[1];
  *count = 0;
  for (int64_t row = 0; row < SEQUENCES * MB; ++row)
    for (int64_t s = 1; s < SEQUENCE; ++s)
      *count += labels[row * SEQUENCE + s] != -100;
}

static void embed(void *const *operands, int64_t begin, int64_t end,
                  void *scratch, const pmrt_kernel_context *context) {
  const int32_t *ids = operands[0];
  const float *table = operands[1];
  float *x = operands[2];
  for (int64_t row = begin; row < end; ++row)
    for (int64_t i = 0; i < WIDTH; ++i)
      x[row * WIDTH + i] = table[ids[row] * WIDTH + i];
}

#if FAULT == 5
// The division below is meant to trap, not to be reported by a sanitizer.
__attribute__((no_sanitize("undefined")))
#endif
static void cross_entropy(void *const *operands, int64_t begin, int64_t end,
                          void *scratch, const pmrt_kernel_context *context) {
  const float *logits = operands[0];
  const int32_t *labels = operands[1];
  const float *count = operands[2];
  float *dlogits = operands[3], *nll = operands[4];
  float *shifted = scratch;
  float extra = FAULT == 2 ? shifted[VOCABULARY - 1] : 0.0f;
#if FAULT == 5
  volatile int64_t zero = begin - begin;
  nll[0] = (float)(begin / zero);
#endif
  for (int64_t row = begin; row < end; ++row) {
    int64_t position = row % SEQUENCE;
    int32_t target = position + 1 < SEQUENCE ? labels[row + 1] : -100;
    const float *x = logits + row * VOCABULARY;
    float most = x[0], sum = 0;
    for (int64_t i = 1; i < VOCABULARY; ++i)
      most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < VOCABULARY; ++i) {
      shifted[i] = expf(x[i] - most);
      sum += shifted[i];
    }
    float scale = target == -100 ? 0 : 1 / (*count > 1 ? *count : 1);
    for (int64_t i = 0; i < VOCABULARY; ++i)
      dlogits[row * VOCABULARY + i] =
          scale * (shifted[i] / sum - (i == target ? 1 : 0));
    nll[row] = target == -100 ? 0 : logf(sum) + most - x[target] + extra;
  }
}

static void add_loss(void *const *operands, int64_t begin, int64_t end,
                     void *scratch, const pmrt_kernel_context *context) {
  const float *nll = operands[0];
  float *sum = operands[1];
  for (int64_t row = 0; row < ROWS; ++row)
    *sum += nll[row];
}

static void finish(void *const *operands, int64_t begin, int64_t end,
                   void *scratch, const pmrt_kernel_context *context) {
  const float *sum = operands[0], *count = operands[1], *gradient = operands[2];
  float *loss = operands[3], *norm = operands[4];
  float squares = 0;
  for (int64_t i = 0; i < WEIGHTS; ++i)
    squares += gradient[i] * gradient[i];
  *loss = *sum / (*count > 1 ? *count : 1);
  *norm = sqrtf(squares);
}

static void adamw(void *const *operands, int64_t begin, int64_t end,
                  void *scratch, const pmrt_kernel_context *context) {
  float *p = operands[0], *m = operands[1], *v = operands[2];
  const float *g = operands[3];
  float rate = *(float *)operands[4], beta1 = *(float *)operands[5];
  float beta2 = *(float *)operands[6], epsilon = *(float *)operands[7];
  float decay = *(float *)operands[8], t = *(float *)operands[9] + 1;
  float correction1 = 1 - powf(beta1, t), correction2 = 1 - powf(beta2, t);
  for (int64_t i = begin; i < end; ++i) {
    p[i] *= 1 - rate * decay;
    m[i] = beta1 * m[i] + (1 - beta1) * g[i];
    v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
    p[i] -= rate / correction1 * m[i] /
            (sqrtf(v[i]) / sqrtf(correction2) + epsilon);
  }
}

static void next_step(void *const *operands, int64_t begin, int64_t end,
                      void *scratch, const pmrt_kernel_context *context) {
  *(float *)operands[0] += 1;
}

enum { COUNT_TARGETS, EMBED_ROWS, CROSS_ENTROPY, ADD_LOSS, FINISH, ADAMW, NEXT };

static const pmrt_kernel kernels[] = {
    {"count_targets", count_targets, 1, 1, 0, 0, 0},
    {"embed", embed, ROWS, 1, 0, 0, 2 * X_BYTES},
    {"cross_entropy", cross_entropy, ROWS, 2, VOCABULARY * 4, 0, 0},
    {"add_loss", add_loss, 1, 1, 0, 0, 0},
    {"finish", finish, 1, 1, 0, 0, 0},
    {"adamw", adamw, WEIGHTS, 16, 0, 0, 0},
    {"next_step", next_step, 1, 1, 0, 0, 0}};

// Instructions.

#define R PMRT_READ
#define W PMRT_WRITE
#define RW (PMRT_READ | PMRT_WRITE)
#define ALL(NAME) sizeof(NAME) / sizeof(NAME[0]), NAME
#define KERNEL(INDEX, OPERANDS, LOCATION)                                      \
  {PMRT_OP_KERNEL, 0, sizeof(OPERANDS) / sizeof(OPERANDS[0]), 0, OPERANDS,     \
   &kernels[INDEX], LOCATION}

static const pmrt_operand count_operands[] = {
    {LABELS, R, 0, MB *IDS_BYTES}, {COUNT, W, 0, 4}};
static const pmrt_operand count_reduce[] = {{COUNT, RW, 0, 4}};
static const uint64_t one[] = {1};
static const pmrt_collective reduce_count = {0, PMRT_F32, PMRT_SUM, 0, one, 1};
static const pmrt_instruction prologue[] = {
    KERNEL(COUNT_TARGETS, count_operands, "loss.count"),
    {PMRT_OP_ALL_REDUCE, 1, 1, 0, count_reduce, &reduce_count, "loss.count"}};

static const pmrt_operand embed_operands[] = {{INPUT_IDS, R, 0, IDS_BYTES},
                                              {EMBED, R, 0, WEIGHT_BYTES},
                                              {X, W, 0, X_BYTES}};
static const pmrt_operand logits_operands[] = {
    {X, R, 0, X_BYTES},
    {HEAD, R, 0, FAULT == 3 ? 2 * WEIGHT_BYTES : WEIGHT_BYTES},
    {LOGITS, W, 0, LOGITS_BYTES}};
static const pmrt_gemm logits_gemm = {ROWS,
                                      VOCABULARY,
                                      WIDTH,
                                      WIDTH,
                                      WIDTH,
                                      VOCABULARY,
                                      {1, 1, 1, 1},
                                      {0, 0, 0, 0},
                                      {0, 0, 0, 0},
                                      {0, 0, 0, 0},
                                      1.0f,
                                      0,
                                      1,
                                      0,
                                      PMRT_F32};
static const pmrt_operand loss_operands[] = {
    {LOGITS, R, 0, LOGITS_BYTES},
    {LABELS, R, 0, IDS_BYTES},
    {COUNT, R, 0, 4},
    {DLOGITS, W, 0, LOGITS_BYTES},
    {PMRT_SCRATCH, W, 0, ROWS * 4}};
static const pmrt_operand add_operands[] = {
    {PMRT_SCRATCH, R, FAULT == 1 ? 64 : 0, ROWS * 4}, {LOSS_SUM, RW, 0, 4}};
static const pmrt_instruction forward[] = {
    KERNEL(EMBED_ROWS, embed_operands, "embed"),
    {PMRT_OP_GEMM, 0, 3, 0, logits_operands, &logits_gemm, "head"},
    KERNEL(CROSS_ENTROPY, loss_operands, "loss"),
    KERNEL(ADD_LOSS, add_operands, "loss")};

static const pmrt_operand gradient_operands[] = {
    {DLOGITS, R, 0, LOGITS_BYTES},
    {X, R, 0, X_BYTES},
    {GRADIENT, RW, 0, WEIGHT_BYTES}};
static const pmrt_gemm gradient_gemm = {VOCABULARY,
                                        WIDTH,
                                        ROWS,
                                        VOCABULARY,
                                        WIDTH,
                                        WIDTH,
                                        {1, 1, 1, 1},
                                        {0, 0, 0, 0},
                                        {0, 0, 0, 0},
                                        {0, 0, 0, 0},
                                        1.0f,
                                        1,
                                        0,
                                        1,
                                        PMRT_F32};
static const pmrt_instruction backward[] = {
    {PMRT_OP_GEMM, 0, 3, 0, gradient_operands, &gradient_gemm, "head"}};

static const pmrt_operand reduce_operands[] = {{GRADIENT, RW, 0, WEIGHT_BYTES},
                                               {LOSS_SUM, RW, 0, 4}};
static const uint64_t reduce_counts[] = {WEIGHTS, 1};
static const pmrt_collective reduce_gradient = {0, PMRT_F32,      PMRT_SUM,
                                                0, reduce_counts, 1};
static const pmrt_operand finish_operands[] = {
    {LOSS_SUM, R, 0, 4},
    {COUNT, R, 0, 4},
    {GRADIENT, R, 0, WEIGHT_BYTES},
    {LOSS, W, 0, 4},
    {GRAD_NORM, W, 0, 4}};
static const pmrt_operand adamw_operands[] = {
    {HEAD, RW, 0, WEIGHT_BYTES},    {MOMENT1, RW, 0, WEIGHT_BYTES},
    {MOMENT2, RW, 0, WEIGHT_BYTES}, {GRADIENT, R, 0, WEIGHT_BYTES},
    {LEARNING_RATE, R, 0, 4},       {BETA1, R, 0, 4},
    {BETA2, R, 0, 4},               {EPSILON, R, 0, 4},
    {WEIGHT_DECAY, R, 0, 4},        {STEP, R, 0, 4}};
static const pmrt_operand step_operands[] = {{STEP, RW, 0, 4}};
static const pmrt_instruction update[] = {
    {PMRT_OP_ALL_REDUCE, 1, 2, 0, reduce_operands, &reduce_gradient, "head"},
    KERNEL(FINISH, finish_operands, "loss"),
    KERNEL(ADAMW, adamw_operands, "head"),
    KERNEL(NEXT, step_operands, "")};

#define BODY(NAME, KIND)                                                       \
  {"stage0_" #NAME, KIND, 0, sizeof(NAME) / sizeof(NAME[0]), NAME}
static const pmrt_body bodies[] = {
    BODY(prologue, PMRT_PROLOGUE), BODY(forward, PMRT_FORWARD),
    BODY(backward, PMRT_BACKWARD), BODY(update, PMRT_UPDATE)};

static const pmrt_action actions[] = {{PMRT_RUN, 0, 0, 0, 0, 0},
                                      {PMRT_RUN, 1, 0, 0, 0, 0},
                                      {PMRT_RUN, 2, 0, 0, 0, 0},
#if MB > 1
                                      {PMRT_RUN, 1, 1, 0, 0, 0},
                                      {PMRT_RUN, 2, 1, 0, 0, 0},
#endif
#if MB > 2
                                      {PMRT_RUN, 1, 2, 0, 0, 0},
                                      {PMRT_RUN, 2, 2, 0, 0, 0},
                                      {PMRT_RUN, 1, 3, 0, 0, 0},
                                      {PMRT_RUN, 2, 3, 0, 0, 0},
#endif
                                      {PMRT_RUN, 3, 0, 0, 0, 0}};

static const uint32_t dp_axes[] = {0};
static const pmrt_communicator communicators[] = {{"dp", 1, 0, dp_axes}};
static const pmrt_axis axes[] = {{"dp", 0, DP}, {"mb", 1, MB}};

__attribute__((visibility("default"))) const pmrt_role pmrt_role_table = {
    FAULT == 4 ? PMRT_ABI_VERSION + 1 : PMRT_ABI_VERSION,
    2,
    axes,
    ARENA_BYTES,
    AT_SCRATCH,
    SCRATCH_BYTES,
    NUM_BUFFERS,
    sizeof(kernels) / sizeof(kernels[0]),
    sizeof(bodies) / sizeof(bodies[0]),
    1,
    sizeof(actions) / sizeof(actions[0]),
    buffers,
    kernels,
    bodies,
    communicators,
    actions,
    "linear-hash"};
