/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs an entry of a model compiled with --emit=shared, as protocol.h says; the first one of one
 * input, unless another number of either is given:
 *
 *   run_attn LIBRARY SYMBOL WEIGHTS THREADS INPUT INPUT_SIZES OUTPUT_SIZES [ENTRY INPUTS [LAST]]
 *   run_attn ./vit.so attn_model_vit_b16 w.safetensors 2 image.bin 1,3,224,224 1,1000
 *   run_attn ./masks.so attn_model_masks - 2 qkv.bin 1024,12,64 1024,12,64 1 3
 *
 * SYMBOL names the model's tables, as its description does; WEIGHTS is - where it has none. INPUT
 * holds all inputs, one after the other; LAST are the sizes of the last one where they are others.
 *
 * Written in C, so that the memory that compare.py reads off is the artifact's and libc's.
 */
#define _POSIX_C_SOURCE 200809L
#include "protocol.h"
#include <attn/attn.h>
#include <dlfcn.h>

typedef struct {
  attn_context *context;
  int32_t entry;
  attn_tensor inputs[3], output;
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
  check(model->run(model->context, model->entry, model->inputs, &model->output, &message),
        &message);
}

static attn_tensor makeTensor(const char *sizes, size_t *count) {
  attn_tensor tensor = {0};
  tensor.dtype = ATTN_F32;
  tensor.rank = readSizes(sizes, tensor.shape, count);
  tensor.data = allocateFloats(*count);
  return tensor;
}

int main(int argc, char **argv) {
  if (argc != 8 && argc != 10 && argc != 11)
    fail("run_attn", "expected LIBRARY SYMBOL WEIGHTS THREADS INPUT INPUT_SIZES OUTPUT_SIZES "
                     "[ENTRY INPUTS [LAST]]");
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
  model.entry = argc > 8 ? atoi(argv[8]) : 0;
  int inputs = argc > 8 ? atoi(argv[9]) : 1;
  if (inputs < 1 || inputs > 3)
    fail(argv[9], "expected 1 to 3 inputs");
  for (int i = 0; i < inputs; ++i) {
    model.inputs[i] = makeTensor(argc == 11 && i + 1 == inputs ? argv[10] : argv[6], &inputCount);
    readFloats(argv[5], (size_t)i, (float *)model.inputs[i].data, inputCount);
  }
  model.output = makeTensor(argv[7], &outputCount);

  attn_model *handle = NULL;
  char *message = NULL;
  check(create(tables, NULL, &handle, &message), &message);
  if (strcmp(argv[3], "-") != 0)
    check(bind(handle, argv[3], &message), &message);
  check(createContext(handle, atoi(argv[4]), &model.context, &message), &message);
  printf("ready level=%s packed=%lld\n", levelOf(handle), (long long)packedBytes(handle));

  Job job = {runModel, &model, (const float *)model.output.data, outputCount};
  return serve(&job);
}
