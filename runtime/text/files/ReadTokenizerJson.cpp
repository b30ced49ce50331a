// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hugging Face's tokenizer.json, read literally.
#include "text/Tokenizer.h"

using namespace attn;

static bool readDirection(ComponentReader &reader, JsonValue value, bool &isLeft) {
  JsonValue member = value.find("direction");
  Slice name = member.isString() ? member.text() : Slice();
  isLeft = name.is("Left") || name.is("left");
  return isLeft || !member.isSet() || name.is("Right") || name.is("right") ||
         reader.fail(member, "expected Left or Right");
}

static bool readTruncation(ComponentReader &reader, JsonValue value, Truncation &truncation) {
  if (!value.isSet())
    return true;
  JsonValue strategy = value.find("strategy");
  Slice name = strategy.isString() ? strategy.text() : Slice();
  if (name.is("OnlyFirst") || name.is("only_first"))
    truncation.strategy = Truncation::OnlyFirst;
  else if (name.is("OnlySecond") || name.is("only_second"))
    truncation.strategy = Truncation::OnlySecond;
  else if (strategy.isSet() && !name.is("LongestFirst") && !name.is("longest_first"))
    return reader.fail(strategy, "expected LongestFirst, OnlyFirst or OnlySecond");
  return value.isObject()
             ? readDirection(reader, value, truncation.isLeft) &&
                   reader.readInteger(value, "max_length", 1, INT32_MAX, truncation.length)
             : reader.fail(value, "expected an object");
}

static bool readPadding(ComponentReader &reader, JsonValue value, Padding &padding) {
  if (!value.isSet())
    return true;
  JsonValue strategy = value.find("strategy");
  int64_t id = 0, type = 0;
  if (!value.isObject())
    return reader.fail(value, "expected an object");
  if (strategy.isObject() && !reader.readInteger(strategy, "Fixed", 1, INT32_MAX, padding.length))
    return false;
  if (strategy.isSet() && !strategy.isObject() &&
      !(strategy.isString() && strategy.text().is("BatchLongest")))
    return reader.fail(strategy, "expected BatchLongest or {\"Fixed\": N}");
  if (!readDirection(reader, value, padding.isLeft) ||
      !reader.readInteger(value, "pad_to_multiple_of", 0, INT32_MAX, padding.multiple, false) ||
      !reader.readInteger(value, "pad_id", 0, maxTokens - 1, id, false) ||
      !reader.readInteger(value, "pad_type_id", 0, INT32_MAX, type, false))
    return false;
  padding.id = int32_t(id);
  padding.type = int32_t(type);
  return true;
}

attn_status attn::readTokenizerJson(const char *name, Slice bytes, Tokenizer &tokenizer,
                                    Error &error) {
  ComponentReader reader(name, tokenizer.strings, tokenizer.regexes, error);
  JsonTree tree;
  if (!tree.read(bytes)) {
    if (strncmp(tree.problem, "no memory", 9) == 0) {
      reader.failMemory();
      return error.status;
    }
    size_t line = 1;
    for (size_t i = 0; i < tree.position && i < bytes.size; ++i)
      line += bytes.data[i] == '\n';
    reader.fail(JsonValue(), "not JSON at byte %zu, line %zu: %s", tree.position, line,
                tree.problem);
    return error.status;
  }
  JsonValue root = tree.root();
  if (!root.find("model").exists()) {
    reader.fail(JsonValue(), "not a tokenizer.json: it has no `model`");
    return error.status;
  }
  tokenizer.hasDecoder = root.find("decoder").isSet();
  bool isGood = readNormalizer(reader, root.find("normalizer"), tokenizer.normalizers) &&
                readPreTokenizer(reader, root.find("pre_tokenizer"), tokenizer.preTokenizers) &&
                readModel(reader, root.find("model"), tokenizer.model) &&
                tokenizer.added.read(reader, root.find("added_tokens")) &&
                tokenizer.postProcessors.read(reader, root.find("post_processor")) &&
                readDecoder(reader, root.find("decoder"), tokenizer.decoders) &&
                readTruncation(reader, root.find("truncation"), tokenizer.truncation) &&
                readPadding(reader, root.find("padding"), tokenizer.padding);
  return isGood ? ATTN_OK : error.status;
}
