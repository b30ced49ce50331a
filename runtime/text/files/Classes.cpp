// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of classes.
#include "text/files/Classes.h"
#include "base/Text.h"

using namespace attn;

const char *const attn::roleKeys[RoleCount] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                               "pad_token", "cls_token", "mask_token"};

static constexpr const char endOfText[] = "<|endoftext|>";

/// BERT's frame and tokens.
static constexpr TokenizerClass bert() {
  return {"BertTokenizer DistilBertTokenizer ElectraTokenizer MobileBertTokenizer "
          "ConvBertTokenizer SqueezeBertTokenizer LayoutLMTokenizer "
          "LayoutLMv2Tokenizer LxmertTokenizer DPRQuestionEncoderTokenizer "
          "DPRContextEncoderTokenizer DPRReaderTokenizer RetriBertTokenizer "
          "NomicBertTokenizer",
          "bert distilbert electra mobilebert convbert squeezebert layoutlm "
          "layoutlmv2 lxmert dpr ernie megatron-bert nezha visual_bert nomic_bert "
          "blip git vilt align flava bros chinese_clip realm qdqbert "
          "grounding-dino tvp mm-grounding-dino omdet-turbo retribert tapas",
          Build::WordPiece,
          "cAs",
          "cAsB1s1",
          {nullptr, nullptr, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}};
}

/// ALBERT and its kin: BERT's frame around SentencePiece's pieces.
static constexpr TokenizerClass albert(const char *name, const char *model) {
  TokenizerClass made = {
      name,  model,     Build::Pieces,
      "cAs", "cAsB1s1", {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"}};
  made.masksLeft = made.changesCase = made.lowers = true;
  return made;
}

/// RoBERTa's tokens, which fairseq has.
static constexpr TokenizerClass fairseq(Numbers numbers, const char *name, const char *model) {
  TokenizerClass made = {name,          model,
                         Build::Pieces, "cAs",
                         "cAssBs",      {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"}};
  made.masksLeft = true;
  made.numbers = numbers;
  return made;
}

static constexpr TokenizerClass with(TokenizerClass made, bool TokenizerClass::*flag, bool value) {
  made.*flag = value;
  return made;
}

static constexpr TokenizerClass framed(TokenizerClass made, const char *single, const char *pair) {
  made.single = single, made.pair = pair;
  return made;
}

static constexpr TokenizerClass llama() {
  TokenizerClass made = {"LlamaTokenizer CodeLlamaTokenizer",
                         "llama mistral mixtral code_llama phi3 persimmon fuyu idefics chameleon "
                         "llava video_llava vipllava deepseek_v2 deepseek_v3 zamba jamba bitnet "
                         "minicpm",
                         Build::Pieces,
                         "",
                         "",
                         {"<s>", "</s>", "<unk>", nullptr, nullptr, nullptr, nullptr}};
  made.addsBos = made.addsSpace = true;
  return made;
}

static constexpr TokenizerClass gemma() {
  TokenizerClass made = {"GemmaTokenizer",
                         "gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text paligemma "
                         "recurrent_gemma shieldgemma2 t5gemma",
                         Build::Pieces,
                         "",
                         "",
                         {"<bos>", "<eos>", "<unk>", nullptr, "<pad>", nullptr, nullptr}};
  made.addsBos = true;
  return made;
}

static const TokenizerClass knownClasses[] = {
    bert(),
    {"MPNetTokenizer",
     "mpnet",
     Build::WordPiece,
     "cAs",
     "cAss1B1s1",
     {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"},
     false,
     false,
     true},
    {"FunnelTokenizer",
     "funnel",
     Build::WordPiece,
     "c2As",
     "c2AsB1s1",
     {"<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>"}},
    {"GPT2Tokenizer CodeGenTokenizer",
     "gpt2 gpt_neo gptj codegen opt gpt_bigcode starcoder2 phi blip-2 "
     "instructblip megatron-gpt2 dbrx",
     Build::ByteLevel,
     "",
     "",
     {endOfText, endOfText, endOfText, nullptr, nullptr, nullptr, nullptr}},
    {"RobertaTokenizer BartTokenizer LongformerTokenizer LEDTokenizer "
     "MvpTokenizer LayoutLMv3Tokenizer",
     "roberta bart longformer led mvp layoutlmv3 data2vec-text clap "
     "bridgetower lilt ibert mega roberta-prelayernorm florence2",
     Build::ByteLevel,
     "cAs",
     "cAssBs",
     {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
     false,
     false,
     true},
    {"BlenderbotTokenizer",
     "blenderbot",
     Build::ByteLevel,
     "Ae",
     "AB1",
     {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
     false,
     true,
     true},
    {"DebertaTokenizer",
     "deberta",
     Build::ByteLevel,
     "cAs",
     "cAsB1s1",
     {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"},
     false,
     false,
     true},
    {"Qwen2Tokenizer",
     "qwen2 qwen2_moe qwen3 qwen3_moe qwen2_vl qwen2_5_vl qwen2_audio "
     "qwen3_next qwen3_vl colqwen2",
     Build::Qwen2,
     "",
     "",
     {nullptr, endOfText, endOfText, nullptr, endOfText, nullptr, nullptr}},
    {"CLIPTokenizer",
     "clip clipseg aimv2 groupvit owlvit owlv2 oneformer xclip",
     Build::Clip,
     "bAe",
     "bAeeBe",
     {"<|startoftext|>", endOfText, endOfText, nullptr, endOfText, nullptr, nullptr}},
    {"WhisperTokenizer",
     "whisper",
     Build::Whisper,
     "",
     "",
     {endOfText, endOfText, endOfText, nullptr, nullptr, nullptr, nullptr}},
    {"OpenAIGPTTokenizer",
     "openai-gpt",
     Build::OpenAi,
     "",
     "",
     {nullptr, nullptr, "<unk>", nullptr, nullptr, nullptr, nullptr}},
    with({"T5Tokenizer MT5Tokenizer",
          "t5 mt5 umt5 longt5 switch_transformers pix2struct pop2piano",
          Build::Pieces,
          "Ae",
          "AeBe",
          {nullptr, "</s>", "<unk>", nullptr, "<pad>", nullptr, nullptr},
          false,
          true},
         &TokenizerClass::hasSentinels, true),
    llama(),
    gemma(),
    {"CohereTokenizer",
     "cohere cohere2",
     Build::Json,
     "",
     "",
     {"<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", "<UNK>", nullptr, nullptr, nullptr, nullptr},
     true},
    fairseq(Numbers::Fairseq, "XLMRobertaTokenizer", "xlm-roberta"),
    fairseq(Numbers::Fairseq, "LayoutXLMTokenizer", "xlm-roberta-xl"),
    fairseq(Numbers::Camembert, "CamembertTokenizer", "camembert"),
    framed(fairseq(Numbers::Languages, "MBartTokenizer", "mbart"), "Ael", "ABel"),
    albert("AlbertTokenizer", "albert"),
    with(with(albert("FNetTokenizer", "fnet"), &TokenizerClass::lowers, false),
         &TokenizerClass::keepsAccents, true),
    with({"XLNetTokenizer",
          "xlnet",
          Build::Pieces,
          "Asc2",
          "AsB1s1c2",
          {"<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>"},
          false,
          false,
          true},
         &TokenizerClass::changesCase, true),
    {"BigBirdTokenizer",
     "big_bird",
     Build::Pieces,
     "cAs",
     "cAsB1s1",
     {"<s>", "</s>", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"},
     false,
     false,
     true},
    {"DebertaV2Tokenizer",
     "deberta-v2",
     Build::Pieces,
     "cAs",
     "cAsB1s1",
     {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}},
    {"PegasusTokenizer",
     "pegasus bigbird_pegasus pegasus_x",
     Build::Pieces,
     "Ae",
     "ABe",
     {nullptr, "</s>", "<unk>", nullptr, "<pad>", nullptr, "<mask_2>"},
     false,
     false,
     false,
     Numbers::Pegasus},
    with({"Wav2Vec2CTCTokenizer Wav2Vec2Tokenizer",
          "wav2vec2 hubert wavlm data2vec-audio unispeech unispeech-sat wav2vec2-conformer "
          "wav2vec2-bert sew sew-d",
          Build::Characters,
          "",
          "",
          {"<s>", "</s>", "<unk>", nullptr, "<pad>", nullptr, nullptr}},
         &TokenizerClass::collapses, true),
    with({"ParakeetTokenizer",
          "parakeet_ctc",
          Build::Json,
          "",
          "",
          {nullptr, nullptr, "<unk>", nullptr, "<pad>", nullptr, nullptr}},
         &TokenizerClass::collapses, true),
};

/// The first word of a list, which it is taken from; empty behind the last.
static Slice takeWord(Slice &words) {
  size_t end = 0;
  while (end < words.size && words.data[end] != ' ')
    ++end;
  Slice word = words.between(0, end);
  words = words.from(end < words.size ? end + 1 : end);
  return word;
}

static bool hasWord(const char *list, Slice wanted) {
  for (Slice words(list); words.size;)
    if (takeWord(words) == wanted)
      return true;
  return false;
}

Slice TokenizerClass::name() const {
  Slice words(names);
  return takeWord(words);
}

const TokenizerClass *attn::findClass(Slice name) {
  if (name.endsWith(Slice("Fast")))
    name.size -= 4;
  for (const TokenizerClass &one : knownClasses)
    if (hasWord(one.names, name))
      return &one;
  return nullptr;
}

const TokenizerClass *attn::findClassOfModel(Slice model) {
  for (const TokenizerClass &one : knownClasses)
    if (hasWord(one.models, model))
      return &one;
  return nullptr;
}

void attn::appendClassNames(bool (*takes)(Build), Text &to) {
  for (const TokenizerClass &one : knownClasses)
    for (Slice words(one.names); words.size && takes(one.build);) {
      Slice name = takeWord(words);
      to.append(to.size() ? ", %.*s" : "%.*s", int(name.size), name.data);
    }
}
