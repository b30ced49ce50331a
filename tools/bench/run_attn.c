/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs an entry of a model compiled with --emit=shared, as protocol.h says:
 *
 *   run_attn LIBRARY SYMBOL WEIGHTS THREADS ENTRY TENSOR...
 *   run_attn vit.so attn_model_vit - 2 classify image=f32:1,3,224,224:image.bin@0 logits=1,1000
 *
 * SYMBOL names the model's tables, as its description does; WEIGHTS is - where it has none, or
 * random:SEED. The output of the protocol is the first one. Caches are emptied after each run.
 *
 * Written in C, so that the memory that compare.py reads off is the artifact's and libc's.
 */
#define _POSIX_C_SOURCE 200809L
#include "protocol.h"
#include <attn/attn.h>
#include <dlfcn.h>

typedef struct {
  attn_context *context;
  int32_t entry, caches;
  attn_tensor inputs[MOST_TENSORS], outputs[MOST_TENSORS];
  attn_status (*run)(attn_context *, int32_t, const attn_tensor *, const attn_tensor *, char **);
  attn_status (*truncate)(attn_context *, int32_t, int64_t, char **);
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
  check(model->run(model->context, model->entry, model->inputs, model->outputs, &message),
        &message);
  for (int32_t cache = 0; cache < model->caches; ++cache)
    check(model->truncate(model->context, cache, 0, &message), &message);
}

static attn_tensor toAttn(const Tensor *from) {
  static const int32_t types[] = {ATTN_F32, ATTN_I32, ATTN_I64};
  attn_tensor tensor = {.data = from->data, .dtype = types[from->type], .rank = from->rank};
  memcpy(tensor.shape, from->sizes, sizeof from->sizes);
  return tensor;
}

int main(int argc, char **argv) {
  if (argc < 8)
    fail("run_attn", "expected LIBRARY SYMBOL WEIGHTS THREADS ENTRY TENSOR...");
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(argv[1], dlerror());

  attn_status (*create)(const attn_abi_model *, const char *, attn_model **, char **);
  attn_status (*bind)(attn_model *, const char *, char **);
  attn_status (*bindRandom)(attn_model *, uint64_t, char **);
  attn_status (*createContext)(attn_model *, int32_t, attn_context **, char **);
  const char *(*levelOf)(const attn_model *);
  int64_t (*packedBytes)(const attn_model *);
  int32_t (*cacheCount)(const attn_model *);
  int32_t (*findEntry)(const attn_model *, const char *);
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

  find("attn_cache_truncate", &model.truncate);
  find("attn_model_cache_count", &cacheCount);
  find("attn_model_find_entry", &findEntry);

  Tensor tensors[MOST_TENSORS];
  int count = argc - 6, inputs = readTensors(argv + 6, count, tensors);
  for (int i = 0; i < count; ++i)
    *(i < inputs ? &model.inputs[i] : &model.outputs[i - inputs]) = toAttn(&tensors[i]);

  attn_model *handle = NULL;
  char *message = NULL;
  check(create(tables, NULL, &handle, &message), &message);
  if (strncmp(argv[3], "random:", 7) == 0) {
    find("attn_model_bind_random", &bindRandom);
    check(bindRandom(handle, strtoull(argv[3] + 7, NULL, 10), &message), &message);
  } else if (strcmp(argv[3], "-") != 0) {
    check(bind(handle, argv[3], &message), &message);
  }
  check(createContext(handle, atoi(argv[4]), &model.context, &message), &message);
  model.caches = cacheCount(handle);
  model.entry = findEntry(handle, argv[5]);
  if (model.entry < 0)
    fail(argv[5], "the model has no such entry");
  printf("ready level=%s packed=%lld\n", levelOf(handle), (long long)packedBytes(handle));

  Job job = {runModel, &model, (const float *)tensors[inputs].data, tensors[inputs].count};
  return serve(&job);
}
