/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * template_driver: renders chat templates for twins. Standard input holds templates, each followed
 * by its variables in JSON, both behind a line with their size in bytes. For each of them a line
 * with the status, the size of what follows and a line's end go out: the text, or the message. */
#include "attn/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *take(size_t *size) {
  unsigned long count;
  char *bytes = NULL;
  if (scanf("%lu", &count) != 1 || getchar() != '\n' || !(bytes = malloc(count + 1)))
    return NULL;
  if (fread(bytes, 1, count, stdin) != count)
    exit(1);
  *size = count;
  return bytes;
}

int main(void) {
  size_t sourceSize, variablesSize, size;
  char *source;
  while ((source = take(&sourceSize))) {
    char *variables = take(&variablesSize), *text = NULL, *message = NULL;
    attn_chat_template *opened = NULL;
    attn_status status = attn_chat_template_open_memory(source, sourceSize, &opened, &message);
    if (status == ATTN_OK)
      status = attn_chat_template_render(opened, variables, variablesSize, &text, &size, &message);
    if (status != ATTN_OK)
      size = strlen(message);
    printf("%d %lu\n", (int)status, (unsigned long)size);
    fwrite(status == ATTN_OK ? text : message, 1, size, stdout);
    attn_message_free(text);
    attn_message_free(message);
    attn_chat_template_destroy(opened);
    free(source);
    free(variables);
  }
  return 0;
}
