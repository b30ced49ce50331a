/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs the first entry of a model compiled with --emit=shared, as protocol.h says:
 *
 *   run_attn LIBRARY SYMBOL WEIGHTS THREADS INPUT INPUT_SIZES OUTPUT_SIZES
 *   run_attn ./vit.so attn_model_vit_b16 w.safetensors 2 image.bin 1,3,224,224 1,1000
 *
 * SYMBOL names the model's tables, as its description does.
 *
 * Written in C, so that the memory that compare.py reads off is the artifact's and libc's.
 */
#define _POSIX_C_SOURCE 200809L
#include "protocol.h"
#include <attn/attn.h>
#include <dlfcn.h>

typedef struct {
  attn_context *context;
  attn_tensor input, output;
  attn_status (*run)(attn_context *, int32_t, const attn_tensor *, const attn_tensor *, char **);
} Model;

static void *library;

/* The address of a function of the library, stored through a pointer to a function pointer (ISO C
 * has no conversion from void *). */
static void find(const char *name, void *function) {
  void *address = dlsym(library, name);
  if (!address)
    fail(name, "the library has no such function");
  memcpy(function, &address, sizeof address);
}

/* By address, because the call that sets the message is an argument, too. */
static void check(attn_status status, char *const *message) {
  if (status != ATTN_OK)
    fail("attn", *message ? *message : "failed without a message");
}

static void runModel(void *state) {
  Model *model = (Model *)state;
  char *message = NULL;
  check(model->run(model->context, 0, &model->input, &model->output, &message), &message);
}

static attn_tensor makeTensor(const char *sizes, size_t *count) {
  attn_tensor tensor = {0};
  tensor.dtype = ATTN_F32;
  tensor.rank = readSizes(sizes, tensor.shape, count);
  tensor.data = allocateFloats(*count);
  return tensor;
}

int main(int argc, char **argv) {
  if (argc != 8)
    fail("run_attn", "expected LIBRARY SYMBOL WEIGHTS THREADS INPUT INPUT_SIZES OUTPUT_SIZES");
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(argv[1], dlerror());

  attn_status (*create)(const attn_abi_model *, const char *, attn_model **, char **);
  attn_status (*bind)(attn_model *, const char *, char **);
  attn_status (*createContext)(attn_model *, int32_t, attn_context **, char **);
  const char *(*levelOf)(const attn_model *);
  int64_t (*packedBytes)(const attn_model *);
  Model model = {0};
  const attn_abi_model *tables = (const attn_abi_model *)dlsym(library, argv[2]);
  if (!tables)
    fail(argv[2], "the library has no such model");
  find("attn_model_create", &create);
  find("attn_model_bind_file", &bind);
  find("attn_context_create", &createContext);
  find("attn_model_level", &levelOf);
  find("attn_model_packed_bytes", &packedBytes);
  find("attn_run", &model.run);

  size_t inputCount, outputCount;
  model.input = makeTensor(argv[6], &inputCount);
  model.output = makeTensor(argv[7], &outputCount);
  readFloats(argv[5], (float *)model.input.data, inputCount);

  attn_model *handle = NULL;
  char *message = NULL;
  check(create(tables, NULL, &handle, &message), &message);
  check(bind(handle, argv[3], &message), &message);
  check(createContext(handle, atoi(argv[4]), &model.context, &message), &message);
  printf("ready level=%s packed=%lld\n", levelOf(handle), (long long)packedBytes(handle));

  Job job = {runModel, &model, (const float *)model.output.data, outputCount};
  return serve(&job);
}
