// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizers for unit tests, and the C interface with strings of C++.
#pragma once

#include "attn/text.h"
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace attn::test {

/// Bytes of a text, from first to before second.
using Span = std::pair<int64_t, int64_t>;

/// What came of a text: tokens, or a message.
struct Encoded {
  std::vector<int> ids, types, origins;
  std::vector<Span> spans;
  std::string message;
};

/// A tokenizer from the bytes of a file.
class Tokenizer {
public:
  explicit Tokenizer(const std::string &bytes) {
    char *text = nullptr;
    attn_tokenizer_open_memory(bytes.data(), bytes.size(), &tokenizer, &text);
    message = text ? text : "";
    attn_message_free(text);
  }
  Tokenizer(const Tokenizer &) = delete;
  ~Tokenizer() { attn_tokenizer_destroy(tokenizer); }
  attn_tokenizer *get() const { return tokenizer; }

  Encoded encode(const std::string &text, int flags = 0) const {
    Encoded encoded;
    attn_tokens tokens = {};
    char *why = nullptr;
    attn_tokenizer_encode(tokenizer, text.data(), text.size(), flags, &tokens, &why);
    encoded.message = why ? why : "";
    attn_message_free(why);
    for (int64_t i = 0; i < tokens.count; ++i) {
      encoded.ids.push_back(tokens.ids[i]);
      encoded.types.push_back(tokens.types[i]);
      encoded.origins.push_back(tokens.origins[i]);
      encoded.spans.push_back({tokens.begins[i], tokens.ends[i]});
    }
    attn_tokens_free(&tokens);
    return encoded;
  }

  std::string decode(const std::vector<int> &ids, bool skipsSpecial = false) const {
    char *text = nullptr, *why = nullptr;
    size_t size = 0;
    attn_tokenizer_decode(tokenizer, ids.data(), int64_t(ids.size()), skipsSpecial, &text, &size,
                          &why);
    std::string decoded = text ? std::string(text, size) : std::string(why);
    attn_message_free(text);
    attn_message_free(why);
    return decoded;
  }

  std::string message; ///< of a tokenizer that could not be opened

private:
  attn_tokenizer *tokenizer = nullptr;
};

/// A decoding token by token; both give text, or the message.
class Stream {
public:
  explicit Stream(const Tokenizer &tokenizer) {
    attn_decoding_create(tokenizer.get(), 0, &decoding, nullptr);
  }
  Stream(const Stream &) = delete;
  ~Stream() { attn_decoding_destroy(decoding); }
  std::string add(int id) {
    const char *text = nullptr;
    char *why = nullptr;
    size_t size = 0;
    attn_decoding_add(decoding, id, &text, &size, &why);
    std::string added = text ? std::string(text, size) : std::string(why);
    attn_message_free(why);
    return added;
  }
  void follow(const std::vector<int> &ids) {
    EXPECT_EQ(ATTN_OK, attn_decoding_follow(decoding, ids.data(), int64_t(ids.size()), nullptr));
  }
  std::string finish() {
    const char *text = nullptr;
    size_t size = 0;
    attn_decoding_finish(decoding, &text, &size, nullptr);
    return std::string(text, size);
  }

private:
  attn_decoding *decoding = nullptr;
};

/// Words, with a special token that is put behind texts.
inline const char wordTokenizer[] = R"({
  "added_tokens": [{"id": 3, "content": "</s>", "special": true}],
  "pre_tokenizer": {"type": "Whitespace"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
    "special_tokens": {"</s>": {"id": "</s>", "ids": [3], "tokens": ["</s>"]}}},
  "model": {"type": "WordLevel", "vocab": {"?": 0, "b": 1, "Ab": 2, "long": 4}, "unk_token": "?"}})";

/// Byte-level BPE with all bytes and one merge, of two letters a, which take the place of byte
/// 0xff.
std::string byteLevel();

} // namespace attn::test
