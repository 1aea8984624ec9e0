//===- meeting_model.c - Two roles that meet on communicators, by hand ----===//
//
// The mesh is dp=2 by pp=2. Both roles sum `first` [8] over pp, `second` [4] over
// pp, and then both over all ranks. ROLE is the number of the role.
//
//===----------------------------------------------------------------------===//

#include "pmrt/pmrt.h"

#include <stddef.h>

enum { FIRST, SECOND };
enum { FIRST_BYTES = 32, SECOND_BYTES = 16 };

static const pmrt_buffer buffers[] = {
    {"first", 0, FIRST_BYTES, 64, 1, PMRT_F32},
    {"second", 64, SECOND_BYTES, 64, 1, PMRT_F32},
};

static void one(void *const *operands, int64_t begin, int64_t end,
                void *scratch, const pmrt_kernel_context *context) {
  for (int64_t i = begin; i < end; ++i)
    ((float *)operands[0])[i] = ROLE + 1;
}

static const pmrt_kernel kernels[] = {
    {"eight_ones", one, 8, 8, 0, 0, FIRST_BYTES},
    {"four_ones", one, 4, 4, 0, 0, SECOND_BYTES}};

#define UPDATE (PMRT_READ | PMRT_WRITE)
static const pmrt_operand first_written[] = {{FIRST, PMRT_WRITE, 0, FIRST_BYTES}};
static const pmrt_operand second_written[] = {
    {SECOND, PMRT_WRITE, 0, SECOND_BYTES}};
static const pmrt_operand first_summed[] = {{FIRST, UPDATE, 0, FIRST_BYTES}};
static const pmrt_operand second_summed[] = {{SECOND, UPDATE, 0, SECOND_BYTES}};
static const pmrt_operand both_summed[] = {{FIRST, UPDATE, 0, FIRST_BYTES},
                                           {SECOND, UPDATE, 0, SECOND_BYTES}};
static const uint64_t first_counts[] = {8}, second_counts[] = {4};
static const uint64_t both_counts[] = {8, 4};
static const pmrt_collective sum_first = {0, PMRT_F32,     PMRT_SUM,
                                          0, first_counts, 1};
static const pmrt_collective sum_second = {0, PMRT_F32,      PMRT_SUM,
                                           1, second_counts, 1};
static const pmrt_collective sum_both = {1, PMRT_F32,    PMRT_SUM,
                                         2, both_counts, 1};

static const pmrt_instruction instructions[] = {
    {PMRT_OP_KERNEL, 0, 1, 0, first_written, &kernels[0], "ones"},
    {PMRT_OP_KERNEL, 0, 1, 0, second_written, &kernels[1], "ones"},
    {PMRT_OP_ALL_REDUCE, 1, 1, 0, first_summed, &sum_first, "sum.first"},
    {PMRT_OP_ALL_REDUCE, 1, 1, 0, second_summed, &sum_second, "sum.second"},
    {PMRT_OP_ALL_REDUCE, 1, 2, 0, both_summed, &sum_both, "sum.both"}};

static const pmrt_body bodies[] = {
    {ROLE ? "stage1_forward" : "stage0_forward", PMRT_FORWARD, ROLE,
     sizeof(instructions) / sizeof(pmrt_instruction), instructions}};
static const pmrt_action actions[] = {{PMRT_RUN, 0, 0, 0, 0, 0}};
static const uint32_t over_pp[] = {1}, over_all[] = {0, 1};
static const pmrt_communicator communicators[] = {{"pp", 1, 0, over_pp},
                                                  {"dp,pp", 2, 0, over_all}};
static const pmrt_axis axes[] = {{"dp", 0, 2}, {"pp", 2, 2}};

__attribute__((visibility("default"))) const pmrt_role pmrt_role_table = {
    PMRT_ABI_VERSION,
    2,
    axes,
    192,
    128,
    64,
    2,
    2,
    1,
    2,
    1,
    buffers,
    kernels,
    bodies,
    communicators,
    actions,
    "0000000000000000000000000000000000000000000000000000000000000000"};
