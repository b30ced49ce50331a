/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C API of the compiler, in libattn-compiler.so: what `attn compile` does, within a process. It
 * takes the arguments of that command, and gives bytes and diagnostics instead of files and text.
 *
 *   const char *arguments[] = {"twice.attn", "--emit=shared", "-O1"};
 *   attn_compiler_file file = {"twice.attn", text, strlen(text)};
 *   attn_compiler_result *result = NULL;
 *   attn_compile(arguments, 3, &file, 1, &result);
 *   for (int32_t i = 0; i < attn_compiler_diagnostic_count(result); ++i)
 *     show(attn_compiler_diagnostic_at(result, i));
 *   size_t size = 0;
 *   const void *library = attn_compiler_output(result, &size);
 *   ...
 *   attn_compiler_result_destroy(result);
 *
 * Ownership. A result is freed by attn_compiler_result_destroy, with all that getters have given of
 * it. Arguments and files stay the caller's, and are not looked at after attn_compile has returned.
 *
 * Threads. Any number may compile at once: a call has a thread of its own with a stack of 8 MiB,
 * whatever that of the caller is, and shares nothing with others. A result may be read by several
 * threads. Whoever compiles with `--tune` should do nothing else meanwhile, for it measures.
 *
 * Errors. What is wrong is in diagnostics. Nothing prints, reads standard input, or exits because
 * of what it is given; memory that lacks, or a crash of the compiler, ends the process as an
 * assertion does. No handler of signals is set. The linker is another program, `cc`,
 * which programs, shared libraries and objects take; the runtime's archives are looked for in
 * `attn`, a folder beside the library.
 */
#pragma once

#include "attn/attn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What has come of a compilation. */
typedef struct attn_compiler_result attn_compiler_result;

/* A text that stands for the file of this name, whatever is on the disk: a spec, a file that it
 * uses, the config.json of `--config`, the file of `--tuning`. `text` has `size` bytes and needs no
 * NUL. */
typedef struct {
  const char *name;
  const char *text;
  size_t size;
} attn_compiler_file;

/* How grave a diagnostic is: only errors keep a compilation from its output. */
typedef enum {
  ATTN_COMPILER_ERROR = 0,
  ATTN_COMPILER_WARNING = 1,
  ATTN_COMPILER_NOTE = 2
} attn_compiler_severity;

/* A finding, and where it is. Texts are UTF-8 and never NULL; those that are not known are empty.
 * Lines and columns count from 1, columns in characters, and `endColumn` is the one behind the last
 * character; they are 0 where a finding is about no place. */
typedef struct {
  attn_compiler_severity severity;
  const char *code;    /* "A0201", as the reference of the language lists them */
  const char *message; /* what was found, and what was expected */
  const char *label;   /* words about the place */
  const char *file;    /* as the arguments or the spec name it */
  int32_t line, column, endLine, endColumn;
  int32_t noteCount, helpCount;
  const char *const *notes;
  const char *const *helps; /* mends */
  /* All of it, with changes to the text that mend it and other places, as
   * `attn compile --diagnostics=json` prints it. */
  const char *json;
} attn_compiler_diagnostic;

/* Compiles a spec by the arguments of `attn compile`, those behind `compile`: a path, that of a
 * file among `files` or on the disk, and options. Where no `-o` says where the output goes it is in
 * the result, whatever its kind; relative paths begin at the working folder of the process.
 *
 * *result is made in any case but these: null pointers (ATTN_INVALID_ARGUMENT), no memory or no
 * thread (ATTN_OUT_OF_MEMORY). Others say in diagnostics why: ATTN_INVALID_ARGUMENT, an argument is
 * wrong; ATTN_BAD_INPUT, the spec or the weights are; ATTN_IO, a file cannot be read or written, or
 * there is no linker, or no such CPU; ATTN_INTERNAL, a mistake of the compiler's. */
ATTN_API attn_status attn_compile(const char *const *arguments, int32_t argumentCount,
                                  const attn_compiler_file *files, int32_t fileCount,
                                  attn_compiler_result **result);

/* The output: the bytes of a program, a library, an object or a text, and their number. NULL and 0
 * where it went to a file, and after an error. */
ATTN_API const void *attn_compiler_output(const attn_compiler_result *result, size_t *size);

/* The diagnostics, in the order of the text where they are about a spec; NULL for an index that
 * does not exist. */
ATTN_API int32_t attn_compiler_diagnostic_count(const attn_compiler_result *result);
ATTN_API const attn_compiler_diagnostic *
attn_compiler_diagnostic_at(const attn_compiler_result *result, int32_t index);

/* Frees a result; NULL is allowed. */
ATTN_API void attn_compiler_result_destroy(attn_compiler_result *result);

/* The version of the compiler: "0.1.0". */
ATTN_API const char *attn_compiler_version(void);

#ifdef __cplusplus
}
#endif
