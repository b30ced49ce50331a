// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Batches of texts of one length, which need no padding.
#include "main/LineTexts.h"
#include "session/Embedding.h"

using namespace attn;

namespace {

/// What lines of texts need.
struct TextLines {
  const PromptRun &run;
  const attn_tokenizer &tokenizer;
  bool hasLabels;

  attn_status read(Line &line, Error &error) const {
    LineFields fields;
    if (attn_status status = line.read("text", fields, error))
      return status;
    Slice pair(fields.pair);
    auto *tokens = create<attn_tokens>();
    if (!tokens)
      return error.outOfMemory("tokens");
    line.owned = tokens;
    *tokens = {};
    if (attn_status status = readTextTokens(*run.model->tables, run.entry, tokenizer,
                                            Slice(fields.text), fields.hasPair ? &pair : nullptr,
                                            run.command->truncates, *tokens, error))
      return status;
    line.length = tokens->count;
    return ATTN_OK;
  }

  attn_status make(attn_context &context, Line *const *lines, int64_t count, Error &error) const {
    Vector<const attn_tokens *> texts;
    Outputs outputs;
    for (int64_t i = 0; i < count; ++i)
      if (!texts.push(static_cast<attn_tokens *>(lines[i]->owned)))
        return error.outOfMemory("texts");
    if (attn_status status = runTexts(context, run.entry, texts.data(), count, outputs, error))
      return status;
    auto width = size_t(outputs[0].shape[1]);
    for (int64_t i = 0; i < count; ++i)
      if (!hasLabels)
        memcpy(lines[i]->vector, static_cast<const float *>(outputs[0].data) + size_t(i) * width,
               width * sizeof(float));
      else if (attn_status status = keepLabels(*lines[i], outputs[0], i, *run.labels, error))
        return status;
    return ATTN_OK;
  }
};

} // namespace

attn_status attn::runTextLines(const PromptRun &run, const attn_tokenizer &tokenizer,
                               Error &error) {
  const attn_abi_model &tables = *run.model->tables;
  const attn_abi_entry &entry = tables.entries[run.entry];
  if (attn_status status = checkTextEntry(entry, error))
    return status;
  const attn_abi_axis &axis = entry.outputs[0].axes[1];
  int64_t width = axis.offset + (axis.dim < 0 ? 0 : axis.scale * tables.dims[axis.dim].value);
  TextLines texts{run, tokenizer, run.labels->size() == width};
  LineWork work;
  work.self = &texts;
  work.width = texts.hasLabels ? 0 : width;
  work.window = 2048;
  work.most = mostTexts(tables, run.entry);
  work.mostLength = 512; // tokens; more make a run no faster
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
