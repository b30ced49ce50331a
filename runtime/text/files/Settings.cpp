// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The settings of a folder. Where tokenizer_config.json has no `added_tokens_decoder`, the older
// files count: special_tokens_map.json before the config, and added_tokens.json.
#include "text/files/Settings.h"
#include <cstdlib>

using namespace attn;

/// Reads an object, by `take(reader, root)`, where the file is there.
template <typename Take>
static attn_status readObject(const TextFolder &folder, const char *file, Arena &strings,
                              Error &error, Take take) {
  Vector<char> bytes;
  if (attn_status status = folder.read(file, bytes, error); status || bytes.empty())
    return status;
  Text name = folder.nameOf(file);
  Vector<Pattern> none;
  ComponentReader reader(name.c_str(), strings, none, error);
  JsonTree tree;
  if (!tree.read(Slice(bytes)))
    reader.fail(JsonValue(), "not JSON at byte %zu: %s", tree.position, tree.problem);
  else if (!tree.root().isObject())
    reader.fail(JsonValue(), "expected an object");
  else
    take(reader, tree.root());
  return error.status;
}

static bool readFlag(ComponentReader &reader, JsonValue root, const char *key, Flag &flag) {
  bool value = false;
  if (!root.find(key).isSet())
    return true;
  if (!reader.readFlag(root, key, value))
    return false;
  flag = value ? Flag::Yes : Flag::No;
  return true;
}

/// A token as a string, or as an object with flags.
static bool readToken(ComponentReader &reader, JsonValue value, AddedToken &token) {
  token.isSpecial = true;
  if (value.isString())
    return reader.keep(value.text(), token.content);
  if (!value.isObject())
    return reader.fail(value, "expected a string or an object with a string `content`");
  return reader.readText(value, "content", token.content) &&
         reader.readFlag(value, "single_word", token.isSingleWord) &&
         reader.readFlag(value, "lstrip", token.stripsLeft) &&
         reader.readFlag(value, "rstrip", token.stripsRight) &&
         reader.readFlag(value, "normalized", token.isNormalized);
}

bool TextSettings::readAdditional(ComponentReader &reader, JsonValue value) {
  if (!value.isSet())
    return true;
  if (!value.isArray() && !value.isObject())
    return reader.fail(value, "expected a list of tokens");
  additional.clear();
  for (JsonValue one = value.first(); one.exists(); one = one.next()) {
    AddedToken token;
    if (!readToken(reader, one, token))
      return false;
    if (!additional.push(token))
      return reader.failMemory();
  }
  return true;
}

bool TextSettings::readRoles(ComponentReader &reader, JsonValue root) {
  for (int role = 0; role < RoleCount; ++role) {
    JsonValue value = root.find(roleKeys[role]);
    if (!value.exists())
      continue;
    RoleToken read;
    read.isGiven = true;
    read.isPlain = !value.isObject();
    if (value.isSet() && !readToken(reader, value, read.token))
      return false;
    roles[role] = read;
  }
  return readAdditional(reader, root.find("additional_special_tokens")) &&
         readAdditional(reader, root.find("extra_special_tokens"));
}

/// {"0": {"content": "<pad>", "special": true, ...}, ...}
bool TextSettings::readDecoder(ComponentReader &reader, JsonValue value) {
  if (!value.isObject())
    return reader.fail(value, "expected an object of ids with their tokens");
  for (JsonValue one = value.first(); one.exists(); one = one.next()) {
    AddedToken token;
    Slice key = one.key();
    int64_t id = key.size == 0 ? -1 : 0;
    for (size_t i = 0; i < key.size && id >= 0; ++i)
      id = key.data[i] >= '0' && key.data[i] <= '9' && id < maxTokens
               ? 10 * id + (key.data[i] - '0')
               : -1;
    if (id < 0 || id >= maxTokens)
      return reader.fail(one, "expected an id from 0 to %lld",
                         static_cast<long long>(maxTokens - 1));
    if (!one.isObject())
      return reader.fail(one, "expected an object");
    if (!readToken(reader, one, token))
      return false;
    token.isSpecial = false;
    if (!reader.readFlag(one, "special", token.isSpecial))
      return false;
    if (!one.find("normalized").isSet())
      token.isNormalized = !token.isSpecial;
    token.id = int32_t(id);
    if (!added.push(token))
      return reader.failMemory();
  }
  return true;
}

/// added_tokens.json: {"<mask>": 50264, ...}. Those that have a role are special.
bool TextSettings::readAdded(ComponentReader &reader, JsonValue root) {
  for (JsonValue one = root.first(); one.exists(); one = one.next()) {
    AddedToken token;
    int64_t id;
    if (!one.integer(0, maxTokens - 1, id))
      return reader.fail(one, "expected an id from 0 to %lld",
                         static_cast<long long>(maxTokens - 1));
    if (!reader.keep(one.key(), token.content))
      return false;
    token.id = int32_t(id);
    for (int role = 0; role < RoleCount; ++role) {
      AddedToken own = tokenOf(Role(role));
      if (own.content.data && own.content == token.content) {
        own.id = token.id;
        token = own;
      }
    }
    for (const AddedToken &other : additional)
      token.isSpecial = token.isSpecial || other.content == token.content;
    token.isNormalized = !token.isSpecial;
    if (!added.push(token))
      return reader.failMemory();
  }
  return true;
}

bool TextSettings::readModel(ComponentReader &reader, JsonValue root) {
  Slice model;
  if (!className.data && !reader.readText(root, "tokenizer_class", className, false))
    return false;
  if (className.data || !reader.readText(root, "model_type", model, false) || !model.data)
    return reader.error.status == ATTN_OK;
  known = findClassOfModel(model);
  return true;
}

bool TextSettings::readConfig(ComponentReader &reader, JsonValue root) {
  const struct {
    const char *key;
    Flag &flag;
  } flags[] = {{"do_lower_case", lowers},
               {"strip_accents", stripsAccents},
               {"tokenize_chinese_chars", spacesChinese},
               {"do_basic_tokenize", cutsWords},
               {"keep_accents", keepsAccents},
               {"add_bos_token", addsBos},
               {"add_eos_token", addsEos},
               {"add_prefix_space", addsSpace},
               {"legacy", legacy},
               {"clean_up_tokenization_spaces", cleansUp},
               {"split_special_tokens", splitsSpecial},
               {"predict_timestamps", predictsTimes},
               {"split_by_punct", splitsPunctuation},
               {"separate_vocabs", separatesVocabularies}};
  hasConfig = true;
  for (const auto &one : flags)
    if (!readFlag(reader, root, one.key, one.flag))
      return false;
  return reader.readText(root, "tokenizer_class", className, false) &&
         reader.readInteger(root, "extra_ids", 0, 1 << 20, sentinels, false) &&
         reader.readText(root, "language", language, false) &&
         reader.readText(root, "task", task, false) &&
         reader.readText(root, "src_lang", sourceLanguage, false) &&
         reader.readText(root, "word_delimiter_token", wordDelimiter, false) &&
         reader.readText(root, "replace_word_delimiter_char", spaceForDelimiter, false) &&
         reader.readText(root, "target_lang", targetLanguage, false) && readRoles(reader, root) &&
         (!root.find("added_tokens_decoder").isSet() ||
          readDecoder(reader, root.find("added_tokens_decoder")));
}

AddedToken TextSettings::tokenOf(Role role) const {
  AddedToken token = roles[role].token;
  if (!roles[role].isGiven && known && known->tokens[role])
    token.content = Slice(known->tokens[role]);
  token.isSpecial = true;
  // The class makes the mask of a string itself.
  if (role == MaskToken && known && known->masksLeft && roles[role].isPlain)
    token.stripsLeft = true;
  return token;
}

attn_status TextSettings::read(const TextFolder &folder, Arena &strings, Error &error) {
  auto take = [&](const char *file, bool (TextSettings::*reads)(ComponentReader &, JsonValue)) {
    return readObject(folder, file, strings, error, [&](ComponentReader &reader, JsonValue root) {
      (this->*reads)(reader, root);
    });
  };
  if (take("tokenizer_config.json", &TextSettings::readConfig) ||
      take("config.json", &TextSettings::readModel))
    return error.status;
  if (className.data)
    known = findClass(className);
  if (!added.empty())
    return ATTN_OK;
  if (take("special_tokens_map.json", &TextSettings::readRoles))
    return error.status;
  return take("added_tokens.json", &TextSettings::readAdded);
}
