// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts of one length at a time: no padding, whose bits could differ.
#include "session/Embedding.h"

using namespace attn;

namespace {

/// The tokens of a text, freed at the end.
struct OwnTokens {
  attn_tokens tokens = {};
  ~OwnTokens() { attn_tokens_free(&tokens); }
};

} // namespace

static bool takesRows(const attn_abi_tensor &input) {
  return input.dtype == ATTN_I32 && input.rank == 2;
}

attn_status attn::checkTextEntry(const attn_abi_entry &entry, Error &error) {
  int32_t rows = 0;
  bool isGood = entry.outputCount > 0 && entry.outputs[0].dtype == ATTN_F32 &&
                entry.outputs[0].rank == 2 && !entry.unfold && entry.cacheCount == 0;
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    bool isLengths = entry.inputs[i].dtype == ATTN_I32 && entry.inputs[i].rank == 1;
    rows += takesRows(entry.inputs[i]);
    isGood &= isLengths || takesRows(entry.inputs[i]);
  }
  if (isGood && (rows == 1 || rows == 2))
    return ATTN_OK;
  error.set(ATTN_INVALID_ARGUMENT, "U0003", "entry `%s` makes no vectors of texts", entry.name);
  error.help("such an entry takes tokens, i32[B, T], perhaps `segments: i32[B, T]` and `lengths: "
             "i32[B]`, and gives f32[B, D]");
  return error.status;
}

/// Cuts tokens to a length: what is special at the end stays.
static void cutTokens(attn_tokens &tokens, int64_t length) {
  int64_t behind = 0;
  while (behind < length - 1 && tokens.origins[tokens.count - 1 - behind] == ATTN_TOKEN_SPECIAL)
    ++behind;
  memmove(tokens.ids + length - behind, tokens.ids + tokens.count - behind,
          size_t(behind) * sizeof *tokens.ids);
  memmove(tokens.types + length - behind, tokens.types + tokens.count - behind,
          size_t(behind) * sizeof *tokens.types);
  tokens.count = length;
}

/// The input that takes the tokens; -1 where there is none.
static int32_t rowsOf(const attn_abi_entry &entry) {
  for (int32_t i = 0; i < entry.inputCount; ++i)
    if (takesRows(entry.inputs[i]))
      return i;
  return -1;
}

attn_status attn::readTextTokens(const attn_abi_model &tables, int32_t number,
                                 const attn_tokenizer &tokenizer, Slice text, const Slice *pair,
                                 bool truncates, attn_tokens &tokens, Error &error) {
  const attn_abi_entry &entry = tables.entries[number];
  char *message = nullptr;
  attn_status status =
      pair ? attn_tokenizer_encode_pair(&tokenizer, text.data, text.size, pair->data, pair->size,
                                        ATTN_TEXT_ADD_SPECIAL, &tokens, &message)
           : attn_tokenizer_encode(&tokenizer, text.data, text.size, ATTN_TEXT_ADD_SPECIAL, &tokens,
                                   &message);
  if (status) {
    error.take(status, message);
    attn_message_free(message);
    return status;
  }
  if (tokens.count == 0) {
    error.set(ATTN_BAD_INPUT, "R0214", "the text has no tokens");
    error.help("give at least one character");
    return error.status;
  }
  const attn_abi_axis &axis = entry.inputs[rowsOf(entry)].axes[1];
  int64_t most = axis.dim >= 0 ? tables.dims[axis.dim].value : INT64_MAX;
  if (tokens.count <= most)
    return ATTN_OK;
  if (truncates) {
    cutTokens(tokens, most);
    return ATTN_OK;
  }
  error.set(ATTN_BAD_INPUT, "R0215", "the text has %lld tokens, but entry `%s` takes %lld",
            static_cast<long long>(tokens.count), entry.name, static_cast<long long>(most));
  error.help("shorten it, or leave out its end by `--truncate`");
  return error.status;
}

attn_status attn::runTexts(attn_context &context, int32_t number, const attn_tokens *const *texts,
                           int64_t count, Outputs &outputs, Error &error) {
  const attn_abi_entry &entry = context.model->tables->entries[number];
  Vector<attn_tensor> inputs;
  Vector<int32_t> ids, types, lengths;
  int64_t length = texts[0]->count;
  bool isGood = inputs.resize(size_t(entry.inputCount));
  for (int64_t i = 0; i < count && isGood; ++i)
    isGood = ids.append(texts[i]->ids, size_t(length)) &&
             types.append(texts[i]->types, size_t(length)) && lengths.push(int32_t(length));
  if (!isGood)
    return error.outOfMemory("the inputs");
  bool hasIds = false;
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    attn_tensor &tensor = inputs[size_t(i)];
    bool isRows = takesRows(entry.inputs[i]);
    tensor.dtype = ATTN_I32, tensor.rank = entry.inputs[i].rank;
    tensor.shape[0] = count, tensor.shape[1] = length;
    tensor.data = !isRows ? lengths.data() : hasIds ? types.data() : ids.data();
    hasIds |= isRows;
  }
  if (attn_status status = outputs.prepare(context, number, inputs.data(), error))
    return status;
  char *message = nullptr;
  if (attn_status status = attn_run(&context, number, inputs.data(), outputs.data(), &message)) {
    error.take(status, message);
    attn_message_free(message);
    return status;
  }
  return ATTN_OK;
}

attn_status attn::embedText(attn_context &context, int32_t number, const attn_tokenizer &tokenizer,
                            Slice text, bool truncates, Vector<float> &vector, Error &error) {
  const attn_abi_model &tables = *context.model->tables;
  OwnTokens own;
  Outputs outputs;
  const attn_tokens *tokens = &own.tokens;
  if (checkTextEntry(tables.entries[number], error) ||
      readTextTokens(tables, number, tokenizer, text, nullptr, truncates, own.tokens, error) ||
      runTexts(context, number, &tokens, 1, outputs, error))
    return error.status;
  return vector.append(static_cast<const float *>(outputs[0].data), size_t(outputs[0].shape[1]))
             ? ATTN_OK
             : error.outOfMemory("a vector");
}
