// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chat templates, and the variables that they are run with: an object of JSON behind a byte 0,
// where there is one. What is read makes a text, or says what is wrong, within its bounds.
#include "Targets.h"
#include "attn/text.h"
#include <cstring>

static const char sampleVariables[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"Be brief.\"}, {\"role\": \"user\", "
    "\"content\": \" H\xc3\xa9 \\n\"}, {\"role\": \"assistant\", \"content\": null, "
    "\"tool_calls\": "
    "[{\"function\": {\"name\": \"f\", \"arguments\": {\"x\": [1, 2.5]}}}]}], "
    "\"add_generation_prompt\": true, \"bos_token\": \"<s>\", \"n\": 3}";

void attn::fuzz::chat(const uint8_t *data, size_t size) {
  attn_chat_template *opened = nullptr;
  char *message = nullptr;
  const auto *source = reinterpret_cast<const char *>(data);
  const void *end = size ? memchr(data, 0, size) : nullptr;
  size_t sourceSize = end ? size_t(static_cast<const char *>(end) - source) : size;
  if (attn_chat_template_open_memory(source, sourceSize, &opened, &message)) {
    require(message && *message, "an error without words");
    attn_message_free(message);
    return;
  }
  const char *variables = end ? source + sourceSize + 1 : sampleVariables;
  size_t variablesSize = end ? size - sourceSize - 1 : sizeof sampleVariables - 1, textSize = 0;
  char *text = nullptr;
  if (attn_chat_template_render(opened, variables, variablesSize, &text, &textSize, &message))
    require(message && *message, "an error without words");
  else
    require(strlen(text) <= textSize, "a text without its end");
  attn_message_free(text);
  attn_message_free(message);
  attn_chat_template_destroy(opened);
}
