/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The part of the C API that run_attn calls, with a model that needs no compiler: logit k is twice
 * input k plus the first element of the tensor data in the checkpoint.
 */
#include <attn/attn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attn_model {
  float bias;
};
struct attn_context {
  attn_model *model;
  int32_t threads;
};

static attn_status refuse(attn_status status, const char *text, char **message) {
  *message = malloc(strlen(text) + 1);
  if (*message)
    strcpy(*message, text);
  return status;
}

/* Only its address counts. */
ATTN_API const int attn_model_fake = 1;

attn_status attn_model_create(const attn_abi_model *tables, const char *options, attn_model **model,
                              char **message) {
  (void)tables, (void)options, (void)message;
  *model = calloc(1, sizeof **model);
  return *model ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

attn_status attn_model_bind_file(attn_model *model, const char *path, char **message) {
  FILE *file = fopen(path, "rb");
  uint64_t size = 0;
  if (!file)
    return refuse(ATTN_IO, "error[W0101]: no such checkpoint", message);
  int done = fread(&size, sizeof size, 1, file) == 1 && !fseek(file, (long)size, SEEK_CUR) &&
             fread(&model->bias, sizeof model->bias, 1, file) == 1;
  fclose(file);
  return done ? ATTN_OK : refuse(ATTN_BAD_WEIGHTS, "error[W0102]: too short", message);
}

attn_status attn_context_create(attn_model *model, int32_t threads, attn_context **context,
                                char **message) {
  (void)message;
  *context = calloc(1, sizeof **context);
  if (!*context)
    return ATTN_OUT_OF_MEMORY;
  (*context)->model = model;
  (*context)->threads = threads;
  return ATTN_OK;
}

const char *attn_model_level(const attn_model *model) {
  (void)model;
  return "fake";
}

int64_t attn_model_packed_bytes(const attn_model *model) {
  (void)model;
  return 4;
}

int32_t attn_model_cache_count(const attn_model *model) {
  (void)model;
  return 0;
}

attn_status attn_cache_truncate(attn_context *context, int32_t cache, int64_t length,
                                char **message) {
  (void)context, (void)cache, (void)length;
  return refuse(ATTN_INVALID_ARGUMENT, "error[R0101]: there is no such cache", message);
}

int32_t attn_model_find_entry(const attn_model *model, const char *name) {
  (void)model;
  return strcmp(name, "classify") == 0 ? 0 : -1;
}

attn_status attn_run(attn_context *context, int32_t entry, const attn_tensor *inputs,
                     const attn_tensor *outputs, char **message) {
  if (entry != 0 || inputs->rank != 4 || outputs->rank != 2)
    return refuse(ATTN_BAD_INPUT, "error[R0101]: wrong tensors", message);
  const float *input = inputs->data;
  float *output = outputs->data;
  for (int64_t k = 0; k < outputs->shape[1]; ++k)
    output[k] = 2 * input[k] + context->model->bias;
  return ATTN_OK;
}
