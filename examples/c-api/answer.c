/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Text in, text out, in C. From the root of the repository:
 *
 *   attn compile examples/story/story.attn --emit=static -o libstory.a
 *   attn compile examples/story/story.attn --emit=header -o story.h
 *   cc -I. -Iruntime/include examples/c-api/answer.c libstory.a build/lib/libattn_text.a \
 *      build/lib/libattn_rt.a -l:libpcre2-8.a -l:libutf8proc.a -lm -lpthread -o answer
 *   ./answer examples/story/story.safetensors examples/story/tokenizer.json "In the beginning"
 *   ./answer examples/story/story.safetensors FOLDER "Who is he?" "And who is she?"
 *
 * With one text, the model goes on from it. With several they are turns of a chat, for which the
 * folder of the tokenizer needs a chat template. */
#include "story.h"
#include <attn/text.h>
#include <stdio.h>
#include <string.h>

/* Prints a piece of text as soon as it is known. */
static int32_t print(void *user, const char *text, size_t size) {
  (void)user;
  fwrite(text, 1, size, stdout);
  fflush(stdout);
  return 1; /* go on */
}

/* All that has to be given back at the end. */
typedef struct {
  attn_model *model;
  attn_context *context;
  attn_tokenizer *tokenizer;
  attn_text *text;
  attn_chat_template *chatTemplate;
  attn_chat *chat;
  char *message;
} Session;

static attn_status answer(Session *own, int count, char **arguments) {
  char **message = &own->message;
  attn_status status = ATTN_OK;
  if ((status = attn_model_create(story_model(), NULL, &own->model, message)) ||
      (status = attn_model_bind_file(own->model, arguments[1], message)) ||
      (status = attn_context_create(own->model, 0, &own->context, message)) ||
      (status = attn_tokenizer_open(arguments[2], &own->tokenizer, message)))
    return status;
  int32_t entry = attn_model_find_entry(own->model, "tell");
  attn_text_options options;
  attn_text_result result;
  if ((status = attn_text_create(own->context, entry, own->tokenizer, &own->text, message)) ||
      (status = attn_text_options_default(own->text, &options, message)))
    return status;
  options.numbers.sampling.temperature = 0; /* the likeliest token each time */
  options.numbers.limit = 12;
  options.onText = print;
  if (count == 4) {
    if ((status =
             attn_text_prompt(own->text, arguments[3], strlen(arguments[3]), &options, message)) ||
        (status = attn_text_generate(own->text, &options, &result, message)))
      return status;
    printf("\n%lld tokens read, %lld written\n", (long long)result.read, (long long)result.written);
    return ATTN_OK;
  }
  if ((status = attn_chat_template_open(arguments[2], NULL, &own->chatTemplate, message)) ||
      (status = attn_chat_create(own->text, own->chatTemplate, &own->chat, message)))
    return status;
  for (int i = 3; i < count; ++i) {
    if ((status = attn_chat_add(own->chat, "user", arguments[i], strlen(arguments[i]), message)) ||
        (status = attn_chat_answer(own->chat, &options, &result, message)))
      return status;
    printf("\n%lld tokens kept, %lld read, %lld written\n", (long long)result.kept,
           (long long)result.read, (long long)result.written);
  }
  return ATTN_OK;
}

int main(int argc, char **argv) {
  Session own = {0};
  if (argc < 4) {
    fprintf(stderr, "usage: %s WEIGHTS TOKENIZER TEXT...\n", argv[0]);
    return 2;
  }
  attn_status status = answer(&own, argc, argv);
  if (status != ATTN_OK)
    fprintf(stderr, "%s\n", own.message ? own.message : attn_status_name(status));
  attn_chat_destroy(own.chat);
  attn_chat_template_destroy(own.chatTemplate);
  attn_text_destroy(own.text);
  attn_tokenizer_destroy(own.tokenizer);
  attn_context_destroy(own.context);
  attn_model_destroy(own.model);
  attn_message_free(own.message);
  return status != ATTN_OK;
}
