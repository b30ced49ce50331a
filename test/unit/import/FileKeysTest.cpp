// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of the keys of files beside config.json: those of tokenizers, processors and packed
// weights, and the values of GGUF files.
#include "compiler/import/checkpoint/Keys.h"
#include "compiler/support/Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include <gtest/gtest.h>

using namespace attn::importer;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

constexpr const char *smallLlama = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32,
  "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "vocab_size": 61, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
  "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": false})";

json::Object objectOf(StringRef text) { return *attn::parseJson(text)->getAsObject(); }

/// What an import says: its notes, or its error.
std::string saidOf(const Folder &folder) {
  auto spec = importFolder(folder);
  if (!spec)
    return "error: " + llvm::toString(spec.takeError());
  std::string said;
  for (const std::string &note : spec->notes)
    said += "note: " + note + "\n";
  return said;
}

/// A folder with one file beside its config.json.
Folder folderWith(StringRef name, StringRef kind, StringRef family, StringRef content) {
  Folder folder;
  folder.path = "folder";
  folder.config = objectOf(smallLlama);
  folder.beside.push_back({name.str(), kind.str(), family.str(), objectOf(content)});
  folder.texts[name.str()] = content.str();
  return folder;
}

/// A folder whose weights are packed.
Folder packedFolder(StringRef packing) {
  Folder folder;
  folder.path = "folder";
  folder.config = objectOf(smallLlama);
  folder.config["quantization_config"] = objectOf(packing);
  return folder;
}

std::string sourceOf(StringRef file) {
  auto buffer = llvm::MemoryBuffer::getFile(ATTN_SOURCE_DIR "/" + file.str());
  EXPECT_TRUE(bool(buffer)) << file.str();
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// The words in quotes between two places of a source file.
llvm::StringSet<> quotedIn(StringRef text, StringRef from, StringRef to) {
  llvm::StringSet<> words;
  text = text.substr(text.find(from));
  text = text.take_front(text.find(to));
  llvm::Regex word("\"([a-z_]+)\"");
  llvm::SmallVector<StringRef> found;
  while (word.match(text, &found)) {
    words.insert(found[1]);
    text = text.substr(text.find(found[0]) + found[0].size());
  }
  return words;
}

TEST(FileKeysTest, WhatRowsSayThatRunsReadOfTokenizersTheyRead) {
  std::string settings = sourceOf("runtime/text/files/Settings.cpp"),
              roles = sourceOf("runtime/text/files/Classes.cpp"),
              templates = sourceOf("runtime/text/jinja/ChatTemplate.cpp");
  llvm::StringSet<> known = quotedIn(settings, "TextSettings::readConfig", "TextSettings::tokenOf");
  for (const auto &more :
       {quotedIn(settings, "TextSettings::readRoles", "/// "), quotedIn(roles, "roleKeys", ";"),
        quotedIn(templates, "ChatTemplate::readConfig", "openValue")})
    for (StringRef word : more.keys())
      known.insert(word);
  std::vector<std::string> said = keysOfRuns("tokenizer");
  for (const std::string &key : said)
    EXPECT_TRUE(known.contains(key)) << key << " is read by no run";
  for (StringRef key : known.keys())
    if (key != "separate_vocabs" && key != "split_by_punct") // which have to be false
      EXPECT_TRUE(llvm::is_contained(said, key)) << key.str() << " is read, but no row says so";
}

TEST(FileKeysTest, WhatRowsSayThatRunsReadOfGgufFilesTheyRead) {
  llvm::StringSet<> known =
      quotedIn(sourceOf("runtime/text/files/ReadGguf.cpp"), "placeOf(", "return place.value");
  std::vector<std::string> said = keysOfRuns("gguf");
  for (StringRef key : said)
    if (key.consume_front("tokenizer.ggml."))
      EXPECT_TRUE(known.contains(key)) << key.str() << " is read by no run";
  for (StringRef key : known.keys())
    EXPECT_TRUE(llvm::is_contained(said, "tokenizer.ggml." + key.str())) << key.str();
}

TEST(FileKeysTest, WhatRowsSayThatRunsReadOfPackingsTheyRead) {
  llvm::StringSet<> known =
      quotedIn(sourceOf("runtime/io/QuantizationConfig.cpp"), "readValues(", "readConfig(");
  std::vector<std::string> said = keysOfRuns("packing");
  EXPECT_EQ(2u, said.size());
  for (const std::string &key : said)
    EXPECT_TRUE(known.contains(key)) << key << " is read by no run";
}

TEST(FileKeysTest, AKeyOfATokenizerThatChangesTokensIsAnErrorWithItsLine) {
  Folder folder = folderWith("tokenizer_config.json", "tokenizer", "LlamaTokenizer",
                             "{\"legacy\": false,\n \"fix_mistral_regex\": true}");
  std::string said = saidOf(folder);
  EXPECT_NE(std::string::npos,
            said.find("`tokenizer_config.json`, line 2: `fix_mistral_regex` is `true`: another "
                      "expression than the file has, which changes nothing at `false` alone"))
      << said;
  folder.allowed = {"fix_mistral_regex"};
  EXPECT_EQ(std::string::npos, saidOf(folder).find("error: ")) << saidOf(folder);
}

TEST(FileKeysTest, AKeyOfATokenizerThatNobodyKnowsIsANote) {
  std::string said = saidOf(folderWith("tokenizer_config.json", "tokenizer", "LlamaTokenizer",
                                       R"({"add_eos_token": true, "spread": 2})"));
  EXPECT_NE(std::string::npos, said.find("note: `tokenizer_config.json`, line 1: `spread` is `2`"))
      << said;
  EXPECT_EQ(std::string::npos, said.find("add_eos_token")) << said;
}

TEST(FileKeysTest, RowsOfATokenizerAreThoseOfItsClass) {
  for (StringRef family : {"PegasusTokenizer", "LlamaTokenizer"}) {
    std::string said =
        saidOf(folderWith("tokenizer_config.json", "tokenizer", family, R"({"offset": 7})"));
    EXPECT_EQ(family == "PegasusTokenizer", StringRef(said).starts_with("error: ")) << said;
  }
}

TEST(FileKeysTest, WhatPackingsSayIsReadOrDecidedOrAnError) {
  struct Case {
    const char *packing, *said;
  };
  for (
      auto [packing, said] : std::initializer_list<Case>{
          {R"({"quant_method": "gptq", "bits": 4, "sym": false, "desc_act": true})", ""},
          {R"({"quant_method": "gptq", "bits": 5})", "`quantization_config.bits` is `5`"},
          {R"({"quant_method": "gptq", "bits": 4, "is_marlin_format": true})",
           "`quantization_config.is_marlin_format` is `true`: another order of codes"},
          {R"({"quant_method": "gptq", "checkpoint_format": "marlin"})",
           "`quantization_config.checkpoint_format` is `\"marlin\"`"},
          {R"({"quant_method": "gptq", "zero_point": true})",
           "`quantization_config.zero_point` is `true`: no family of this kind reads it"},
          {R"({"quant_method": "awq", "bits": 4, "version": "gemm", "zero_point": true})", ""},
          {R"({"quant_method": "awq", "bits": 4, "version": "gemv"})",
           "`quantization_config.version` is `\"gemv\"`"},
          {R"({"quant_method": "awq", "bits": 8})", "`quantization_config.bits` is `8`"},
          {R"({"quant_method": "awq", "zero_point": false})",
           "`quantization_config.zero_point` is `false`"},
          {R"({"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]})",
           ""},
          {R"({"quant_method": "fp8", "rotated": true})",
           "`quantization_config.rotated` is `true`"},
          {R"({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]})", ""},
          {R"({"quant_method": "mxfp4", "scale_bits": 4})",
           "`quantization_config.scale_bits` is `4`"}}) {
    Folder folder = packedFolder(packing);
    std::string error = saidOf(folder);
    bool isError = StringRef(error).starts_with("error: ");
    EXPECT_EQ(*said != 0, isError) << packing << ": " << error;
    EXPECT_NE(std::string::npos, error.find(said)) << packing << ": " << error;
  }
}

TEST(FileKeysTest, TheOlderFileOfAPackingIsOneToo) {
  std::string good = R"({"bits": 4, "group_size": 128, "damp_percent": 0.01, "desc_act": false,
      "sym": true, "true_sequential": true, "model_file_base_name": "model"})";
  std::string said = saidOf(folderWith("quantize_config.json", "packing", "gptq", good));
  EXPECT_EQ(std::string::npos, said.find("error: ")) << said;
  said = saidOf(
      folderWith("quantize_config.json", "packing", "gptq", R"({"bits": 4, "rotated": true})"));
  EXPECT_NE(std::string::npos, said.find("`quantize_config.json`, line 1: `rotated` is `true`"))
      << said;
}

TEST(FileKeysTest, WhatModulesAreHandedIsAnError) {
  Folder folder;
  folder.path = "folder";
  folder.config = objectOf(smallLlama);
  folder.modules.push_back({"sentence_transformers.models.Transformer", "", {}, {}});
  folder.modules.push_back({"sentence_transformers.models.Pooling",
                            "1_Pooling",
                            json::Object{{"pooling_mode", "mean"}},
                            {}});
  folder.modules.front().said = json::Object{{"idx", 0}, {"name", "0"}, {"kwargs", json::Array()}};
  std::string said = saidOf(folder);
  EXPECT_EQ(std::string::npos, said.find("error: ")) << said;
  folder.modules.back().said["kwargs"] = json::Array{"task"};
  said = saidOf(folder);
  EXPECT_NE(std::string::npos, said.find("error: `modules.json`: `1.kwargs` is `[\"task\"]`"))
      << said;
}

/// What llama.cpp's converter writes of a model, without lists of texts.
struct GgufCase {
  const char *name, *values;
};

constexpr GgufCase ggufCases[] = {
    {"Llama-3.2-1B-Instruct", R"({"general.architecture": "llama", "general.type": "model",
      "general.name": "Llama 3.2 1B Instruct", "general.finetune": "Instruct",
      "general.basename": "Llama-3.2", "general.size_label": "1B", "general.license": "llama3.2",
      "general.tags": "a list", "general.languages": "a list", "llama.block_count": 16,
      "llama.context_length": 131072, "llama.embedding_length": 2048,
      "llama.feed_forward_length": 8192, "llama.attention.head_count": 32,
      "llama.attention.head_count_kv": 8, "llama.rope.freq_base": 500000.0,
      "llama.attention.layer_norm_rms_epsilon": 1e-05, "llama.attention.key_length": 64,
      "llama.attention.value_length": 64, "general.file_type": 15, "llama.vocab_size": 128256,
      "llama.rope.dimension_count": 64, "tokenizer.ggml.model": "gpt2",
      "tokenizer.ggml.pre": "llama-bpe", "tokenizer.ggml.tokens": "a list",
      "tokenizer.ggml.token_type": "a list", "tokenizer.ggml.merges": "a list",
      "tokenizer.ggml.bos_token_id": 128000, "tokenizer.ggml.eos_token_id": 128009,
      "tokenizer.chat_template": "{{ x }}", "general.quantization_version": 2,
      "quantize.imatrix.file": "x.dat", "quantize.imatrix.entries_count": 112})"},
    {"Mixtral-8x7B", R"({"general.architecture": "llama", "general.name": "x",
      "llama.context_length": 32768, "llama.embedding_length": 4096, "llama.block_count": 32,
      "llama.feed_forward_length": 14336, "llama.rope.dimension_count": 128,
      "llama.attention.head_count": 32, "llama.attention.head_count_kv": 8,
      "llama.expert_count": 8, "llama.expert_used_count": 2,
      "llama.attention.layer_norm_rms_epsilon": 1e-05, "llama.rope.freq_base": 1000000.0,
      "general.file_type": 15, "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": "a list",
      "tokenizer.ggml.scores": "a list", "tokenizer.ggml.token_type": "a list",
      "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
      "tokenizer.ggml.unknown_token_id": 0, "tokenizer.ggml.add_bos_token": true,
      "tokenizer.ggml.add_eos_token": false, "general.quantization_version": 2})"},
    {"Qwen3-0.6B", R"({"general.architecture": "qwen3", "general.base_model.count": 1,
      "general.base_model.0.name": "Qwen3 0.6B Base", "qwen3.block_count": 28,
      "qwen3.context_length": 40960, "qwen3.embedding_length": 1024,
      "qwen3.feed_forward_length": 3072, "qwen3.attention.head_count": 16,
      "qwen3.attention.head_count_kv": 8, "qwen3.rope.freq_base": 1000000.0,
      "qwen3.attention.layer_norm_rms_epsilon": 1e-06, "qwen3.attention.key_length": 128,
      "qwen3.attention.value_length": 128, "tokenizer.ggml.model": "gpt2",
      "tokenizer.ggml.pre": "qwen2", "tokenizer.ggml.eos_token_id": 151645,
      "tokenizer.ggml.padding_token_id": 151643, "tokenizer.ggml.bos_token_id": 151643,
      "tokenizer.ggml.add_bos_token": false, "general.sampling.top_k": 20})"},
    {"gemma-3-1b-it", R"({"general.architecture": "gemma3", "gemma3.context_length": 32768,
      "gemma3.embedding_length": 1152, "gemma3.block_count": 26,
      "gemma3.feed_forward_length": 6912, "gemma3.attention.head_count": 4,
      "gemma3.attention.layer_norm_rms_epsilon": 1e-06, "gemma3.attention.key_length": 256,
      "gemma3.attention.value_length": 256, "gemma3.rope.freq_base": 1000000.0,
      "gemma3.rope.freq_base_swa": 10000.0, "gemma3.attention.sliding_window": 512,
      "gemma3.attention.sliding_window_pattern": 6, "gemma3.attention.head_count_kv": 1,
      "tokenizer.ggml.model": "llama", "tokenizer.ggml.pre": "default",
      "tokenizer.ggml.eot_token_id": 106, "tokenizer.ggml.add_space_prefix": false,
      "tokenizer.ggml.eos_token_id": 1, "tokenizer.ggml.unknown_token_id": 3,
      "tokenizer.ggml.padding_token_id": 0})"},
    {"nomic-embed-text-v1.5",
     R"({"general.architecture": "nomic-bert", "nomic-bert.block_count": 12,
      "nomic-bert.context_length": 2048, "nomic-bert.embedding_length": 768,
      "nomic-bert.feed_forward_length": 3072, "nomic-bert.attention.head_count": 12,
      "nomic-bert.attention.layer_norm_epsilon": 1e-12, "general.file_type": 1,
      "nomic-bert.attention.causal": false, "nomic-bert.pooling_type": 1,
      "nomic-bert.rope.freq_base": 1000.0, "tokenizer.ggml.token_type_count": 2,
      "tokenizer.ggml.bos_token_id": 101, "tokenizer.ggml.eos_token_id": 102,
      "tokenizer.ggml.model": "bert", "tokenizer.ggml.unknown_token_id": 100,
      "tokenizer.ggml.seperator_token_id": 102, "tokenizer.ggml.padding_token_id": 0,
      "tokenizer.ggml.cls_token_id": 101, "tokenizer.ggml.mask_token_id": 103})"},
    {"bge-small-en-v1.5", R"({"general.architecture": "bert", "bert.block_count": 12,
      "bert.context_length": 512, "bert.embedding_length": 384, "bert.feed_forward_length": 1536,
      "bert.attention.head_count": 12, "bert.attention.layer_norm_epsilon": 1e-12,
      "bert.attention.causal": false, "bert.pooling_type": 2, "general.file_type": 7,
      "tokenizer.ggml.token_type_count": 2, "tokenizer.ggml.model": "bert",
      "tokenizer.ggml.cls_token_id": 101})"},
    {"gpt2", R"({"general.architecture": "gpt2", "gpt2.block_count": 12,
      "gpt2.context_length": 1024, "gpt2.embedding_length": 768, "gpt2.feed_forward_length": 3072,
      "gpt2.attention.head_count": 12, "gpt2.attention.layer_norm_epsilon": 1e-05,
      "general.file_type": 1, "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2",
      "tokenizer.ggml.bos_token_id": 50256})"}};

/// A file of these values; its tensors are no more than a table of tokens.
llvm::Expected<Folder> ggufOf(const json::Object &values) {
  std::map<std::string, llvm::SmallVector<int64_t>> shapes;
  shapes["token_embd.weight"] = {64, 32};
  shapes["token_types.weight"] = {2, 32};
  return readGgufModel("models/model.gguf", values, shapes, GgufFactors());
}

TEST(FileKeysTest, EachValueOfAGgufFileIsDecidedOnOnce) {
  for (const GgufCase &one : ggufCases) {
    json::Object values = objectOf(one.values);
    auto folder = ggufOf(values);
    ASSERT_TRUE(bool(folder)) << one.name << ": " << llvm::toString(folder.takeError());
    auto spec = importFolder(*folder);
    ASSERT_TRUE(bool(spec)) << one.name << ": " << llvm::toString(spec.takeError());
    for (const auto &entry : values)
      EXPECT_EQ(1, llvm::count_if(spec->keys,
                                  [&](const KeyDecision &key) {
                                    return key.file == "model.gguf" &&
                                           key.path == entry.first.str();
                                  }))
          << one.name << ": " << entry.first.str();
  }
}

TEST(FileKeysTest, AValueOfAGgufFileThatNobodyReadsIsAnError) {
  for (const GgufCase &one : ggufCases) {
    json::Object values = objectOf(one.values);
    std::string architecture = values.getString("general.architecture")->str();
    for (std::string key : {architecture + ".attention.warp", std::string("tokenizer.ggml.warp"),
                            architecture + ".rope.scaling.yarn_attn_factor"}) {
      json::Object more = values;
      more[key] = 3;
      auto folder = ggufOf(more);
      ASSERT_TRUE(bool(folder));
      std::string said = saidOf(*folder);
      EXPECT_NE(std::string::npos, said.find("error: `model.gguf`: `" + key + "` is `3`")) << said;
      folder->allowed = {key};
      said = saidOf(*folder);
      EXPECT_NE(std::string::npos, said.find("passed by, as `--allow` says")) << said;
    }
  }
}

TEST(FileKeysTest, AValueOfAnUnknownKindIsANoteAndANameIsNone) {
  json::Object values = objectOf(ggufCases[0].values);
  values["general.warp"] = 3;
  values["somebody.warp"] = 4;
  std::string said = saidOf(llvm::cantFail(ggufOf(values)));
  EXPECT_EQ(std::string::npos, said.find("general.warp")) << said;
  EXPECT_NE(std::string::npos, said.find("note: `model.gguf`: `somebody.warp` is `4`")) << said;
}

TEST(FileKeysTest, TheBaseOfWindowsIsThatOfTheGgufFile) {
  json::Object values = objectOf(ggufCases[3].values);
  values["gemma3.rope.freq_base_swa"] = 12345.0;
  auto spec = importFolder(llvm::cantFail(ggufOf(values)));
  ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
  EXPECT_NE(std::string::npos, spec->text.find("12345")) << spec->text;
}

TEST(FileKeysTest, ValuesOfAnotherSizeThanKeysAreAnError) {
  json::Object values = objectOf(ggufCases[0].values);
  values["llama.attention.value_length"] = 32;
  auto folder = ggufOf(values);
  ASSERT_FALSE(bool(folder));
  EXPECT_EQ("`llama.attention.value_length` differs from `llama.attention.key_length`, which is "
            "not read",
            llvm::toString(folder.takeError()));
}

} // namespace
