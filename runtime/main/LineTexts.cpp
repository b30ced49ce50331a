// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Batches of texts of one length, which need no padding.
#include "main/LineTexts.h"

using namespace attn;

attn_status TextLines::read(Line &line, Error &error) const {
  LineFields fields;
  if (!arePlain && line.read("text", fields, error))
    return error.status;
  auto *tokens = create<attn_tokens>();
  if (!tokens)
    return error.outOfMemory("tokens");
  line.owned = tokens;
  *tokens = {};
  Slice text = arePlain ? line.source : Slice(fields.text);
  const char *pair = fields.pair.empty() ? "" : fields.pair.data();
  char *message = nullptr;
  attn_status status = attn_text_tokens(run.model, run.entry, &tokenizer, text.data, text.size,
                                        fields.hasPair ? pair : nullptr, fields.pair.size(),
                                        run.command->truncates, tokens, &message);
  if (status)
    error.take(status, message);
  attn_message_free(message);
  line.length = tokens->count;
  return status;
}

attn_status TextLines::make(attn_context &context, Line *const *lines, int64_t count,
                            Error &error) const {
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

/// The most that an axis is.
static int64_t boundOf(const attn_abi_model &tables, const attn_abi_axis &axis) {
  return axis.offset + (axis.dim < 0 ? 0 : axis.scale * tables.dims[axis.dim].value);
}

attn_status TextLines::prepare(const Labels *labels, LineWork &work, Error &error) {
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
  const attn_abi_axis &columns = entry.outputs[0].axes[1];
  if (columns.dim >= 0 && tables.dims[columns.dim].isDynamic) {
    error.set(ATTN_INVALID_ARGUMENT, "U0003",
              "entry `%s` gives rows of `%s` numbers, which differ from text to text", entry.name,
              columns.name);
    error.help("expected a first output f32[B, D], where D is no `dyn`");
    return error.status;
  }
  width = boundOf(tables, columns);
  hasLabels = labels && labels->size() == width;
  work.width = hasLabels ? 0 : width;
  for (int32_t i = 0; i < entry.inputCount; ++i)
    if (entry.inputs[i].rank == 2)
      work.most = boundOf(tables, entry.inputs[i].axes[0]);
  work.self = this;
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
  return ATTN_OK;
}

attn_status attn::runTextLines(const PromptRun &run, const attn_tokenizer &tokenizer,
                               Error &error) {
  TextLines texts{run, tokenizer};
  LineWork work;
  return texts.prepare(run.labels, work, error) ? error.status : runLines(run, work, error);
}
