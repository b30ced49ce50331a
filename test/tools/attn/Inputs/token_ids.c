/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs a model of tokens on ids inside and outside of its vocabulary through the C API.
 */
#include "tokens.h"
#include <stdio.h>

static int fail(const char *what, char *message) {
  printf("%s: %s\n", what, message ? message : "");
  attn_message_free(message);
  return 1;
}

int main(void) {
  attn_model *model = NULL;
  attn_context *context = NULL;
  char *message = NULL;
  int32_t ids[2][3] = {{0, 99, 5}, {7, 100, -1}};
  float out[2][3][TOKENS_DIM_D];
  attn_tensor_info info;
  if (attn_model_create(tokens_model(), NULL, &model, &message) ||
      attn_model_bind_random(model, 1, &message) ||
      attn_context_create(model, 2, &context, &message) || attn_model_input(model, 0, 0, &info))
    return fail("cannot start", message);
  printf("%s below %lld\n", info.name, (long long)info.below);
  for (int i = 0; i < 2 * 3 * TOKENS_DIM_D; ++i)
    (&out[0][0][0])[i] = 42;
  if (tokens_run(context, 2, 3, &ids[0][0], &out[0][0][0], &message) != ATTN_BAD_INPUT)
    return fail("expected an error", message);
  printf("%s\n", message);
  attn_message_free(message);
  ids[1][1] = 8;
  if (tokens_run(context, 2, 3, &ids[0][0], &out[0][0][0], &message) != ATTN_BAD_INPUT)
    return fail("expected an error", message);
  printf("%s\n", message);
  attn_message_free(message);
  for (int i = 0; i < 2 * 3 * TOKENS_DIM_D; ++i)
    if ((&out[0][0][0])[i] != 42)
      return fail("an output was written", NULL);
  ids[1][2] = 9;
  if (tokens_run(context, 2, 3, &ids[0][0], &out[0][0][0], &message))
    return fail("cannot run", message);
  printf("%s\n", out[1][2][4] != 42 ? "written" : "not written");
  attn_context_destroy(context);
  attn_model_destroy(model);
  return 0;
}
