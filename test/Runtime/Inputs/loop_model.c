//===- loop_model.c - A function with a loop and a choice, by hand --------===//
//
// out0 = arg0 [8], over which `while (i < arg1) x = x / 2 + sum(x)`, with the sum
// over all ranks; out1 = 100, 200 or 300 for arg1 = 0, 1 or anything else. The
// mesh is dp=2, which cuts arg0 and out0. FAULT adds one mistake:
//   1  the loop jumps behind the end of its body
//   2  the choice is by a float
//   3  each rank has another out1
//
//===----------------------------------------------------------------------===//

#include "pmrt/pmrt.h"

#include <stddef.h>

#ifndef FAULT
#define FAULT 0
#endif

enum { LOCAL = 4, BYTES = LOCAL * 4 };
enum { ARG0, ARG1, OUT0, OUT1 };
enum { AT_I = 0, AT_MORE = 64, AT_SUM = 128, AT_SCRATCH = 256 };

static const pmrt_buffer buffers[] = {
    {"arg0", 0, BYTES, 64, 1, PMRT_F32},
    {"arg1", 64, 4, 64, 1, PMRT_I32},
    {"out0", 128, BYTES, 64, 1, PMRT_F32},
    {"out1", 192, 4, 64, 1, PMRT_I32},
};

static void less(void *const *operands, int64_t begin, int64_t end,
                 void *scratch, const pmrt_kernel_context *context) {
  *(uint8_t *)operands[2] = *(int32_t *)operands[0] < *(int32_t *)operands[1];
}

static void sum(void *const *operands, int64_t begin, int64_t end,
                void *scratch, const pmrt_kernel_context *context) {
  float total = 0;
  for (int i = 0; i < LOCAL; ++i)
    total += ((float *)operands[0])[i];
  *(float *)operands[1] = total;
}

static void step(void *const *operands, int64_t begin, int64_t end,
                 void *scratch, const pmrt_kernel_context *context) {
  for (int i = 0; i < LOCAL; ++i)
    ((float *)operands[0])[i] =
        ((float *)operands[0])[i] / 2 + *(float *)operands[1];
}

/// By itself: what depends on a rank's block must not reach the condition.
static void count(void *const *operands, int64_t begin, int64_t end,
                  void *scratch, const pmrt_kernel_context *context) {
  ++*(int32_t *)operands[0];
}

#define CONSTANT(NAME, VALUE)                                                  \
  static void NAME(void *const *operands, int64_t begin, int64_t end,          \
                   void *scratch, const pmrt_kernel_context *context) {        \
    *(int32_t *)operands[0] =                                                  \
        VALUE + (FAULT == 3 ? (int32_t)context->coordinates[0] : 0);           \
  }
CONSTANT(hundred, 100)
CONSTANT(two_hundred, 200)
CONSTANT(three_hundred, 300)

static const pmrt_kernel kernels[] = {
    {"less", less, 1, 1, 0, 1, 9},
    {"sum", sum, 1, 1, 0, LOCAL, BYTES},
    {"step", step, 1, 1, 0, 2 * LOCAL, 2 * BYTES},
    {"hundred", hundred, 1, 1, 0, 0, 4},
    {"two_hundred", two_hundred, 1, 1, 0, 0, 4},
    {"three_hundred", three_hundred, 1, 1, 0, 0, 4},
    {"count", count, 1, 1, 0, 0, 8},
};

static const uint64_t counts[] = {1};
static const pmrt_collective total = {0, PMRT_F32, PMRT_SUM, 0, counts, 1};

#define READ(BUFFER, OFFSET, SIZE) {BUFFER, PMRT_READ, OFFSET, SIZE}
#define WRITE(BUFFER, OFFSET, SIZE) {BUFFER, PMRT_WRITE, OFFSET, SIZE}
#define UPDATE(BUFFER, OFFSET, SIZE)                                           \
  {BUFFER, PMRT_READ | PMRT_WRITE, OFFSET, SIZE}

static const pmrt_operand zero_operands[] = {WRITE(PMRT_SCRATCH, AT_I, 4)};
static const pmrt_operand copy_operands[] = {READ(ARG0, 0, BYTES),
                                             WRITE(OUT0, 0, BYTES)};
static const pmrt_operand less_operands[] = {READ(PMRT_SCRATCH, AT_I, 4),
                                             READ(ARG1, 0, 4),
                                             WRITE(PMRT_SCRATCH, AT_MORE, 1)};
static const pmrt_operand more_operands[] = {READ(PMRT_SCRATCH, AT_MORE, 1)};
static const pmrt_operand sum_operands[] = {READ(OUT0, 0, BYTES),
                                            WRITE(PMRT_SCRATCH, AT_SUM, 4)};
static const pmrt_operand total_operands[] = {UPDATE(PMRT_SCRATCH, AT_SUM, 4)};
static const pmrt_operand step_operands[] = {UPDATE(OUT0, 0, BYTES),
                                             READ(PMRT_SCRATCH, AT_SUM, 4)};
static const pmrt_operand count_operands[] = {UPDATE(PMRT_SCRATCH, AT_I, 4)};
static const pmrt_operand choose_operands[] = {READ(ARG1, 0, 4)};
static const pmrt_operand out1_operands[] = {WRITE(OUT1, 0, 4)};

static const uint64_t more_targets[] = {9, 4};
static const uint64_t again_target[] = {FAULT == 1 ? 16 : 2};
static const uint64_t choose_targets[] = {10, 12, 14};
static const uint64_t end_target[] = {15};
static const pmrt_jump more = {2, PMRT_I1, more_targets};
static const pmrt_jump again = {1, PMRT_I1, again_target};
static const pmrt_jump choose = {3, FAULT == 2 ? PMRT_F32 : PMRT_I32,
                                 choose_targets};
static const pmrt_jump end = {1, PMRT_I1, end_target};

#define KERNEL(OPERANDS, INDEX)                                                \
  {PMRT_OP_KERNEL, 0, sizeof(OPERANDS) / sizeof(pmrt_operand), 0, OPERANDS,    \
   &kernels[INDEX], "loop"}

static const pmrt_instruction instructions[] = {
    {PMRT_OP_ZERO, 0, 1, 0, zero_operands, NULL, "start"},
    {PMRT_OP_COPY, 0, 2, 0, copy_operands, NULL, "start"},
    KERNEL(less_operands, 0),
    {PMRT_OP_SWITCH, 0, 1, 0, more_operands, &more, "loop"},
    KERNEL(sum_operands, 1),
    {PMRT_OP_ALL_REDUCE, 1, 1, 0, total_operands, &total, "loop.sum"},
    KERNEL(step_operands, 2),
    KERNEL(count_operands, 6),
    {PMRT_OP_JUMP, 0, 0, 0, NULL, &again, "loop"},
    {PMRT_OP_SWITCH, 0, 1, 0, choose_operands, &choose, "choice"},
    KERNEL(out1_operands, 3),
    {PMRT_OP_JUMP, 0, 0, 0, NULL, &end, "choice"},
    KERNEL(out1_operands, 4),
    {PMRT_OP_JUMP, 0, 0, 0, NULL, &end, "choice"},
    KERNEL(out1_operands, 5),
};

static const pmrt_body bodies[] = {
    {"stage0_forward", PMRT_FORWARD, 0,
     sizeof(instructions) / sizeof(pmrt_instruction), instructions}};
static const pmrt_action actions[] = {{PMRT_RUN, 0, 0, 0, 0, 0}};
static const uint32_t communicator_axes[] = {0};
static const pmrt_communicator communicators[] = {
    {"dp", 1, 0, communicator_axes}};
static const pmrt_axis axes[] = {{"dp", 0, 2}};

__attribute__((visibility("default"))) const pmrt_role pmrt_role_table = {
    PMRT_ABI_VERSION,
    1,
    axes,
    AT_SCRATCH + 256,
    AT_SCRATCH,
    256,
    sizeof(buffers) / sizeof(pmrt_buffer),
    sizeof(kernels) / sizeof(pmrt_kernel),
    1,
    1,
    1,
    buffers,
    kernels,
    bodies,
    communicators,
    actions,
    "loop-hash"};
