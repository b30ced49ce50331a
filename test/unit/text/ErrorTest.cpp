// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What damaged and unknown tokenizers are answered with: each message once.
#include "Tokenizers.h"
#include <filesystem>
#include <fstream>

using namespace attn::test;

namespace {

/// A file, and the message without its beginning, `memory`.
struct Case {
  std::string bytes, message;
};

/// A tokenizer.json with a model, and further members.
std::string with(const std::string &members,
                 const std::string &model = R"({"type": "WordLevel", "vocab": {"a": 0}})") {
  return "{" + members + R"("model": )" + model + "}";
}

/// A number as bytes.
template <typename T> std::string bytesOf(T value) {
  return std::string(reinterpret_cast<const char *>(&value), sizeof value);
}

/// A string of GGUF, and a member with a string.
std::string ggufText(const std::string &text) { return bytesOf(uint64_t(text.size())) + text; }
std::string ggufMember(const std::string &key, const std::string &text) {
  return ggufText("tokenizer.ggml." + key) + bytesOf(uint32_t(8)) + ggufText(text);
}
/// An array of strings.
std::string ggufMember(const std::string &key, const std::vector<std::string> &texts) {
  std::string bytes = ggufText("tokenizer.ggml." + key) + bytesOf(uint32_t(9)) +
                      bytesOf(uint32_t(8)) + bytesOf(uint64_t(texts.size()));
  for (const std::string &text : texts)
    bytes += ggufText(text);
  return bytes;
}
std::string gguf(const std::vector<std::string> &members, uint32_t version = 3) {
  std::string bytes =
      "GGUF" + bytesOf(version) + bytesOf(uint64_t(0)) + bytesOf(uint64_t(members.size()));
  for (const std::string &member : members)
    bytes += member;
  return bytes;
}

/// A field of protobuf with bytes, which are below 128.
std::string field(int number, const std::string &bytes) {
  return std::string(1, char(number << 3 | 2)) + std::string(1, char(bytes.size())) + bytes;
}
std::string piece(const std::string &text, int type) {
  return field(1, field(1, text) + "\x15" + bytesOf(0.0f) + "\x18" + std::string(1, char(type)));
}

void check(const std::vector<Case> &cases) {
  for (const Case &one : cases) {
    Tokenizer tokenizer(one.bytes);
    EXPECT_EQ(nullptr, tokenizer.get()) << one.message;
    EXPECT_EQ("error[" + one.message, tokenizer.message);
  }
}

} // namespace

TEST(ErrorTest, Json) {
  check(
      {{" ", "R0701]: `memory` is empty"},
       {"{\"model\": }", "R0701]: `memory`: not JSON at byte 10, line 1: expected a value"},
       {"{}", "R0701]: `memory`: not a tokenizer.json: it has no `model`"},
       {R"({"model": 3})", "R0701]: `memory`: `model`: expected an object `model`"},
       {with(R"("added_tokens": 1, )"), "R0701]: `memory`: `added_tokens`: expected an array"},
       {with(R"("added_tokens": [1], )"),
        "R0701]: `memory`: `added_tokens[0]`: expected an object"},
       {with(R"("added_tokens": [{"id": -1, "content": "a"}], )"),
        "R0701]: `memory`: `added_tokens[0].id`: expected a whole number from 0 to 4194303"},
       {with(R"("added_tokens": [{"id": 1}], )"),
        "R0701]: `memory`: `added_tokens[0]`: expected a string `content`"},
       {with(R"("added_tokens": [{"id": 1, "content": "a", "special": 1}], )"),
        "R0701]: `memory`: `added_tokens[0].special`: expected true or false"},
       {with(R"("truncation": {"max_length": 3, "strategy": "x"}, )"),
        "R0701]: `memory`: `truncation.strategy`: expected LongestFirst, OnlyFirst or OnlySecond"},
       {with(R"("truncation": {"max_length": 3, "direction": "Up"}, )"),
        "R0701]: `memory`: `truncation.direction`: expected Left or Right"},
       {with(R"("truncation": 1, )"), "R0701]: `memory`: `truncation`: expected an object"},
       {with(R"("padding": 1, )"), "R0701]: `memory`: `padding`: expected an object"},
       {with(R"("padding": {"strategy": "x"}, )"),
        "R0701]: `memory`: `padding.strategy`: expected BatchLongest or {\"Fixed\": N}"}});
}

TEST(ErrorTest, UnknownComponents) {
  check(
      {{with(R"("normalizer": {"type": "NFX"}, )"),
        "R0702]: `memory`: `normalizer`: the normalizer `NFX` is not known\n   = help: known are "
        "BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, "
        "Replace, Sequence, Strip, StripAccents"},
       {with(R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits"},
                  {"type": "UnicodeScripts"}]}, )"),
        "R0702]: `memory`: `pre_tokenizer.pretokenizers[1]`: the pre-tokenizer `UnicodeScripts` is "
        "not known\n   = help: known are BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, "
        "FixedLength, Metaspace, Punctuation, Sequence, Split, Whitespace, WhitespaceSplit"},
       {with(R"("post_processor": {"type": "X"}, )"),
        "R0702]: `memory`: `post_processor`: the post-processor `X` is not known\n   = help: known "
        "are BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing"},
       {with(R"("decoder": {"type": "X\n"}, )"),
        "R0702]: `memory`: `decoder`: the decoder `X\\x0a` is not known\n   = help: known are "
        "BPEDecoder, ByteFallback, ByteLevel, CTC, Fuse, Metaspace, Replace, Sequence, Strip, "
        "WordPiece"},
       {with("", R"({"type": "X"})"),
        "R0702]: `memory`: `model`: the model `X` is not known\n   = help: known are BPE, Unigram, "
        "WordLevel, WordPiece"}});
}

TEST(ErrorTest, Components) {
  check(
      {{with(R"("normalizer": 1, )"), "R0701]: `memory`: `normalizer`: expected an object"},
       {with(R"("normalizer": {}, )"), "R0701]: `memory`: `normalizer`: expected a string `type`"},
       {with(R"("normalizer": {"type": "Sequence"}, )"),
        "R0701]: `memory`: `normalizer`: expected an array `normalizers`"},
       {with(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAA="}, )"),
        "R0701]: `memory`: `normalizer.precompiled_charsmap`: expected a table of characters of "
        "SentencePiece in base64"},
       {with(R"("normalizer": {"type": "Replace", "pattern": 1, "content": ""}, )"),
        "R0701]: `memory`: `normalizer`: expected `pattern`, an object with a string `String` or "
        "`Regex`"},
       {with(R"("normalizer": {"type": "Replace", "pattern": {"Regex": "a("}, "content": ""}, )"),
        "R0703]: `memory`: `normalizer.pattern.Regex`: the regular expression `a(` is wrong at 2: "
        "missing closing parenthesis"},
       {with(R"("normalizer": {"type": "Replace", "pattern": {"Regex": "[a&&b]"}, "content": ""},
              )"),
        "R0703]: `memory`: `normalizer.pattern.Regex`: the regular expression `[a&&b]` has an "
        "intersection of sets, `&&`, at 2, which is not read"},
       {with(R"("normalizer": {"type": "Prepend"}, )"),
        "R0701]: `memory`: `normalizer`: expected a string `prepend`"},
       {with(R"("normalizer": {"type": "Prepend", "prepend": 1}, )"),
        "R0701]: `memory`: `normalizer.prepend`: expected a string"},
       {with(R"("pre_tokenizer": {"type": "Sequence"}, )"),
        "R0701]: `memory`: `pre_tokenizer`: expected an array `pretokenizers`"},
       {with(R"("pre_tokenizer": {"type": "Punctuation", "behavior": "X"}, )"),
        "R0701]: `memory`: `pre_tokenizer.behavior`: expected Removed, Isolated, "
        "MergedWithPrevious, MergedWithNext or Contiguous"},
       {with(R"("pre_tokenizer": {"type": "Metaspace", "replacement": "ab"}, )"),
        "R0701]: `memory`: `pre_tokenizer.replacement`: expected one character"},
       {with(R"("pre_tokenizer": {"type": "Metaspace", "replacement": "_",
                  "prepend_scheme": "x"}, )"),
        "R0701]: `memory`: `pre_tokenizer.prepend_scheme`: expected always, first or never"},
       {with(R"("decoder": {"type": "Sequence"}, )"),
        "R0701]: `memory`: `decoder`: expected an array `decoders`"}});
}

TEST(ErrorTest, PostProcessors) {
  const std::string start = R"("post_processor": {"type": "TemplateProcessing", )";
  check(
      {{with(start + "\"single\": 1}, "),
        "R0701]: `memory`: `post_processor`: expected arrays `single` and `pair`"},
       {with(start + R"("single": [{"X": 1}]}, )"), "R0701]: `memory`: `post_processor.single[0]`: "
                                                    "expected `Sequence` or `SpecialToken` with an "
                                                    "`id`"},
       {with(start + R"("single": [{"Sequence": {"id": "C"}}]}, )"),
        "R0701]: `memory`: `post_processor.single[0].Sequence.id`: expected A or B"},
       {with(start + R"("single": [{"SpecialToken": {"id": "C"}}]}, )"),
        "R0701]: `memory`: `post_processor.single[0].SpecialToken.id`: expected a token of "
        "`special_tokens`"},
       {with(
            start +
            R"("single": [{"SpecialToken": {"id": "C"}}], "special_tokens": {"C": {"ids": [""]}}}, )"),
        "R0701]: `memory`: `post_processor.special_tokens.C.ids[0]`: expected the id of a token"},
       {with(start + R"("single": [], "special_tokens": 1}, )"),
        "R0701]: `memory`: `post_processor.special_tokens`: expected an object"},
       {with(R"("post_processor": {"type": "Sequence"}, )"),
        "R0701]: `memory`: `post_processor`: expected an array `processors`"},
       {with(R"("post_processor": {"type": "BertProcessing", "cls": ["a"]}, )"),
        "R0701]: `memory`: `post_processor`: expected a token and its id `cls`, [\"[SEP]\", 102]"},
       {with(R"("post_processor": {"type": "Sequence", "processors": [
                {"type": "TemplateProcessing", "single": []},
                {"type": "TemplateProcessing", "single": []}]}, )"),
        "R0701]: `memory`: `post_processor.processors[1]`: a second post-processor that adds "
        "tokens"}});
}

TEST(ErrorTest, Models) {
  check(
      {{with("", R"({"type": "BPE"})"), "R0701]: `memory`: `model`: expected an object `vocab`"},
       {with("", R"({"type": "BPE", "vocab": {"a": "0"}})"),
        "R0701]: `memory`: `model.vocab.a`: expected an id from 0 to 4194303"},
       {with("", R"({"type": "BPE", "vocab": {"a": 0}})"),
        "R0701]: `memory`: `model`: expected an array `merges`"},
       {with("", R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["ab"]})"),
        "R0701]: `memory`: `model.merges[0]`: expected two tokens with a space between them"},
       {with("", R"({"type": "BPE", "vocab": {"a": 0}, "merges": [["a"]]})"),
        "R0701]: `memory`: `model.merges[0]`: expected a string or a pair of strings"},
       {with("", R"({"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "a"], ["a", "b"]]})"),
        "R0701]: `memory`: `model.merges[0]`: the vocabulary lacks the token `aa`"},
       {with("", R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1})"),
        "R0701]: `memory`: `model.dropout`: dropout is for training, and is not done here; "
        "expected "
        "null"},
       {with("", R"({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "b"})"),
        "R0701]: `memory`: `model.unk_token`: the vocabulary does not have this token"},
       {with("", R"({"type": "WordPiece", "vocab": {"a": 0}, "unk_token": 1})"),
        "R0701]: `memory`: `model.unk_token`: expected a string"},
       {with("", R"({"type": "Unigram"})"), "R0701]: `memory`: `model`: expected an array `vocab`"},
       {with("", R"({"type": "Unigram", "vocab": [["a", -1], ["b"]]})"),
        "R0701]: `memory`: `model.vocab[1]`: expected a piece and its score, [\"piece\", -1.5]"},
       {with("", R"({"type": "Unigram", "vocab": [["a", -1]], "unk_id": 1})"),
        "R0701]: `memory`: `model.unk_id`: expected a whole number from 0 to 0"}});
}

TEST(ErrorTest, OtherFiles) {
  check({{"a\n\x01\xff\n", "R0701]: `memory`: line 2 is no token; the file is none of "
                           "tokenizer.json, vocab.txt, SentencePiece, GGUF, tiktoken, llama2.c"},
         {"a\nb\n", "R0701]: `memory`: no vocab.txt of WordPiece: it has no line [UNK]"},
         {"IQ== 0\nx\n", "R0701]: `memory`: line 2 is no token in base64 with its rank"},
         {"IQ== 0\n", "R0701]: `memory`: the vocabulary lacks a token of the byte 0"},
         {std::string("\n\0", 2) + "\x0f",
          "R0701]: `memory`: no model of SentencePiece, or a damaged one"},
         {piece("a", 9), "R0701]: `memory`: piece 0 is damaged"},
         {piece("a", 1) + field(2, "\x18\x03"),
          "R0701]: `memory`: a model of SentencePiece of type 3; expected unigram (1) or BPE (2)"},
         {piece("a", 1) + field(3, field(2, "abc")),
          "R0701]: `memory`: its table of characters is damaged"},
         {piece("a", 1) + field(2, "\x98\x02\x01"),
          "R0701]: `memory`: the vocabulary lacks some of the 256 tokens of bytes"}});
}

TEST(ErrorTest, TiktokenThatIsNotKnown) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte)
    bytes += std::string{digits[byte >> 2], digits[(byte & 3) << 4]} +
             "== " + std::to_string(byte) + "\n";
  check(
      {{bytes, "R0701]: `memory`: a file of tiktoken with 256 tokens, which does not say how texts "
               "are cut, and is none of those that are known\n   = help: known are gpt2 (50256), "
               "p50k_base (50280), cl100k_base (100256), o200k_base (199998), Llama 3 (128000), "
               "Qwen (151643)"}});
}

TEST(ErrorTest, Gguf) {
  std::vector<std::string> tokens = {"a", "b"};
  std::string whole = gguf({ggufMember("model", "llama"), ggufMember("tokens", tokens)});
  check(
      {{gguf({}, 1), "R0701]: `memory`: a GGUF file of version 1; expected 2 or 3"},
       {whole.substr(0, whole.size() - 1),
        "R0701]: `memory`: its metadata are damaged, or end too early"},
       {gguf({}), "R0701]: `memory`: a GGUF file without a vocabulary, `tokenizer.ggml.model`"},
       {gguf({ggufMember("model", "rwkv")}), "R0702]: `memory`: the model of the vocabulary, "
                                             "`tokenizer.ggml.model`, `rwkv` is not known\n   = "
                                             "help: known are bert, gemma4, gpt2, llama, t5"},
       {gguf({ggufMember("model", "llama")}),
        "R0701]: `memory`: expected strings `tokenizer.ggml.tokens`"},
       {whole, "R0701]: `memory`: expected a score for each token, `tokenizer.ggml.scores`"},
       {gguf({ggufMember("model", "gpt2"), ggufMember("pre", "x"), ggufMember("tokens", tokens)}),
        "R0702]: `memory`: the way to cut texts, `tokenizer.ggml.pre`, `x` is not known\n   = "
        "help: known are "
        "gpt-2, gpt2, phi-2, mpt, olmo, jais, roberta-bpe, jina-es, jina-de, jina-v1-en, "
        "jina-v2-es, jina-v2-de, jina-v2-code, gigachat, a.x-4.0, mellum, modern-bert, "
        "exaone4, trillion, granite-docling, llama-bpe, llama3, llama-v3, falcon3, falcon-h1, "
        "pixtral, midm-2.0, lfm2, jina-v5-nano, dbrx, smaug-bpe, chatglm-bpe, glm4, qwen2, "
        "stablelm2, deepseek-r1-qwen, megrez, kormo, f2llmv2, hunyuan, solar-open, grok-2, "
        "qwen35, starcoder, refact, command-r, smollm, codeshell, exaone, minerva-7b, "
        "mellum2, gpt-4o, llama4, kanana2, talkie, minimax-m2, granite-embed-multi-97m, "
        "tiny_aya, cohere2moe, tekken, deepseek-v3, hunyuan-dense, joyai-llm, hy_v4, "
        "spark2_5, afmoe, deepseek-llm, deepseek-coder, youtu, kimi-k2, bailingmoe, "
        "bailingmoe2, llada-moe, seed-coder, exaone-moe, ufakzeka, laguna, minicpm5, jais-2, "
        "bloom, poro-chat, gpt3-finnish, viking, superbpe, chameleon, gemma4, sarvam-moe, "
        "granite-embed-multi-311m, whitespace, falcon, default"},
       {gguf({ggufMember("model", "gpt2"), ggufMember("pre", "gpt-2"),
              ggufMember("tokens", tokens)}),
        "R0701]: `memory`: expected strings `tokenizer.ggml.merges`"},
       {gguf({ggufMember("model", "gpt2"), ggufMember("pre", "gpt-2"), ggufMember("tokens", tokens),
              ggufMember("merges", std::vector<std::string>{"ab"})}),
        "R0701]: `memory`: merge 0 is not two tokens with a space between them"},
       {gguf({ggufMember("model", "gpt2"), ggufMember("pre", "gpt-2"), ggufMember("tokens", tokens),
              ggufMember("merges", std::vector<std::string>{"a b"})}),
        "R0701]: `memory`: merge 0: the vocabulary lacks the token `ab`"}});
}

/// A folder of Marian with a model of one piece and this vocab.json.
static std::string openMarian(const std::string &numbers) {
  char folder[] = "/tmp/attn-marian-XXXXXX";
  if (!mkdtemp(folder))
    return "no folder";
  std::string path = folder;
  std::ofstream(path + "/source.spm") << piece("a", 1) + piece("<unk>", 2);
  std::ofstream(path + "/vocab.json") << numbers;
  attn_tokenizer *tokenizer = nullptr;
  char *message = nullptr;
  attn_tokenizer_open(path.c_str(), &tokenizer, &message);
  std::string text = message ? message : "";
  attn_message_free(message);
  attn_tokenizer_destroy(tokenizer);
  std::filesystem::remove_all(path);
  size_t at = text.find(path);
  return at == std::string::npos ? text : text.substr(at + path.size() + 1);
}

TEST(ErrorTest, Marian) {
  EXPECT_EQ("vocab.json`: expected an object of tokens with their ids", openMarian("[]"));
  EXPECT_EQ("vocab.json`: `a`: expected an id from 0 to 4194303", openMarian("{\"a\": -1}"));
  EXPECT_EQ("vocab.json`: it lacks the token `</s>`", openMarian("{\"<unk>\": 0}"));
  EXPECT_EQ("", openMarian(R"({"</s>": 0, "<unk>": 1, "a": 2, "<pad>": 3})"));
}

TEST(ErrorTest, Paths) {
  char *message = nullptr;
  attn_tokenizer *tokenizer = nullptr;
  EXPECT_EQ(ATTN_IO, attn_tokenizer_open("/nonexistent", &tokenizer, &message));
  EXPECT_NE(nullptr, strstr(message, "error[R0501]: cannot")) << message;
  attn_message_free(message);
  EXPECT_EQ(ATTN_IO, attn_tokenizer_open("/proc/self/task", &tokenizer, &message));
  EXPECT_STREQ("error[R0501]: the folder `/proc/self/task` has no tokenizer\n   = help: expected "
               "tokenizer.json, tokenizer.model, spiece.model, sentencepiece.bpe.model, spm.model, "
               "vocab.txt, tokenizer.bin, source.spm and vocab.json, vocab.json and merges.txt, or "
               "vocab.json alone",
               message);
  attn_message_free(message);
}

/// The files of a folder as a program carries them.
static std::string bundle(const std::vector<std::pair<std::string, std::string>> &files) {
  std::string bytes = "attn tokenizer 1\n";
  for (const auto &[name, content] : files)
    bytes += std::to_string(content.size()) + " " + name + "\n" + content;
  return bytes;
}

TEST(ErrorTest, Folders) {
  const std::string pairs = R"({"a": 0, "b": 1, "ab": 2})";
  auto merges = [&](const std::string &lines, const std::string &config) {
    return bundle(
        {{"vocab.json", pairs}, {"merges.txt", lines}, {"tokenizer_config.json", config}});
  };
  const std::string gpt2 = R"({"tokenizer_class": "GPT2Tokenizer"})";
  EXPECT_EQ("", Tokenizer(merges("#version: 0.2\na b\n", gpt2)).message);
  EXPECT_EQ("error[R0701]: `memory/merges.txt`: line 2: the vocabulary lacks the token `c`",
            Tokenizer(merges("a b\nb c\n", gpt2)).message);
  EXPECT_EQ("error[R0701]: `memory/merges.txt`: line 1: expected two tokens with a space between "
            "them",
            Tokenizer(merges("a b c\n", gpt2)).message);
  EXPECT_EQ("error[R0701]: `memory/tokenizer_config.json`: `add_bos_token`: expected true or false",
            Tokenizer(merges("", R"({"add_bos_token": 1})")).message);
  EXPECT_EQ(
      "error[R0701]: `memory/tokenizer_config.json`: `added_tokens_decoder.x`: expected an id "
      "from 0 to 4194303",
      Tokenizer(merges("", R"({"added_tokens_decoder": {"x": {"content": "y"}}})")).message);
  auto first = [](const std::string &message) { return message.substr(0, message.find('\n')); };
  EXPECT_EQ(
      "error[R0702]: `memory/vocab.json` and merges.txt: the tokenizer class `MyTokenizer` is "
      "not known for these",
      first(Tokenizer(merges("", R"({"tokenizer_class": "MyTokenizer"})")).message));
  EXPECT_EQ("error[R0701]: `memory/vocab.json` and merges.txt do not say how a text is cut",
            first(Tokenizer(merges("", "{}")).message));
  EXPECT_EQ("error[R0702]: `memory/vocab.txt`: the tokenizer class `BertJapaneseTokenizer` is not "
            "known for it",
            first(Tokenizer(bundle({{"vocab.txt", "[UNK]\n"},
                                    {"tokenizer_config.json",
                                     R"({"tokenizer_class": "BertJapaneseTokenizer"})"}}))
                      .message));
  EXPECT_EQ("error[R0701]: `memory/tokenizer.json`: a token is to stand beside each text, but "
            "`bos_token` is null",
            Tokenizer(bundle({{"tokenizer.json", with("")},
                              {"tokenizer_config.json", R"({"add_bos_token": true})"}}))
                .message);
}

TEST(ErrorTest, Growth) {
  const std::string replace = R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
                              std::string(100, 'a') + "\"}";
  const std::string bytes = R"({"type": "ByteLevel", "add_prefix_space": false})";
  auto times = [](int count, const std::string &what) {
    std::string all = what;
    for (int i = 1; i < count; ++i)
      all += ", " + what;
    return all;
  };
  Tokenizer normalizer(
      with(R"("normalizer": {"type": "Sequence", "normalizers": [)" + times(5, replace) + "]}, "));
  EXPECT_EQ("error[R0709]: step 4 of the normalizer, `Replace`, makes too much: more than 4194416 "
            "bytes, with what the steps before it have made",
            normalizer.encode("a").message);
  Tokenizer cutter(with(R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" +
                        times(40, bytes) + "]}, "));
  EXPECT_EQ("error[R0709]: step 21 of the pre-tokenizer, `ByteLevel`, makes too much: more than "
            "4195648 bytes, with what the steps before it have made",
            cutter.encode("\xc3\xa9").message);
  Tokenizer decoder(
      with(R"("decoder": {"type": "Sequence", "decoders": [)" + times(5, replace) + "]}, "));
  EXPECT_EQ("error[R0709]: step 4 of the decoder, `Replace`, makes too much: more than 67109760 "
            "bytes, with what the steps before it have made",
            decoder.decode({0}));
  Tokenizer added(with(R"("added_tokens": [{"id": 1, "content": "a", "normalized": true}],
    "normalizer": {"type": "Sequence", "normalizers": [)" +
                       times(5, replace) + "]}, "));
  EXPECT_EQ("error[R0709]: step 4 of the normalizer, `Replace`, makes too much: more than 1048688 "
            "bytes, with what the steps before it have made",
            added.message);
  Tokenizer filled(with(R"("padding": {"strategy": {"Fixed": 2000000000}}, )"));
  EXPECT_EQ("error[R0709]: `padding` to 2000000000 tokens; at most 4194304 are done",
            filled.encode("a", ATTN_TEXT_PAD).message);
  std::string ids = "0";
  for (int i = 1; i < 1000; ++i)
    ids += ", 0";
  Tokenizer framed(with(R"("post_processor": {"type": "TemplateProcessing", "single": [)" +
                        times(100, R"({"SpecialToken": {"id": "x", "type_id": 0}})") +
                        R"(], "special_tokens": {"x": {"ids": [)" + ids + "]}}}, "));
  EXPECT_EQ("error[R0701]: `memory`: `post_processor.single[65].SpecialToken.id`: a template of "
            "more than 65536 tokens",
            framed.message);
}
