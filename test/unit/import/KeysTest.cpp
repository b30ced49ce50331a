// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of the keys of a folder: each is decided on, and once.
#include "compiler/import/checkpoint/Keys.h"
#include "compiler/support/Json.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace attn;
using namespace attn::importer;

namespace {

constexpr const char *llama = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32,
  "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "vocab_size": 61, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
  "rope_theta": 10000.0, "hidden_act": "silu", "attention_bias": false, "mlp_bias": false,
  "attention_dropout": 0.1, "use_cache": true, "torch_dtype": "bfloat16", "bos_token_id": 1,
  "eos_token_id": 2, "pretraining_tp": 1, "tie_word_embeddings": false,
  "rope_scaling": {"rope_type": "linear", "factor": 2.0}})";
constexpr const char *gemma3 = R"({
  "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "hidden_size": 32,
  "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 8,
  "num_key_value_heads": 2, "vocab_size": 61, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
  "query_pre_attn_scalar": 8, "sliding_window": 5, "hidden_activation": "gelu_pytorch_tanh",
  "layer_types": ["sliding_attention", "sliding_attention"],
  "rope_parameters": {"rope_type": "default", "rope_theta": null,
    "full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})";
constexpr const char *bert = R"({
  "architectures": ["BertModel"], "model_type": "bert", "hidden_size": 32, "intermediate_size": 48,
  "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 61, "type_vocab_size": 2,
  "max_position_embeddings": 64, "layer_norm_eps": 1e-12, "hidden_act": "gelu", "pad_token_id": 0,
  "hidden_dropout_prob": 0.1, "position_embedding_type": "absolute", "gradient_checkpointing": false,
  "initializer_range": 0.02, "transformers_version": "4.6.0.dev0"})";
constexpr const char *gpt2 = R"({
  "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 32, "n_head": 4,
  "n_layer": 2, "n_positions": 64, "n_ctx": 64, "vocab_size": 61, "activation_function": "gelu_new",
  "layer_norm_epsilon": 1e-5, "summary_type": "cls_index", "resid_pdrop": 0.1,
  "scale_attn_weights": true, "bos_token_id": 1, "eos_token_id": 2})";

Folder folderOf(const char *config) {
  Folder folder;
  folder.path = "folder";
  auto value = parseJson(config);
  folder.config = *value->getAsObject();
  folder.texts["config.json"] = config;
  return folder;
}

std::string errorOf(const Folder &folder) {
  auto spec = importFolder(folder);
  return spec ? std::string() : llvm::toString(spec.takeError());
}

TEST(KeysTest, TheTableHasNoWrongRow) { EXPECT_EQ("", checkKeyTable()); }

TEST(KeysTest, EachKeyIsDecidedOnOnce) {
  for (const char *config : {llama, gemma3, bert, gpt2}) {
    Folder folder = folderOf(config);
    auto spec = importFolder(folder);
    ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
    for (const auto &entry : folder.config) {
      auto isOf = [&](const KeyDecision &key) { return key.path == entry.first.str(); };
      EXPECT_EQ(1, llvm::count_if(spec->keys, isOf)) << entry.first.str();
    }
    for (const KeyDecision &key : spec->keys) {
      EXPECT_NE(KeyFate::Undecided, key.fate) << key.path;
      EXPECT_FALSE(key.isTwice) << key.path << " is read, and a row says that it never matters";
    }
  }
}

TEST(KeysTest, AKeyThatNobodyReadsIsAnErrorWithItsLine) {
  for (const char *config : {llama, gemma3, bert, gpt2}) {
    Folder folder = folderOf(config);
    folder.config["mixing_strength"] = 3;
    folder.texts["config.json"] = "{\n\"mixing_strength\": 3}";
    std::string error = errorOf(folder);
    EXPECT_NE(std::string::npos, error.find("line 2: `mixing_strength` is `3`")) << error;
    folder.allowed = {"mixing_strength"};
    EXPECT_EQ("", errorOf(folder));
  }
}

TEST(KeysTest, ATokenThatEndsAnswersIsMissedAloud) {
  Folder folder = folderOf(llama);
  for (bool isSaid : {true, false}) {
    auto spec = importFolder(folder);
    ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
    EXPECT_EQ(isSaid, !llvm::any_of(spec->notes, [](llvm::StringRef note) {
                return note.starts_with("`config.json` does not say `eos_token_id`");
              }));
    folder.config.erase("eos_token_id");
  }
}

/// What has no effect in the published class of this type, whatever siblings make of it.
TEST(KeysTest, WhatAClassDoesNotAskForChangesNothing) {
  using llvm::json::Object;
  std::pair<const char *, Object> strays[] = {
      {llama, Object{{"final_logit_softcapping", 30.0},
                     {"attn_logit_softcapping", 50.0},
                     {"query_pre_attn_scalar", 5},
                     {"hidden_activation", "relu"},
                     {"sliding_window", 4},
                     {"num_beam_groups", 2},
                     {"diversity_penalty", 0.5},
                     {"tie_encoder_decoder", true}}},
      {gemma3, Object{{"attn_logit_softcapping", 50.0}}},
      {bert, Object{{"tie_word_embeddings", false}, {"tie_encoder_decoder", true}}},
      {gpt2, Object{{"num_beam_groups", 2}, {"diversity_penalty", 0.5}}}};
  for (const auto &[config, keys] : strays) {
    Folder folder = folderOf(config);
    auto plain = importFolder(folder);
    ASSERT_TRUE(bool(plain)) << llvm::toString(plain.takeError());
    for (const auto &entry : keys) {
      Folder other = folderOf(config);
      other.config[entry.first] = entry.second;
      auto spec = importFolder(other);
      ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
      EXPECT_EQ(plain->text, spec->text) << entry.first.str();
    }
  }
}

TEST(KeysTest, GroupsOfBeamsAreAnErrorWhereThereAreBeams) {
  Folder folder = folderOf(llama);
  folder.config["num_beams"] = 4;
  EXPECT_EQ("", errorOf(folder));
  folder.config["num_beam_groups"] = 2;
  std::string error = errorOf(folder);
  EXPECT_NE(std::string::npos, error.find("`num_beam_groups` is `2`")) << error;
}

TEST(KeysTest, AKeyOfAnObjectWithinIsOneToo) {
  Folder folder = folderOf(llama);
  folder.config["rope_scaling"] =
      llvm::json::Object{{"type", "linear"}, {"factor", 2}, {"warp", 1}};
  std::string error = errorOf(folder);
  EXPECT_NE(std::string::npos, error.find("`rope_scaling.warp` is `1`")) << error;
}

} // namespace
