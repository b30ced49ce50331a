// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Batches of texts of one length, which need no padding.
#include "main/LineTexts.h"

using namespace attn;

namespace {

/// What lines of texts need.
struct TextLines {
  const PromptRun &run;
  const attn_tokenizer &tokenizer;
  int64_t width; ///< of a row
  bool hasLabels;

  attn_status read(Line &line, Error &error) const {
    LineFields fields;
    if (attn_status status = line.read("text", fields, error))
      return status;
    auto *tokens = create<attn_tokens>();
    if (!tokens)
      return error.outOfMemory("tokens");
    line.owned = tokens;
    *tokens = {};
    const char *pair = fields.pair.empty() ? "" : fields.pair.data();
    char *message = nullptr;
    attn_status status =
        attn_text_tokens(run.model, run.entry, &tokenizer, fields.text.data(), fields.text.size(),
                         fields.hasPair ? pair : nullptr, fields.pair.size(),
                         run.command->truncates, tokens, &message);
    if (status)
      error.take(status, message);
    attn_message_free(message);
    line.length = tokens->count;
    return status;
  }

  attn_status make(attn_context &context, Line *const *lines, int64_t count, Error &error) const {
    Vector<const attn_tokens *> texts;
    for (int64_t i = 0; i < count; ++i)
      if (!texts.push(static_cast<attn_tokens *>(lines[i]->owned)))
        return error.outOfMemory("texts");
    float *values = nullptr;
    int64_t found = 0;
    char *message = nullptr;
    attn_status status =
        attn_text_rows(&context, run.entry, texts.data(), count, &values, &found, &message);
    if (status)
      error.take(status, message);
    attn_message_free(message);
    attn_tensor rows = {values, ATTN_F32, 2, {count, width}, nullptr, 0, 0};
    for (int64_t i = 0; i < count && !status; ++i)
      if (hasLabels)
        status = keepLabels(*lines[i], rows, i, *run.labels, error);
      else
        memcpy(lines[i]->vector, values + i * width, size_t(width) * sizeof(float));
    free(values);
    return status;
  }
};

} // namespace

/// The most that an axis is.
static int64_t boundOf(const attn_abi_model &tables, const attn_abi_axis &axis) {
  return axis.offset + (axis.dim < 0 ? 0 : axis.scale * tables.dims[axis.dim].value);
}

attn_status attn::runTextLines(const PromptRun &run, const attn_tokenizer &tokenizer,
                               Error &error) {
  const attn_abi_model &tables = *run.model->tables;
  const attn_abi_entry &entry = tables.entries[run.entry];
  attn_tokens tokens = {};
  char *message = nullptr;
  if (attn_text_tokens(run.model, run.entry, &tokenizer, "", 0, nullptr, 0, 0, &tokens, &message) ==
      ATTN_INVALID_ARGUMENT) // it is no entry of texts
    error.take(ATTN_INVALID_ARGUMENT, message);
  attn_message_free(message);
  attn_tokens_free(&tokens);
  if (error.status)
    return error.status;
  int64_t width = boundOf(tables, entry.outputs[0].axes[1]);
  TextLines texts{run, tokenizer, width, run.labels->size() == width};
  LineWork work;
  work.width = texts.hasLabels ? 0 : width;
  for (int32_t i = 0; i < entry.inputCount; ++i)
    if (entry.inputs[i].rank == 2)
      work.most = boundOf(tables, entry.inputs[i].axes[0]);
  work.self = &texts;
  work.window = 2048;
  work.mostLength = 2048; // tokens; more make a run no faster
  work.read = [](void *self, Line &line, Error &problem) {
    return static_cast<TextLines *>(self)->read(line, problem);
  };
  work.release = [](void *owned) {
    attn_tokens_free(static_cast<attn_tokens *>(owned));
    free(owned);
  };
  work.make = [](void *self, attn_context &context, Line *const *lines, int64_t count,
                 Error &problem) {
    return static_cast<TextLines *>(self)->make(context, lines, count, problem);
  };
  return runLines(run, work, error);
}
