/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loaded before a program by LD_PRELOAD: writes its arguments, a line each, to the file that
 * ATTN_TEST_ARGUMENTS names, and ends it. `attn` itself goes on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void keep(int argc, char **argv) {
  const char *name = argc ? strrchr(argv[0], '/') : NULL;
  if (!name || strcmp(name, "/program") != 0)
    return;
  FILE *file = fopen(getenv("ATTN_TEST_ARGUMENTS"), "w");
  for (int i = 1; i < argc; ++i)
    fprintf(file, "%s\n", argv[i]);
  _exit(fclose(file) != 0);
}
