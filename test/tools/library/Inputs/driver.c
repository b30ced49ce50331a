/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls libattn-compiler.so as a test asks, and fails where that prints anything.
 *
 *   driver compile [NAME=FILE ...] -- ARGUMENT ...   prints the status and the diagnostics; the
 *                                                    output goes to the file "output"
 *   driver threads SPEC ...                          compiles all at once, and then one by one
 *   driver run LIBRARY VALUE                         runs entry 0 of a shared library on a vector
 *   driver nulls                                     what cannot be called */
#define _DEFAULT_SOURCE
#include <attn/compiler.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *why) {
  fprintf(stderr, "driver: %s\n", why);
  return 1;
}

/* Both outputs go to a file meanwhile, which has to stay empty. */
static int saved[2];
static FILE *caught;

static void beginSilence(void) {
  fflush(stdout);
  fflush(stderr);
  caught = tmpfile();
  for (int i = 0; i < 2; ++i) {
    saved[i] = dup(i + 1);
    dup2(fileno(caught), i + 1);
  }
}

static int endSilence(void) {
  fflush(stdout);
  fflush(stderr);
  for (int i = 0; i < 2; ++i) {
    dup2(saved[i], i + 1);
    close(saved[i]);
  }
  long size = lseek(fileno(caught), 0, SEEK_END);
  fclose(caught);
  return size == 0 ? 0 : fail("the library has printed something");
}

static char *readFile(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *text = malloc(1 << 20);
  *size = file && text ? fread(text, 1, 1 << 20, file) : 0;
  if (file)
    fclose(file);
  return text;
}

static void show(const attn_compiler_diagnostic *diagnostic) {
  static const char *const severities[] = {"error", "warning", "note"};
  printf("%s [%s] %s:%d:%d-%d:%d: %s (%s)\n", severities[diagnostic->severity], diagnostic->code,
         diagnostic->file, (int)diagnostic->line, (int)diagnostic->column, (int)diagnostic->endLine,
         (int)diagnostic->endColumn, diagnostic->message, diagnostic->label);
  for (int32_t i = 0; i < diagnostic->noteCount; ++i)
    printf("  note: %s\n", diagnostic->notes[i]);
  for (int32_t i = 0; i < diagnostic->helpCount; ++i)
    printf("  help: %s\n", diagnostic->helps[i]);
  printf("  %s\n", diagnostic->json);
}

static int compileAs(int count, char **words) {
  attn_compiler_file files[8];
  char *texts[8];
  int32_t given = 0;
  int at = 0;
  for (; at < count && strcmp(words[at], "--") != 0; ++at) {
    char *path = strchr(words[at], '=');
    *path++ = 0;
    files[given].name = words[at];
    files[given].text = texts[given] = readFile(path, &files[given].size);
    ++given;
  }
  attn_compiler_result *result = NULL;
  beginSilence();
  attn_status status =
      attn_compile((const char *const *)words + at + 1, count - at - 1, files, given, &result);
  int printed = endSilence();
  for (int32_t i = 0; i < given; ++i)
    free(texts[i]);
  for (int32_t i = 0; i < attn_compiler_diagnostic_count(result); ++i)
    show(attn_compiler_diagnostic_at(result, i));
  size_t size = 1;
  const void *bytes = attn_compiler_output(result, &size);
  printf("status %d, output %s\n", (int)status, bytes ? "here" : "none");
  if (bytes) {
    FILE *file = fopen("output", "wb");
    fwrite(bytes, 1, size, file);
    fclose(file);
  }
  attn_compiler_result_destroy(result);
  return printed;
}

typedef struct {
  const char *spec;
  attn_compiler_result *result;
  attn_status status;
} Job;

static void *runJob(void *given) {
  Job *job = given;
  const char *arguments[] = {"--emit=shared", "-O1", "--target=x86-64-v3", job->spec};
  job->status = attn_compile(arguments, 4, NULL, 0, &job->result);
  return NULL;
}

static int compareJobs(const Job *a, const Job *b) {
  size_t size, other;
  const void *bytes = attn_compiler_output(a->result, &size);
  const void *others = attn_compiler_output(b->result, &other);
  int32_t count = attn_compiler_diagnostic_count(a->result);
  if (a->status != b->status || size != other || (size && memcmp(bytes, others, size) != 0) ||
      count != attn_compiler_diagnostic_count(b->result))
    return fail(a->spec);
  for (int32_t i = 0; i < count; ++i)
    if (strcmp(attn_compiler_diagnostic_at(a->result, i)->json,
               attn_compiler_diagnostic_at(b->result, i)->json) != 0)
      return fail(a->spec);
  return 0;
}

static int compileAtOnce(int count, char **specs) {
  Job jobs[16], alone[16];
  pthread_t threads[16];
  int failed = 0;
  beginSilence();
  for (int i = 0; i < count; ++i) {
    jobs[i].spec = alone[i].spec = specs[i];
    pthread_create(&threads[i], NULL, runJob, &jobs[i]);
  }
  for (int i = 0; i < count; ++i)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < count; ++i)
    runJob(&alone[i]);
  failed = endSilence();
  for (int i = 0; i < count; ++i) {
    failed |= compareJobs(&jobs[i], &alone[i]);
    size_t size;
    attn_compiler_output(jobs[i].result, &size);
    printf("status %d, %s, %d diagnostics\n", (int)jobs[i].status, size ? "output" : "none",
           (int)attn_compiler_diagnostic_count(jobs[i].result));
    attn_compiler_result_destroy(jobs[i].result);
    attn_compiler_result_destroy(alone[i].result);
  }
  return failed;
}

/* A function of a library; ISO C knows no cast from the pointer that dlsym gives. */
#define FUNCTION(library, name)                                                                    \
  do {                                                                                             \
    *(void **)(&name##_) = dlsym(library, #name);                                                  \
    if (!name##_)                                                                                  \
      return fail(#name);                                                                          \
  } while (0)

static int runLibrary(const char *path, const char *value) {
  attn_status (*attn_model_create_)(const attn_abi_model *, const char *, attn_model **, char **);
  attn_status (*attn_context_create_)(attn_model *, int32_t, attn_context **, char **);
  attn_status (*attn_run_)(attn_context *, int32_t, const attn_tensor *, const attn_tensor *,
                           char **);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return fail(dlerror());
  FUNCTION(library, attn_model_create);
  FUNCTION(library, attn_context_create);
  FUNCTION(library, attn_run);
  attn_model *model = NULL;
  attn_context *context = NULL;
  char *message = NULL;
  float in[4] = {0, 1, 2, 0}, out[4] = {0};
  in[3] = (float)atof(value);
  attn_tensor input = {0}, output = {0};
  input.data = in;
  output.data = out;
  input.rank = output.rank = 1;
  input.shape[0] = output.shape[0] = 4;
  if (attn_model_create_(dlsym(library, "attn_model"), NULL, &model, &message) ||
      attn_context_create_(model, 1, &context, &message) ||
      attn_run_(context, 0, &input, &output, &message))
    return fail(message);
  printf("%g %g %g %g\n", out[0], out[1], out[2], out[3]);
  return 0;
}

static int callWithNulls(void) {
  const char *none[] = {NULL};
  attn_compiler_file file = {NULL, NULL, 0};
  attn_compiler_result *result = NULL;
  size_t size = 1;
  if (attn_compile(NULL, 1, NULL, 0, &result) != ATTN_INVALID_ARGUMENT ||
      attn_compile(none, 1, NULL, 0, &result) != ATTN_INVALID_ARGUMENT ||
      attn_compile(none, -1, NULL, 0, &result) != ATTN_INVALID_ARGUMENT ||
      attn_compile(NULL, 0, &file, 1, &result) != ATTN_INVALID_ARGUMENT ||
      attn_compile(NULL, 0, NULL, 0, NULL) != ATTN_INVALID_ARGUMENT || result)
    return fail("a null pointer was taken");
  if (attn_compiler_output(NULL, &size) || size || attn_compiler_diagnostic_count(NULL) ||
      attn_compiler_diagnostic_at(NULL, 0))
    return fail("no result has something");
  attn_compiler_result_destroy(NULL);
  puts(attn_compiler_version());
  return 0;
}

int main(int count, char **words) {
  const char *what = count > 1 ? words[1] : "";
  if (strcmp(what, "compile") == 0)
    return compileAs(count - 2, words + 2);
  if (strcmp(what, "threads") == 0)
    return compileAtOnce(count - 2, words + 2);
  if (strcmp(what, "run") == 0 && count == 4)
    return runLibrary(words[2], words[3]);
  return strcmp(what, "nulls") == 0 ? callWithNulls() : fail("what?");
}
