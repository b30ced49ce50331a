// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of ways to cut texts that GGUF files name. Where llama.cpp approximates an expression
// of the published tokenizer, because its own knows fewer classes of characters, the published one
// stands here.
#include "text/files/GgufCuts.h"
#include "text/Tokenizer.h"

using namespace attn;

/// Digits by threes, counted from behind. One or two are looked for where a run begins alone, so
/// that a long one is not searched to its end again and again.
static const char digitsFromBehind[] = R"((?<!\p{N})\p{N}{1,2}(?=(?:\p{N}{3})*(?!\p{N}))|\p{N}{3})";
static const char eastAsian[] = R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
/// Words with a mark in front, and letters apart from marks and symbols.
static const char markedWords[] =
    R"x([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)x";
/// All between spaces and the marks that end sentences.
static const char sentences[] =
    R"x( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)x";

// Those of single rows.
static const char qwen35Words[] =
    R"x((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)x";
static const char markedWordsAndLines[] =
    R"x([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)x";
static const char eastAsianBlocks[] =
    R"x([\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{f900}-\x{faff}\x{3040}-\x{309f}\x{30a0}-\x{30ff}\x{ff65}-\x{ff9f}\x{2f00}-\x{2fdf}\x{e40}-\x{e7f}\x{e80}-\x{eff}\x{1780}-\x{17ff}\x{1000}-\x{109f}\x{aa60}-\x{aa7f}\x{a9e0}-\x{a9ff}\x{ac00}-\x{d7af}\x{1100}-\x{11ff}]+)x";
static const char lettersWithCase[] =
    R"x(\s?[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293}\x{295}-\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1}\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df}\x{1e900}-\x{1e943}]+)x";
static const char marks[] =
    R"x(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)x";
static const char eastAsianOrMarks[] =
    R"x([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+|[\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b}\x{ff0c}\x{3001}-\x{303f}\x{fe30}-\x{fe4f}]+|[\x{3105}-\x{312f}]+|[\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)x";
static const char o200kDigits[] =
    R"x([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)x";
static const char casedButHan[] =
    R"x(\p{Han}+|[^\r\n\p{L}\p{N}]?(?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])*(?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?(?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])+(?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)x";
static const char possessiveWords[] =
    R"x('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)x";
static const char seedWords[] =
    R"x((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)x";
static const char phrases[] =
    R"x((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)x";
static const char wordsWithoutEnds[] =
    R"x([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)x";
static const char wordsAndNumbers[] =
    R"x((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)x";
static const char spacesByPowers[] =
    R"x((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})x";

static const GgufCut cuts[] = {
    {{"gpt-2",      "gpt2",        "phi-2",        "mpt",      "olmo",
      "jais",       "roberta-bpe", "jina-es",      "jina-de",  "jina-v1-en",
      "jina-v2-es", "jina-v2-de",  "jina-v2-code", "gigachat", "a.x-4.0",
      "mellum",     "modern-bert", "exaone4",      "trillion", "granite-docling"},
     {},
     GgufCut::CutBytes},
    {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
      "jina-v5-nano"},
     {llama3Expression},
     GgufCut::Bytes,
     GgufCut::IgnoresMerges | GgufCut::AddsBos},
    {{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, {llama3Expression}, GgufCut::Bytes},
    {{"qwen2", "stablelm2", "deepseek-r1-qwen", "megrez", "kormo", "f2llmv2", "hunyuan",
      "solar-open", "grok-2"},
     {qwen2Expression},
     GgufCut::Bytes},
    {{"qwen35"}, {qwen35Words}, GgufCut::Bytes},
    {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"},
     {R"(\p{N})"},
     GgufCut::CutBytes},
    {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, {o200kExpression}, GgufCut::Bytes},
    {{"granite-embed-multi-97m"}, {o200kExpression}, GgufCut::Bytes, GgufCut::IgnoresMerges},
    {{"tiny_aya", "cohere2moe"}, {digitsFromBehind, o200kExpression}, GgufCut::Bytes},
    {{"tekken"}, {tekkenExpression}, GgufCut::Bytes, GgufCut::IgnoresMerges | GgufCut::AddsBos},
    {{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
     {R"(\p{N}{1,3})", eastAsian, markedWords},
     GgufCut::Bytes},
    {{"spark2_5"}, {R"(\p{N}{1,3})", eastAsian, markedWordsAndLines, R"(\p{N})"}, GgufCut::Bytes},
    {{"afmoe"}, {digitsFromBehind, eastAsianBlocks, markedWords}, GgufCut::Bytes},
    {{"deepseek-llm"},
     {R"([\r\n])", lettersWithCase, marks, R"(\s+$)",
      R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)", R"(\p{N}+)"},
     GgufCut::Bytes},
    {{"deepseek-coder"},
     {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
      R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)", R"(\p{N})"},
     GgufCut::Bytes},
    {{"youtu"}, {eastAsianOrMarks, o200kDigits}, GgufCut::Bytes, GgufCut::IgnoresMerges},
    {{"kimi-k2"}, {casedButHan}, GgufCut::Bytes},
    {{"bailingmoe", "bailingmoe2", "llada-moe"}, {possessiveWords}, GgufCut::Bytes},
    {{"seed-coder"}, {seedWords}, GgufCut::Bytes},
    {{"exaone-moe"}, {phrases}, GgufCut::Bytes},
    {{"ufakzeka"}, {wordsWithoutEnds}, GgufCut::Bytes},
    {{"laguna"}, {R"([^\n]+|\n+)", qwen2Expression}, GgufCut::Bytes},
    {{"minicpm5"}, {R"(\p{N}{1,3})", wordsAndNumbers}, GgufCut::Bytes, GgufCut::IgnoresMerges},
    {{"jais-2"}, {spacesByPowers}, GgufCut::Bytes},
    {{"bloom", "poro-chat", "gpt3-finnish"}, {sentences}, GgufCut::Bytes},
    {{"viking"}, {sentences, R"(\p{N})"}, GgufCut::Bytes},
    {{"superbpe"}, {R"(\p{N}+)", R"(\p{N}(?:(?!(?:\d{3})+(?!\d))\p{N})*)"}, GgufCut::Bytes},
    {{"chameleon"},
     {R"(<sentinel:[0-9]+>)", R"(IMGIMG[A-I]{1,4}Z)", R"([\t\n]|    |  )", R"(\p{N})",
      R"([\p{P}!-/:-@\[-`{-~])"},
     GgufCut::CutBytes,
     GgufCut::AddsBos},
    {{"gemma4", "sarvam-moe", "granite-embed-multi-311m"}, {R"([^\n]+|\n+)"}, GgufCut::Characters},
    {{"whitespace"}, {R"(\s+)"}, GgufCut::Spaces},
    {{"falcon"},
     {R"([\p{P}\$\+<=>\^~\|`]+)", byteLevelExpression, R"([0-9][0-9][0-9])"},
     GgufCut::Bytes},
    {{"default", ""},
     {R"([\p{P}\$\+<=>\^~\|]+)", byteLevelExpression, R"(\p{N}+)", R"([0-9][0-9][0-9])"},
     GgufCut::Bytes},
};

const GgufCut *attn::findGgufCut(Slice name) {
  for (const GgufCut &cut : cuts)
    for (const char *known : cut.names)
      if (known && name.is(known))
        return &cut;
  return nullptr;
}

void attn::appendGgufCuts(Text &text) {
  for (const GgufCut &cut : cuts)
    for (const char *name : cut.names)
      if (name && *name)
        text.append("%s%s", text.size() ? ", " : "", name);
}
