/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tiny_model.h"

enum { D = TINY_D, K = TINY_K, W = 4, PANELS_D = 2, PANELS_K = 2 };

/* Byte offsets of the slots. */
enum {
  AT_W = 0,
  W_STRIDE = 192, /* 2 panels * 6 * 4 * 4 bytes */
  AT_B = AT_W + 2 * W_STRIDE,
  B_STRIDE = 64,
  AT_V = AT_B + 2 * B_STRIDE,
  AT_POS = AT_V + 192,
  TOTAL = AT_POS + 64
};

static float packedAt(const char *packed, int64_t offset, int64_t k, int64_t n) {
  return ((const float *)(packed + offset))[(n / W) * D * W + k * W + n % W];
}

/* Columns are shared out over the threads; between layers all wait. The workspace holds h twice. */
static void run(const attn_abi_call *call, int64_t thread) {
  const float *x = (const float *)call->inputs[0];
  float *logits = (float *)call->outputs[0];
  int64_t B = call->dims[0];
  float *h = (float *)call->workspace, *next = h + B * D;
  const float *pos = (const float *)(call->packed + AT_POS);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t n = thread; n < D; n += call->threads)
      h[b * D + n] = x[b * D + n] + pos[n];
  call->barrier(call->team, thread, 0);
  for (int layer = 0; layer < TINY_LAYERS; ++layer) {
    const float *bias = (const float *)(call->packed + AT_B + layer * B_STRIDE);
    for (int64_t b = 0; b < B; ++b)
      for (int64_t n = thread; n < D; n += call->threads) {
        float sum = h[b * D + n] + bias[n];
        for (int64_t k = 0; k < D; ++k)
          sum += h[b * D + k] * packedAt(call->packed, AT_W + layer * W_STRIDE, k, n);
        next[b * D + n] = sum;
      }
    call->barrier(call->team, thread, 1);
    float *swap = h;
    h = next;
    next = swap;
  }
  for (int64_t b = 0; b < B; ++b)
    for (int64_t n = thread; n < K; n += call->threads) {
      float sum = 0;
      for (int64_t k = 0; k < D; ++k)
        sum += h[b * D + k] * packedAt(call->packed, AT_V, k, n);
      logits[b * K + n] = sum;
    }
}

static int64_t workspace(const int64_t *dims, int64_t threads) {
  (void)threads;
  return dims[0] * D * 2 * (int64_t)sizeof(float);
}

static const attn_abi_dim dims[] = {{"B", TINY_B, 1}, {"D", D, 0}, {"K", K, 0}};
static const attn_abi_axis xAxes[] = {{"B", 0, 1, 0}, {"D", 1, 1, 0}};
static const attn_abi_axis imageAxes[] = {
    {"B", 0, 1, 0}, {"1", -1, 0, 1}, {"2", -1, 0, 2}, {"3", -1, 0, 3}};
static const attn_abi_axis logitAxes[] = {{"B", 0, 1, 0}, {"K", 2, 1, 0}};
static const attn_abi_tensor xInput[] = {{"x", ATTN_F32, 2, xAxes, 0, 0, 0}};
static const attn_abi_tensor imageInput[] = {{"image", ATTN_F32, 4, imageAxes, 0, 0, 0}};
static const attn_abi_tensor logits[] = {{"logits", ATTN_F32, 2, logitAxes, 0, 0, 0}};
static const attn_abi_entry entries[] = {{"run", 1, 1, xInput, logits, 0, 0, -1, 0, 0},
                                         {"see", 1, 1, imageInput, logits, 0, 0, -1, 0, 0}};
static const attn_abi_image images[] = {{1, 0, 3, 2, 1, ATTN_FILTER_BILINEAR, {0.5f}, {0.25f}}};

static const int64_t shapeW[] = {D, D}, shapeB[] = {D}, shapeV[] = {K, D};
static const attn_abi_parameter parameters[] = {
    {"layers.{n}.weight", ATTN_F32, TINY_LAYERS, 2, 0, shapeW, "tiny.attn:3:10"},
    {"layers.{n}.bias", ATTN_F32, TINY_LAYERS, 1, 0, shapeB, "tiny.attn:3:10"},
    {"head.weight", ATTN_F32, 0, 2, 0, shapeV, "tiny.attn:4:10"},
    {"pos", ATTN_F32, 0, 1, 0, shapeB, "tiny.attn:5:9"}};
static const attn_abi_part partW[] = {{0, 0, D, 0, 1, D, D, 0}};
static const attn_abi_part partB[] = {{1, 0, D, 0, D, D, 1, 0}};
static const attn_abi_part partV[] = {{2, 0, K, 0, 1, K, D, 0}};
static const attn_abi_part partPos[] = {{3, 0, D, 0, D, D, 1, 0}};
static const attn_abi_slot slots[] = {
    {AT_W, W_STRIDE, W_STRIDE, 2, ATTN_PACK_PANELS, D, D, PANELS_D * W, W, 1, partW},
    {AT_B, B_STRIDE, 4 * D, 2, ATTN_PACK_ROWS, 1, D, D, 0, 1, partB},
    {AT_V, 0, 192, 1, ATTN_PACK_PANELS, D, K, PANELS_K * W, W, 1, partV},
    {AT_POS, 0, 4 * D, 1, ATTN_PACK_ROWS, 1, D, D, 0, 1, partPos}};

static const attn_abi_entry_fn functions[] = {run, run};
static const attn_abi_workspace_fn workspaces[] = {workspace, workspace};
/* The code is plain C, so the first level runs everywhere. */
static const attn_abi_level levels[] = {
    {"plain", 0, 0, functions, workspaces},
    {"x86-64-v4", ATTN_LEVEL_X86_64_V4, 0, functions, workspaces},
    {"beyond", 99, 0, functions, workspaces}};

enum { NONE = -1 };
#define DIMS(FIRST)                                                                                \
  {FIRST, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE}
static const attn_abi_term addFlop[] = {{D, DIMS(0)}},
                           addBytes[] = {{8 * D, DIMS(0)}, {4 * D, DIMS(NONE)}},
                           linearFlop[] = {{2 * D * D, DIMS(0)}},
                           linearBytes[] = {{8 * D, DIMS(0)}, {4 * D * D, DIMS(NONE)}};
static const attn_abi_kernel kernels[] = {
    {"run", "map addf", "tiny.attn:7:5", 1, 2, addFlop, addBytes},
    {"Layer", "linear 6 -> 6", "tiny.attn:3:10", 1, 2, linearFlop, linearBytes}};
static const char *const ignores[] = {"*.attn_mask"};

#define TINY_TABLES                                                                                \
  {ATTN_ABI_VERSION,                                                                               \
   "Tiny",                                                                                         \
   "test",                                                                                         \
   "f32",                                                                                          \
   "{\"model\": \"Tiny\"}",                                                                        \
   3,                                                                                              \
   4,                                                                                              \
   4,                                                                                              \
   3,                                                                                              \
   2,                                                                                              \
   1,                                                                                              \
   1,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   2,                                                                                              \
   0,                                                                                              \
   dims,                                                                                           \
   parameters,                                                                                     \
   slots,                                                                                          \
   levels,                                                                                         \
   entries,                                                                                        \
   images,                                                                                         \
   ignores,                                                                                        \
   0,                                                                                              \
   kernels,                                                                                        \
   0,                                                                                              \
   TOTAL,                                                                                          \
   0,                                                                                              \
   0,                                                                                              \
   0}

static const attn_abi_model model = TINY_TABLES;
const attn_abi_model attn_main_model = TINY_TABLES;
const attn_abi_model *tiny_model(void) { return &model; }
