// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API of chat templates.
#include "text/jinja/Handle.h"

using namespace attn;

/// Makes a template, and hands it over where `open` succeeds.
template <typename Open>
static attn_status openWith(attn_chat_template **result, char **message, Open open) {
  Error error;
  auto *made = create<attn_chat_template>();
  if (!made)
    error.outOfMemory("a chat template");
  else
    open(made->whole, error);
  if (error.status == ATTN_OK)
    *result = made;
  else
    dispose(made);
  return error.report(message);
}

static attn_status nullPointer(const char *function, char **message) {
  Error error;
  error.set(ATTN_INVALID_ARGUMENT, "R0101", "%s: null pointer", function);
  return error.report(message);
}

extern "C" attn_status attn_chat_template_open(const char *path, const char *which,
                                               attn_chat_template **chatTemplate, char **message) {
  if (!path || !chatTemplate)
    return nullPointer("attn_chat_template_open", message);
  return openWith(chatTemplate, message,
                  [&](ChatTemplate &made, Error &why) { return made.openPath(path, which, why); });
}

extern "C" attn_status attn_chat_template_open_memory(const char *source, size_t size,
                                                      attn_chat_template **chatTemplate,
                                                      char **message) {
  if ((!source && size) || !chatTemplate)
    return nullPointer("attn_chat_template_open_memory", message);
  return openWith(chatTemplate, message, [&](ChatTemplate &made, Error &why) {
    return made.openMemory("the chat template", Slice(source, size), why);
  });
}

extern "C" void attn_chat_template_destroy(attn_chat_template *chatTemplate) {
  dispose(chatTemplate);
}

extern "C" attn_status attn_chat_template_render(const attn_chat_template *chatTemplate,
                                                 const char *variables, size_t size, char **text,
                                                 size_t *textSize, char **message) {
  if (!chatTemplate || !variables || !text)
    return nullPointer("attn_chat_template_render", message);
  Error error;
  Vector<char> made;
  if (chatTemplate->whole.render(Slice(variables, size), made, error) == ATTN_OK) {
    auto *copy = static_cast<char *>(malloc(made.size() + 1));
    if (!copy) {
      error.outOfMemory("a text");
      return error.report(message);
    }
    if (!made.empty())
      memcpy(copy, made.data(), made.size());
    copy[made.size()] = 0;
    *text = copy;
    if (textSize)
      *textSize = made.size();
  }
  return error.report(message);
}
