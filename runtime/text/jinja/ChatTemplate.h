// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The template that makes one text of the turns of a chat, from the files of a checkpoint.
#pragma once

#include "text/jinja/Syntax.h"

namespace attn {

/// A template that has been read; many threads may render it.
class ChatTemplate {
public:
  /// Reads the template of a folder, or of the folder of a file: `chat_template.jinja`, else what
  /// tokenizer_config.json, or else chat_template.json, says under `chat_template`, a string or a
  /// list of named ones, of which `which` is taken (null: "default", or the only one). A file that
  /// ends in ".jinja" is one itself, and so is a tokenizer_config.json; of a GGUF file it is in the
  /// metadata. ATTN_NOT_FOUND where there is none.
  attn_status openPath(const char *path, const char *which, Error &error);
  /// Reads a template, or a tokenizer_config.json with one; `name` is what errors call it.
  attn_status openMemory(const char *name, Slice source, Error &error);
  /// The text of the template.
  Slice text() const { return source; }
  /// Appends a tokenizer_config.json that holds all of this; false where memory is lacking.
  bool appendConfig(Vector<char> &json) const;
  /// Appends the text that the template makes of a JSON object, whose members are its variables.
  attn_status render(Slice variables, Vector<char> &text, Error &error) const;

private:
  /// Reads the text of a template.
  attn_status openSource(const char *name, Slice source, Error &error);
  /// Reads the values of a GGUF file.
  attn_status openGguf(const char *path, Error &error);
  /// Keeps a special token under its name; false where memory is lacking.
  bool keepToken(Slice name, Slice token);
  /// Reads what a tokenizer_config.json says.
  attn_status readConfig(const char *name, Slice bytes, const char *which, Error &error);
  /// Reads special tokens and, where `which` is not empty, the template of a config.
  attn_status openConfig(const char *path, const char *which, Error &error);
  /// Keeps the special tokens of a tokenizer_config.json, which templates know by their names.
  bool keepTokens(const JsonValue &config);
  /// Takes the template of a config, one of several by its name.
  attn_status openValue(const char *name, const JsonValue &value, const char *which, Error &error);

  jinja::Memory memory;
  Text name;
  Slice source;
  const jinja::Node *body = nullptr;
  Vector<jinja::Pair> tokens; ///< `bos_token` and the like
};

} // namespace attn
