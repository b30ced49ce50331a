/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A spec that a program has in memory, compiled and run in the same process. From the root of the
 * repository:
 *
 *   cc -Iruntime/include examples/c-api/compile.c -Lbuild/lib -lattn-compiler -ldl \
 *      -Wl,-rpath,$PWD/build/lib -o compile
 *   ./compile "x * x + 1" 3
 *   ./compile "x * y" 3
 *
 * The expression becomes an entry, which runs on the number. The library is written to a file, for
 * that is what the system loads. */
#include <attn/compiler.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compiles an expression to a shared library in the file `path`. */
static attn_status compile(const char *expression, const char *path) {
  char spec[1024];
  int size = snprintf(spec, sizeof spec,
                      "attn 1\nmodel Formula {\n  dim N = 1\n"
                      "  entry run(x: [N]) -> [N] {\n    return %s\n  }\n}\n",
                      expression);
  if (size >= (int)sizeof spec)
    return ATTN_INVALID_ARGUMENT;
  attn_compiler_file file = {"formula.attn", spec, strlen(spec)};
  const char *arguments[] = {"formula.attn", "--emit=shared", "-O1", "-o", path};
  attn_compiler_result *result = NULL;
  attn_status status = attn_compile(arguments, 5, &file, 1, &result);
  for (int32_t i = 0; i < attn_compiler_diagnostic_count(result); ++i) {
    const attn_compiler_diagnostic *found = attn_compiler_diagnostic_at(result, i);
    printf("%s:%d:%d: %s\n", found->file, (int)found->line, (int)found->column, found->message);
    if (found->helpCount)
      printf("  %s\n", found->helps[0]);
  }
  attn_compiler_result_destroy(result);
  return status;
}

/* The functions of attn.h that are used, as they are in the library. */
typedef struct {
  attn_status (*createModel)(const attn_abi_model *, const char *, attn_model **, char **);
  attn_status (*createContext)(attn_model *, int32_t, attn_context **, char **);
  attn_status (*run)(attn_context *, int32_t, const attn_tensor *, const attn_tensor *, char **);
  void (*destroyContext)(attn_context *);
  void (*destroyModel)(attn_model *);
} Functions;

static attn_status run(void *library, float *number) {
  Functions own;
  *(void **)&own.createModel = dlsym(library, "attn_model_create");
  *(void **)&own.createContext = dlsym(library, "attn_context_create");
  *(void **)&own.run = dlsym(library, "attn_run");
  *(void **)&own.destroyContext = dlsym(library, "attn_context_destroy");
  *(void **)&own.destroyModel = dlsym(library, "attn_model_destroy");
  attn_model *model = NULL;
  attn_context *context = NULL;
  float result = 0;
  attn_tensor input = {0}, output = {0};
  input.rank = output.rank = 1;
  input.shape[0] = output.shape[0] = 1;
  input.data = number;
  output.data = &result;
  attn_status status = own.createModel(dlsym(library, "attn_model"), NULL, &model, NULL);
  if (status == ATTN_OK)
    status = own.createContext(model, 1, &context, NULL);
  if (status == ATTN_OK)
    status = own.run(context, 0, &input, &output, NULL);
  own.destroyContext(context);
  own.destroyModel(model);
  *number = result;
  return status;
}

int main(int count, char **arguments) {
  const char *path = "./formula.so";
  if (count != 3) {
    fprintf(stderr, "usage: %s EXPRESSION NUMBER\n", arguments[0]);
    return 2;
  }
  if (compile(arguments[1], path) != ATTN_OK)
    return 1;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  remove(path); /* it is mapped */
  float number = (float)atof(arguments[2]);
  if (!library || run(library, &number) != ATTN_OK)
    return 1;
  printf("%g\n", number);
  return 0;
}
