// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file of tiktoken: a token in base64 and its rank in each line. Expression and special tokens
// are not in it; they are those of the published vocabulary with as many tokens.
#include "text/Tokenizer.h"
#include <cstdio>

using namespace attn;

const char attn::llama3Expression[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char attn::qwen2Expression[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char attn::cl100kExpression[] =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s)";
const char attn::o200kExpression[] =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char attn::tekkenExpression[] =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

/// A special token of a published vocabulary.
struct Special {
  const char *name;
  int32_t id;
};

/// What a published vocabulary has besides its tokens.
struct Published {
  const char *name;
  size_t count;
  const char *expression;
  Special specials[6];
};

} // namespace

static const Published publishedTables[] = {
    {"gpt2", 50256, nullptr, {{"<|endoftext|>", 50256}}},
    {"p50k_base", 50280, nullptr, {{"<|endoftext|>", 50256}}},
    {"cl100k_base",
     100256,
     cl100kExpression,
     {{"<|endoftext|>", 100257},
      {"<|fim_prefix|>", 100258},
      {"<|fim_middle|>", 100259},
      {"<|fim_suffix|>", 100260},
      {"<|endofprompt|>", 100276}}},
    {"o200k_base",
     199998,
     o200kExpression,
     {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
    {"Llama 3",
     128000,
     llama3Expression,
     {{"<|begin_of_text|>", 128000},
      {"<|end_of_text|>", 128001},
      {"<|start_header_id|>", 128006},
      {"<|end_header_id|>", 128007},
      {"<|eot_id|>", 128009}}},
    {"Qwen",
     151643,
     qwen2Expression,
     {{"<|endoftext|>", 151643}, {"<|im_start|>", 151644}, {"<|im_end|>", 151645}}}};

/// Takes a line: the token in base64, and its rank. False where it is none.
static bool takeLine(Slice &bytes, Vector<char> &token, int64_t &rank) {
  Slice line = bytes.takeLine();
  auto *space = static_cast<const char *>(line.size ? memchr(line.data, ' ', line.size) : nullptr);
  if (!space || space == line.data ||
      !decodeBase64(line.between(0, size_t(space - line.data)), token) || token.empty())
    return false;
  rank = 0;
  size_t at = size_t(space - line.data) + 1;
  if (at == line.size)
    return false;
  for (; at < line.size; ++at) {
    if (line.data[at] < '0' || line.data[at] > '9' || rank >= maxTokens)
      return false;
    rank = 10 * rank + (line.data[at] - '0');
  }
  return rank < maxTokens;
}

bool attn::looksLikeTiktoken(Slice bytes) {
  Vector<char> token;
  int64_t rank;
  return takeLine(bytes, token, rank);
}

static bool readLines(ComponentReader &reader, Slice bytes, Model &model, size_t &count) {
  Vector<char> token;
  int64_t rank;
  count = 0;
  while (bytes.size) {
    if (bytes.data[0] == '\n') {
      bytes = bytes.from(1);
      continue;
    }
    if (!takeLine(bytes, token, rank))
      return reader.fail(JsonValue(), "line %zu is no token in base64 with its rank", count + 1);
    if (!model.vocabulary.add(int32_t(rank), Slice(token)))
      return reader.failMemory();
    ++count;
  }
  if (!model.ranks.reserve(model.vocabulary.size()))
    return reader.failMemory();
  for (size_t id = 0; id < model.vocabulary.size(); ++id)
    model.ranks.push(uint32_t(id));
  for (unsigned byte = 0; byte < 256; ++byte) {
    char c = char(byte);
    if (model.vocabulary.find(Slice(&c, 1)) < 0)
      return reader.fail(JsonValue(), "the vocabulary lacks a token of the byte %u", byte);
  }
  return true;
}

static bool finish(ComponentReader &reader, const Published &published, Tokenizer &tokenizer) {
  PreTokenizer step;
  if (!reader.compile(published.expression ? published.expression : byteLevelExpression,
                      step.pattern) ||
      !tokenizer.preTokenizers.push(step))
    return reader.failMemory();
  for (const Special &special : published.specials)
    if (special.name && !addLiteral(reader, tokenizer, special.id, Slice(special.name), true))
      return false;
  Decoder fuse;
  tokenizer.hasDecoder = true;
  return tokenizer.decoders.push(fuse) || reader.failMemory();
}

attn_status attn::readTiktoken(const char *name, Slice bytes, Tokenizer &tokenizer, Error &error) {
  ComponentReader reader(name, tokenizer.strings, tokenizer.regexes, error);
  Model &model = tokenizer.model;
  size_t count;
  model.kind = Model::Bpe;
  model.isOfBytes = model.ignoresMerges = true;
  if (!readLines(reader, bytes, model, count))
    return error.status;
  for (const Published &published : publishedTables)
    if (published.count == count) {
      finish(reader, published, tokenizer);
      return error.status;
    }
  Text known;
  for (const Published &published : publishedTables)
    known.append("%s%s (%zu)", known.size() ? ", " : "", published.name, published.count);
  reader.fail(JsonValue(),
              "a file of tiktoken with %zu tokens, which does not say how texts are cut, and is "
              "none of those that are known",
              count);
  error.help("known are %s", known.c_str());
  return error.status;
}
