// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where templates come from, and what their variables are.
#include "text/jinja/ChatTemplate.h"
#include "base/Utf8.h"
#include "io/File.h"
#include "io/Gguf.h"
#include "text/jinja/Interpreter.h"
#include "text/steps/Unicode.h"
#include <sys/stat.h>

using namespace attn;
using namespace attn::jinja;

static constexpr size_t mostSource = size_t(1) << 20, mostConfig = size_t(1) << 26;

/// A source as Jinja takes it: ends of lines are "\n", and the last one is left out.
static Slice normalise(Slice source, Memory &memory) {
  auto *made = static_cast<char *>(memory.take(source.size + 1));
  size_t size = 0;
  for (size_t i = 0; made && i < source.size; ++i) {
    bool isReturn = source.data[i] == '\r';
    made[size++] = isReturn ? '\n' : source.data[i];
    i += isReturn && i + 1 < source.size && source.data[i + 1] == '\n';
  }
  size -= size > 0 && made[size - 1] == '\n';
  return {made, size};
}

/// Whether bytes are an object of JSON: a template has a second brace, or a sign, behind one.
static bool isObject(Slice bytes) {
  bytes = strip(bytes, nullptr, true, false);
  if (bytes.size < 2 || bytes.data[0] != '{')
    return false;
  bytes = strip(bytes.from(1), nullptr, true, false);
  return bytes.size > 0 && (bytes.data[0] == '"' || bytes.data[0] == '}');
}

attn_status ChatTemplate::openMemory(const char *called, Slice bytes, Error &error) {
  if (!isUtf8(bytes))
    return error.set(ATTN_BAD_INPUT, "R0705", "%s is not in UTF-8", called);
  if (!isObject(bytes))
    return openSource(called, bytes, error);
  if (attn_status status = readConfig(called, bytes, nullptr, error))
    return status;
  return body ? ATTN_OK : error.set(ATTN_NOT_FOUND, "R0708", "%s has no `chat_template`", called);
}

attn_status ChatTemplate::openSource(const char *called, Slice bytes, Error &error) {
  name.clear();
  name.append("%s", called);
  if (bytes.size > mostSource)
    return error.set(ATTN_BAD_INPUT, "R0705", "%s has %zu bytes, more than templates may have",
                     name.c_str(), bytes.size);
  if (!isUtf8(bytes))
    return error.set(ATTN_BAD_INPUT, "R0705", "%s is not in UTF-8", name.c_str());
  source = normalise(bytes, memory);
  if (!source.data || name.failed())
    return error.outOfMemory("a chat template");
  Diagnostics diagnostics(name.c_str(), source, error);
  body = parse(source, memory, diagnostics);
  return error.status;
}

static bool hasFile(const Text &path) {
  struct stat found;
  return !path.failed() && stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

static bool endsWith(const char *path, const char *ending) {
  return Slice(path).endsWith(Slice(ending));
}

/// Whether a file begins as GGUF does.
static bool isGguf(const char *path) {
  SourceFile file;
  Error none;
  char magic[4] = {};
  struct stat found;
  return stat(path, &found) == 0 && S_ISREG(found.st_mode) && file.open(path, none) == ATTN_OK &&
         file.size() >= 4 && file.read(0, 4, magic) && memcmp(magic, "GGUF", 4) == 0;
}

attn_status ChatTemplate::openPath(const char *path, const char *which, Error &error) {
  struct stat found;
  Text folder, config, file;
  if (isGguf(path))
    return openGguf(path, error);
  if (stat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
    folder.append("%s", path);
  } else {
    const char *slash = strrchr(path, '/');
    folder.append("%.*s", slash ? int(slash - path) : 1, slash ? path : ".");
  }
  file.append("%s", endsWith(path, ".jinja") ? path : "");
  if (!file.size())
    file.append("%s/chat_template.jinja", folder.c_str());
  config.append("%s", endsWith(path, "tokenizer_config.json") ? path : "");
  if (!config.size())
    config.append("%s/tokenizer_config.json", folder.c_str());
  bool hasTemplate = hasFile(file);
  if (hasFile(config))
    if (attn_status status = openConfig(config.c_str(), hasTemplate ? "" : which, error))
      return status;
  // That of a processor, which older folders have in a file of its own.
  Text processor;
  processor.append("%s/chat_template.json", folder.c_str());
  if (!hasTemplate && !body && hasFile(processor))
    if (attn_status status = openConfig(processor.c_str(), which, error))
      return status;
  if (hasTemplate) {
    Vector<char> bytes;
    Text quoted;
    quoted.append("`%s`", file.c_str());
    if (attn_status status = readFile(file.c_str(), mostSource, bytes, error))
      return status;
    return openSource(quoted.c_str(), Slice(bytes), error);
  }
  if (body)
    return ATTN_OK;
  error.set(ATTN_NOT_FOUND, "R0708", "`%s` has no chat template", path);
  error.help("a model that has learnt to chat has one in `chat_template.jinja`, or under "
             "`chat_template` in `tokenizer_config.json` or `chat_template.json`");
  return error.status;
}

bool ChatTemplate::keepTokens(const JsonValue &config) {
  for (JsonValue member = config.first(); member.exists(); member = member.next()) {
    if (!member.key().endsWith(Slice("_token")))
      continue;
    JsonValue token = member.isObject() ? member.find("content") : member;
    if (!token.isString())
      continue;
    if (!keepToken(member.key(), token.text()))
      return false;
  }
  return true;
}

bool ChatTemplate::keepToken(Slice called, Slice token) {
  Pair pair;
  pair.key = Value::of(memory.copy(called)), pair.value = Value::of(memory.copy(token));
  return pair.key.chars && pair.value.chars && tokens.push(pair);
}

/// The string of a value of GGUF, or null.
static Slice stringOf(const GgufValue &value) {
  bool isString = value.exists() && value.kind == GgufKind::String && value.bytes.size >= 8;
  return isString ? value.bytes.from(8) : Slice();
}

/// The string at a place of an array of them, or null.
static Slice stringAt(const GgufValue &list, const GgufValue &index) {
  bool isIndex = index.exists() && (index.kind == GgufKind::U32 || index.kind == GgufKind::I32);
  if (!isIndex || !list.isArrayOf(GgufKind::String) || index.at<uint32_t>(0) >= list.count)
    return Slice();
  GgufReader reader(list.bytes);
  Slice string;
  for (uint64_t i = 0; i <= index.at<uint32_t>(0); ++i)
    if (!reader.takeString(string))
      return Slice();
  return string;
}

attn_status ChatTemplate::openGguf(const char *path, Error &error) {
  Vector<char> bytes;
  if (attn_status status = readGgufValueBytes(path, bytes, error))
    return status;
  uint32_t version;
  uint64_t tensors, values;
  GgufValue text, words, bos, eos;
  GgufReader reader{Slice(bytes)};
  if (reader.takeHeader(version, tensors, values))
    eachGgufValue(reader, values, [&](Slice key, const GgufValue &value) {
      GgufValue *kept = key.is("tokenizer.chat_template")       ? &text
                        : key.is("tokenizer.ggml.tokens")       ? &words
                        : key.is("tokenizer.ggml.bos_token_id") ? &bos
                        : key.is("tokenizer.ggml.eos_token_id") ? &eos
                                                                : nullptr;
      if (kept)
        *kept = value;
    });
  Slice first = stringAt(words, bos), last = stringAt(words, eos);
  if ((first.data && isUtf8(first) && !keepToken(Slice("bos_token"), first)) ||
      (last.data && isUtf8(last) && !keepToken(Slice("eos_token"), last)))
    return error.outOfMemory("a chat template");
  if (!stringOf(text).data)
    return error.set(ATTN_NOT_FOUND, "R0708", "`%s` has no chat template", path);
  Text quoted;
  quoted.append("`tokenizer.chat_template` in `%s`", path);
  return openMemory(quoted.c_str(), stringOf(text), error);
}

attn_status ChatTemplate::openConfig(const char *path, const char *which, Error &error) {
  Vector<char> bytes;
  if (attn_status status = readFile(path, mostConfig, bytes, error))
    return status;
  Text quoted;
  quoted.append("`%s`", path);
  return readConfig(quoted.c_str(), Slice(bytes), which, error);
}

attn_status ChatTemplate::readConfig(const char *called, Slice bytes, const char *which,
                                     Error &error) {
  JsonTree tree;
  if (!isUtf8(bytes))
    return error.set(ATTN_BAD_INPUT, "R0705", "%s is not in UTF-8", called);
  if (!tree.read(bytes) || !tree.root().isObject())
    return error.set(ATTN_BAD_INPUT, "R0705", "%s, byte %zu: %s", called, tree.position,
                     tree.problem ? tree.problem : "expected an object");
  if (!keepTokens(tree.root()))
    return error.outOfMemory("a chat template");
  JsonValue value = tree.root().find("chat_template");
  if ((which && !*which) || !value.isSet())
    return ATTN_OK;
  Text quoted;
  quoted.append("`chat_template` in %s", called);
  return openValue(quoted.c_str(), value, which, error);
}

attn_status ChatTemplate::openValue(const char *called, const JsonValue &value, const char *which,
                                    Error &error) {
  JsonValue chosen = value;
  if (value.isArray()) {
    chosen = JsonValue();
    Text known;
    for (JsonValue item = value.first(); item.exists(); item = item.next()) {
      Slice own = item.isObject() ? item.find("name").text() : Slice();
      known.append(known.size() ? ", `%.*s`" : "`%.*s`", int(own.size < 60 ? own.size : 60),
                   own.data);
      if (own.is(which ? which : "default") || (!which && value.count() == 1))
        chosen = item.find("template");
    }
    if (!chosen.exists())
      return error.set(ATTN_NOT_FOUND, "R0708", "%s has no template `%s`; it has %s", called,
                       which ? which : "default", known.c_str());
  }
  if (!chosen.isString())
    return error.set(ATTN_BAD_INPUT, "R0705", "%s is neither a string nor a list of templates",
                     called);
  return openSource(called, chosen.text(), error);
}

bool ChatTemplate::appendConfig(Vector<char> &json) const {
  Vector<char> whole; // with the line's end that reading takes away
  Vector<Pair> pairs;
  if (!append(whole, source) || !whole.push('\n') ||
      !pairs.push({Value::of(Slice("chat_template")), Value::of(Slice(whole))}) ||
      !pairs.append(tokens.data(), tokens.size()))
    return false;
  JsonStyle style;
  style.itemSeparator = Slice(", "), style.keySeparator = Slice(": ");
  return appendJson(Value::dict(pairs.data(), pairs.size()), style, json);
}

attn_status ChatTemplate::render(Slice variables, Vector<char> &text, Error &error) const {
  JsonTree tree;
  if (!isUtf8(variables) || !tree.read(variables) || !tree.root().isObject())
    return error.set(ATTN_BAD_INPUT, "R0705", "the variables of a chat template, byte %zu: %s",
                     tree.position, tree.problem ? tree.problem : "expected an object in UTF-8");
  Memory own;
  Value given;
  Diagnostics diagnostics(name.c_str(), source, error);
  if (!fromJson(tree.root(), own, given))
    return error.set(ATTN_BAD_INPUT, "R0705",
                     "the variables of a chat template are too large, or have a number that is");
  auto *pairs = own.make<Pair>(tokens.size() + given.size);
  if (!pairs)
    return error.outOfMemory("the variables of a chat template");
  // What is given comes last, and counts.
  for (size_t i = 0; i < tokens.size() + given.size; ++i)
    pairs[i] = i < tokens.size() ? tokens[i] : given.pairs[i - tokens.size()];
  size_t before = text.size();
  Interpreter interpreter(own, diagnostics);
  if (!interpreter.run(body, Value::dict(pairs, tokens.size() + given.size), text))
    text.resize(before);
  return error.status;
}
